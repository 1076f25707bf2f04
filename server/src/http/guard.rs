//! The guard: which addresses this server answers to, and which pages may open its stream.
//!
//! Against DNS rebinding the Host must be an IP address, `localhost` or a name given with `--allow-host`; against
//! cross-site websockets the Origin, when there is one, must be that same host.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::state::Rollcast;

/// Refuses strange hosts and adds the headers that every answer carries.
pub(super) async fn guard(State(rollcast): State<Arc<Rollcast>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_known(host, &rollcast.allowed_hosts) {
        let host = timeline::words::safe(host);
        let text = format!(
            "Rollcast does not answer to the host {host:?}. Start it with --allow-host and that name to change this.\n"
        );
        return (StatusCode::MISDIRECTED_REQUEST, text).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY)
        && let Ok(value) = HeaderValue::from_str(&policy(""))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
    }
    response
}

/// The content security policy: nothing but this server's own files, and in a page what carries its nonce.
pub(super) fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {nonce}; style-src 'self' {nonce}; connect-src 'self'; \
         img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )
}

/// A browser's page of another site may not open the stream; programs without an Origin may.
pub(crate) fn is_same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    authority.is_some() && authority == host
}

fn is_known(host: &str, allowed: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name.parse::<IpAddr>().is_ok()
        || allowed.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_localhost_and_allowed_names_are_known() {
        let allowed = vec!["rollcast.example.com".to_owned()];
        for host in ["127.0.0.1:7440", "localhost", "[::1]:7440", "192.168.1.4:80", "Rollcast.Example.com"] {
            assert!(is_known(host, &allowed), "{host}");
        }
        for host in ["", "evil.example.com:7440", "127.0.0.1.evil.example.com", "localhost.evil.com:1"] {
            assert!(!is_known(host, &allowed), "{host}");
        }
    }

    #[test]
    fn another_sites_page_may_not_open_the_stream() {
        let headers = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:7440"));
            origin.map(|origin| headers.insert(header::ORIGIN, HeaderValue::from_static(origin)));
            headers
        };
        assert!(is_same_origin(&headers(None)));
        assert!(is_same_origin(&headers(Some("http://127.0.0.1:7440"))));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:7441", "http://127.0.0.1"] {
            assert!(!is_same_origin(&headers(Some(origin))), "{origin}");
        }
    }
}
