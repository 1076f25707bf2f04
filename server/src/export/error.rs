//! Reasons why a rollout has no file.

use crate::hub::HubEnded;

/// A file that was not made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no such workload, or no such rollout.
    #[error("no such rollout; its history may have expired")]
    Unknown,
    /// The page was not built.
    #[error("this program was built without the web page: build both with `cargo xtask build`")]
    NoPage,
    /// It could not be made without names.
    #[error("cannot redact the names: {0}")]
    Redaction(String),
    /// It could not be rendered.
    #[error("cannot render the page: {0}")]
    Page(String),
    /// The cluster is watched no more.
    #[error(transparent)]
    Ended(#[from] HubEnded),
}
