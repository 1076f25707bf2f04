//! Requests to servers that are no clusters: over TLS, limited in time and size, and never led elsewhere.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;

/// How much is waited for, and taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The whole answer is there within this time.
    pub answer: Duration,
    /// Its body has at most this many bytes.
    pub largest: usize,
}

/// Asks servers. hyper follows no redirect by itself: an answer that is one is given back as it is.
#[derive(Debug, Clone)]
pub struct Fetcher {
    pool: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    limits: Limits,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It took too long.
    #[error("no response within {} s", .0.as_secs())]
    Slow(Duration),
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Broken(#[from] Error),
    /// The answer broke off, or is too large.
    #[error("the response is incomplete, or larger than {0} bytes")]
    Body(usize),
}

impl Fetcher {
    /// One that speaks HTTP without TLS only where that is said.
    ///
    /// # Errors
    /// When this machine names no authorities to trust.
    pub fn new(may_be_plain: bool, limits: Limits) -> std::io::Result<Self> {
        let connector = HttpsConnectorBuilder::new().with_native_roots()?;
        let connector = if may_be_plain { connector.https_or_http() } else { connector.https_only() };
        let connector = connector.enable_http1().build();
        let pool = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(2).build(connector);
        Ok(Self { pool, limits })
    }

    /// What is answered, whatever its status.
    ///
    /// # Errors
    /// When nothing is, in time, and whole.
    pub async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        let Limits { answer, largest } = self.limits;
        let asked = async {
            let (head, body) = self.pool.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, largest).collect().await.map_err(|_| NoAnswer::Body(largest))?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(answer, asked).await.map_err(|_| NoAnswer::Slow(answer))?
    }
}
