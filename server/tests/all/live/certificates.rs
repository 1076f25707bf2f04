//! Certificates that expire or change, and a proxy that dies, between Rollcast and the API server: said, and taken up by themselves once
//! the kubeconfig or the proxy is right again.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::common::until::until;
use crate::live::support::{FakeApi, Watched, pod, quick, shop, until_live, until_stale};

/// A certificate that signs itself, and its key.
struct Pair {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Pair {
    fn until(year: i32) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    fn user(&self) -> Value {
        let encoded = |text: String| json!(BASE64_STANDARD.encode(text));
        json!({ "client-certificate-data": encoded(self.certificate.pem()), "client-key-data": encoded(self.key.serialize_pem()) })
    }
}

/// Accepts who shows one of these certificates, and shows its own.
fn acceptor(own: &Pair, clients: &[&Pair]) -> TlsAcceptor {
    let mut roots = RootCertStore::empty();
    clients.iter().for_each(|client| roots.add(client.certificate.der().clone()).unwrap());
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(own.key.serialize_der()).unwrap();
    let config = builder.with_client_cert_verifier(verifier);
    let config = config.with_single_cert(vec![own.certificate.der().clone()], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What serves has a runtime of its own, so that all its connections end with it.
struct Served(Option<Runtime>);

impl Served {
    fn new() -> Self {
        Self(Some(Runtime::new().unwrap()))
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

/// Listens at an address, which whoever was there before may have to leave yet.
async fn bound(address: SocketAddr) -> (Served, std::net::TcpListener, SocketAddr) {
    let mut listener = None;
    until("an address", async || {
        listener = std::net::TcpListener::bind(address).ok();
        listener.is_some()
    })
    .await;
    let listener = listener.unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    (Served::new(), listener, address)
}

/// The API server behind TLS at an address.
async fn serve_tls(api: &FakeApi, address: SocketAddr, acceptor: TlsAcceptor) -> (Served, SocketAddr) {
    let (served, listener, address) = bound(address).await;
    let api = api.clone();
    served.runtime().spawn(async move {
        api.listen(TlsListener { listener: TcpListener::from_std(listener).unwrap(), acceptor });
    });
    (served, address)
}

/// Protocols of proxies.
#[derive(Debug, Clone, Copy)]
enum Proxy {
    Http,
    Socks5,
}

impl Proxy {
    /// Opens a tunnel to whatever a client asks for; returns the connection to there.
    async fn open(self, client: &mut TcpStream) -> std::io::Result<TcpStream> {
        match self {
            Self::Http => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await?);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let server = TcpStream::connect(head.split(' ').nth(1).unwrap_or_default()).await?;
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                Ok(server)
            }
            // RFC 1928: methods of sign-in, of which none is needed; then a command (connect) with an IPv4 address.
            Self::Socks5 => {
                let mut methods = vec![0; 2];
                client.read_exact(&mut methods).await?;
                methods.resize(usize::from(methods[1]), 0);
                client.read_exact(&mut methods).await?;
                client.write_all(&[5, 0]).await?;
                let mut request = [0; 10];
                client.read_exact(&mut request).await?;
                let [5, 1, 0, 1, a, b, c, d, high, low] = request else {
                    return Err(std::io::ErrorKind::InvalidData.into());
                };
                let server =
                    TcpStream::connect((Ipv4Addr::from([a, b, c, d]), u16::from_be_bytes([high, low]))).await?;
                client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
                Ok(server)
            }
        }
    }

    async fn serve(self, address: SocketAddr) -> (Served, SocketAddr) {
        let (served, listener, address) = bound(address).await;
        served.runtime().spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut server = self.open(&mut client).await?;
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
                });
            }
        });
        (served, address)
    }
}

/// A kubeconfig in a folder of its own.
struct Kubeconfig(tempfile::TempDir);

impl Kubeconfig {
    fn new(cluster: &Value, user: &Value) -> Self {
        let kubeconfig = Self(tempfile::tempdir().unwrap());
        kubeconfig.write(cluster, user);
        kubeconfig
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("config")
    }

    fn write(&self, cluster: &Value, user: &Value) {
        let config = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "contexts": [{ "name": "fake", "context": { "cluster": "fake", "user": "fake" } }],
            "clusters": [{ "name": "fake", "cluster": cluster }], "users": [{ "name": "fake", "user": user }] });
        let next = self.0.path().join("next");
        std::fs::write(&next, config.to_string()).unwrap();
        std::fs::rename(next, self.path()).unwrap();
    }

    async fn watch(&self) -> Watched {
        Watched::by_kubeconfig(&self.path(), quick()).await
    }
}

/// The cluster of a kubeconfig, whose server shows that certificate.
fn cluster(address: SocketAddr, server: &Pair) -> Value {
    let authority = BASE64_STANDARD.encode(server.certificate.pem());
    json!({ "server": format!("https://localhost:{}", address.port()), "certificate-authority-data": authority })
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// What happens now is seen.
async fn until_current(api: &FakeApi, watched: &Watched) {
    until_live(&watched.hub).await;
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_that_expired_is_said_and_the_next_one_of_the_kubeconfig_is_taken_up() {
    let (api, server, expired, good) = (shop().await, Pair::until(2100), Pair::until(2021), Pair::until(2100));
    let (_served, address) = serve_tls(&api, anywhere(), acceptor(&server, &[&expired, &good])).await;
    let kubeconfig = Kubeconfig::new(&cluster(address, &server), &expired.user());
    let watched = kubeconfig.watch().await;
    until_stale(&watched, "ertificate").await;
    kubeconfig.write(&cluster(address, &server), &good.user());
    watched.until_pods(&["web-a", "web-b"]).await;
    until_current(&api, &watched).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_changed_is_said_and_the_next_one_of_the_kubeconfig_is_taken_up() {
    let (api, first, second, user) = (shop().await, Pair::until(2100), Pair::until(2100), Pair::until(2100));
    let (served, address) = serve_tls(&api, anywhere(), acceptor(&first, &[&user])).await;
    let kubeconfig = Kubeconfig::new(&cluster(address, &first), &user.user());
    let watched = kubeconfig.watch().await;
    watched.until_pods(&["web-a", "web-b"]).await;
    drop(served);
    let (_served, _) = serve_tls(&api, address, acceptor(&second, &[&user])).await;
    until_stale(&watched, "certificate").await;
    kubeconfig.write(&cluster(address, &second), &user.user());
    until_current(&api, &watched).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_dies_is_said_and_the_cluster_is_live_once_it_is_back() {
    for (proxy, scheme, why) in [(Proxy::Http, "http", "refused"), (Proxy::Socks5, "socks5", "SOCKS error")] {
        let api = shop().await;
        let (served, address) = proxy.serve(anywhere()).await;
        let address_of_proxy = format!("{scheme}://{address}");
        let proxied = json!({ "server": format!("http://{}", api.address), "proxy-url": address_of_proxy });
        let watched = Kubeconfig::new(&proxied, &json!({})).watch().await;
        watched.until_pods(&["web-a", "web-b"]).await;
        drop(served);
        until_stale(&watched, why).await;
        let (_served, _) = proxy.serve(address).await;
        until_current(&api, &watched).await;
    }
}
