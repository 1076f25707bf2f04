//! The strip of the playground over HTTP: its state, and the actions of its buttons. Pages of other sites may request
//! nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use app::playground::ActionResponse;
use axum::Extension;
use axum::extract::{Form, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Redirect, Response};
use timeline::wire;

use super::extract::Client;
use crate::feed::playground::{self, Playground, controls};
use crate::web::state::Rollcast;

/// Timeout for a new cluster to appear.
const APPEAR_TIMEOUT: Duration = Duration::from_secs(10);
/// Media type that the page's program accepts; without it, a form is redirected to the page.
const BYTES: &str = "application/octet-stream";

/// Redirects to the page of the playground, with the parameters of the request, such as a theme.
pub(super) async fn enter(State(rollcast): State<Arc<Rollcast>>, RawQuery(query): RawQuery) -> Response {
    match &rollcast.site.playground {
        Some(playground) => {
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            Redirect::to(&format!("{}{query}", playground.page())).into_response()
        }
        None => not_found(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "This server has no playground, and nothing can be changed.\n").into_response()
}

/// Streams the content of the strip, now and whenever it changes. The client counts while it listens.
pub(super) async fn events(State(rollcast): State<Arc<Rollcast>>, Extension(client): Extension<Client>) -> Response {
    let Some(playground) = rollcast.site.playground.clone() else { return not_found() };
    let mut told = playground.subscribe();
    told.mark_changed();
    let events = futures::stream::unfold((told, playground, client), |(mut told, playground, client)| async move {
        told.changed().await.ok()?;
        let text = told.borrow_and_update().clone();
        let text = if text.is_empty() { playground.strip().to_text() } else { text.to_string() };
        Some((Ok::<_, Infallible>(Event::default().data(text)), (told, playground, client)))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

pub(super) async fn act(
    State(rollcast): State<Arc<Rollcast>>,
    headers: HeaderMap,
    Form(form): Form<controls::Form>,
) -> Response {
    let Some(playground) = rollcast.site.playground.clone() else { return not_found() };
    playground.perform(&form);
    playground.publish_strip();
    let is_new = form.get("action").is_some_and(|action| action == playground::RESET);
    if is_new {
        follow(&rollcast, &playground).await;
    }
    let takes_bytes = headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes() == BYTES.as_bytes());
    if !takes_bytes {
        return Redirect::to(&playground.page()).into_response();
    }
    match wire::encode(&ActionResponse { playground: playground.strip(), is_new }) {
        Ok(bytes) => ([(header::CONTENT_TYPE, BYTES), (header::CACHE_CONTROL, "no-store")], bytes).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Waits until the watch has observed the new Deployment: then its page can be shown.
async fn follow(rollcast: &Rollcast, playground: &Playground) {
    let uid = playground.uid();
    let hub = rollcast.all_hubs().find(|hub| hub.name() == playground::NAME);
    let (Some(hub), Some(uid)) = (hub, uid) else { return };
    let mut list = hub.follow_list();
    let is_there = list.wait_for(|list| list.iter().any(|listed| listed.summary.uid == uid));
    // A page that is shown too early reports the old Deployment as deleted.
    let _ = tokio::time::timeout(APPEAR_TIMEOUT, is_there).await;
}
