//! Probes. `/healthz`: the process responds. `/readyz`: pages can show every cluster, or why not.
//!
//! Every page shows why a cluster cannot be reached, so such a cluster does not make the server unready. Once ready,
//! the server stays ready: the first list of a cluster may take minutes, and pages of the others stay available.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use app::status::ConnectionStatus;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use timeline::wire::ConnectionState;

use crate::hub::Handle;
use crate::web::state::Rollcast;

pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

pub(super) async fn readyz(State(rollcast): State<Arc<Rollcast>>) -> (StatusCode, Json<Value>) {
    let is_settled = |hub: &Handle| hub.connection().borrow().state != ConnectionState::Connecting;
    if rollcast.all_hubs().all(is_settled) {
        rollcast.is_ready.store(true, Ordering::Relaxed);
    }
    let is_ready = rollcast.is_ready.load(Ordering::Relaxed);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let state = |hub: &Handle| {
        let connection = ConnectionStatus::new(&hub.connection().borrow(), hub.state_since_millis());
        json!({ "name": hub.name(), "connection": connection })
    };
    // With sign-in, this is public all the same, and must not reveal the number of clusters.
    let clusters = (!rollcast.site.auth.requires_sign_in()).then(|| rollcast.all_hubs().map(state).collect::<Vec<_>>());
    (status, Json(json!({ "ready": is_ready, "clusters": clusters })))
}
