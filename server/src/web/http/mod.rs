//! HTTP: pages, the stream, the read API, health and metrics. One router, one guard in front of everything.

pub mod api;
mod asked;
mod badge;
mod compare;
mod details;
mod export;
mod extract;
mod files;
mod guard;
mod health;
mod history;
mod hold;
mod links;
mod metrics;
mod pages;
mod playground;
mod preview;
mod provider;
mod qr;
mod shared;
mod shares;
mod sign_in;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::timeout::RequestBodyDeadlineLayer;

use crate::web::state::Rollcast;

/// How hard answers are compressed (brotli's and gzip's scale): pages are made while somebody waits.
const COMPRESSION: i32 = 4;

/// Most bytes of what is sent to this server, and within which time all of it has to come: forms are small.
const MOST_SENT: usize = 16 << 10;
const SENT_WITHIN: Duration = Duration::from_secs(10);

type Route = MethodRouter<Arc<Rollcast>>;

/// What the address of everything of a workload begins with, as a pattern.
const OF_WORKLOADS: &str = "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/";

/// Pictures of a workload, which other sites may show where they are for everybody.
const BADGE: &str = "badge.svg";
const PREVIEW_SVG: &str = "preview.svg";
const PREVIEW_PNG: &str = "preview.png";
/// One of its rollouts as a file.
const EXPORT: &str = "export";

/// Every address and what answers it, but files and what is not found.
fn routes() -> Vec<(String, Route)> {
    let _ = any_spawner::Executor::init_tokio(); // an error says that it is there already
    let pages = leptos_axum::generate_route_list(app::app::routes);
    let pages = pages.iter().map(|page| (page.path().to_owned(), get(pages::page)));
    let others: [(&str, Route); 23] = [
        ("/deployments/{uid}", get(links::by_uid)),
        ("/history", get(history::page)),
        ("/qr.svg", get(qr::code)),
        (api::DEPLOYMENTS, get(api::deployments)),
        (api::TIMELINE, get(api::timeline)),
        (api::ROLLOUTS, get(history::json)),
        (api::RECORDING, get(api::recording)),
        (api::DESCRIPTION, get(api::description)),
        (stream::ADDRESS, get(stream::upgrade)),
        (sign_in::ADDRESS, get(sign_in::page).post(sign_in::sign_in)),
        (provider::START, get(provider::start)),
        (provider::BACK, get(provider::back)),
        (sign_in::END, post(sign_in::sign_out)),
        (shares::LIST, get(shares::page).post(shares::make)),
        (shares::REVOKE, post(shares::revoke)),
        (shared::OPEN, get(shared::way_in).post(shared::hand_in)),
        (shared::PREVIEWED, get(shared::previewed)),
        (shared::PICTURE, get(shared::picture)),
        (api::SHARES, get(shares::list).post(shares::api_make)),
        (api::REVOKE, post(shares::api_revoke)),
        (health::ALIVE, get(health::healthz)),
        (health::READY, get(health::readyz)),
        ("/metrics", get(metrics::metrics)),
    ];
    let of_workloads: [(&str, Route); 5] = [
        ("compare", get(compare::page)),
        (EXPORT, get(export::file)),
        (BADGE, get(badge::badge)),
        (PREVIEW_SVG, get(preview::svg)),
        (PREVIEW_PNG, get(preview::png)),
    ];
    let others = others.into_iter().map(|(address, route)| (address.to_owned(), route));
    let of_workloads = of_workloads.into_iter().map(|(part, route)| (format!("{OF_WORKLOADS}{part}"), route));
    pages.chain(others).chain(of_workloads).chain(playground::routes()).collect()
}

/// Every address that is answered, as patterns, but files.
#[must_use]
pub fn addresses() -> Vec<String> {
    routes().into_iter().map(|(address, _)| address).collect()
}

/// Everything that this server answers, behind one guard.
pub fn router(rollcast: Arc<Rollcast>) -> Router {
    // Fonts are compressed already, as pictures are.
    let worthwhile = DefaultPredicate::new().and(NotForContentType::const_new("font/"));
    let compression = CompressionLayer::new().quality(CompressionLevel::Precise(COMPRESSION)).compress_when(worthwhile);
    routes()
        .into_iter()
        .fold(Router::new(), |router, (address, route)| router.route(&address, route))
        .layer(axum::middleware::from_fn(hold::hold))
        // Files are the program's own: whoever asks for one shares it.
        .route("/{*path}", get(files::file_or_not_found))
        .layer(compression)
        .layer(DefaultBodyLimit::max(MOST_SENT))
        .layer(RequestBodyDeadlineLayer::new(SENT_WITHIN))
        .layer(axum::middleware::from_fn_with_state(rollcast.clone(), guard::guard))
        .with_state(rollcast)
}
