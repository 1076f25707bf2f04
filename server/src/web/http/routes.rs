//! The router: the handler of each route, and the layers around all of them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};
use timeline::address::{Route, base};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::timeout::RequestBodyDeadlineLayer;

use super::{
    api, badge, buffer, compare, export, files, guard, health, history, links, metrics, pages, playground, preview, qr,
    share_entry, shares, sign_in, status, stream,
};
use crate::web::state::Rollcast;

/// Compression level of responses (brotli's and gzip's scale). It is low, because a person waits for the page.
const COMPRESSION: i32 = 4;

/// Longest body of a request in bytes, and the time within which all of it has to arrive: forms are small.
const MOST_SENT: usize = 16 << 10;
const SENT_WITHIN: Duration = Duration::from_secs(10);

fn handler(route: Route) -> MethodRouter<Arc<Rollcast>> {
    match route {
        Route::AllDeployments
        | Route::Wall
        | Route::Cluster
        | Route::Namespace
        | Route::Workload
        | Route::Pod
        | Route::Revision
        | Route::Rollouts
        | Route::Share => get(pages::page),
        Route::Compare => get(compare::page),
        Route::Export => get(export::download),
        Route::Badge => get(badge::badge),
        Route::PreviewSvg => get(preview::svg),
        Route::PreviewPng => get(preview::png),
        Route::ByUid => get(links::by_uid),
        Route::History => get(history::page),
        Route::Status => get(status::page),
        Route::QrCode => get(qr::code),
        Route::ApiDeployments => get(api::deployments),
        Route::ApiStatus => get(status::json),
        Route::ApiTimeline => get(api::timeline),
        Route::ApiRollouts => get(history::json),
        Route::ApiRecording => get(api::recording),
        Route::ApiDescription => get(api::description),
        Route::ApiShares => get(shares::list).post(shares::api_make),
        Route::ApiRevokeShare => post(shares::api_revoke),
        Route::Stream => get(stream::upgrade),
        Route::SignIn => get(sign_in::page).post(sign_in::sign_in),
        Route::SignInStart => get(sign_in::start),
        Route::SignInCallback => get(sign_in::finish_sign_in),
        Route::SignOut => post(sign_in::sign_out),
        Route::Shares => get(shares::page).post(shares::make),
        Route::RevokeShare => post(shares::revoke),
        Route::Shared => get(share_entry::entry_page).post(share_entry::open_link),
        Route::SharedPreview => get(share_entry::preview_page),
        Route::SharedPicture => get(share_entry::picture),
        Route::Healthz => get(health::healthz),
        Route::Readyz => get(health::readyz),
        Route::Metrics => get(metrics::metrics),
        Route::Playground => get(playground::enter).post(playground::act),
        Route::PlaygroundEvents => get(playground::events),
    }
}

/// Creates the router of all requests, behind one guard.
pub fn router(rollcast: Arc<Rollcast>) -> Router {
    let _ = any_spawner::Executor::init_tokio(); // fails only if it is already initialised
    // Fonts are compressed already, as pictures are.
    let worthwhile = DefaultPredicate::new().and(NotForContentType::const_new("font/"));
    let compression = CompressionLayer::new().quality(CompressionLevel::Precise(COMPRESSION)).compress_when(worthwhile);
    let below = Route::ALL
        .iter()
        .fold(Router::new(), |router, route| router.route(route.pattern(), handler(*route)))
        .layer(axum::middleware::from_fn(buffer::buffer))
        // Files belong to the program, so requests for one file share its response.
        .route("/{*path}", get(files::file_or_not_found))
        .layer(compression)
        .layer(DefaultBodyLimit::max(MOST_SENT))
        .layer(RequestBodyDeadlineLayer::new(SENT_WITHIN))
        .layer(axum::middleware::from_fn_with_state(rollcast.clone(), guard::guard))
        .with_state(rollcast);
    if base().is_empty() {
        return below;
    }
    // A proxy in front may have removed the base path already.
    Router::new().nest_service(base(), below.clone()).fallback_service(below)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_application_renders_the_pages_that_it_routes_to() {
        let _ = any_spawner::Executor::init_tokio();
        let routed = leptos_axum::generate_route_list(app::app::routes);
        let routed: BTreeSet<&str> = routed.iter().map(|page| page.path()).collect();
        let details = [Route::Workload, Route::Pod, Route::Revision, Route::Rollouts, Route::Share];
        let lists = [Route::AllDeployments, Route::Wall, Route::Cluster, Route::Namespace];
        assert_eq!(routed, lists.iter().chain(&details).map(|route| route.pattern()).collect());
    }
}
