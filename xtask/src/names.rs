//! Short names between the page's program and its bindings: wasm-bindgen's names end in a hash each, which no compression takes
//! away, and they travel twice.

use anyhow::{Context, Result, bail};

const IMPORTS: u8 = 2;
const FUNCTION: u8 = 0;

/// The program with short names for what it imports, and its bindings with the same ones.
pub fn shorten(wasm: &[u8], bindings: &str) -> Result<(Vec<u8>, String)> {
    let mut reader = Reader { bytes: wasm, at: 8 };
    let mut out = wasm.get(..8).context("no wasm")?.to_vec();
    let mut names = Vec::new();
    while reader.at < wasm.len() {
        let id = reader.byte()?;
        let content = reader.sized()?;
        let content = if id == IMPORTS { imports(content, &mut names)? } else { content.to_vec() };
        out.push(id);
        number(&mut out, content.len());
        out.extend(content);
    }
    let mut text = bindings.to_owned();
    for (index, name) in names.iter().enumerate() {
        let (long, short) = (format!("\n        {name}: "), format!("\n        {}: ", short(index)));
        if text.matches(&long).count() != 1 {
            bail!("the bindings do not define {name} once");
        }
        text = text.replacen(&long, &short, 1);
    }
    Ok((out, text))
}

fn short(index: usize) -> String {
    format!("i{index}")
}

/// Renames what is imported, and notes the names that it had.
fn imports(content: &[u8], names: &mut Vec<String>) -> Result<Vec<u8>> {
    let mut reader = Reader { bytes: content, at: 0 };
    let mut out = Vec::new();
    let count = reader.number()?;
    number(&mut out, count);
    for index in 0..count {
        let module = reader.sized()?;
        names.push(String::from_utf8(reader.sized()?.to_vec())?);
        if reader.byte()? != FUNCTION {
            bail!("the program imports something else than functions");
        }
        number(&mut out, module.len());
        out.extend(module);
        let name = short(index);
        number(&mut out, name.len());
        out.extend(name.bytes());
        out.push(FUNCTION);
        number(&mut out, reader.number()?);
    }
    Ok(out)
}

struct Reader<'w> {
    bytes: &'w [u8],
    at: usize,
}

impl<'w> Reader<'w> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).context("the wasm ends too early")?;
        self.at += 1;
        Ok(byte)
    }

    /// An unsigned number in LEB128.
    fn number(&mut self) -> Result<usize> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        bail!("a number in the wasm is too long")
    }

    /// Bytes after their length.
    fn sized(&mut self) -> Result<&'w [u8]> {
        let length = self.number()?;
        let bytes = self.bytes.get(self.at..self.at + length).context("the wasm ends too early")?;
        self.at += length;
        Ok(bytes)
    }
}

fn number(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        out.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn names_are_short_on_both_sides() {
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        wasm.extend([2, 14, 1, 1, b'm', 8]);
        wasm.extend(b"__wbg_ab");
        wasm.extend([0, 3]);
        wasm.extend([10, 1, 0]);
        let (wasm, text) = shorten(&wasm, "const x = {\n        __wbg_ab: function() {}\n}").unwrap();
        assert_eq!(wasm.get(8..), Some([2, 8, 1, 1, b'm', 2, b'i', b'0', 0, 3, 10, 1, 0].as_slice()));
        assert_eq!(text, "const x = {\n        i0: function() {}\n}");
        assert!(shorten(&wasm, "").is_err());
    }
}
