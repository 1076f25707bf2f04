//! The HTTP client of openidconnect: a response without an answer is an error.

use bytes::Bytes;
use futures::future::BoxFuture;
use openidconnect::http::StatusCode;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

use crate::access::fetch::{FetchError, HttpClient};

/// A failed request to the provider.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There was no response.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The response is a redirect or a server error.
    #[error("response status {0}")]
    Status(StatusCode),
}

impl AsyncHttpClient<'_> for HttpClient {
    type Error = ClientError;
    type Future = BoxFuture<'static, Result<HttpResponse, ClientError>>;

    fn call(&self, request: HttpRequest) -> Self::Future {
        let client = self.clone(); // the connections are shared
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
