//! HTTP: pages, the stream, the read API, health and metrics. One router, one guard in front of everything.

pub mod api;
mod badge;
mod details;
mod extract;
mod files;
mod guard;
mod health;
mod history;
mod links;
mod metrics;
mod pages;
mod playground;
mod preview;
mod qr;
mod stream;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use crate::state::Rollcast;

/// How hard answers are compressed (brotli's and gzip's scale): pages are made while somebody waits.
const COMPRESSION: i32 = 4;

/// Everything that this server answers, behind one guard.
pub fn router(rollcast: Arc<Rollcast>) -> Router {
    // Fonts are compressed already, as pictures are.
    let worthwhile = DefaultPredicate::new().and(NotForContentType::const_new("font/"));
    let compression = CompressionLayer::new().quality(CompressionLevel::Precise(COMPRESSION)).compress_when(worthwhile);
    let _ = any_spawner::Executor::init_tokio(); // an error says that it is there already
    let pages = leptos_axum::generate_route_list(app::app::routes);
    let pages = pages.iter().fold(Router::new(), |router, page| router.route(page.path(), get(pages::page)));
    pages
        .route("/deployments/{uid}", get(links::by_uid))
        .route("/history", get(history::page))
        .route("/qr.svg", get(qr::code))
        .route("/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/badge.svg", get(badge::badge))
        .route("/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.svg", get(preview::svg))
        .route("/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.png", get(preview::png))
        .route(api::DEPLOYMENTS, get(api::deployments))
        .route(api::TIMELINE, get(api::timeline))
        .route(api::ROLLOUTS, get(history::json))
        .route(api::RECORDING, get(api::recording))
        .route(api::DESCRIPTION, get(api::description))
        .route("/api/v1/stream", get(stream::upgrade))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .merge(playground::routes())
        .route("/{*path}", get(files::file_or_not_found))
        .layer(compression)
        .layer(axum::middleware::from_fn_with_state(rollcast.clone(), guard::guard))
        .with_state(rollcast)
}
