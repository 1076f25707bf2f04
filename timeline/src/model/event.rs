//! Events of the API server, as the model stores them.

use serde::{Deserialize, Serialize};

use crate::{Millis, Uid};

/// An Event, which illustrates the story and explains waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// UID of the Event.
    pub uid: Uid,
    /// When it last happened, by the clock of its sender, or its arrival.
    pub at_millis: Millis,
    /// Kind and name of its object.
    pub about: (String, String),
    /// The container in its message; empty if it names none.
    pub container: String,
    /// Whether that container is an ephemeral one.
    pub is_ephemeral: bool,
    /// `reason`.
    pub reason: String,
    /// `message`, at most [`Event::LONGEST`] bytes of it.
    pub message: String,
    /// Number of times that it happened.
    pub count: u32,
    /// Whether its `type` is Warning; others explain waiting, and do not appear in the story.
    pub is_warning: bool,
}

impl Event {
    /// Maximum length of a stored message, in bytes.
    pub const LONGEST: usize = 1024;
    /// Maximum number of stored Events per Deployment; the oldest of the most frequent reason is removed first.
    pub const MOST: usize = 40;
    /// Kind of object in the story if one line stands for equal Events of several pods; the name is that of their ReplicaSet.
    pub const PODS: &str = "Pods of ReplicaSet";
}
