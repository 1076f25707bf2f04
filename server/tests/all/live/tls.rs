//! TLS in the program: what is served, and certificates that change while it runs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::CertifiedKey;
use server::web::connections::{Connections, serve};
use server::web::http::router;
use server::web::limits::Limit;
use server::web::server_address::ServerAddress;
use server::web::state::Site;
use server::web::tls::{TlsError, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::pages::site::site_of;

/// Writes a new certificate and its key.
fn write(folder: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["rollouts.example.com".to_owned()]).unwrap();
    let files = TlsFiles { cert: folder.join("tls.crt"), key: folder.join("tls.key") };
    std::fs::write(&files.cert, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    (files, cert.der().clone())
}

/// Where a Rollcast speaks TLS by these files, and its connections.
async fn listening(files: &TlsFiles, site: Site) -> (SocketAddr, Arc<Connections>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let rollcast = site_of(Vec::new(), site);
    let connections = rollcast.connections.clone();
    let acceptor = files.clone().open().unwrap();
    tokio::spawn(serve(listener, router(rollcast), connections.clone(), |_| false, Some(acceptor)));
    (address, connections)
}

/// A connection of a client that knows that certificate alone; `None` where it does not take the server for who it is.
async fn connect(address: SocketAddr, known: &CertificateDer<'static>, mute: Duration) -> Option<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(known.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let connector = TlsConnector::from(Arc::new(config.with_no_client_auth()));
    let stream = TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(mute).await;
    let name = ServerName::try_from("rollouts.example.com").unwrap();
    connector.connect(name, stream).await.ok()
}

/// The answer to such a client.
async fn asked(address: SocketAddr, known: &CertificateDer<'static>, host: &str) -> Option<String> {
    let mut stream = connect(address, known, Duration::ZERO).await?;
    stream.write_all(format!("GET /healthz HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await; // closed without a word is an end as well
    Some(String::from_utf8(all).unwrap())
}

#[tokio::test]
async fn tls_is_spoken_with_the_certificate_that_the_files_hold_now() {
    let folder = tempfile::tempdir().unwrap();
    let (files, first) = write(folder.path());
    let hosts = vec!["rollouts.example.com".to_owned()];
    let server_address = ServerAddress { has_tls: true, hosts, ..ServerAddress::default() };
    let (address, connections) = listening(&files, Site { server_address, ..Site::default() }).await;

    let text = asked(address, &first, "rollouts.example.com").await.unwrap();
    assert!(text.starts_with("HTTP/1.0 200") && text.ends_with("ok\n"), "{text}");
    assert!(text.contains("strict-transport-security: max-age=31536000"), "{text}");
    assert!(!asked(address, &first, "localhost").await.unwrap().contains("strict-transport"), "it is not its own");
    // Without TLS there is no answer.
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut all = Vec::new();
    let _ = plain.read_to_end(&mut all).await;
    assert!(!all.starts_with(b"HTTP"), "{all:?}");

    // Half written: the one before is used. Its key does not belong to it: the same.
    let whole = std::fs::read_to_string(&files.cert).unwrap();
    std::fs::write(&files.cert, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(files.clone().open(), Err(TlsError::Pem(..))));
    assert!(asked(address, &first, "localhost").await.is_some());
    let (_, second) = write(folder.path());
    let key = std::fs::read_to_string(&files.key).unwrap();
    let (_, third) = write(folder.path());
    std::fs::write(&files.key, key).unwrap();
    assert!(matches!(files.clone().open(), Err(TlsError::Pair(_))));
    assert!(asked(address, &first, "localhost").await.is_some());
    assert!(asked(address, &third, "localhost").await.is_none());

    let (_, fourth) = write(folder.path());
    crate::common::until::until("the new one is used", async || asked(address, &fourth, "localhost").await.is_some())
        .await;
    assert!(asked(address, &first, "localhost").await.is_none());
    assert!(asked(address, &second, "localhost").await.is_none());
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
}

#[tokio::test]
async fn who_speaks_no_tls_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (files, known) = write(folder.path());
    let (address, connections) = listening(&files, Site::default()).await;
    let mute: Vec<TcpStream> =
        futures::future::join_all((0..50).map(|_| async { TcpStream::connect(address).await.unwrap() })).await;
    assert!(asked(address, &known, "localhost").await.unwrap().ends_with("ok\n"), "others are answered meanwhile");
    let gone = crate::common::until::until("they are let go of", async || connections.count() == 0);
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
    drop(mute);
}

#[tokio::test]
async fn tls_gives_no_more_time_to_say_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (files, known) = write(folder.path());
    let (address, connections) = listening(&files, Site::default()).await;
    let began = std::time::Instant::now();
    // The ten seconds begin with the connection, not when TLS is spoken.
    let mut late = connect(address, &known, Duration::from_secs(5)).await.unwrap();
    late.write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ").await.unwrap();
    let _ = late.read_to_end(&mut Vec::new()).await; // closed without a word is an end as well
    let took = began.elapsed();
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(14), "{took:?}");
    assert_eq!(connections.limits.count(Limit::Headers), 1);
    crate::common::until::until("it is gone", async || connections.count() == 0).await;
}
