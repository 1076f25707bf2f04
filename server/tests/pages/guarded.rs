//! What every answer says of who may use and keep it, and which hosts get one.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use server::http::router;
use tower::ServiceExt;

use crate::common;
use crate::site::held;

#[tokio::test]
async fn every_answer_says_who_may_use_and_keep_it() {
    let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollover").unwrap();
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
        // Made for pages of others.
        (format!("{page}/badge.svg"), None, "public, max-age=10"),
        (format!("{page}/preview.svg"), None, "public, max-age=10"),
    ] {
        let request = Request::get(&path).header("host", "localhost:7440").body(Body::empty()).unwrap();
        let response = router(rollcast.clone()).oneshot(request).await.unwrap();
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
    }
}
