//! A QR code of one of this server's own pages, for people with a telephone in front of a wall.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use qrcode::QrCode;
use qrcode::render::svg::Color;
use timeline::address::{at, below_base};

use super::extract::{RequestAddress, origin};

/// Longest path of a code: cameras cannot read larger codes.
const LONGEST: usize = 700;

/// Draws `GET /qr.svg?path=/clusters/…`: paths of this server only, so that the code never leads anywhere else.
pub(super) async fn code(RequestAddress(address): RequestAddress, request: axum::extract::Request) -> Response {
    let is_path = |text: &str| {
        let is_own = text.starts_with('/') && !text.starts_with("//") && text.len() <= LONGEST;
        (is_own && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')).then(|| text.to_owned())
    };
    let Ok(Some(path)) = address.check("path", is_path) else {
        return (StatusCode::BAD_REQUEST, "path must be the path of a page of this server.\n").into_response();
    };
    match QrCode::new(format!("{}{}", origin(&request), at(below_base(&path)))) {
        Ok(code) => {
            let svg = code.render::<Color<'_>>().min_dimensions(180, 180).build();
            ([(CONTENT_TYPE, "image/svg+xml"), (CACHE_CONTROL, "public, max-age=3600")], svg).into_response()
        }
        Err(_) => (StatusCode::BAD_REQUEST, "That is too long for a QR code.\n").into_response(),
    }
}
