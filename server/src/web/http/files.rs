//! The page's files, and the page for every address that does not exist. tower-http reads what a client takes and already has.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tower_http::services::ServeDir;

use super::respond::not_found;
use crate::export::assets::{self, AssetBackend};
use crate::web::client_view::ClientView;
use crate::web::state::Rollcast;

pub(super) async fn file_or_not_found(State(rollcast): State<Arc<Rollcast>>, request: Request) -> Response {
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
    let cache =
        if never_changes(request.uri(), &rollcast) { "public, max-age=31536000, immutable" } else { "no-cache" };
    file.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    file.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    as_utf8(file.headers_mut());
    weaken(file.headers_mut());
    file.into_response()
}

/// The address names the build, or the content.
fn never_changes(address: &Uri, rollcast: &Rollcast) -> bool {
    address.query() == Some(&format!("v={}", rollcast.build)) || assets::names_content(address.path())
}

/// All texts of the site are.
fn as_utf8(headers: &mut HeaderMap) {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Some(text) = media_type.filter(|media_type| media_type.starts_with("text/"))
        && let Ok(text) = HeaderValue::try_from(format!("{text}; charset=utf-8"))
    {
        headers.insert(header::CONTENT_TYPE, text);
    }
}

/// Makes an ETag weak: the body may be compressed on its way.
fn weaken(headers: &mut HeaderMap) {
    let tag = headers.get(header::ETAG).and_then(|value| value.to_str().ok());
    if let Some(weak) = tag.and_then(|tag| HeaderValue::try_from(format!("W/{tag}")).ok()) {
        headers.insert(header::ETAG, weak);
    }
}
