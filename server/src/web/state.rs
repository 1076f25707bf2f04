//! State that all request handlers share.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use app::components::audience::Audience;
use axum::http::HeaderMap;
use ipnet::IpNet;
use timeline::words::safe;
use timeline::{Millis, Workload};
use tokio::sync::watch as signal;

use crate::access::authorizer::{Authorizer, StoredNamespaces};
use crate::access::clients::{ClientKey, ClientTurns};
use crate::access::forwarded::is_among;
use crate::access::scope::LinkScope;
use crate::access::share::{LinksUnavailable, Shares};
use crate::access::{Auth, AuthError, Viewer};
use crate::export::excerpt::{self, Excerpts};
use crate::export::export_limit::ExportLimit;
use crate::feed::playground::Playground;
use crate::history::Archive;
use crate::history::hub_cache::OpenError;
use crate::history::rollout_cache::RolloutCache;
use crate::history::store::StoreError;
use crate::hub::Handle;
use crate::telemetry::audit::Audit;
use crate::telemetry::clock;
use crate::telemetry::rate::RateLimit;
use crate::telemetry::viewers::Viewers;
use crate::web::connections::Connections;
use crate::web::limits::{Limit, LimitCounters, QUESTION_EVERY, QUESTIONS_AT_ONCE};
use crate::web::listing::Listings;
use crate::web::previews::Previews;
use crate::web::send_queue::SendQueue;
use crate::web::server_address::ServerAddress;

/// Configuration of the server besides its clusters.
#[derive(Default)]
pub struct Site {
    /// Names, public URL and TLS.
    pub server_address: ServerAddress,
    /// Sign-in.
    pub auth: Auth,
    /// Links for people without an account, where people sign in.
    pub shares: Option<Arc<Shares>>,
    /// The audit log.
    pub audit: Option<Audit>,
    /// Trusted proxies, which report the client of a request.
    pub proxies: Vec<IpNet>,
    /// Badges and previews are public, also for pages of other sites.
    pub has_public_pictures: bool,
    /// The simulated cluster, if that is what is watched.
    pub playground: Option<Arc<Playground>>,
    /// The stored history.
    pub archive: Option<Archive>,
    /// Why a restart is needed; empty while it is not.
    pub restart_notice: Option<signal::Receiver<String>>,
}

/// A running Rollcast.
pub struct Rollcast {
    /// Configuration; without the history, which is read through views.
    pub site: Site,
    /// A hub per cluster, by the cluster's name.
    clusters: BTreeMap<String, Handle>,
    /// An empty hub per cluster, for viewers who may not see what they request.
    empty: BTreeMap<String, Handle>,
    /// Build of the page that is served.
    pub build: &'static str,
    /// Number of connected viewers.
    pub viewers: Viewers,
    /// Every cluster was listed at some time, or reported an error.
    pub is_ready: AtomicBool,
    /// When the server started, in milliseconds since the epoch.
    pub started_millis: Millis,
    /// Number of snapshots that were sent to lagging viewers.
    pub resyncs: AtomicU64,
    pub(crate) listings: Arc<Listings>,
    /// Files of rollouts that are being made: that takes a while.
    pub exports: ExportLimit,
    /// Rate limit of expensive work of each client, on all of its streams together.
    budgets: RateLimit<ClientKey>,
    /// Reads of the history that may take long, one of each client at a time.
    pub(crate) history_turns: ClientTurns,
    /// Details, moments of the past and previews, one of each client at a time.
    pub(crate) moment_turns: ClientTurns,
    /// Responses that wait to be sent.
    pub send_queue: SendQueue,
    /// Previews that were drawn lately.
    pub previews: Previews,
    /// The stored history, if there is one.
    pub(crate) archive: Option<Archive>,
    /// Open connections.
    pub connections: Arc<Connections>,
    /// Counters of all limits.
    pub limits: Arc<LimitCounters>,
    pub(crate) authorizer: Arc<Authorizer>,
    /// Past rollouts that were opened lately.
    pub(super) past: RolloutCache,
    /// Rollouts and moments that were opened by a link to them.
    pub(super) excerpts: Excerpts,
}

impl Rollcast {
    /// Creates the state of the server from its hubs and their site.
    pub fn new(hubs: Vec<Handle>, build: &'static str, viewers: Viewers, mut site: Site) -> Arc<Self> {
        let archive = site.archive.take();
        let clusters: BTreeMap<String, Handle> = hubs.iter().map(|hub| (hub.name().to_owned(), hub.clone())).collect();
        // As old as the others, so that both report the same time since which they watch.
        let empty = hubs
            .iter()
            .filter(|_| site.auth.requires_sign_in())
            .map(|hub| (hub.name().to_owned(), hub.empty()))
            .collect();
        let kept = archive.clone().map(|archive| -> StoredNamespaces {
            Box::new(move || {
                let archive = archive.clone();
                Box::pin(async move { archive.read(|reader| reader.namespaces()).await.ok() })
            })
        });
        let authorizer = Authorizer::new(clusters.values().cloned().collect(), kept);
        let connections = Arc::<Connections>::default();
        let limits = connections.limits.clone();
        let listings = Listings::new(hubs, limits.clone());
        Arc::new(Self {
            site,
            clusters,
            empty,
            build,
            viewers,
            is_ready: AtomicBool::new(false),
            started_millis: clock::now_millis(),
            resyncs: AtomicU64::new(0),
            listings,
            exports: ExportLimit::default(),
            budgets: RateLimit::new(QUESTIONS_AT_ONCE, QUESTION_EVERY),
            history_turns: ClientTurns::default(),
            moment_turns: ClientTurns::default(),
            send_queue: SendQueue::default(),
            previews: Previews::default(),
            archive,
            connections,
            limits,
            authorizer,
            past: RolloutCache::default(),
            excerpts: Excerpts::default(),
        })
    }

    /// Returns all hubs, without regard to permissions.
    pub fn all_hubs(&self) -> impl Iterator<Item = &Handle> {
        self.clusters.values()
    }

    /// Authenticates a request: by its link, or else by sign-in. `peer` is the other end of its connection, `from`
    /// the client that a trusted proxy reports. Also returns whether it has the cookie of a link that has ended.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        from: Option<IpAddr>,
    ) -> Result<(Viewer, bool), AuthError> {
        // A request with a token has the permissions of the token's owner, not those of a link.
        let shares = self.site.shares.as_ref().filter(|_| !self.site.auth.has_token(headers));
        let signed_in = self.site.auth.viewer(headers, peer, self.client(from));
        let Some(shares) = shares else { return Ok((signed_in.await?, false)) };
        let now_millis = clock::now_millis();
        match shares.viewer(headers, now_millis).await {
            Ok(Some(viewer)) => Ok((viewer, false)),
            Ok(None) => Ok((signed_in.await?, shares.is_over(headers, now_millis))),
            // While a link may still be valid, the viewer does not get their own pages in its place.
            Err(LinksUnavailable) if shares.is_over(headers, now_millis) => {
                signed_in.await.map(|viewer| (viewer, false)).map_err(|_| AuthError::LinkUnavailable)
            }
            Err(LinksUnavailable) => Err(AuthError::LinkUnavailable),
        }
    }

    /// Returns the address of one client; `None` for addresses from which many clients come.
    pub fn client(&self, from: Option<IpAddr>) -> Option<IpAddr> {
        from.filter(|from| !from.is_loopback() && !self.is_proxy(*from))
    }

    /// Returns whether a trusted proxy is at that address, from which many viewers may come.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        self.site.auth.is_trusted(address) || is_among(&self.site.proxies, address)
    }

    /// Describes the viewer for the foot of each page.
    pub fn audience(&self, viewer: &Viewer) -> Audience {
        if let Some(link) = &viewer.link {
            return Audience::ByLink { maker: safe(&viewer.name), until: clock::stamp(link.until_millis) };
        }
        let known =
            |can_leave| Audience::Known { name: safe(&viewer.name), can_leave, can_share: self.site.shares.is_some() };
        match self.site.auth {
            Auth::None => Audience::Nobody,
            Auth::Open => Audience::Everybody,
            Auth::Proxy(_) => known(false),
            Auth::Token(_) | Auth::Oidc(_) => known(true),
        }
    }

    /// Returns the hub for a hidden workload: empty, as for one that never existed.
    pub(crate) fn empty_hub(&self, workload: &Workload) -> Option<Handle> {
        if workload.rollout.is_some() && self.archive.is_some() {
            return None; // like a rollout that is not stored
        }
        self.empty.get(&workload.cluster).cloned()
    }

    /// Returns the hub of a workload: that of its cluster, or a past one for a single rollout. A past one goes on
    /// until `until_millis`, if that is later.
    pub(crate) async fn hub(&self, workload: &Workload, until_millis: Option<Millis>) -> Result<Handle, OpenError> {
        let Some(archive) = self.archive.as_ref().filter(|_| workload.rollout.is_some()) else {
            return self.clusters.get(&workload.cluster).cloned().ok_or(OpenError::Unknown);
        };
        let opened = self.past.open(archive, workload, until_millis).await;
        if let Err(why) = &opened {
            tracing::debug!("{}: {why}", workload.name);
            if matches!(why, OpenError::Full) {
                self.limits.count_hit(Limit::Rollouts);
            }
        }
        opened
    }

    /// Waits until the rate limit of a client allows another expensive response. Clients that cannot be distinguished
    /// are not limited.
    pub(crate) async fn throttle(&self, key: &ClientKey) {
        if *key != ClientKey::Shared {
            self.budgets.ready(key).await;
        }
    }

    /// Returns the hub of a link to one rollout or moment. Creating it is rate limited.
    pub(crate) async fn excerpt(&self, scope: &LinkScope, key: &ClientKey) -> Result<Handle, OpenError> {
        let live = scope.cluster().and_then(|cluster| self.clusters.get(cluster));
        let live = live.ok_or(OpenError::Unknown)?;
        if let Some(known) = self.excerpts.hubs.find(scope, None) {
            return known;
        }
        self.throttle(key).await;
        let stored = self.archive.clone().map(|archive| (archive, self.past.clone()));
        let opened = self.excerpts.open(live, stored, scope).await;
        if matches!(opened, Err(OpenError::Full)) {
            self.limits.count_hit(Limit::Rollouts);
        }
        opened
    }

    /// Returns whether a link to one rollout or one moment opens something.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(crate) async fn has_excerpt(&self, scope: &LinkScope) -> Result<bool, StoreError> {
        let Some(live) = scope.cluster().and_then(|cluster| self.clusters.get(cluster)) else { return Ok(false) };
        if self.excerpts.hubs.find(scope, None).is_some_and(|known| known.is_ok()) {
            return Ok(true);
        }
        excerpt::exists(live, self.archive.as_ref(), scope).await
    }
}
