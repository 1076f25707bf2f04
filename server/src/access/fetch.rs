//! An HTTP client for servers other than clusters: over TLS, limited in time and size, without redirects.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use percent_encoding::percent_decode_str;
use tokio_rustls::rustls::ClientConfig;

use crate::kube::proxy::Proxies;

/// Limits on a response.
#[derive(Debug, Clone, Copy)]
pub struct ResponseLimits {
    /// Timeout for the whole response.
    pub timeout: Duration,
    /// Most bytes of its body.
    pub max_bytes: usize,
}

/// A client for servers other than clusters. A redirect is returned as a response: hyper follows none by itself.
#[derive(Clone)]
pub struct HttpClient {
    pool: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    tls: Arc<ClientConfig>,
    proxies: Proxies,
    limits: ResponseLimits,
}

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error(transparent)]
    Connection(#[from] Error),
    #[error("the response is incomplete, or larger than {0} bytes")]
    Body(usize),
    /// The status is neither success nor a rejection, such as a redirect or a server error.
    #[error("response status {0}")]
    Status(StatusCode),
}

impl HttpClient {
    /// Creates a client that uses the proxies of the environment. It speaks HTTP without TLS only if that is allowed.
    ///
    /// # Errors
    /// When this machine has no trusted certificate authorities.
    pub fn new(allows_http: bool, limits: ResponseLimits) -> std::io::Result<Self> {
        Self::with_proxies(allows_http, limits, Proxies::of_environment())
    }

    fn with_proxies(allows_http: bool, limits: ResponseLimits, proxies: Proxies) -> std::io::Result<Self> {
        let tls = Arc::new(ClientConfig::builder().with_native_roots()?.with_no_client_auth());
        let mut connector = HttpsConnector::from((connector(), tls.clone()));
        if !allows_http {
            connector.enforce_https();
        }
        let pool = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(2).build(connector);
        Ok(Self { pool, tls, proxies, limits })
    }

    /// Returns the proxy for a server. Only requests over TLS use one, and only one that speaks HTTP; all others are
    /// direct.
    fn proxy_to(&self, server: &Uri) -> Option<Uri> {
        let proxy = self.proxies.for_server(server).filter(|_| server.scheme_str() == Some("https"))?;
        Some(proxy).filter(|proxy| proxy.scheme_str() == Some("http"))
    }

    /// Creates a client for one request over TLS through a proxy. Such requests are rare.
    fn through(&self, proxy: &Uri) -> Client<HttpsConnector<Tunnel<HttpConnector>>, Full<Bytes>> {
        let mut tunnel = Tunnel::new(proxy.clone(), connector());
        let account = proxy.authority().and_then(|authority| authority.as_str().split_once('@'));
        if let Some((account, _)) = account {
            let account = BASE64_STANDARD.encode(percent_decode_str(account).collect::<Vec<u8>>());
            if let Ok(header) = HeaderValue::try_from(format!("Basic {account}")) {
                tunnel = tunnel.with_auth(header);
            }
        }
        Client::builder(TokioExecutor::new()).build(HttpsConnector::from((tunnel, self.tls.clone())))
    }

    /// Sends a request; returns the response, whatever its status.
    ///
    /// # Errors
    /// When no complete response arrives in time.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, FetchError> {
        let ResponseLimits { timeout, max_bytes } = self.limits;
        let response = async {
            let request = request.map(Full::new);
            let response = match self.proxy_to(request.uri()) {
                Some(proxy) => self.through(&proxy).request(request).await,
                None => self.pool.request(request).await,
            };
            let (head, body) = response?.into_parts();
            let body = Limited::new(body, max_bytes).collect().await.map_err(|_| FetchError::Body(max_bytes))?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(timeout, response).await.map_err(|_| FetchError::Timeout(timeout))?
    }
}

/// Creates the connector under TLS, which is given `https` addresses as well.
fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_proxy_of_the_environment_is_asked_for_a_tunnel_to_servers_with_tls() {
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default(); // another test may have installed it
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let named = format!("http://ann:p%40ss@{}", listener.local_addr().unwrap());
        let proxies = Proxies::from_variables(|name| (name == "HTTPS_PROXY").then(|| named.clone()));
        let limits = ResponseLimits { timeout: Duration::from_secs(10), max_bytes: 1_000 };
        let client = HttpClient::with_proxies(false, limits, proxies).unwrap();
        let proxy = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 1_000];
            let length = connection.read(&mut asked).await.unwrap();
            connection.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.unwrap();
            String::from_utf8(asked[..length].to_vec()).unwrap()
        };
        let request = Request::get("https://id.example.com/keys").body(Bytes::new()).unwrap();
        let (asked, response) = tokio::join!(proxy, client.send(request));
        assert!(asked.starts_with("CONNECT id.example.com:443 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("Basic YW5uOnBAc3M="), "{asked}");
        assert!(matches!(response, Err(FetchError::Connection(_))), "{response:?}");
        for (server, proxy, expected) in [
            ("https://id.example.com", "http://10.0.0.1:3128", true),
            ("https://id.example.com", "10.0.0.1:3128", true),
            ("https://id.example.com", "socks5://10.0.0.1:1080", false),
            ("http://id.example.com", "http://10.0.0.1:3128", false),
        ] {
            let proxies = Proxies::from_variables(|name| (name != "NO_PROXY").then(|| proxy.to_owned()));
            let client = HttpClient::with_proxies(true, limits, proxies).unwrap();
            assert_eq!(client.proxy_to(&server.parse().unwrap()).is_some(), expected, "{server} by {proxy}");
        }
    }
}
