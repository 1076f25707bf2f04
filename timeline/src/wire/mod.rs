//! Encodes everything that travels between a server and its viewers, over one websocket and inside of pages, with postcard.
//! Owns the frames, their [`PROTOCOL`], and a viewer's copy of what arrived ([`viewer`]).
//! Must not know sockets, sessions or who may see what.
//!
//! ```text
//!  viewer                                server
//!    Hello{protocol, build} ──────────────►
//!    Subscribe{scope, since} ─────────────►
//!    ◄──────────────────────────────────── Hello{protocol, build}
//!    ◄──────────────────────────────────── Snapshot{epoch, seq, …}      or Delta straight away when `since` still fits
//!    ◄──────────────────────────────────── Delta{from, to, changes} …   a gap: Subscribe again without `since`
//!    ◄──────────────────────────────────── List{…} …                    of a list: what changed in the lines in view
//!    ◄──────────────────────────────────── Heartbeat every few s ([`HEARTBEAT_SECONDS`]), Connection whenever it changes
//! ```
//! A Connection comes after everything that was known when it became so: who hears that a cluster is live has heard what it
//! holds.
//!
//! Frames hold the types of the [`crate::Model`] without the fields that stay on the server (`model/server_only.rs`), and only
//! the changes that [`crate::Change::travels`] names. Views, lines of the story and lines of a list are made for viewers.
//!
//! `tests/all/wire.rs` holds the shape of every type that travels by this [`PROTOCOL`]: who changes one raises it. A new
//! field of the model appears there unless it is `server_only`.

mod frame;
mod said;
pub mod viewer;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::view::connection::{Connection, ConnectionState, Forbidden, Listing, Unwritten};
pub use frame::{Delta, Objects, Position, Scope, ServerFrame, Snapshot, ViewerFrame};
pub use said::{Moment, Said, SaidDelta, SaidVersion};

/// Version of the frames. Another version cannot be read; `Hello` is the same in all of them.
pub const PROTOCOL: u16 = 27;

/// Largest frame that a viewer may send, in bytes.
pub const MAX_VIEWER_FRAME: usize = 4096;

/// Seconds between two heartbeats of the server; one is left out just after a frame of a Deployment. Without a frame for
/// twice this and a bit, pages and terminals say that it is not there.
pub const HEARTBEAT_SECONDS: u32 = 4;

/// The code with which a stream is closed whose viewer is not known, or not any more: they have to sign in.
pub const SIGN_IN_REQUIRED: u16 = 4401;

/// The code with which a stream is closed whose viewer speaks another [`PROTOCOL`], or sends what is no frame; the reason says so.
pub const REFUSED: u16 = 4400;

/// The code with which a stream is closed whose viewer is to open another one at once: what a proxy says of them is said at its begin.
pub const OPEN_AGAIN: u16 = 4402;

/// Why bytes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// They end early, or hold something that this version does not know.
    #[error("this frame cannot be read: {0}")]
    Malformed(#[from] postcard::Error),
    /// They hold more than this version knows.
    #[error("this frame cannot be read: it is {0} bytes longer than it should be")]
    TooLong(usize),
}

/// Encodes a frame of either side, or what a page carries along.
///
/// # Errors
/// When postcard cannot encode it; what is here always can be.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Unreadable> {
    Ok(postcard::to_stdvec(value)?)
}

/// Decodes what [`encode`] encoded, all of it.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match postcard::take_from_bytes(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(Unreadable::TooLong(rest.len())),
    }
}
