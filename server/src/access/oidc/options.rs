//! Options of the provider.

use std::time::Duration;

use openidconnect::{ClientId, ClientSecret, IssuerUrl};

use crate::access::subject::SubjectPrefixes;
use crate::kube::loopback::is_this_machine;

/// The provider's address: over TLS, or on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer(IssuerUrl);

impl Issuer {
    /// Returns the address that the provider's tokens must name, character by character.
    pub const fn url(&self) -> &IssuerUrl {
        &self.0
    }

    /// Returns whether the provider is on this machine and reached without TLS.
    pub fn is_plain(&self) -> bool {
        self.0.url().scheme() == "http"
    }
}

impl std::str::FromStr for Issuer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let why = "must be a URL that begins with https://, or with http:// for this machine, without ?, # and user";
        let url = IssuerUrl::new(text.to_owned()).map_err(|_| why)?;
        let parsed = url.url();
        let host = parsed.host_str().unwrap_or_default();
        let is_plain = parsed.scheme() == "http" && is_this_machine(host);
        let has_user = !parsed.username().is_empty() || parsed.password().is_some();
        let is_whole = parsed.query().is_none() && parsed.fragment().is_none() && !host.is_empty() && !has_user;
        if is_whole && (is_plain || parsed.scheme() == "https") { Ok(Self(url)) } else { Err(why) }
    }
}

/// Timeouts and lifetimes.
#[derive(Debug, Clone)]
pub struct Times {
    /// Timeout for a response of the provider.
    pub answer: Duration,
    /// A session is refreshed after this time, also if the provider's token lasts longer.
    pub refresh_after: Duration,
    /// An expired session stays valid for this time while the provider does not respond.
    pub grace_period: Duration,
    /// Pause after a failed request.
    pub retry_after: Duration,
    /// Metadata and keys are read again after this time: keys may be withdrawn.
    pub metadata_refresh_after: Duration,
    /// Metadata expires after this time while the provider does not respond.
    pub metadata_expire_after: Duration,
    /// Its keys are read again at most this often when one is not known.
    pub min_key_refresh_interval: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            refresh_after: Duration::from_secs(15 * 60),
            grace_period: Duration::from_secs(60),
            retry_after: Duration::from_secs(5),
            metadata_refresh_after: Duration::from_mins(10),
            metadata_expire_after: Duration::from_hours(1),
            min_key_refresh_interval: Duration::from_secs(10),
        }
    }
}

/// Options of the provider.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its address.
    pub issuer: Issuer,
    /// The client ID of this server.
    pub client: ClientId,
    /// The client secret; `None` for a public client.
    pub secret: Option<ClientSecret>,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The claim with the user.
    pub user_claim: String,
    /// The claim with the groups.
    pub groups_claim: String,
    /// Prefixes that the clusters' API servers put before users and groups.
    pub prefixes: SubjectPrefixes,
    /// Timeouts and lifetimes.
    pub times: Times,
}

impl Options {
    /// Default scopes.
    pub const SCOPES: [&str; 5] = ["openid", "profile", "email", "groups", "offline_access"];

    /// Returns the default prefix of user names, as in API servers: the issuer, but nothing before an e-mail address.
    pub fn usual_prefix(issuer: &Issuer, user_claim: &str) -> String {
        if user_claim == "email" { String::new() } else { format!("{}#", issuer.url().as_str()) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn options() -> Options {
        Options {
            issuer: "https://id.example.com/dex".parse().unwrap(),
            client: ClientId::new("rollcast".to_owned()),
            secret: None,
            scopes: Vec::new(),
            user_claim: "sub".to_owned(),
            groups_claim: "groups".to_owned(),
            prefixes: SubjectPrefixes::default(),
            times: Times::default(),
        }
    }

    #[test]
    fn a_provider_is_reached_over_tls_or_on_this_machine() {
        for (text, is_plain) in [
            ("https://id.example.com", false),
            ("https://id.example.com/realms/one/", false),
            ("http://127.0.0.1:5556/dex", true),
            ("http://localhost/dex", true),
            ("http://[::1]:1/", true),
        ] {
            let issuer: Issuer = text.parse().unwrap();
            assert_eq!((issuer.url().as_str(), issuer.is_plain()), (text, is_plain));
        }
        for text in [
            "",
            "id.example.com",
            "http://id.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "https://id.example.com/?a=b",
            "https://id.example.com/#a",
        ] {
            assert!(text.parse::<Issuer>().is_err(), "{text}");
        }
    }

    #[test]
    fn users_are_called_as_api_servers_call_them() {
        let issuer = options().issuer;
        assert_eq!(Options::usual_prefix(&issuer, "sub"), "https://id.example.com/dex#");
        assert_eq!(Options::usual_prefix(&issuer, "email"), "");
    }

    #[test]
    fn who_is_locked_out_is_out_soon_also_when_the_provider_does_not_answer() {
        let times = Times::default();
        assert!(times.refresh_after <= Duration::from_secs(15 * 60));
        assert!(times.grace_period <= Duration::from_secs(60));
        assert!(times.answer <= Duration::from_secs(10));
    }
}
