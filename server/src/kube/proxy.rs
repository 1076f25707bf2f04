//! Chooses the proxy to a server, by the rules of kubectl.

use axum::http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

use super::loopback::is_this_machine;

/// The proxies in the environment. Their addresses may contain passwords.
#[derive(Clone)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    exceptions: String,
}

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
    pub fn of_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            let value = |name: &str| variable(name).filter(|value| !value.is_empty());
            value(name).or_else(|| value(&name.to_lowercase()))
        };
        let proxy = |name: &str| {
            let named = read(name)?;
            Some(if named.contains("://") { named } else { format!("http://{named}") })
        };
        Self {
            http: proxy("HTTP_PROXY"),
            https: proxy("HTTPS_PROXY"),
            exceptions: read("NO_PROXY").unwrap_or_default(),
        }
    }

    /// Returns the proxy for a server. The client library would compare `NO_PROXY` with the address of the proxy instead of the
    /// server's, and would use a proxy for servers on this machine, too.
    pub fn for_server(&self, server: &Uri) -> Option<Uri> {
        if is_this_machine(server.host()?) {
            return None;
        }
        let is_plain = server.scheme_str() == Some("http");
        let (named, usual) = if is_plain { (&self.http, 80) } else { (&self.https, 443) };
        let named = named.as_ref()?.parse().ok()?;
        let port = format!(":{}", server.port_u16().unwrap_or(usual));
        // The matcher supports neither ports nor `*.example.com`.
        let known = |name: &str| {
            let name = name.trim();
            let name = name.strip_suffix(port.as_str()).filter(|host| !host.contains(':')).unwrap_or(name);
            name.strip_prefix('*').filter(|domain| domain.starts_with('.')).unwrap_or(name).to_owned()
        };
        let exceptions = self.exceptions.split(',').map(known).collect::<Vec<_>>().join(",");
        // The address of the found proxy does not matter: it lacks user and password, which the client library requires in the address.
        let exceptions = Matcher::builder().all("http://proxy").no(exceptions.as_str()).build();
        exceptions.intercept(server)?;
        Some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Proxies::from_variables(variable).for_server(&server.parse().unwrap()).map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_environment_names_a_proxy_and_the_servers_that_need_none() {
        let proxy = ("HTTPS_PROXY", "http://ann:word@10.0.0.1:3128");
        let through = Some("http://ann:word@10.0.0.1:3128/".to_owned());
        for (server, no_proxy, expected) in [
            ("https://prod.example.com:6443", "", &through),
            ("https://prod.example.com:6443", "example.org,ample.com", &through),
            ("https://prod.example.com:6443", "example.com", &None),
            ("https://prod.example.com:6443", "localhost, .example.com", &None),
            ("https://prod.example.com:6443", "*.example.com", &None),
            ("https://prod.example.com:6443", "a.example.org,prod.example.com:6443", &None),
            ("https://prod.example.com", "prod.example.com:443", &None),
            ("https://prod.example.com:6443", "prod.example.com:443,*ample.com,", &through),
            ("https://[fd00::6443]:6443", "fd00::6443", &None),
            ("https://10.96.0.1", "10.0.0.0/8", &None),
            // The proxy's own address is not an exception for other servers.
            ("https://192.0.2.1", "10.0.0.0/8", &through),
            ("https://prod.example.com:6443", "*", &None),
            ("https://127.0.0.1:6443", "", &None),
            ("https://[::1]:6443", "", &None),
            ("https://localhost:6443", "", &None),
        ] {
            assert_eq!(chosen(server, &[proxy, ("NO_PROXY", no_proxy)]), *expected, "{server} {no_proxy:?}");
        }
        assert_eq!(chosen("http://prod.example.com", &[proxy]), None);
        assert_eq!(chosen("http://prod.example.com", &[("http_proxy", "http://a")]), Some("http://a/".to_owned()));
        assert_eq!(chosen("https://prod.example.com", &[("HTTPS_PROXY", ""), ("https_proxy", "")]), None);
    }
}
