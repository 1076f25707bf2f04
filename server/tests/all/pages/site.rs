//! A site that holds every recording, asked without a network.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::request::Builder;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use server::access::Viewer;
use server::feed::recording::Recording;
use server::hub::{Handle, ListedDeployment};
use server::telemetry::viewers::Viewers;
use server::web::client_view::ClientView;
use server::web::http::router;
use server::web::state::{Rollcast, Site};
use timeline::view::{self, Now};
use timeline::{Retention, Uid};
use tower::ServiceExt;

use crate::common;
use crate::common::fed::feed;

/// A site with these clusters, which nobody looks at yet.
pub fn site_of(hubs: Vec<Handle>, site: Site) -> Arc<Rollcast> {
    Rollcast::new(hubs, "build", Viewers::default(), site)
}

/// Every recording, played to its end, as a cluster of its own.
pub async fn site() -> (Arc<Rollcast>, Vec<String>) {
    let mut hubs = Vec::new();
    for (name, text) in common::recordings() {
        hubs.push(played(&name, &text).await);
    }
    let names = hubs.iter().map(|hub| hub.name().to_owned()).collect();
    (site_of(hubs, Site::default()), names)
}

/// One recording, played to its end.
pub async fn held(name: &str, text: &str) -> Arc<Rollcast> {
    site_of(vec![played(name, text).await], Site::default())
}

/// What somebody sees who may see everything.
pub async fn everything(rollcast: &Arc<Rollcast>) -> ClientView {
    ClientView::new(rollcast, Viewer::anonymous()).await.unwrap()
}

pub async fn played(name: &str, text: &str) -> Handle {
    // The recordings are of a day that is long over, and the hub's clock is ours: nothing is let go of for its age.
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, events) = Handle::start(name, Arc::default(), retention);
    feed(&events, Recording::read(text).observed).await;
    listed(&hub).await;
    hub
}

/// Waits until the hub's list tells what its model holds.
pub async fn listed(hub: &Handle) {
    let there = hub.read(|reader| {
        let model = reader.timeline.model();
        let now = Now { millis: reader.now_millis, skew_millis: 0 };
        let summary = |uid: &Uid| view::summary(model, *uid, now).map(|s| (s.uid, s.revision, s.pods, s.verdict.badge));
        let live = model.deployments.values().filter(|deployment| deployment.deleted_millis.is_none());
        live.filter_map(|deployment| summary(&deployment.uid)).collect::<BTreeSet<_>>()
    });
    let there = there.await.unwrap();
    let told = |listed: &Arc<ListedDeployment>| {
        let s = &listed.summary;
        (s.uid, s.revision, s.pods, s.verdict.badge.clone())
    };
    let mut list = hub.follow_list();
    let is_told = list.wait_for(|list| list.iter().map(told).collect::<BTreeSet<_>>() == there);
    tokio::time::timeout(Duration::from_secs(20), is_told).await.expect("the list tells what is there").unwrap();
}

/// What is answered to a request that comes from that address, or from no known one.
pub async fn send(
    rollcast: &Arc<Rollcast>,
    peer: Option<[u8; 4]>,
    request: Builder,
    body: impl Into<Body>,
) -> Response {
    let mut request = request.header(header::HOST, "localhost:7440").body(body.into()).unwrap();
    if let Some(peer) = peer {
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from((peer, 4_000))));
    }
    router(rollcast.clone()).oneshot(request).await.unwrap()
}

/// The text of an answer.
pub async fn text_of(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub struct Answer {
    pub status: StatusCode,
    /// Where it leads, if elsewhere.
    pub location: String,
    /// Without the marks that end texts for hydration.
    pub text: String,
}

pub async fn fetch(rollcast: &Arc<Rollcast>, path: &str) -> Answer {
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    let response = router(rollcast.clone()).oneshot(request).await.unwrap();
    let location = response.headers().get(header::LOCATION).map(|value| value.to_str().unwrap().to_owned());
    let status = response.status();
    Answer { status, location: location.unwrap_or_default(), text: text_of(response).await.replace("<!>", "") }
}
