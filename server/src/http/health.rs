//! `/healthz`: the program runs. `/readyz`: every cluster was listed once, so pages tell something.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use timeline::wire::ConnectionState;

use crate::state::Rollcast;

pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

pub(super) async fn readyz(State(rollcast): State<Arc<Rollcast>>) -> (StatusCode, String) {
    let waiting: Vec<String> = rollcast
        .clusters
        .values()
        .filter(|hub| hub.connection().borrow().state == ConnectionState::Connecting)
        .map(|hub| format!("still connecting to {}\n", hub.name()))
        .collect();
    if waiting.is_empty() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, waiting.concat())
    }
}
