//! What every answer says of who may use and keep it, and which hosts get one.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use server::access::Auth;
use server::access::clients::ClientKey;
use server::web::http::router;
use server::web::server_address::ServerAddress;
use server::web::state::{Rollcast, Site};
use tower::ServiceExt;

use crate::common;
use crate::common::addresses::{named, patterns};
use crate::common::strangers::{STRANGE_HOSTS, STRANGE_ORIGINS};
use crate::pages::people::{prod, proxy};
use crate::pages::site::{held, send};

/// Files of the program, beside all addresses.
const FILES: [&str; 3] = ["/rollcast.css", "/theme.js", "/nowhere"];

#[tokio::test]
async fn every_answer_says_who_may_use_and_keep_it() {
    let text = common::recording("rollover");
    let rollcast = held("rollover", &text).await;
    let page = "/clusters/rollover/namespaces/rollover/deployments/web";
    let (own, nobody) = (Some("same-origin"), "private, no-store");
    for (path, resources, kept) in [
        ("/".to_owned(), own, "no-store"),
        (page.to_owned(), own, "no-store"),
        (format!("{page}/compare"), own, "no-store"),
        (format!("{page}/export"), own, "no-store"),
        ("/nowhere".to_owned(), own, "no-store"),
        ("/api/v1/deployments".to_owned(), own, nobody),
        ("/api/v1/openapi.json".to_owned(), own, nobody),
        (format!("/api/v1{page}/timeline"), own, nobody),
        ("/metrics".to_owned(), own, nobody),
        ("/healthz".to_owned(), own, nobody),
        (format!("{page}/badge.svg"), own, "public, max-age=10"),
        (format!("{page}/preview.svg"), own, "public, max-age=10"),
    ] {
        let response = send(&rollcast, None, Request::get(&path), ()).await;
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("cross-origin-resource-policy"), resources, "{path}");
        assert_eq!(header("cross-origin-opener-policy"), own, "{path}");
        assert_eq!(header("cache-control"), Some(kept), "{path}");
        assert_eq!(header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(header("content-security-policy").unwrap().starts_with("default-src 'none'"), "{path}");
    }
    for host in ["[::1]evil", "evil.example.com", "localhost:x", "127.0.0.1.evil.example.com", ""] {
        let request = Request::get("/").header("host", host).body(Body::empty()).unwrap();
        let response = router(rollcast.clone()).oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{host}");
        for name in ["content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy"] {
            assert!(response.headers().contains_key(name), "{host}: {name}");
        }
        assert_eq!(response.headers()[header::CACHE_CONTROL], nobody, "{host}");
    }
}

#[tokio::test]
async fn only_health_is_told_to_whoever_names_no_host() {
    let public = "https://rollouts.example.com".parse().ok();
    let server_address = ServerAddress { public, ..ServerAddress::default() };
    let rollcast = prod(Site { server_address, ..Site::default() }).await;
    for (path, status) in [
        ("/healthz", StatusCode::OK),
        ("/readyz", StatusCode::SERVICE_UNAVAILABLE), // nothing was listed yet
        ("/", StatusCode::MISDIRECTED_REQUEST),
        ("/metrics", StatusCode::MISDIRECTED_REQUEST),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(answer_of(router(rollcast.clone()), request).await.0, status, "{path}");
    }
}

/// What is answered: status, headers, text. Of an answer without end, the head.
async fn answer(rollcast: &Arc<Rollcast>, request: Builder) -> (StatusCode, HeaderMap, String) {
    read(send(rollcast, None, request, ()).await).await
}

async fn answer_of(router: Router, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    read(router.oneshot(request).await.unwrap()).await
}

async fn read(response: Response) -> (StatusCode, HeaderMap, String) {
    let (head, body) = response.into_parts();
    let is_stream = head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let bytes = if is_stream { bytes::Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
    (head.status, head.headers, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn badges_and_previews_are_for_everybody_only_where_that_is_said() {
    let page = "/clusters/prod/namespaces/rollover/deployments/web";
    let pictures = ["badge.svg", "preview.svg", "preview.png"].map(|part| format!("{page}/{part}"));
    let ask = async |rollcast: &Arc<Rollcast>, method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path);
        answer(rollcast, request.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "no-cors")).await
    };
    for auth in [|| Auth::None, proxy] {
        for has_public_pictures in [false, true] {
            let rollcast = prod(Site { auth: auth(), has_public_pictures, ..Site::default() }).await;
            let asks = rollcast.site.auth.requires_sign_in();
            for path in &pictures {
                let (status, headers, text) = ask(&rollcast, "GET", path).await;
                if has_public_pictures {
                    assert_eq!(status, StatusCode::OK, "{path} {asks}");
                    assert!(!headers.contains_key("cross-origin-resource-policy"), "{path} {asks}");
                    assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=10", "{path} {asks}");
                } else {
                    assert_eq!(status, StatusCode::FORBIDDEN, "{path} {asks}: {text}");
                    assert_eq!(headers["cross-origin-resource-policy"], "same-origin", "{path} {asks}");
                }
                assert_eq!(ask(&rollcast, "POST", path).await.0, StatusCode::FORBIDDEN, "{path} {asks}");
            }
            // Nothing else is for them.
            for path in [page.to_owned(), format!("{page}/export"), format!("/api/v1{page}/timeline"), "/".to_owned()] {
                assert_eq!(ask(&rollcast, "GET", &path).await.0, StatusCode::FORBIDDEN, "{path} {asks}");
            }
            // Neither is what is merely called like a picture.
            for place in ["", "/prod/namespaces", "/prod/namespaces/rollover/deployments"] {
                for picture in ["badge.svg", "preview.svg", "preview.png"] {
                    let path = format!("/clusters{place}/{picture}");
                    assert_eq!(ask(&rollcast, "GET", &path).await.0, StatusCode::FORBIDDEN, "{path} {asks}");
                    let status = answer(&rollcast, Request::get(&path)).await.0;
                    assert_eq!(status == StatusCode::UNAUTHORIZED, asks, "{path} {status}");
                }
            }
            let status = answer(&rollcast, Request::get(page)).await.0;
            assert_eq!(status == StatusCode::UNAUTHORIZED, asks, "{status}");
        }
    }
}

#[tokio::test]
async fn no_request_of_another_site_or_by_another_name_is_answered() {
    let hosts = vec!["rollcast.example.com".to_owned()];
    let server_address = ServerAddress { hosts, ..ServerAddress::default() };
    let named_host = router(prod(Site { server_address, ..Site::default() }).await);
    let public = "https://rollouts.example.com".parse().ok();
    let secure = router(
        prod(Site { server_address: ServerAddress { public, ..ServerAddress::default() }, ..Site::default() }).await,
    );
    let all: Vec<String> =
        patterns().iter().map(|pattern| named(pattern, "prod", "rollover")).chain(FILES.map(str::to_owned)).collect();
    let request = |method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path);
        match path == "/api/v1/stream" {
            // As browsers begin a websocket.
            true => request
                .header("connection", "Upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            false => request,
        }
    };
    let (mut sent, mut unspeakable) = (0, 0);
    for path in &all {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            for host in STRANGE_HOSTS {
                let Ok(host) = HeaderValue::from_bytes(host.as_bytes()) else {
                    unspeakable += 1;
                    continue;
                };
                let request = request(method, path).header(header::HOST, &host).body(Body::empty()).unwrap();
                let (status, _, text) = answer_of(named_host.clone(), request).await;
                assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{method} {path} {host:?}: {text}");
                sent += 1;
            }
            for (origin, host) in STRANGE_ORIGINS {
                let request = request(method, path).header(header::HOST, host).header(header::ORIGIN, origin);
                let (status, _, text) = answer_of(secure.clone(), request.body(Body::empty()).unwrap()).await;
                assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path} {origin:?} {host}: {text}");
                sent += 1;
            }
        }
    }
    assert_eq!((sent + unspeakable) % 50, 0, "33 hosts and 17 origins each");
    assert!(sent > 40 * 6 * 48, "{sent}");
}

#[tokio::test]
async fn every_page_says_that_there_is_no_sign_in_where_others_reach_it() {
    let said = "No sign-in: everyone who can connect sees what this page shows.";
    let (open, own) = (prod(Site { auth: Auth::Open, ..Site::default() }).await, prod(Site::default()).await);
    let wrong = ["/nowhere", "/clusters/never", "/?at=x", "/clusters/prod/namespaces/rollover/deployments/never"];
    let all = patterns().into_iter().map(|pattern| named(&pattern, "prod", "rollover"));
    let (mut pages, mut errors) = (0, 0);
    for path in all.chain(wrong.map(str::to_owned)) {
        let request = || Request::get(&path).header(header::ACCEPT, "text/html");
        let (status, headers, text) = answer(&open, request()).await;
        let is_page = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if !is_page || headers.contains_key(header::CONTENT_DISPOSITION) {
            continue;
        }
        assert!(text.contains(said), "{path} {status}");
        assert!(!answer(&own, request()).await.2.contains(said), "{path}");
        *(if status.is_success() { &mut pages } else { &mut errors }) += 1;
    }
    assert!(pages >= 7 && errors >= 2, "{pages} {errors}");
}

#[tokio::test]
async fn who_may_come_again_later_is_told_when() {
    let rollcast = prod(Site::default()).await;
    let _busy =
        [rollcast.exports.begin(ClientKey::Shared).unwrap(), rollcast.exports.begin(ClientKey::Shared).unwrap()];
    let mut turns = vec![rollcast.previews.draw_permit().await.unwrap()];
    // Those who wait for a picture: their turn does not come.
    let mut waiting: Vec<_> = (0..16).map(|_| Box::pin(rollcast.previews.draw_permit())).collect();
    for one in &mut waiting {
        assert!(futures::poll!(one).is_pending());
    }
    let page = "/clusters/prod/namespaces/rollover/deployments/web";
    for (part, limit) in [("export", "exports"), ("preview.svg", "previews"), ("preview.png", "previews")] {
        let (status, headers, text) = answer(&rollcast, Request::get(format!("{page}/{part}"))).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{part}");
        assert_eq!(headers[header::RETRY_AFTER], "5", "{part}");
        assert!(text.contains("Try again in a moment."), "{text}");
        let metrics = answer(&rollcast, Request::get("/metrics")).await.2;
        let counted =
            metrics.lines().find(|line| line.starts_with(&format!("rollcast_limited_total{{limit=\"{limit}\"}}")));
        assert!(counted.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
    }
    drop((waiting, turns.pop()));
    for part in ["preview.svg", "badge.svg"] {
        let response = send(&rollcast, Some([127, 0, 0, 1]), Request::get(format!("{page}/{part}")), ()).await;
        assert_eq!(response.status(), StatusCode::OK, "{part}");
    }
}
