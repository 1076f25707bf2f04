//! The page's files: which variant a client gets, what it has already, how long it may keep what it gets. They are those of the built page
//! (`cargo xtask build`), which `cargo xtask test` builds first.

use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use server::web::state::Site;

use crate::pages::site::{send, site_of};

const SHEET: &str = "/pkg/rollcast.css";

async fn ask(method: Method, path: &str, said: &[(&str, &str)]) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in said {
        request = request.header(*name, *value);
    }
    let response = send(&site_of(Vec::new(), Site::default()), None, request, ()).await;
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, bytes.to_vec())
}

/// The style sheet as it is, which shows that there is a page to ask for.
async fn sheet() -> (HeaderMap, Vec<u8>) {
    let (status, headers, bytes) = ask(Method::GET, SHEET, &[]).await;
    assert_eq!(status, StatusCode::OK, "there is no page; build it first: cargo xtask build");
    (headers, bytes)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

#[tokio::test]
async fn a_client_gets_what_it_takes() {
    let (plain, sheet) = sheet().await;
    assert_eq!(text(&plain, "content-type"), "text/css; charset=utf-8");
    for (accepted, coding) in [
        ("", ""),
        ("br", "br"),
        ("gzip, deflate, br, zstd", "br"),
        ("BR;q=0.5", "br"),
        ("br;q=0", ""),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0.0, *;q=0.5", "gzip"),
        ("identity", ""),
        ("br;q=0.2, identity;q=0.8", ""),
        ("identity;q=0, br", "br"),
        ("identity;q=0, *", "br"),
        ("brotli, xbr", ""),
    ] {
        let (status, headers, bytes) = ask(Method::GET, SHEET, &[("accept-encoding", accepted)]).await;
        assert_eq!((status, text(&headers, "content-encoding")), (StatusCode::OK, coding), "{accepted:?}");
        assert_eq!(headers.get_all(header::VARY).iter().collect::<Vec<_>>(), ["accept-encoding"], "{accepted:?}");
        assert_eq!(bytes == sheet, coding.is_empty(), "{accepted:?}");
    }
    let (status, ..) = ask(Method::GET, SHEET, &[("accept-encoding", "identity;q=0, br;q=0, gzip;q=0")]).await;
    assert_eq!(status, StatusCode::NOT_ACCEPTABLE, "nothing is taken");
}

#[tokio::test]
async fn what_a_client_has_is_not_sent_again() {
    let (plain, _) = sheet().await;
    let tag = text(&plain, "etag");
    let (_, packed, _) = ask(Method::GET, SHEET, &[("accept-encoding", "br")]).await;
    let packed = text(&packed, "etag");
    assert!(tag.len() > 4 && packed.len() > 4 && tag != packed, "each variant has its own: {tag}, {packed}");
    let strong = tag.trim_start_matches("W/");
    for (known, coding, is_known) in [
        (tag, "", true),
        (strong, "", true),
        (&format!("\"other\", {tag}"), "", true),
        ("*", "", true),
        (packed, "br", true),
        ("\"other\"", "", false),
        (tag, "br", false),
    ] {
        let said = [("if-none-match", known), ("accept-encoding", coding)];
        let (status, headers, bytes) = ask(Method::GET, SHEET, &said).await;
        let expected = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        assert_eq!(status, expected, "{known} as {coding:?}");
        assert_eq!(bytes.is_empty(), is_known, "{known}");
        let tag = if coding.is_empty() { tag } else { packed };
        let kept = ["etag", "vary", "cache-control"].map(|name| text(&headers, name));
        assert_eq!(kept, [tag, "accept-encoding", "no-cache"], "{known}");
    }
}

#[tokio::test]
async fn what_its_address_names_is_kept_for_ever() {
    let (plain, sheet) = sheet().await;
    assert_eq!(text(&plain, "cache-control"), "no-cache");
    let site = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site/pkg");
    let names = std::fs::read_dir(site).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let font = names.into_iter().find(|name| name.starts_with("inter-")).unwrap();
    let for_ever = "public, max-age=31536000, immutable";
    for (path, kept) in [
        (format!("{SHEET}?v=build"), for_ever),
        (format!("{SHEET}?v=another"), "no-cache"),
        (format!("/pkg/{font}"), for_ever),
    ] {
        let (status, headers, _) = ask(Method::GET, &path, &[]).await;
        assert_eq!((status, text(&headers, "cache-control")), (StatusCode::OK, kept), "{path}");
        assert_eq!(text(&headers, "x-content-type-options"), "nosniff", "{path}");
    }
    let (_, headers, bytes) = ask(Method::HEAD, SHEET, &[]).await;
    assert_eq!((text(&headers, "content-length"), bytes.len()), (sheet.len().to_string().as_str(), 0));
}

#[tokio::test]
async fn the_program_of_another_build_is_not_there() {
    sheet().await;
    for (path, expected) in [
        ("/pkg/rollcast.js", StatusCode::OK),
        ("/pkg/rollcast.js?v=build", StatusCode::OK),
        ("/pkg/rollcast_bg.wasm?v=build&try=1", StatusCode::OK),
        ("/pkg/rollcast.js?v=another", StatusCode::GONE),
        ("/pkg/rollcast.js?v=building&try=1", StatusCode::GONE),
        ("/pkg/rollcast_bg.wasm?v=another", StatusCode::GONE),
    ] {
        let (status, headers, _) = ask(Method::HEAD, path, &[]).await;
        assert_eq!(status, expected, "{path}");
        let is_kept = !text(&headers, "cache-control").contains("no-store");
        assert_eq!(is_kept, expected == StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn nothing_but_the_site_is_served() {
    sheet().await;
    for path in ["/pkg", "/pkg/", "/pkg/nothing.css", "/pkg/..%2f..%2f..%2fCargo.toml", "/..%5cCargo.toml", "/pkg/%00"]
    {
        let (status, headers, _) = ask(Method::GET, path, &[]).await;
        assert_eq!(
            (status, text(&headers, "content-type")),
            (StatusCode::NOT_FOUND, "text/html; charset=utf-8"),
            "{path}"
        );
    }
}
