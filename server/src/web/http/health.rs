//! `/healthz`: the program runs. `/readyz`: every cluster was listed once, so pages tell something.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use timeline::wire::ConnectionState;

use crate::web::state::Rollcast;

pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

pub(super) async fn readyz(State(rollcast): State<Arc<Rollcast>>) -> (StatusCode, String) {
    let waiting: Vec<String> = rollcast
        .all_hubs()
        .filter(|hub| hub.connection().borrow().state == ConnectionState::Connecting)
        .map(|hub| format!("still connecting to {}\n", hub.name()))
        .collect();
    match (waiting.is_empty(), rollcast.site.auth.requires_sign_in()) {
        (true, _) => (StatusCode::OK, "ok\n".to_owned()),
        // Whoever asks is not asked who it is: not even how many clusters there are.
        (false, true) => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n".to_owned()),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, waiting.concat()),
    }
}
