//! The client address and the scheme of a request, from the headers of trusted proxies. Pure.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use axum::http::uri::Scheme;
use ipnet::IpNet;

const FOR: &str = "x-forwarded-for";
const PROTO: &str = "x-forwarded-proto";

/// Returns whether an address is in one of these networks.
pub fn is_among(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// Returns the address of the client. Each proxy appends the address of its own client to the header: the entries
/// behind the last trusted proxy are true, those before may be forged.
pub fn client(peer: IpAddr, headers: &HeaderMap, is_proxy: impl Fn(IpAddr) -> bool) -> IpAddr {
    let said: Vec<&str> =
        headers.get_all(FOR).iter().flat_map(|value| value.to_str().unwrap_or("?").split(',')).collect();
    let mut client = peer;
    for hop in said.iter().rev() {
        match address(hop.trim()) {
            Some(hop) if is_proxy(client) => client = hop,
            _ => break,
        }
    }
    client.to_canonical()
}

/// Returns the scheme by which the request came to the proxy, by the proxy's header. `None` without a proxy, and if
/// the header does not name exactly one.
pub fn scheme(peer: IpAddr, headers: &HeaderMap, is_proxy: impl Fn(IpAddr) -> bool) -> Option<Scheme> {
    let mut said = headers.get_all(PROTO).iter();
    match (said.next(), said.next()) {
        (Some(said), None) if is_proxy(peer) => [Scheme::HTTP, Scheme::HTTPS]
            .into_iter()
            .find(|scheme| said.as_bytes().eq_ignore_ascii_case(scheme.as_str().as_bytes())),
        _ => None,
    }
}

/// Parses an address as proxies write it: some append a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    text.parse::<SocketAddr>().map(|address| address.ip()).ok().or_else(bare)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(name: &'static str, all: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in all {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn is_proxy(address: IpAddr) -> bool {
        is_among(&["10.0.0.0/24".parse().unwrap(), "fd00::7/128".parse().unwrap()], address)
    }

    #[test]
    fn one_header_of_a_trusted_proxy_names_the_scheme() {
        for (peer, said, is) in [
            ("10.0.0.7", &["http"][..], Some(Scheme::HTTP)),
            ("10.0.0.7", &["https"], Some(Scheme::HTTPS)),
            ("10.0.0.7", &["HTTP"], Some(Scheme::HTTP)),
            ("10.0.0.7", &["HTTPS"], Some(Scheme::HTTPS)),
            ("10.0.0.7", &[], None),
            ("10.0.0.7", &["ws"], None),
            ("10.0.0.7", &["https, http"], None),
            ("10.0.0.7", &["http", "http"], None),
            ("10.0.1.7", &["http"], None),
        ] {
            assert_eq!(scheme(peer.parse().unwrap(), &headers(PROTO, said), is_proxy), is, "{peer} {said:?}");
        }
    }

    #[test]
    fn the_last_one_that_no_trusted_proxy_made_up_is_the_client() {
        for (peer, said, is) in [
            ("10.0.0.7", &["203.0.113.9"][..], "203.0.113.9"),
            ("::ffff:10.0.0.7", &["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.7", &["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.7", &["1.1.1.1", "203.0.113.9, 10.0.0.8"], "203.0.113.9"),
            ("10.0.0.7", &["203.0.113.9:4711"], "203.0.113.9"),
            ("fd00::7", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("fd00::7", &["[2001:db8::1]"], "2001:db8::1"),
            // Headers of a client that is no proxy are ignored.
            ("203.0.113.9", &["1.1.1.1"], "203.0.113.9"),
            ("127.0.0.1", &["1.1.1.1"], "127.0.0.1"),
            ("10.0.1.7", &["1.1.1.1"], "10.0.1.7"),
            // An invalid entry ends the search.
            ("10.0.0.7", &[], "10.0.0.7"),
            ("10.0.0.7", &["1.1.1.1, unknown"], "10.0.0.7"),
            ("10.0.0.7", &["1.1.1.1, unknown, 10.0.0.8"], "10.0.0.8"),
            ("10.0.0.7", &[""], "10.0.0.7"),
            ("10.0.0.7", &["10.0.0.8, 10.0.0.9"], "10.0.0.8"),
        ] {
            let found = client(peer.parse().unwrap(), &headers(FOR, said), is_proxy);
            assert_eq!(found, is.parse::<IpAddr>().unwrap(), "{peer} {said:?}");
        }
    }
}
