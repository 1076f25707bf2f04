//! Requests to the provider: an answer that is none is an error.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use openidconnect::http::StatusCode;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

use crate::access::fetch::{self, Fetcher, Limits};

/// Largest answer that is taken, in bytes.
const LARGEST: usize = 1 << 20;

/// Asks the provider.
#[derive(Debug, Clone)]
pub(super) struct Client(Fetcher);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// None came.
    #[error(transparent)]
    None(#[from] fetch::NoAnswer),
    /// It answers that it cannot answer, or that somebody else should be asked.
    #[error("response status {0}")]
    Status(StatusCode),
}

impl Client {
    /// One that speaks HTTP without TLS only where that is said.
    ///
    /// # Errors
    /// When this machine names no authorities to trust.
    pub(super) fn new(may_be_plain: bool, answer: Duration) -> std::io::Result<Self> {
        Fetcher::new(may_be_plain, Limits { answer, largest: LARGEST }).map(Self)
    }
}

impl AsyncHttpClient<'_> for Client {
    type Error = NoAnswer;
    type Future = BoxFuture<'static, Result<HttpResponse, NoAnswer>>;

    fn call(&self, request: HttpRequest) -> Self::Future {
        let Self(fetcher) = self.clone(); // the connections are shared
        Box::pin(async move {
            let answer = fetcher.ask(request.map(Bytes::from)).await?;
            let status = answer.status();
            if status.is_redirection() || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(NoAnswer::Status(status));
            }
            Ok(answer.map(|body| body.to_vec()))
        })
    }
}
