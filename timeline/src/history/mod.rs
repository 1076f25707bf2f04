//! Holds the past of a cluster: the log of changes, the model at a moment, and the moment that a viewer sees.
//! Owns the [`History`] log and its limits.
//! Must not know how it is stored, judged or shown.

pub mod as_of;
pub mod log;
pub mod playback;

pub use log::{History, HistoryCursor, MOST_CHANGES};
