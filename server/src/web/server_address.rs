//! Names, public URL and TLS of this server: checks of Host and Origin, and the origin of links. Pure.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::Uri;
use timeline::address::Route;

/// Names, public URL and TLS of this server.
#[derive(Debug, Clone, Default)]
pub struct ServerAddress {
    /// Public URL, if configured.
    pub public: Option<PublicUrl>,
    /// Additional names of this server.
    pub hosts: Vec<String>,
    /// It speaks TLS itself.
    pub has_tls: bool,
    /// Path below which it is.
    pub base: BasePath,
}

/// Path below which the server is, without a slash at its end; empty at the root of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl FromStr for BasePath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
        let is_segment = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_plain);
        let is_path = path.is_empty() || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_segment));
        // A path that begins like one of the server's own would be removed twice.
        let first = |path: &str| path.split('/').nth(1).map(str::to_owned);
        let is_own = !path.is_empty() && Route::ALL.iter().any(|route| first(route.pattern()) == first(path));
        match is_path && text.starts_with('/') && !is_own {
            true => Ok(Self(path.to_owned())),
            false => {
                Err("must be a path of letters, digits, - . _ and ~, such as /rollcast, and no page of Rollcast's own")
            }
        }
    }
}

impl BasePath {
    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Public URL of this server: scheme, host, and a port other than the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    is_secure: bool,
    /// In lower case.
    authority: String,
}

impl FromStr for PublicUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let why =
            "must consist of a scheme and a host only, such as https://rollouts.example.com; --base-path is for a path";
        let uri: Uri = text.parse().map_err(|_| why)?;
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(why),
        };
        let authority = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase()).unwrap_or_default();
        let authority = without_usual_port(&authority, is_secure).to_owned();
        let is_bare = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/");
        match (Host::parse(&authority), is_bare) {
            (Some(_), true) => Ok(Self { is_secure, authority }),
            _ => Err(why),
        }
    }
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", scheme(self.is_secure), self.authority)
    }
}

const fn scheme(is_secure: bool) -> &'static str {
    if is_secure { "https" } else { "http" }
}

fn without_usual_port(authority: &str, is_secure: bool) -> &str {
    authority.strip_suffix(if is_secure { ":443" } else { ":80" }).unwrap_or(authority)
}

#[derive(Debug, Clone, Copy)]
struct Host<'t> {
    name: &'t str,
    is_address: bool,
}

impl<'t> Host<'t> {
    /// Parses a Host header; `None` if it is neither a name nor an address, or its port is invalid.
    fn parse(text: &'t str) -> Option<Self> {
        let (name, rest, is_v6) = match text.strip_prefix('[') {
            Some(inside) => inside.split_once(']').map(|(name, rest)| (name, rest, true))?,
            None => {
                text.split_at_checked(text.find(':').unwrap_or(text.len())).map(|(name, rest)| (name, rest, false))?
            }
        };
        let is_port = rest.is_empty()
            || rest
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok());
        let address = name.parse::<IpAddr>().ok();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let is_name = !name.is_empty() && name.bytes().all(is_plain);
        let is_host = address.map_or(is_name && !is_v6, |address| address.is_ipv6() == is_v6);
        (is_port && is_host).then_some(Self { name, is_address: address.is_some() })
    }

    /// Returns whether the host is this machine.
    fn is_loopback(self) -> bool {
        self.name.eq_ignore_ascii_case("localhost") || self.name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
    }
}

impl ServerAddress {
    /// Returns whether others reach it by a configured name that does not mean this machine.
    pub fn is_known_elsewhere(&self) -> bool {
        let is_other = |name: &str| !Host::parse(name).is_some_and(Host::is_loopback);
        self.public.as_ref().is_some_and(|public| is_other(&public.authority))
            || self.hosts.iter().any(|name| is_other(name))
    }

    /// Returns whether the server answers to that Host header. With a public URL, other addresses of the machine count
    /// for `is_health` only: probes may not know the server's name.
    pub fn answers_to(&self, host: &str, is_health: bool) -> bool {
        let Some(parsed) = Host::parse(host) else { return false };
        self.is_public(host)
            || parsed.is_loopback()
            || (parsed.is_address && (self.public.is_none() || is_health))
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(parsed.name))
    }

    /// Returns whether a page of that Origin is one of the server that was requested under that Host.
    pub fn is_own(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let is_secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return false,
        };
        let is_scheme = match &self.public {
            Some(public) if self.is_public(host) => is_secure == public.is_secure,
            // A proxy may speak TLS for a server that does not: only a server with TLS knows the scheme.
            _ => is_secure || !self.has_tls,
        };
        // Browsers omit the default port, some proxies add it.
        let [authority, host] = [authority, host].map(|authority| without_usual_port(authority, is_secure));
        is_scheme && authority.eq_ignore_ascii_case(host)
    }

    /// Returns the origin of links in the response to a request; `is_secure` is the scheme that a trusted proxy
    /// reported.
    pub fn origin(&self, host: &str, is_secure: bool) -> String {
        match &self.public {
            Some(public) => public.to_string(),
            None => format!("{}://{host}", scheme(is_secure || self.has_tls)),
        }
    }

    /// Returns the origin to which a sign-in provider leads back, for a request to that host. Hosts other than this
    /// machine are reached over TLS: this server speaks it, or a proxy in front does.
    pub fn callback_origin(&self, host: &str) -> String {
        self.origin(host, !Host::parse(host).is_some_and(Host::is_loopback))
    }

    /// Returns whether browsers may be told to use TLS only for that host: a name of this server, not one that every
    /// program of a machine has.
    pub fn is_secure_at(&self, host: &str) -> bool {
        let is_own = Host::parse(host).is_some_and(|host| !host.is_address && !host.is_loopback());
        let is_secure = match &self.public {
            Some(public) if self.is_public(host) => public.is_secure,
            _ => self.has_tls,
        };
        is_own && is_secure
    }

    /// Returns the public URL, if it has that host and needs TLS.
    pub fn secure_url(&self, host: &str) -> Option<&PublicUrl> {
        self.public.as_ref().filter(|public| public.is_secure && self.is_public(host))
    }

    /// Returns whether people reach the server over TLS.
    pub fn is_secure(&self) -> bool {
        self.has_tls || self.public.as_ref().is_some_and(|public| public.is_secure)
    }

    /// Returns whether a request to that host was sent to the public URL.
    pub fn is_public(&self, host: &str) -> bool {
        let Some(public) = &self.public else { return false };
        without_usual_port(host, public.is_secure).eq_ignore_ascii_case(&public.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_has_whole_plain_segments() {
        for (text, path) in [("/", ""), ("/rollcast", "/rollcast"), ("/tools/roll-cast.v1/", "/tools/roll-cast.v1")] {
            assert_eq!(text.parse().map(|BasePath(path)| path), Ok(path.to_owned()), "{text}");
        }
        for text in [
            "",
            "rollcast",
            "//",
            "/a//b",
            "/..",
            "/a/./b",
            "/a b",
            "/a?b",
            "/%2e",
            "/a\"b",
            "https://a/b",
            "/wall",
            "/api/x",
            "/clusters",
        ] {
            assert!(text.parse::<BasePath>().is_err(), "{text}");
        }
    }

    fn public(url: &str) -> ServerAddress {
        ServerAddress { public: Some(url.parse().unwrap()), ..ServerAddress::default() }
    }

    #[test]
    fn addresses_localhost_and_allowed_names_are_answered_to() {
        let hosts = vec!["rollcast.example.com".to_owned()];
        let server_address = ServerAddress { hosts, ..ServerAddress::default() };
        for host in [
            "127.0.0.1:7440",
            "localhost",
            "LOCALHOST:1",
            "[::1]:7440",
            "192.168.1.4:80",
            "Rollcast.Example.com",
            "rollcast.example.com:65535",
        ] {
            assert!(server_address.answers_to(host, false), "{host}");
        }
    }

    #[test]
    fn who_has_a_public_address_answers_to_it_and_to_this_machine() {
        let server_address = public("https://Rollouts.example.com/");
        for host in ["rollouts.example.com", "ROLLOUTS.example.com:443", "localhost:7440", "127.0.0.1:7440", "[::1]"] {
            assert!(server_address.answers_to(host, false), "{host}");
        }
        for host in ["rollouts.example.com:7440", "rollouts.example.com:80", "10.0.0.7:7440", "other.example.com"] {
            assert!(!server_address.answers_to(host, false), "{host}");
        }
        assert!(server_address.answers_to("10.0.0.7:7440", true), "whoever asks after its health knows no name");
        assert!(!server_address.answers_to("other.example.com", true));
    }

    #[test]
    fn the_scheme_of_an_own_page_is_how_the_server_is_reached() {
        let plain = ServerAddress::default();
        assert!(plain.is_own("http://127.0.0.1:7440", "127.0.0.1:7440"));
        assert!(plain.is_own("https://localhost", "localhost"), "a proxy speaks TLS");
        let tls = ServerAddress { has_tls: true, ..ServerAddress::default() };
        assert!(tls.is_own("https://localhost:7440", "localhost:7440"));
        assert!(!tls.is_own("http://localhost:7440", "localhost:7440"));
        let secure = public("https://rollouts.example.com");
        assert!(secure.is_own("https://rollouts.example.com", "rollouts.example.com"));
        assert!(secure.is_own("http://localhost:7440", "localhost:7440"), "through a tunnel");
    }

    #[test]
    fn the_usual_port_makes_no_other_page() {
        let secure = public("https://rollouts.example.com");
        assert!(secure.is_own("https://rollouts.example.com", "Rollouts.example.com:443"));
        assert!(secure.is_own("https://rollouts.example.com:443", "rollouts.example.com"));
        assert!(ServerAddress::default().is_own("http://localhost", "localhost:80"));
        for (origin, host) in [
            ("https://rollouts.example.com:80", "rollouts.example.com:443"),
            ("https://rollouts.example.com:8443", "rollouts.example.com:443"),
            ("https://other.example.com", "rollouts.example.com:443"),
            ("https://localhost", "localhost:80"),
            ("http://localhost", "localhost:443"),
        ] {
            assert!(!secure.is_own(origin, host), "{origin} {host}");
            assert!(!ServerAddress::default().is_own(origin, host), "{origin} {host}");
        }
    }

    #[test]
    fn public_addresses_are_a_scheme_and_a_host() {
        for (text, read) in [
            ("https://rollouts.example.com", "https://rollouts.example.com"),
            ("https://rollouts.example.com:443/", "https://rollouts.example.com"),
            ("http://Localhost:7440", "http://localhost:7440"),
            ("https://[fd00::1]:8443", "https://[fd00::1]:8443"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), read);
        }
        for text in [
            "",
            "rollouts.example.com",
            "ftp://rollouts.example.com",
            "https://",
            "https://rollouts.example.com/rollcast",
            "https://rollouts.example.com?x",
            "https://user@rollouts.example.com",
            "https://rollouts.example.com:x",
            "https://rollouts .example.com",
        ] {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_names_of_its_own_are_bound_to_tls() {
        let hosts = vec!["rollouts.example.com".to_owned()];
        let tls = ServerAddress { has_tls: true, hosts, ..ServerAddress::default() };
        assert!(tls.is_secure_at("rollouts.example.com:7440"));
        assert!(public("https://rollouts.example.com").is_secure_at("rollouts.example.com"));
        for host in ["localhost:7440", "127.0.0.1", "[::1]:1", "10.0.0.7"] {
            assert!(!tls.is_secure_at(host) && !public("https://rollouts.example.com").is_secure_at(host), "{host}");
        }
        assert!(!public("http://rollouts.example.com").is_secure_at("rollouts.example.com"));
        assert!(!ServerAddress::default().is_secure_at("rollouts.example.com"));
    }

    #[test]
    fn only_the_host_of_a_secure_public_url_has_it() {
        let secure = public("https://rollouts.example.com");
        let found = |server_address: &ServerAddress, host| server_address.secure_url(host).map(ToString::to_string);
        assert_eq!(found(&secure, "Rollouts.example.com").as_deref(), Some("https://rollouts.example.com"));
        assert_eq!(found(&secure, "localhost:7440"), None);
        assert_eq!(found(&public("http://rollouts.example.com"), "rollouts.example.com"), None);
        assert_eq!(found(&ServerAddress::default(), "localhost:7440"), None);
    }

    #[test]
    fn links_begin_with_the_public_address_or_with_how_it_was_asked() {
        assert_eq!(
            public("https://rollouts.example.com").origin("localhost:7440", false),
            "https://rollouts.example.com"
        );
        assert_eq!(ServerAddress::default().origin("localhost:7440", false), "http://localhost:7440");
        assert_eq!(ServerAddress::default().origin("rollouts.example.com", true), "https://rollouts.example.com");
    }

    #[test]
    fn the_provider_leads_back_to_where_the_browser_is() {
        let tls = ServerAddress { has_tls: true, ..ServerAddress::default() };
        for (host, origin) in [
            ("127.0.0.1:7440", "http://127.0.0.1:7440"),
            ("localhost", "http://localhost"),
            ("[::1]:7440", "http://[::1]:7440"),
            ("rollouts.example.com", "https://rollouts.example.com"),
            ("10.0.0.7:7440", "https://10.0.0.7:7440"),
        ] {
            assert_eq!(ServerAddress::default().callback_origin(host), origin);
            assert_eq!(tls.callback_origin(host), format!("https://{host}"));
        }
        let public = public("https://rollouts.example.com/");
        assert_eq!(public.callback_origin("127.0.0.1:7440"), "https://rollouts.example.com");
    }
}
