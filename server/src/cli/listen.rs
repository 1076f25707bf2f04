//! Where to serve, and how that is addressed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::addressed::{Addressed, PublicUrl};
use crate::config::Config;
use crate::tls::Files;

/// Where to serve.
#[derive(Debug, Args)]
pub struct Listen {
    /// Address and port to serve on [default: 127.0.0.1:7440]
    #[arg(long, env = "ROLLCAST_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Host name under which browsers may reach this server, repeatable; addresses and localhost always may
    #[arg(long, env = "ROLLCAST_ALLOW_HOST", value_delimiter = ',', value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Where people reach this server, such as https://rollouts.example.com: links begin with it, and browsers' pages of other addresses
    /// are not answered
    #[arg(long, env = "ROLLCAST_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<PublicUrl>,
    /// Speak TLS with this certificate, in PEM, with those above it; it is read again when it changes
    #[arg(long, env = "ROLLCAST_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, env = "ROLLCAST_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Serve to other machines although nobody has to sign in; every page says so
    #[arg(long, env = "ROLLCAST_INSECURE_NO_AUTH")]
    pub insecure_no_auth: bool,
}

/// Where to serve, and how that is addressed.
#[derive(Debug)]
pub struct Served {
    /// Address and port.
    pub listen: SocketAddr,
    /// How it is addressed.
    pub addressed: Addressed,
    /// Certificate and key, where TLS is spoken.
    pub tls: Option<Files>,
    /// Other machines may reach it although nobody has to sign in.
    pub is_insecure: bool,
}

/// Of a certificate and its key one is missing.
#[derive(Debug, thiserror::Error)]
#[error("TLS needs both the certificate, --tls-cert, and its key, --tls-key")]
pub struct HalfTls;

impl Listen {
    /// Where to serve; the file says what the command line does not.
    ///
    /// # Errors
    /// When of a certificate and its key one is missing.
    pub fn with(self, file: &Config) -> Result<Served, HalfTls> {
        let usual = SocketAddr::from(([127, 0, 0, 1], 7440));
        let hosts = if self.allow_host.is_empty() { file.allow_host.clone() } else { self.allow_host };
        let tls = match (self.tls_cert.or(file.tls_cert.clone()), self.tls_key.or(file.tls_key.clone())) {
            (Some(cert), Some(key)) => Some(Files { cert, key }),
            (None, None) => None,
            _ => return Err(HalfTls),
        };
        let public = self.public_url.or(file.public_url.clone());
        Ok(Served {
            listen: self.listen.or(file.listen).unwrap_or(usual),
            addressed: Addressed { public, hosts, has_tls: tls.is_some() },
            tls,
            is_insecure: self.insecure_no_auth || file.insecure_no_auth,
        })
    }
}
