//! Changes of objects, as watches send them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::object::Object;

/// An object at one resourceVersion. Its JSON is encoded once, for all readers.
#[derive(Debug)]
pub struct Stored {
    /// The object at that resourceVersion.
    pub object: Object,
    /// Its resourceVersion.
    pub revision: u64,
    json: OnceLock<Bytes>,
}

impl Stored {
    /// Creates a stored object; its metadata must carry the revision already.
    pub fn new(object: Object, revision: u64) -> Self {
        Self { object, revision, json: OnceLock::new() }
    }

    /// Returns its JSON.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| serde_json::to_vec(&self.object).unwrap_or_default().into()).clone()
    }
}

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
    /// The object was deleted. It is as it was last, with the revision of its deletion.
    Deleted,
}

/// An entry of a kind's history.
#[derive(Debug, Clone)]
pub struct Change {
    /// Kind of the change.
    pub verb: Verb,
    /// The object after the change; for a deletion, the last state.
    pub object: Arc<Stored>,
    /// The object before the change, if it existed: a watch with a selector needs to know whether it matched.
    pub before: Option<Arc<Stored>>,
}
