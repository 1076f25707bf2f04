//! A hub that watches the fake API server, and what tests wait for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use server::history::{Archive, tap};
use server::hub::Handle;
use server::kube::access::Access;
use server::kube::credentials::Credentials;
use server::kube::kubeconfig::Contexts;
use server::kube::{self, Counters, Pace};
use server::telemetry::viewers::Viewers;
use timeline::fact::Kind;
use timeline::wire::{Connection, ConnectionState};

use crate::common::until::until;
use crate::live::support::fake_api::FakeApi;
use crate::live::support::objects::shop;

/// Times short enough for tests; how much each watch earns in time is as in the product.
pub fn quick() -> Pace {
    Pace {
        page_size: 2,
        min_watch_lifetime: Duration::from_millis(50),
        max_backoff: Duration::from_millis(100),
        first_backoff: Duration::from_millis(10),
        burst: 100,
        renewal: [Duration::from_millis(100), Duration::from_millis(400)],
        most_watch_seconds: 0,
        ..Pace::default()
    }
}

/// Hears within a fraction of a second that a server is silent.
pub fn impatient(pace: &mut Pace) {
    pace.probe = Duration::from_millis(50);
    pace.silence = Duration::from_millis(200);
}

/// A hub that watches the fake API server.
pub struct Watched {
    pub hub: Handle,
    pub counters: Arc<Counters>,
    pub viewers: Viewers,
}

impl Watched {
    /// Starts with times short enough for tests, unless `pace` says otherwise.
    pub fn start(api: &FakeApi, namespaces: &[&str], pace: impl FnOnce(&mut Pace)) -> Self {
        let mut settings = quick();
        pace(&mut settings);
        Self::with(Access::fixed(api.client(), settings), namespaces)
    }

    /// The same, with other credentials.
    pub fn with(access: Access, namespaces: &[&str]) -> Self {
        Self::begin(access, namespaces, None)
    }

    /// The same, with the credentials of the current context of a kubeconfig.
    pub async fn by_kubeconfig(path: &Path, settings: Pace) -> Self {
        let contexts = Contexts::read(Some(path)).unwrap();
        let context = contexts.choose(None).unwrap();
        let target = Credentials::new(contexts, context, "fake".into()).target(&settings).await.unwrap();
        Self::with(target.access, &[])
    }

    /// The same, and what is observed is kept.
    pub fn kept(api: &FakeApi, archive: &Archive) -> Self {
        Self::kept_of(api, archive, &[])
    }

    /// The same of these namespaces.
    pub fn kept_of(api: &FakeApi, archive: &Archive, namespaces: &[&str]) -> Self {
        Self::begin(Access::fixed(api.client(), quick()), namespaces, Some(archive))
    }

    fn begin(access: Access, namespaces: &[&str], archive: Option<&Archive>) -> Self {
        let counters = Arc::new(Counters::default());
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let retention = timeline::Retention::default();
        let (hub, events) = tap::start(archive, "fake", &namespaces, counters.clone(), retention);
        let cluster = kube::Cluster {
            name: "fake".into(),
            access,
            events,
            counters: counters.clone(),
            hides_messages: false,
            clock: hub.clock(),
            relist_requests: archive
                .map_or_else(|| tokio::sync::watch::channel(0).1, |archive| archive.relist_requests.clone()),
        };
        kube::start(&cluster, &Kind::ALL, &namespaces);
        Self { hub, counters, viewers: Viewers::default() }
    }

    /// Names and states of all pods that exist, in order.
    pub async fn pods(&self) -> Vec<(String, &'static str)> {
        let pods = self.hub.read(|reader| {
            let exist = reader.timeline.model().pods.values().filter(|pod| pod.gone_millis().is_none());
            exist.map(|pod| (pod.name.clone(), pod.state().name())).collect::<Vec<_>>()
        });
        let mut pods = pods.await.unwrap();
        pods.sort();
        pods
    }

    /// Waits until the pods that exist are these.
    pub async fn until_pods(&self, names: &[&str]) {
        until(&format!("pods {names:?}"), async || {
            self.pods().await.iter().map(|(name, _)| name.as_str()).eq(names.iter().copied())
        })
        .await;
    }
}

/// A Deployment that is watched, once its two pods are seen.
pub async fn watched_shop(pace: impl FnOnce(&mut Pace)) -> (FakeApi, Watched) {
    let api = shop().await;
    let watched = Watched::start(&api, &[], pace);
    watched.until_pods(&["web-a", "web-b"]).await;
    (api, watched)
}

/// Waits until a hub's connection is so, and returns it; fails after a deadline that only a defect reaches.
pub async fn until_connection(hub: &Handle, what: &str, is: impl FnMut(&Connection) -> bool) -> Connection {
    let mut connection = hub.connection();
    let reached = tokio::time::timeout(Duration::from_secs(20), connection.wait_for(is)).await;
    let reached = reached.map(|reached| reached.unwrap().clone());
    reached.unwrap_or_else(|_| panic!("never came: {what}; it is {:?}", hub.connection().borrow()))
}

pub async fn until_live(hub: &Handle) {
    until_connection(hub, "live", |connection| connection.state == ConnectionState::Live).await;
}

/// Waits until a cluster is stale, for a reason with these words.
pub async fn until_stale(watched: &Watched, words: &str) {
    until_connection(&watched.hub, words, |connection| is_stale(connection, words)).await;
}

/// Whether it is stale, for a reason with these words.
pub fn is_stale(connection: &Connection, words: &str) -> bool {
    matches!(&connection.state, ConnectionState::Stale { why, .. } if why.contains(words))
}
