//! Requests to the provider: an answer that is none is an error.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use openidconnect::http::StatusCode;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

use crate::access::fetch::{self, HttpClient, ResponseLimits};

/// Largest answer that is taken, in bytes.
const LARGEST: usize = 1 << 20;

/// Asks the provider.
#[derive(Debug, Clone)]
pub(super) struct Client(HttpClient);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// None came.
    #[error(transparent)]
    None(#[from] fetch::FetchError),
    /// It answers that it cannot answer, or that somebody else should be asked.
    #[error("response status {0}")]
    Status(StatusCode),
}

impl Client {
    /// One that speaks HTTP without TLS only where that is said.
    ///
    /// # Errors
    /// When this machine names no authorities to trust.
    pub(super) fn new(allows_http: bool, answer: Duration) -> std::io::Result<Self> {
        HttpClient::new(allows_http, ResponseLimits { timeout: answer, max_bytes: LARGEST }).map(Self)
    }
}

impl AsyncHttpClient<'_> for Client {
    type Error = ClientError;
    type Future = BoxFuture<'static, Result<HttpResponse, ClientError>>;

    fn call(&self, request: HttpRequest) -> Self::Future {
        let Self(client) = self.clone(); // the connections are shared
        Box::pin(async move {
            let answer = client.send(request.map(Bytes::from)).await?;
            let status = answer.status();
            if status.is_redirection() || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(ClientError::Status(status));
            }
            Ok(answer.map(|body| body.to_vec()))
        })
    }
}
