//! The websocket `/api/v1/stream`: postcard frames as `timeline::wire` defines them.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use timeline::wire::MAX_VIEWER_FRAME;

use super::guard;
use crate::session;
use crate::state::Rollcast;

/// Bytes that may wait for a slow viewer before its connection is given up.
const MAX_WRITE_BUFFER: usize = 64 << 20;

pub(super) async fn upgrade(
    State(rollcast): State<Arc<Rollcast>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !guard::is_same_origin(&headers) {
        return (StatusCode::FORBIDDEN, "The stream may only be opened by Rollcast's own pages.\n").into_response();
    }
    upgrade
        .max_message_size(MAX_VIEWER_FRAME)
        .max_frame_size(MAX_VIEWER_FRAME)
        .max_write_buffer_size(MAX_WRITE_BUFFER)
        .on_upgrade(move |socket| session::serve(socket, rollcast))
}
