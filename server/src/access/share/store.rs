//! The store of share links. One caller at a time, which may block.

use std::io;

use super::link::Share;
use crate::database::StoreError;

/// Changes of links since the last read.
#[derive(Debug, Default)]
pub struct LinkChanges {
    /// The links in `made` replace all that were known.
    pub are_all: bool,
    /// Links that are new, or last longer.
    pub made: Vec<Share>,
    /// Names of those that were taken away.
    pub gone: Vec<String>,
}

/// Why the store of links failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LinkStoreError {
    #[error("{0}")]
    File(#[from] io::Error),
    /// A database does not answer, or refuses; what it says is for logs.
    #[error("the link database does not respond")]
    Database(#[from] StoreError),
    #[error("the link store is busy")]
    Busy,
    #[error("the server is shutting down")]
    Ends,
}

/// A store of links.
pub trait LinkStore: Send {
    /// Reads the changes since the last read: all links the first time, and whenever changes are unknown.
    fn changes(&mut self) -> Result<LinkChanges, LinkStoreError>;

    /// Writes a link down, unless there is no room; `false` then. Whether there is any is asked with what happened to the others, and
    /// nobody else adds one before this one is there.
    ///
    /// # Errors
    /// When it was not written down, or nobody says whether it was.
    fn add(&mut self, link: &Share, has_room: &mut dyn FnMut(LinkChanges) -> bool) -> Result<bool, LinkStoreError>;

    /// Writes down until when a link lasts now.
    fn prolong(&mut self, link: &Share) -> Result<(), LinkStoreError>;

    /// Takes a link away; nothing, where there is none of that name.
    fn remove(&mut self, id: &str) -> Result<(), LinkStoreError>;
}
