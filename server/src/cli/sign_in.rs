//! Options of sign-in.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use http::HeaderName;
use ipnet::IpNet;

use super::provider::OidcArguments;
use crate::access::cookie::SessionKeys;
use crate::access::oidc::Oidc;
use crate::access::proxy::ProxyAuth;
use crate::access::share::{self, Shares};
use crate::access::subject::SubjectPrefixes;
use crate::access::token::TokenAuth;
use crate::access::{Auth, AuthMode};
use crate::cli::config::{self, Config, parse_network};
use crate::history::options::Location;
use crate::hub::Handle;

/// Options of sign-in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sign-in options")]
pub struct SignIn {
    /// How people sign in [default: none]
    ///
    /// People who sign in see the namespaces in which they may list pods.
    #[arg(long, env = "ROLLCAST_AUTH", value_enum, value_name = "HOW")]
    pub auth: Option<AuthMode>,
    /// With --auth proxy: address or network of the proxy, repeatable; only its headers are trusted
    #[arg(long, env = "ROLLCAST_AUTH_PROXY_FROM", value_delimiter = ',', value_parser = parse_network, value_name = "ADDRESS")]
    pub auth_proxy_from: Vec<IpNet>,
    /// With --auth proxy: allow 0.0.0.0/0 or ::/0 in --auth-proxy-from, which trusts the headers of everyone who connects
    #[arg(long, env = "ROLLCAST_INSECURE_AUTH_PROXY_FROM_ANYWHERE", num_args = 0, default_missing_value = "true")]
    pub insecure_auth_proxy_from_anywhere: Option<bool>,
    /// With --auth proxy: header with the user name [default: X-Forwarded-User]
    #[arg(long, env = "ROLLCAST_AUTH_USER_HEADER", value_name = "HEADER")]
    pub auth_user_header: Option<HeaderName>,
    /// With --auth proxy: header with the groups, separated by commas [default: X-Forwarded-Groups]
    #[arg(long, env = "ROLLCAST_AUTH_GROUPS_HEADER", value_name = "HEADER")]
    pub auth_groups_header: Option<HeaderName>,
    /// With --auth proxy or oidc: prefix of user names (--oidc-username-prefix of the API servers)
    ///
    /// The default with proxy is no prefix. The default with oidc is that of API servers: the issuer URL and #, or no prefix if the
    /// user claim is email.
    #[arg(long, env = "ROLLCAST_AUTH_USER_PREFIX", value_name = "TEXT")]
    pub auth_user_prefix: Option<String>,
    /// With --auth proxy or oidc: prefix of groups (--oidc-groups-prefix of the API servers) [default: no prefix]
    #[arg(long, env = "ROLLCAST_AUTH_GROUPS_PREFIX", value_name = "TEXT")]
    pub auth_groups_prefix: Option<String>,
    /// File with the keys that protect sessions and share links; without it, both end when the server stops
    ///
    /// One key of at least 32 characters on each line, the newest first. The file is reloaded when it changes.
    #[arg(long, env = "ROLLCAST_SESSION_KEYS", value_name = "FILE")]
    pub session_keys: Option<PathBuf>,
    /// File that stores the share links
    ///
    /// Without this option, the database of --history stores them, for all servers with the same database and --session-keys.
    /// Without either, and always without --session-keys, share links end when the server stops.
    #[arg(long, env = "ROLLCAST_SHARES", value_name = "FILE")]
    pub shares: Option<PathBuf>,
    /// File for the audit log: who viewed what, one JSON object on each line
    #[arg(long, env = "ROLLCAST_AUDIT_LOG", value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) provider: OidcArguments,
}

impl SignIn {
    /// Returns the sign-in mode.
    pub fn mode(&self, file: &Config) -> AuthMode {
        self.auth.or(file.auth.mode).unwrap_or_default()
    }

    /// Returns the files with secrets that are used.
    pub fn secrets(&self, file: &Config) -> Vec<PathBuf> {
        let (mode, file) = (self.mode(file), &file.auth);
        let keys = self.session_keys.as_ref().or(file.session_keys.as_ref());
        let client = self.provider.oidc_client_secret_file.as_ref().or(file.oidc_client_secret_file.as_ref());
        let keys = keys.filter(|_| mode != AuthMode::None);
        keys.into_iter().chain(client.filter(|_| mode == AuthMode::Oidc)).cloned().collect()
    }

    /// Creates sign-in and the store of share links, beside the history or in a file. The command line overrides the
    /// file.
    pub fn auth(
        self,
        file: &Config,
        hubs: &[Handle],
        kept: Option<&Location>,
    ) -> anyhow::Result<(Auth, Option<Arc<Shares>>)> {
        let (mode, file) = (self.mode(file), file.auth.clone());
        let keys_file = self.session_keys.clone().or(file.session_keys.clone());
        let shares_file = self.shares.clone().or(file.shares.clone());
        let keys = || keys_file.clone().map_or_else(|| Ok(SessionKeys::generate()), SessionKeys::watch);
        let (auth, keys) = match mode {
            AuthMode::None => {
                if let Some(option) = self.option_without_effect(&file) {
                    tracing::warn!("{option} has no effect, because sign-in is off: turn it on with --auth");
                }
                return Ok((Auth::None, None));
            }
            AuthMode::Proxy => (Auth::Proxy(self.proxy(file)?), keys()?),
            AuthMode::Token => {
                let keys = keys()?;
                let clusters = hubs.iter().map(|hub| (hub.name().to_owned(), hub.reviewer.clone()));
                (Auth::Token(TokenAuth::new(keys.clone(), clusters.collect())), keys)
            }
            AuthMode::Oidc => {
                let keys = keys()?;
                let user_prefix = self.auth_user_prefix.or(file.user_prefix.clone());
                let groups_prefix = self.auth_groups_prefix.or(file.groups_prefix.clone());
                let options = self.provider.options(file, user_prefix, groups_prefix)?;
                let oidc = Oidc::new(options, keys.clone());
                let oidc = oidc.context("this machine has no trusted certificate authorities")?;
                (Auth::Oidc(oidc), keys)
            }
        };
        let shares = match (kept, shares_file) {
            // Without a file of keys, no other server can open the links, and none can after the program has ended.
            (Some(Location::Postgres(server)), None) if keys_file.is_some() => {
                Shares::in_database(keys, server.clone(), share::POLICY)
            }
            (_, file) => Shares::open(keys, file).context("cannot read the share links")?,
        };
        Ok((auth, Some(shares)))
    }

    /// Returns an option that has an effect only with sign-in, if it is set.
    fn option_without_effect(&self, file: &config::Auth) -> Option<&'static str> {
        let options = [
            (!self.auth_proxy_from.is_empty() || !file.proxy_from.is_empty(), "--auth-proxy-from"),
            (self.provider.oidc_issuer.is_some() || file.oidc_issuer.is_some(), "--oidc-issuer"),
            (self.session_keys.is_some() || file.session_keys.is_some(), "--session-keys"),
        ];
        options.into_iter().find_map(|(is_set, option)| is_set.then_some(option))
    }

    fn proxy(self, file: config::Auth) -> anyhow::Result<ProxyAuth> {
        let from = if self.auth_proxy_from.is_empty() { file.proxy_from } else { self.auth_proxy_from };
        anyhow::ensure!(
            !from.is_empty(),
            "--auth proxy requires the address of the proxy: set it with --auth-proxy-from, for example --auth-proxy-from 10.0.0.7"
        );
        let is_said = self.insecure_auth_proxy_from_anywhere.unwrap_or(file.insecure_proxy_from_anywhere);
        if let Some(all) = from.iter().find(|network| network.prefix_len() == 0).filter(|_| !is_said) {
            anyhow::bail!(
                "--auth-proxy-from {all} trusts the headers of everyone who connects: name the addresses of the proxy, or confirm with --insecure-auth-proxy-from-anywhere that only the proxy can connect"
            );
        }
        for network in from.iter().filter(|network| is_wide(network)) {
            tracing::warn!(
                "--auth-proxy-from {network} is a large network: every machine in it can sign in as anybody. Name only the addresses of the proxy"
            );
        }
        let header = |said: Option<HeaderName>, file: Option<String>, usual: &'static str| match (said, file) {
            (Some(header), _) => Ok(header),
            (None, Some(text)) => text.parse().map_err(|_| anyhow::anyhow!("{text:?} is not a valid header name")),
            (None, None) => Ok(HeaderName::from_static(usual)),
        };
        Ok(ProxyAuth {
            from,
            user_header: header(self.auth_user_header, file.user_header, "x-forwarded-user")?,
            groups_header: header(self.auth_groups_header, file.groups_header, "x-forwarded-groups")?,
            prefixes: SubjectPrefixes {
                user: self.auth_user_prefix.or(file.user_prefix).unwrap_or_default(),
                groups: self.auth_groups_prefix.or(file.groups_prefix).unwrap_or_default(),
            },
        })
    }
}

/// Returns whether a network is likely to contain other hosts than a proxy.
fn is_wide(network: &IpNet) -> bool {
    network.prefix_len() < if network.addr().is_ipv4() { 24 } else { 64 }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::listen::Listen;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        sign_in: SignIn,
        #[command(flatten)]
        listen: Listen,
    }

    #[test]
    fn options_and_file_name_proxies_by_addresses_and_networks() {
        let named = "10.0.0.7,fd00::/8";
        let all = ["rollcast", "--auth-proxy-from", named, "--trust-proxy", named];
        let Arguments { sign_in, listen } = Arguments::parse_from(all);
        let named = "['10.0.0.7', 'fd00::/8']";
        let file: Config = format!("trust_proxy = {named}\n[auth]\nproxy_from = {named}\n").parse().unwrap();
        let expected = ["10.0.0.7/32", "fd00::/8"].map(|network| network.parse::<IpNet>().unwrap());
        for proxies in [sign_in.auth_proxy_from, listen.trust_proxy, file.auth.proxy_from, file.trust_proxy] {
            assert_eq!(proxies, expected);
        }
    }

    #[test]
    fn a_switch_overrides_the_file() {
        let file = "public_pictures = true\n[auth]\nproxy_from = ['0.0.0.0/0']\ninsecure_proxy_from_anywhere = true\n";
        let file: Config = file.parse().unwrap();
        for (switch, is_on) in [(None, true), (Some(true), true), (Some(false), false)] {
            let Arguments { mut sign_in, mut listen } = Arguments::parse_from(["rollcast"]);
            (sign_in.insecure_auth_proxy_from_anywhere, listen.public_pictures) = (switch, switch);
            assert_eq!(sign_in.proxy(file.auth.clone()).is_ok(), is_on, "{switch:?}");
            assert_eq!(listen.merge(&file).unwrap().site.has_public_pictures, is_on, "{switch:?}");
        }
    }

    #[test]
    fn the_provider_leads_back_over_tls_if_this_server_speaks_it() {
        let origin = |arguments: &[&str]| {
            let Arguments { listen, .. } = Arguments::parse_from([&["rollcast"], arguments].concat());
            listen.merge(&Config::default()).unwrap().site.server_address.callback_origin("localhost:7440")
        };
        assert_eq!(origin(&[]), "http://localhost:7440");
        assert_eq!(origin(&["--tls-cert", "cert", "--tls-key", "key"]), "https://localhost:7440");
        assert_eq!(origin(&["--public-url", "https://rollouts.example.com"]), "https://rollouts.example.com");
    }

    #[test]
    fn an_option_that_needs_sign_in_is_named() {
        let option = |arguments: &[&str]| {
            let all = [&["rollcast"], arguments].concat();
            Arguments::parse_from(all).sign_in.option_without_effect(&config::Auth::default())
        };
        assert_eq!(option(&[]), None);
        assert_eq!(option(&["--session-keys", "keys"]), Some("--session-keys"));
        assert_eq!(option(&["--auth-proxy-from", "10.0.0.7"]), Some("--auth-proxy-from"));
    }
}
