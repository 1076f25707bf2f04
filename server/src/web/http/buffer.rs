//! Buffers responses, counts their bytes for each client and in all until they are sent, and sends them in chunks.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;

use super::extract::Client;
use super::respond::Refusal;
use crate::web::client_view::ClientView;
use crate::web::send_queue::{ChunkedBody, owned_bytes};

/// Counts a response to an authenticated client until it was sent; responses without cluster data are small.
pub(super) async fn buffer(request: Request, next: Next) -> Response {
    let view = request.extensions().get::<ClientView>().cloned();
    let client = request.extensions().get::<Client>().cloned();
    let is_api = request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    // Events are sent as they come, for as long as the client reads.
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_endless = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let Some(view) = view.filter(|_| !is_endless) else { return response };
    let (head, body) = response.into_parts();
    // Pages do not say how long they are: what is in them may be of this moment.
    let is_sized = body.size_hint().exact().is_some();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "The response could not be created.\n").into_response();
    };
    match view.queue_bytes(bytes.len()) {
        // The request counts until the whole response was sent.
        Some(place) => {
            let left = owned_bytes(bytes, (place, client));
            Response::from_parts(head, Body::new(ChunkedBody { left, is_sized }))
        }
        None => {
            let (status, why) =
                (StatusCode::SERVICE_UNAVAILABLE, "Too many responses are still being sent. Try again in a moment.");
            let refusal = Refusal(status, why.to_owned());
            if is_api { refusal.into_response() } else { (status, format!("{why}\n")).into_response() }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_made_in_one_piece_is_not_copied() {
        let made = Bytes::from(vec![b'x'; 1_000]);
        let gathered = to_bytes(Body::from(made.clone()), usize::MAX).await.unwrap();
        let mut held = ChunkedBody { left: owned_bytes(gathered, ()), is_sized: true };
        let piece = http_body_util::BodyExt::frame(&mut held).await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((piece.as_ptr(), piece.len()), (made.as_ptr(), made.len()));
    }
}
