//! TLS: the certificate and the key of two files, read again when they change.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch as signal;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Interval of checking the files for changes.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Failed reads of the files in a row before that is logged.
const BEFORE_TOLD: u32 = 6;

/// Paths of the certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate with its chain.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Files that contain no usable certificate and key.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TlsError {
    #[error("cannot read {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{0} contains no {1} in PEM")]
    Pem(PathBuf, &'static str),
    #[error("cannot use the certificate and the key: {0}")]
    Pair(#[from] rustls::Error),
}

/// Accepts TLS with the current certificate.
pub type Acceptor = signal::Receiver<TlsAcceptor>;

impl TlsFiles {
    /// Uses the certificate and key in the files, and reloads them after changes. Unusable ones are logged, and the
    /// previous ones stay.
    ///
    /// # Errors
    /// When their present content cannot be used.
    pub fn open(self) -> Result<Acceptor, TlsError> {
        let mut read = self.read()?;
        let (told, acceptor) = signal::channel(accept(&read)?);
        tokio::spawn(async move {
            let mut failures: u32 = 0;
            while !told.is_closed() {
                tokio::time::sleep(LOOK_EVERY).await;
                let files = self.clone();
                let Ok(found) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
                failures = if found.is_ok() { 0 } else { failures.saturating_add(1) };
                match found {
                    Ok(now) if now == read => continue,
                    Ok(now) => {
                        match accept(&now) {
                            Ok(acceptor) => {
                                tracing::info!("TLS certificate reloaded");
                                told.send_replace(acceptor);
                            }
                            Err(why) => tracing::error!("{why}; still using the previous certificate"),
                        }
                        read = now; // an error is logged once
                    }
                    // The files may be half written: only an error that persists is logged, once.
                    Err(why) if failures == BEFORE_TOLD => {
                        tracing::error!("{why}; still using the previous certificate")
                    }
                    Err(_) => {}
                }
            }
        });
        Ok(acceptor)
    }

    fn read(&self) -> Result<KeyPair, TlsError> {
        let read = |path: &PathBuf| std::fs::read(path).map_err(|why| TlsError::File(path.clone(), why));
        let (cert, key) = (read(&self.cert)?, read(&self.key)?);
        let chain = CertificateDer::pem_slice_iter(&cert).collect::<Result<Vec<_>, _>>().unwrap_or_default();
        if chain.is_empty() {
            return Err(TlsError::Pem(self.cert.clone(), "certificate"));
        }
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| TlsError::Pem(self.key.clone(), "key"))?;
        Ok((chain, key))
    }
}

/// A certificate, with those above it, and its key.
type KeyPair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn accept((chain, key): &KeyPair) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain.clone(), key.clone_key())?;
    // Streams are websockets, which need HTTP/1.1; pages load half a dozen files.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
