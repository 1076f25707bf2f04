//! An HTTP client for servers other than clusters: over TLS, limited in time and size, without redirects.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;

/// Limits on a response.
#[derive(Debug, Clone, Copy)]
pub struct ResponseLimits {
    /// The whole answer is there within this time.
    pub timeout: Duration,
    /// Its body has at most this many bytes.
    pub max_bytes: usize,
}

/// Asks servers. hyper follows no redirect by itself: an answer that is one is given back as it is.
#[derive(Debug, Clone)]
pub struct HttpClient {
    pool: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    limits: ResponseLimits,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It took too long.
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Connection(#[from] Error),
    /// The answer broke off, or is too large.
    #[error("the response is incomplete, or larger than {0} bytes")]
    Body(usize),
}

impl HttpClient {
    /// One that speaks HTTP without TLS only where that is said.
    ///
    /// # Errors
    /// When this machine names no authorities to trust.
    pub fn new(allows_http: bool, limits: ResponseLimits) -> std::io::Result<Self> {
        let connector = HttpsConnectorBuilder::new().with_native_roots()?;
        let connector = if allows_http { connector.https_or_http() } else { connector.https_only() };
        let connector = connector.enable_http1().build();
        let pool = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(2).build(connector);
        Ok(Self { pool, limits })
    }

    /// Sends a request; returns the response, whatever its status.
    ///
    /// # Errors
    /// When nothing is, in time, and whole.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
        let ResponseLimits { timeout, max_bytes } = self.limits;
        let response = async {
            let (head, body) = self.pool.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, max_bytes).collect().await.map_err(|_| FetchError::Body(max_bytes))?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(timeout, response).await.map_err(|_| FetchError::Timeout(timeout))?
    }
}
