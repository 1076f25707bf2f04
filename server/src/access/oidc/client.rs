//! The HTTP client of openidconnect: a response without an answer is an error.

use bytes::Bytes;
use futures::future::BoxFuture;
use openidconnect::http::StatusCode;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

use crate::access::fetch::{FetchError, HttpClient};

impl AsyncHttpClient<'_> for HttpClient {
    type Error = FetchError;
    type Future = BoxFuture<'static, Result<HttpResponse, FetchError>>;

    fn call(&self, request: HttpRequest) -> Self::Future {
        let client = self.clone(); // the connections are shared
        Box::pin(async move {
            let answer = client.send(request.map(Bytes::from)).await?;
            let status = answer.status();
            if status.is_redirection() || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(FetchError::Status(status));
            }
            Ok(answer.map(|body| body.to_vec()))
        })
    }
}
