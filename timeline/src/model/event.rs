//! Events of the API server, as they are kept.

use serde::{Deserialize, Serialize};

use crate::{Millis, Uid};

/// An Event, kept to illustrate the story and to say what is waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// UID of the Event.
    pub uid: Uid,
    /// When it last happened, by the clock of who says it, or its arrival.
    pub at_millis: Millis,
    /// Kind and name of what it is about.
    pub about: (String, String),
    /// The container that it is about; empty where it names none.
    pub container: String,
    /// That container is an ephemeral one.
    pub is_ephemeral: bool,
    /// `reason`.
    pub reason: String,
    /// `message`, at most [`Event::LONGEST`] bytes of it.
    pub message: String,
    /// Number of times that it happened.
    pub count: u32,
    /// `type` is Warning; others explain what is waited for, and are not told.
    pub is_warning: bool,
}

impl Event {
    /// Longest message that is kept, in bytes.
    pub const LONGEST: usize = 1024;
    /// Most Events that are kept per Deployment; the oldest of the most frequent reason goes first.
    pub const MOST: usize = 40;
    /// Kind of what it is about in the story, where it stands for equal Events of several pods: with the name of their ReplicaSet.
    pub const PODS: &str = "Pods of ReplicaSet";
}
