//! The guard: checks Host and Origin of every request, and authenticates its viewer.
//!
//! Against DNS rebinding the Host must be a name of this server ([`ServerAddress`]). Against requests of other sites the Origin, if
//! present, must be that of its own pages, and `Sec-Fetch-Site` must not name another site. Everything but the program itself
//! requires a known viewer.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use futures::FutureExt;
use timeline::address::{Route, at};

use super::extract::{Client, OwnOrigin, address, wants_page};
use super::respond::{AuditEntry, policy, turn_away};
use super::{share_entry, sign_in};
use crate::access::cookie::{SealPurpose, SessionKeys};
use crate::access::forwarded;
use crate::access::{AuthError, Viewer};
use crate::export::assets;
use crate::web::client_view::ClientView;
use crate::web::connections::is_probe;
use crate::web::limits::Limit;
use crate::web::server_address::ServerAddress;
use crate::web::state::Rollcast;

/// Refuses unknown hosts and adds the headers that every response carries.
pub(super) async fn guard(State(rollcast): State<Arc<Rollcast>>, mut request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let server_address = &rollcast.site.server_address;
    let is_health = is_probe(request.uri().path());
    // Load balancers that speak HTTP/1.0 check health without a Host. Browsers, which a foreign name could lead here, send one.
    let is_nameless = is_health && !request.headers().contains_key(header::HOST);
    let is_known_host = is_nameless || server_address.answers_to(host, is_health);
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let is_proxy = |address| rollcast.is_proxy(address);
    let from = peer.map(|peer| forwarded::client(peer, request.headers(), is_proxy));
    let scheme = peer.and_then(|peer| forwarded::scheme(peer, request.headers(), is_proxy));
    let origin = OwnOrigin(server_address.origin(host, scheme == Some(Scheme::HTTPS)).into());
    let is_secure_only = server_address.is_secure_at(host);
    let path = request.uri().path();
    let (is_for_others, is_program) = (is_public_picture(&rollcast, &request), is_of_program(path));
    // Clients behind a proxy share its connections, so each is counted by its address until it has its response.
    let counted = from.filter(|from| is_known_host && peer.is_some_and(|peer| peer.to_canonical() != *from));
    let turn = counted.map(|from| rollcast.connections.serve_client(from).map(Arc::new));
    let mut response = if !is_known_host {
        let host = timeline::words::safe(host);
        let text = format!(
            "Rollcast does not serve the host {host:?}. Start it with --allow-host and this name to allow it.\n"
        );
        (StatusCode::MISDIRECTED_REQUEST, text).into_response()
    } else if scheme == Some(Scheme::HTTP)
        && is_page_without_tls(&request)
        && let Some(public) = server_address.secure_url(host)
    {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        Redirect::permanent(&format!("{public}{}", at(path))).into_response()
    } else if !is_for_others && is_cross_site(server_address, request.method(), request.headers()) {
        (StatusCode::FORBIDDEN, "Only pages of this server may send this request.\n").into_response()
    } else if matches!(turn, Some(None)) {
        (StatusCode::TOO_MANY_REQUESTS, "Too many requests from your address at once. Try again in a moment.\n")
            .into_response()
    } else {
        // Most handlers drop the request and its extensions before they respond: this copy is held until then.
        let client = Client { peer, address: from, _turn: turn.flatten() };
        request.extensions_mut().insert(origin);
        request.extensions_mut().insert(client.clone());
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let answered = answer_and_audit(rollcast.clone(), client, request, next);
        if is_read {
            answered.await
        } else {
            // In a task of its own: a change goes on although its client leaves, and must be audited.
            tokio::spawn(answered).await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
    };
    if matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        response.headers_mut().entry(header::RETRY_AFTER).or_insert(AGAIN);
    }
    let is_private = rollcast.site.auth.requires_sign_in() && !is_program && !is_for_others;
    add_headers(response.headers_mut(), is_secure_only, is_for_others, is_private);
    response
}

/// Adds the headers that every response carries. Browsers may use TLS only if `is_secure_only`; pages of other sites may
/// show it if `is_for_others`; it is never cached, whatever the handler sets, if `is_private`.
fn add_headers(headers: &mut HeaderMap, is_secure_only: bool, is_for_others: bool, is_private: bool) {
    if is_secure_only {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    if !is_for_others {
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    }
    // A response without headers of its own contains data of a cluster at this moment.
    let nowhere = HeaderValue::from_static("private, no-store");
    if is_private {
        headers.insert(header::CACHE_CONTROL, nowhere);
    } else {
        headers.entry(header::CACHE_CONTROL).or_insert(nowhere);
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY)
        && let Ok(value) = HeaderValue::from_str(&policy(""))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
    }
}

/// The path of links. The part after it is secret.
const SHARED: &str = Route::Shared.pattern();
/// Value of Retry-After in seconds.
const AGAIN: HeaderValue = HeaderValue::from_static("5");

/// Returns whether a request is for a badge or a preview, and these are public.
fn is_public_picture(rollcast: &Rollcast, request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    rollcast.site.has_public_pictures
        && is_read
        && address(request.uri()).is_some_and(|address| address.route.is_picture())
}

/// Responds to known viewers, as far as they may see; and to everybody for the program's files and sign-in.
async fn answer_and_audit(rollcast: Arc<Rollcast>, client: Client, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let (who, response) = answer(&rollcast, &client, request, next).await;
    if let Some(audit) = rollcast.site.audit.as_ref().filter(|_| !is_of_program(&path)) {
        let status = response.status().as_u16();
        match response.extensions().get::<AuditEntry>() {
            Some(AuditEntry { who, did, at }) => audit.record(who, client.address, did, at, status),
            // The rest of the path is a part of a link, which must not be logged.
            None if path.starts_with(SHARED) => audit.record(&who, client.address, method.as_str(), SHARED, status),
            None => audit.record(&who, client.address, method.as_str(), &path, status),
        }
    }
    response
}

/// Authenticates and handles a request; returns the name for the audit log.
async fn answer(rollcast: &Arc<Rollcast>, client: &Client, mut request: Request, next: Next) -> (Arc<str>, Response) {
    if is_open(&request) {
        return (Arc::default(), run_handler(next, request).await);
    }
    let is_public = is_public_picture(rollcast, &request);
    let address = address(request.uri());
    let authenticated = match is_public {
        true => Ok((Viewer::anonymous(), false)), // all clients get the same response, with or without a session
        false => rollcast.authenticate(request.headers(), client.peer, client.address).await,
    };
    let (viewer, is_link_over) = match authenticated {
        Ok(authenticated) => authenticated,
        Err(AuthError::SignInRequired | AuthError::NotFromProxy) if is_of_page(&request) => {
            return (Arc::default(), run_handler(next, request).await);
        }
        Err(error) => {
            if error == AuthError::TooManyAttempts {
                rollcast.limits.count_hit(Limit::SignIns);
            }
            return (Arc::default(), sign_in::refuse(rollcast, error, request).await);
        }
    };
    let name = viewer.audit_name();
    let renewed = match (&viewer.link, &rollcast.site.shares) {
        _ if is_public => None, // a cache may send the same response to other clients
        (Some(_), Some(shares)) => shares.renewed_cookie(request.headers()),
        _ => rollcast.site.auth.renewed_cookie(request.headers()),
    };
    let view = rollcast.limits.count_refusal(Limit::Viewers, ClientView::new(rollcast, viewer).await);
    let Some(view) = view.map(|view| view.from_address(client.address)) else {
        return (name, turn_away("Try again in a moment: too many viewers at once.\n"));
    };
    let value = |name| address.as_ref().map(|address| address.value(name)).filter(|value| !value.is_empty());
    let view = match (value("cluster"), value("namespace")) {
        (Some(cluster), Some(namespace)) => view.with_namespace(cluster, namespace).await,
        _ => view,
    };
    let refused = share_entry::refuse_other_pages(&view, address.as_ref(), request.method(), request.uri()).await;
    let mut response = match refused {
        Some(refused) => refused,
        None => {
            request.extensions_mut().insert(view);
            run_handler(next, request).await
        }
    };
    if let Some(cookie) = renewed.filter(|_| !response.headers().contains_key(header::SET_COOKIE)) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    // While its cookie is sent, each request reads the database, and is refused while the database does not respond.
    if is_link_over {
        let gone = AppendHeaders([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::Link))]);
        response = (gone, response).into_response();
    }
    (name, response)
}

/// Runs the handler of a request. A panic gets a response and an audit entry, as an error does.
async fn run_handler(next: Next, request: Request) -> Response {
    let response = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    response.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// Returns whether a path is a file or a probe: the same for everybody, without data of a cluster.
fn is_of_program(path: &str) -> bool {
    is_probe(path) || assets::has(path)
}

/// Returns whether a request needs no sign-in: it has no data of a cluster, or the maker of a link allowed everybody to see it.
fn is_open(request: &Request) -> bool {
    is_of_program(request.uri().path())
        || address(request.uri()).is_some_and(|address| {
            matches!(
                address.route,
                Route::SignIn
                    | Route::SignInStart
                    | Route::SignInCallback
                    | Route::SignOut
                    | Route::Shared
                    | Route::SharedPreview
                    | Route::SharedPicture
            )
        })
}

/// Returns whether a page opens its stream: it has to learn that its viewer must sign in.
fn is_of_page(request: &Request) -> bool {
    request.uri().path() == Route::Stream.pattern() && request.headers().contains_key(header::ORIGIN)
}

/// Returns whether a browser requested a page without TLS, if it came to the proxy by HTTP.
fn is_page_without_tls(request: &Request) -> bool {
    // Browsers send this header over TLS only. A proxy also reports http if another one in front of it ends TLS: redirects would never end.
    let used_tls = request.headers().contains_key("sec-fetch-mode");
    wants_page(request) && !used_tls
}

/// Returns whether a page of another site makes the browser send this, and not by a link that a viewer follows.
/// Requests that change something must name a page of this server.
fn is_cross_site(server_address: &ServerAddress, method: &Method, headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).map(|value| value.as_bytes());
    let is_reading = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_link = said("sec-fetch-mode") == Some(b"navigate") && is_reading;
    let is_other_site = matches!(said("sec-fetch-site"), Some(b"cross-site" | b"same-site")) && !is_link;
    is_other_site || !is_own(server_address, headers) || (!is_reading && !headers.contains_key(header::ORIGIN))
}

/// Returns whether the request is from a page of this server, or from a program, which sends no Origin.
fn is_own(server_address: &ServerAddress, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match (origin.to_str(), host, origins.next()) {
        (Ok(origin), Some(host), None) => server_address.is_own(origin, host),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::future::Ready;

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;
    use crate::telemetry::audit::Audit;
    use crate::telemetry::viewers::Viewers;
    use crate::web::state::Site;

    #[tokio::test]
    async fn a_handler_that_panics_is_answered_and_audited() {
        fn panics() -> Ready<StatusCode> {
            panic!("in a handler")
        }
        let (file, path) = (tempfile::NamedTempFile::new().unwrap(), "/api/v1/shares");
        let site = Site { audit: Audit::open(file.path()).ok(), ..Site::default() };
        let rollcast = Rollcast::new(Vec::new(), "build", Viewers::default(), site);
        let router = Router::new().route(path, post(panics)).layer(from_fn_with_state(rollcast.clone(), guard));
        let request = axum::http::Request::post(path).header(header::HOST, "localhost:7440");
        let request = request.header(header::ORIGIN, "http://localhost:7440").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        rollcast.site.audit.as_ref().unwrap().flush().await;
        let line: Value = serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        assert_eq!(line["did"], "POST");
        assert_eq!(line["at"], path);
        assert_eq!(line["status"], 500);
    }

    #[test]
    fn what_another_sites_page_makes_a_browser_ask_is_not_answered() {
        let asked = |method: Method, all: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:7440"));
            for (name, value) in all {
                headers.append(*name, HeaderValue::from_static(value));
            }
            !is_cross_site(&ServerAddress::default(), &method, &headers)
        };
        let own = ("origin", "http://127.0.0.1:7440");
        assert!(asked(Method::GET, &[]), "a program");
        assert!(asked(Method::GET, &[("sec-fetch-site", "same-origin"), own]));
        assert!(asked(Method::GET, &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")]));
        assert!(asked(Method::GET, &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), "a link");
        assert!(asked(Method::POST, &[own]));
        for (method, headers) in [
            (Method::GET, &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")][..]),
            (Method::GET, &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")]),
            (Method::GET, &[("origin", "http://127.0.0.1:7441")]),
            (Method::GET, &[("origin", "null")]),
            (Method::GET, &[own, ("origin", "http://evil.example")]),
            (Method::POST, &[]),
            (Method::POST, &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), own]),
            (Method::POST, &[("origin", "null")]),
            (Method::POST, &[("origin", "http://evil.example")]),
        ] {
            assert!(!asked(method.clone(), headers), "{method} {headers:?}");
        }
    }
}
