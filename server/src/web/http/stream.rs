//! The websocket `/api/v1/stream`: postcard frames as `timeline::wire` defines them.

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures::StreamExt;
use timeline::wire::MAX_VIEWER_FRAME;

use super::extract::Client;
use crate::web::client_view::ClientView;
use crate::web::session::{self, StreamRequest};

/// Bytes that may wait for a slow viewer before its connection is given up.
const MAX_WRITE_BUFFER: usize = 64 << 20;

/// Bytes that are read from a viewer at once: viewers send little, and there are many of them.
const READ_BUFFER: usize = 1 << 10;

/// Copies headers. Those of a request share the read buffer of its connection, which would be held while the stream
/// is open.
fn copy_headers(headers: &HeaderMap) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(headers.keys_len());
    for (name, value) in headers {
        if let Ok(mut alone) = HeaderValue::from_bytes(value.as_bytes()) {
            alone.set_sensitive(value.is_sensitive());
            own.append(name, alone);
        }
    }
    own
}

pub(super) async fn upgrade(
    view: Option<Extension<ClientView>>,
    headers: HeaderMap,
    Extension(client): Extension<Client>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let credentials = StreamRequest { headers: copy_headers(&headers), peer: client.peer, from: client.address };
    let upgrade = upgrade
        .max_message_size(MAX_VIEWER_FRAME)
        .max_frame_size(MAX_VIEWER_FRAME)
        .read_buffer_size(READ_BUFFER)
        .max_write_buffer_size(MAX_WRITE_BUFFER);
    match view {
        Some(Extension(view)) => upgrade.on_upgrade(move |socket| async move {
            let (out, inbox) = socket.split();
            session::serve_over(out, inbox, view, credentials).await;
            drop(client); // the client counts until here
        }),
        // A page cannot read why a stream was refused, but can read why an open one was closed.
        None => upgrade.on_upgrade(session::refuse),
    }
}
