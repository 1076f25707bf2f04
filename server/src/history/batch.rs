//! Batches of the log: lines of recordings, compressed.

use std::cell::RefCell;
use std::io;

use timeline::Millis;
use zstd::bulk::Compressor;

use crate::database::StoreError;

/// Format of new batches. Format 1: lines of recordings, compressed with zstd, with its checksum.
pub const FORMAT: u32 = 1;
/// Longest text of one batch or checkpoint, in bytes; the rest is cut off.
const MOST_BYTES: usize = 1 << 30;
/// Compression level.
const LEVEL: i32 = 3;

thread_local! {
    /// The writer's compressor, whose tables are reused: recorders compress lines in small pieces.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Successive lines of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Arrival of the first line.
    pub from_millis: Millis,
    /// Arrival of the last line.
    pub to_millis: Millis,
    /// Format of the body.
    pub format: u32,
    /// The compressed lines.
    pub body: Vec<u8>,
}

/// Compresses lines.
///
/// # Errors
/// If there is not enough memory.
pub fn pack(text: &str) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|known| {
        let compressor = match known {
            Some(compressor) => compressor,
            None => {
                let mut compressor = Compressor::new(LEVEL)?;
                compressor.include_checksum(true)?;
                known.insert(compressor)
            }
        };
        let mut body = compressor.compress(text.as_bytes())?;
        body.shrink_to_fit(); // shrinks the reserve for incompressible lines: recorders keep many bodies in memory
        Ok(body)
    })
}

/// Decompresses lines.
pub fn unpack(body: &[u8]) -> Result<String, StoreError> {
    let damaged = |why: &str| StoreError::Failed(format!("damaged data: {why}"));
    let bytes = decompress(body).map_err(|error| damaged(&error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| damaged("not a text"))
}

/// Decompresses a body up to the size limit.
pub(super) fn decompress(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::new(body)?;
    io::Read::read_to_end(&mut io::Read::take(&mut decoder, MOST_BYTES as u64), &mut bytes)?;
    Ok(bytes)
}

impl Batch {
    /// Compresses lines that arrived between two times.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn pack(from_millis: Millis, to_millis: Millis, text: &str) -> io::Result<Self> {
        Ok(Self { from_millis, to_millis, format: FORMAT, body: pack(text)? })
    }

    /// Returns its lines.
    ///
    /// # Errors
    /// If it is damaged, or has an unknown format.
    pub fn text(&self) -> Result<String, StoreError> {
        read(self.format, &self.body)
    }
}

/// Returns the lines of a body of a format.
pub(super) fn read(format: u32, body: &[u8]) -> Result<String, StoreError> {
    if format != FORMAT {
        let why = format!("unsupported format {format}: this version of Rollcast reads format {FORMAT}");
        return Err(StoreError::Failed(why));
    }
    unpack(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(format: u32, body: Vec<u8>) -> Batch {
        Batch { from_millis: 0, to_millis: 1, format, body }
    }

    #[test]
    fn what_is_packed_is_read_again_and_every_damage_is_seen() {
        let text = "{\"observedAtMillis\":1}\n".repeat(50);
        let body = pack(&text).unwrap();
        assert_eq!(batch(FORMAT, body.clone()).text().unwrap(), text);
        for at in 0..body.len() {
            let mut damaged = body.clone();
            damaged[at] ^= 0x55;
            let read = batch(FORMAT, damaged).text();
            assert!(read.as_ref().is_err() || read.as_ref().is_ok_and(|read| *read == text), "byte {at}");
        }
        for length in 0..body.len() {
            assert!(batch(FORMAT, body[..length].to_vec()).text().is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_is_packed_has_no_room_for_what_was_not() {
        let body = pack(&"{\"observedAtMillis\":1}\n".repeat(1_000)).unwrap();
        assert!(body.capacity() < 2 * body.len(), "{} of {} bytes", body.len(), body.capacity());
    }

    #[test]
    fn another_format_is_refused_with_a_sentence() {
        let why = batch(7, Vec::new()).text().unwrap_err().to_string();
        assert_eq!(why, "unsupported format 7: this version of Rollcast reads format 1");
    }
}
