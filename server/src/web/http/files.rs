//! The page's files, and the page for every address that does not exist. tower-http handles encodings and caches of clients.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tower_http::services::ServeDir;

use super::respond::not_found;
use crate::export::assets::{self, AssetBackend};
use crate::web::client_view::ClientView;
use crate::web::state::Rollcast;

/// Files of the page's program, which run only with those of the same build. `start.js` is not one: it detects that they are gone.
const PROGRAM: [&str; 2] = ["/pkg/rollcast.js", "/pkg/rollcast_bg.wasm"];

pub(super) async fn file_or_not_found(State(rollcast): State<Arc<Rollcast>>, request: Request) -> Response {
    // During an upgrade, a replica may get a request for the program of a page that another replica made.
    let asked_build = request.uri().query().and_then(|query| query.strip_prefix("v=")?.split('&').next());
    if PROGRAM.contains(&request.uri().path()) && asked_build.is_some_and(|build| build != rollcast.build) {
        return StatusCode::GONE.into_response();
    }
    let mut files = ServeDir::with_backend("", AssetBackend)
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    let mut asked = Request::new(());
    *asked.uri_mut() = request.uri().clone();
    *asked.method_mut() = request.method().clone();
    *asked.headers_mut() = request.headers().clone();
    let Some(mut file) = files.try_call(asked).await.ok().filter(|answer| answer.status() != StatusCode::NOT_FOUND)
    else {
        return match request.extensions().get::<ClientView>().cloned() {
            Some(view) => not_found(&view, request).await,
            None => StatusCode::NOT_FOUND.into_response(),
        };
    };
    // The address names the build, or the content.
    let never_changes =
        request.uri().query() == Some(&format!("v={}", rollcast.build)) || assets::names_content(request.uri().path());
    let cache = if never_changes { "public, max-age=31536000, immutable" } else { "no-cache" };
    file.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    file.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let headers = file.headers_mut();
    // All texts of the site are UTF-8, and a body may be compressed on its way.
    alter(headers, header::CONTENT_TYPE, |kind| kind.starts_with("text/").then(|| format!("{kind}; charset=utf-8")));
    alter(headers, header::ETAG, |tag| Some(format!("W/{tag}")));
    file.into_response()
}

/// Gives a header another value, where it has one that is to be altered.
fn alter(headers: &mut HeaderMap, name: HeaderName, altered: impl Fn(&str) -> Option<String>) {
    let value = headers.get(&name).and_then(|value| altered(value.to_str().ok()?));
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        headers.insert(name, value);
    }
}
