//! Reasons why a rollout has no file.

use crate::hub::HubEnded;

/// A file that was not made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExportError {
    #[error("no such rollout; its history may have expired")]
    Unknown,
    #[error("this program was built without the web page: build both with `cargo xtask build`")]
    NoPage,
    #[error("cannot redact the names: {0}")]
    Redaction(String),
    #[error("cannot render the page: {0}")]
    Page(String),
    #[error(transparent)]
    Ended(#[from] HubEnded),
}
