//! Options of the server: its address and TLS.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;

use crate::access::Auth;
use crate::cli::config::{Config, parse_address, parse_network};
use crate::web::server_address::{BasePath, PublicUrl, ServerAddress};
use crate::web::state::Site;
use crate::web::tls::TlsFiles;

/// Options of the server.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server options")]
pub struct Listen {
    /// Address and port to listen on [default: 127.0.0.1:7440]
    #[arg(long, env = "ROLLCAST_LISTEN", value_parser = parse_address, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Additional host name of this server, repeatable; localhost always works, and IP addresses without --public-url
    #[arg(long, env = "ROLLCAST_ALLOW_HOST", value_delimiter = ',', value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Public URL of this server, such as https://rollouts.example.com
    ///
    /// Links start with this URL. Rollcast rejects requests from pages of other origins.
    #[arg(long, env = "ROLLCAST_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<PublicUrl>,
    /// Path below which this server is, such as /rollcast, where it shares a host with others
    ///
    /// Links begin with it. A proxy in front may leave the path in requests or take it away. Health checks and metrics need no path.
    #[arg(long, env = "ROLLCAST_BASE_PATH", value_name = "PATH")]
    pub base_path: Option<BasePath>,
    /// Address or network of a proxy in front, such as an ingress controller; repeatable
    ///
    /// Rollcast trusts X-Forwarded-For and X-Forwarded-Proto from these addresses, for limits, the audit log and links.
    #[arg(long, env = "ROLLCAST_TRUST_PROXY", value_delimiter = ',', value_parser = parse_network, value_name = "ADDRESS")]
    pub trust_proxy: Vec<IpNet>,
    /// Serve badges and previews without sign-in and to pages of other sites, such as a README
    #[arg(long, env = "ROLLCAST_PUBLIC_PICTURES", num_args = 0, default_missing_value = "true")]
    pub public_pictures: Option<bool>,
    /// TLS certificate with its chain, in PEM; reloaded when the file changes
    #[arg(long, env = "ROLLCAST_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the TLS certificate, in PEM
    #[arg(long, env = "ROLLCAST_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Allow others to connect without sign-in; every page shows a notice
    ///
    /// Without --auth, this is required to listen beyond loopback and for --public-url, --trust-proxy and --allow-host.
    #[arg(long, env = "ROLLCAST_INSECURE_NO_AUTH", num_args = 0, default_missing_value = "true")]
    pub insecure_no_auth: Option<bool>,
}

/// Options of the server, from the command line and the file.
pub struct ServerOptions {
    /// Address and port.
    pub listen: SocketAddr,
    /// Certificate and key, if the server speaks TLS.
    pub tls: Option<TlsFiles>,
    /// Others may connect although nobody has to sign in.
    pub is_insecure: bool,
    /// Its configuration for requests, without sign-in.
    pub site: Site,
}

impl ServerOptions {
    /// Returns whether others than the person at this machine reach the server: it listens beyond loopback, or a proxy
    /// in front passes requests on.
    pub const fn is_for_others(&self) -> bool {
        matches!(self.site.auth, Auth::Open)
    }
}

impl Listen {
    /// Merges the options; the command line overrides the file.
    ///
    /// # Errors
    /// When only one of certificate and key is given.
    pub fn merge(self, file: &Config) -> anyhow::Result<ServerOptions> {
        let usual = SocketAddr::from(([127, 0, 0, 1], 7440));
        let hosts = if self.allow_host.is_empty() { file.allow_host.clone() } else { self.allow_host };
        let tls = match (self.tls_cert.or(file.tls_cert.clone()), self.tls_key.or(file.tls_key.clone())) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            _ => anyhow::bail!("TLS requires both --tls-cert and --tls-key"),
        };
        let public = self.public_url.or(file.public_url.clone());
        let base = self.base_path.or(file.base_path.clone()).unwrap_or_default();
        let listen = self.listen.or(file.listen).unwrap_or(usual);
        let server_address = ServerAddress { public, hosts, has_tls: tls.is_some(), base };
        let proxies = if self.trust_proxy.is_empty() { file.trust_proxy.clone() } else { self.trust_proxy };
        let is_passed_on = server_address.is_known_elsewhere() || !proxies.is_empty();
        let auth = if is_passed_on || !listen.ip().is_loopback() { Auth::Open } else { Auth::None };
        let has_public_pictures = self.public_pictures.unwrap_or(file.public_pictures);
        let is_insecure = self.insecure_no_auth.unwrap_or(file.insecure_no_auth);
        let site = Site { auth, server_address, proxies, has_public_pictures, ..Site::default() };
        Ok(ServerOptions { listen, tls, is_insecure, site })
    }
}
