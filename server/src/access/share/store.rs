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
    /// Ids of removed links.
    pub gone: Vec<String>,
}

/// Why the store of links failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum LinkStoreError {
    #[error("{0}")]
    File(#[from] io::Error),
    /// The database does not respond, or refuses; the text is for logs.
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

    /// Stores a link if there is room; otherwise returns `false`. The room is decided with all changes of other
    /// servers, and no other link is added in between.
    ///
    /// # Errors
    /// When it was not stored, or it is unknown whether it was.
    fn add(&mut self, link: &Share, has_room: &mut dyn FnMut(LinkChanges) -> bool) -> Result<bool, LinkStoreError>;

    /// Stores the new expiry of a link.
    fn prolong(&mut self, link: &Share) -> Result<(), LinkStoreError>;

    /// Removes a link; does nothing if there is none with that id.
    fn remove(&mut self, id: &str) -> Result<(), LinkStoreError>;
}
