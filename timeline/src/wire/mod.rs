//! Encodes all data between a server and its viewers, over one websocket and inside of pages, with postcard.
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
//! A Connection frame follows all data that was known when the connection entered the state: a viewer that receives "live" has the content
//! of the cluster.
//!
//! Frames contain the types of the [`crate::Model`] without the fields that stay on the server (`model/server_only.rs`), and only the
//! changes for which [`crate::Change::travels`] is true. Views, lines of the story and rows of a list are made for viewers.
//!
//! `tests/all/wire.rs` has the shape of every type of this [`PROTOCOL`]: a change of one requires a higher number. A new field of the model
//! appears there unless it is `server_only`.

mod frame;
mod said;
pub mod viewer;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::view::connection::{Connection, ConnectionState, Forbidden, Listing, Unwritten};
pub use frame::{Delta, Objects, Position, Scope, ServerFrame, Snapshot, ViewerFrame};
pub use said::{Moment, Said, SaidDelta, SaidVersion};

/// Version of the frames. Other versions cannot be decoded; only `Hello` is the same in all of them.
pub const PROTOCOL: u16 = 26;

/// Largest frame that a viewer may send, in bytes.
pub const MAX_VIEWER_FRAME: usize = 4096;

/// Seconds between two heartbeats of the server; one is left out just after a frame of a Deployment. Without a frame for a little more than
/// twice this time, pages and terminals report that the server does not respond.
pub const HEARTBEAT_SECONDS: u32 = 4;

/// Close code of a stream whose viewer is not signed in, or not any more.
pub const SIGN_IN_REQUIRED: u16 = 4401;

/// Close code of a stream whose viewer has another [`PROTOCOL`], or sends an invalid frame; the close reason says which.
pub const REFUSED: u16 = 4400;

/// Close code of a stream whose viewer must open another one at once, because an authenticating proxy identifies viewers only at the start
/// of a stream.
pub const OPEN_AGAIN: u16 = 4402;

/// Why bytes cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// They end early, or contain a value that this version does not know.
    #[error("this frame cannot be read: {0}")]
    Malformed(#[from] postcard::Error),
    /// They contain additional bytes.
    #[error("this frame cannot be read: it is {0} bytes longer than it should be")]
    TooLong(usize),
}

/// Encodes a frame of either side, or the payload of a page.
///
/// # Errors
/// If postcard cannot encode it; the types here always can be.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Unreadable> {
    Ok(postcard::to_stdvec(value)?)
}

/// Decodes the result of [`encode`], which must be complete.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match postcard::take_from_bytes(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(Unreadable::TooLong(rest.len())),
    }
}
