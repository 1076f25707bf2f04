//! Errors of requests to the API server.

use std::time::Duration;

use http::StatusCode;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RequestError {
    /// 403.
    #[error("not allowed: {0}")]
    Forbidden(String),
    #[error("cannot use the credentials: {0}")]
    Credentials(String),
    /// 401.
    #[error("the credentials were refused; they may have expired: {0}")]
    Unauthorized(String),
    /// 410, or 400, which some servers return for an unknown position.
    #[error("the resource version has expired ({0})")]
    Gone(StatusCode),
    /// Any other unsuccessful status.
    #[error("the server responded {status}: {message}")]
    Status {
        status: StatusCode,
        message: String,
        /// The server's `Retry-After`.
        retry_after: Duration,
    },
    /// The request holds secrets, and the connection is not secure.
    #[error("no secrets are sent over this connection: it is not secure")]
    NotConfidential,
    /// The server was unreachable, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    #[error("the response is longer than {} MB", .0 >> 20)]
    TooLong(usize),
    #[error("cannot read the response: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl RequestError {
    /// Converts an unsuccessful status and the server's message.
    pub(super) fn of_status(status: StatusCode, message: &str, retry_after: Duration) -> Self {
        let message = timeline::words::safe(message);
        match status {
            StatusCode::FORBIDDEN => Self::Forbidden(message),
            StatusCode::UNAUTHORIZED => Self::Unauthorized(message),
            StatusCode::GONE | StatusCode::BAD_REQUEST => Self::Gone(status),
            status => Self::Status { status, message, retry_after },
        }
    }
}
