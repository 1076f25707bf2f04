//! The page's files below `/pkg`, and the page for every address that does not exist.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::pages;
use crate::assets;
use crate::state::Rollcast;

pub(super) async fn file_or_not_found(
    State(rollcast): State<Arc<Rollcast>>,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let accepts =
        request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes_brotli = accepts.split(',').any(|coding| coding.trim().split(';').next() == Some("br"));
    let Some(asset) = assets::find(&path, takes_brotli) else {
        return pages::not_found(&rollcast, request).await;
    };
    // Addresses that name the build or the content never change what they deliver.
    let names_build = query.as_deref() == Some(&format!("v={}", rollcast.build));
    let cache =
        if names_build || assets::names_content(&path) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = asset.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if asset.is_brotli {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
    }
    response
}
