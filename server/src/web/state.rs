//! What every request handler shares.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use app::components::audience::Audience;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use ipnet::IpNet;
use timeline::words::safe;
use timeline::{Millis, Workload};

use crate::access::followers::Follower;
use crate::access::forwarded::is_among;
use crate::access::rights::{KeptNamespaces, Rights};
use crate::access::scope::Scope;
use crate::access::share::Shares;
use crate::access::{Auth, Stranger, Viewer};
use crate::export::excerpt::{self, Excerpts};
use crate::export::exports::Exports;
use crate::feed::playground::Playground;
use crate::history::Archive;
use crate::history::past::{Lost, Past};
use crate::hub::Handle;
use crate::telemetry::audit::Audit;
use crate::telemetry::clock;
use crate::telemetry::rate::RateLimit;
use crate::telemetry::viewers::Viewers;
use crate::web::addressed::Addressed;
use crate::web::connections::Connections;
use crate::web::limits::{Limit, Limits, QUESTION_EVERY, QUESTIONS_AT_ONCE};
use crate::web::listing::{Clusters, Listings};
use crate::web::previews::Previews;
use crate::web::unsent::Unsent;

/// What is served besides clusters, and to whom.
#[derive(Default)]
pub struct Site {
    /// How it is addressed.
    pub addressed: Addressed,
    /// How viewers are known.
    pub auth: Auth,
    /// Links for people without an account, where people sign in.
    pub shares: Option<Arc<Shares>>,
    /// Writes down who looks at what.
    pub audit: Option<Audit>,
    /// Proxies in front that are believed when they say from whom a request is.
    pub proxies: Vec<IpNet>,
    /// Badges and previews are for everybody, and for the pages of other sites.
    pub has_public_pictures: bool,
    /// The simulated cluster, if that is what is watched.
    pub playground: Option<Arc<Playground>>,
    /// What is kept.
    pub archive: Option<Archive>,
}

/// A running Rollcast.
pub struct Rollcast {
    /// A hub per cluster, by the cluster's name.
    clusters: BTreeMap<String, Handle>,
    /// A hub per cluster that holds no objects, for those who may not see what they ask for.
    empty: BTreeMap<String, Handle>,
    /// Build of the page that is served.
    pub build: &'static str,
    /// How many viewers are connected.
    pub viewers: Viewers,
    /// Every cluster was listed or said why not, at some time.
    pub is_ready: AtomicBool,
    /// When the server started, in milliseconds since the epoch.
    pub started_millis: Millis,
    /// How often a viewer lagged and was given a fresh snapshot.
    pub resyncs: AtomicU64,
    /// The lists that viewers follow.
    listings: Arc<Listings>,
    /// How this server is addressed.
    pub addressed: Addressed,
    /// Files of rollouts that are being made: that takes a while.
    pub exports: Arc<Exports>,
    /// What clients may have made for them, however many streams each of them has.
    budgets: RateLimit<Follower>,
    /// Answers that wait to be sent.
    pub unsent: Arc<Unsent>,
    /// Previews that were drawn lately.
    pub previews: Previews,
    /// What is kept beyond the life of the program, if anything is.
    archive: Option<Archive>,
    /// How viewers are known.
    pub auth: Auth,
    /// Links for people without an account, where people sign in.
    pub shares: Option<Arc<Shares>>,
    /// Writes down who looks at what, where that is wanted.
    pub audit: Option<Audit>,
    /// Connections that there are.
    pub connections: Arc<Connections>,
    /// How often limits were met.
    pub limits: Arc<Limits>,
    /// Proxies in front that are believed when they say from whom a request is.
    proxies: Vec<IpNet>,
    /// Badges and previews are for everybody, and for the pages of other sites.
    pub has_public_pictures: bool,
    /// What they may see.
    rights: Arc<Rights>,
    /// Rollouts that are over and were looked at lately.
    past: Past,
    /// Rollouts and moments that people look at who came by a link to them.
    excerpts: Excerpts,
    /// The simulated cluster, if that is what is watched.
    pub playground: Option<Arc<Playground>>,
}

impl Rollcast {
    /// Brings hubs together that keep nothing.
    #[must_use]
    pub fn new(
        hubs: Vec<Handle>,
        build: &'static str,
        viewers: Viewers,
        hosts: Vec<String>,
        playground: Option<Arc<Playground>>,
    ) -> Arc<Self> {
        Self::with(hubs, build, viewers, Site { addressed: Addressed::by(hosts), playground, ..Site::default() })
    }

    /// Brings hubs together, and what else there is.
    #[must_use]
    pub fn with(hubs: Vec<Handle>, build: &'static str, viewers: Viewers, site: Site) -> Arc<Self> {
        let Site { addressed, auth, shares, audit, proxies, has_public_pictures, playground, archive } = site;
        let clusters = hubs.iter().map(|hub| (hub.name().to_owned(), hub.clone())).collect();
        // As old as the others, so that they say the same of how long they have looked.
        let empty = hubs.iter().filter(|_| auth.asks()).map(|hub| (hub.name().to_owned(), hub.empty())).collect();
        let kept = archive.clone().map(|archive| -> KeptNamespaces {
            Box::new(move || {
                let archive = archive.clone();
                Box::pin(async move { archive.read(|reader| reader.namespaces()).await.ok() })
            })
        });
        let rights = Rights::new(hubs.clone(), kept);
        let connections = Arc::<Connections>::default();
        let limits = connections.limits.clone();
        let listings = Listings::new(Clusters::new(hubs), limits.clone());
        Arc::new(Self {
            clusters,
            empty,
            build,
            viewers,
            is_ready: AtomicBool::new(false),
            started_millis: clock::now_millis(),
            resyncs: AtomicU64::new(0),
            listings,
            addressed,
            exports: Arc::default(),
            budgets: RateLimit::new(QUESTIONS_AT_ONCE, QUESTION_EVERY),
            unsent: Arc::default(),
            previews: Previews::default(),
            archive,
            auth,
            shares,
            audit,
            connections,
            limits,
            proxies,
            has_public_pictures,
            rights,
            past: Past::default(),
            excerpts: Excerpts::default(),
            playground,
        })
    }

    /// All hubs, whoever looks: for figures of the program.
    pub fn all_hubs(&self) -> impl Iterator<Item = &Handle> {
        self.clusters.values()
    }

    /// Who sends a request: by a link where one was handed in, else whoever is known. It came over a connection with `peer`, and is from
    /// `from` as far as proxies say it.
    ///
    /// # Errors
    /// When that is nobody.
    pub async fn viewer(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        from: Option<IpAddr>,
    ) -> Result<Viewer, Stranger> {
        // Who shows a token of their own is its owner.
        let shares = self.shares.as_ref().filter(|_| !headers.contains_key(AUTHORIZATION));
        let by_link = match shares {
            Some(shares) => shares.viewer(headers, clock::now_millis()).await.map_err(|_| Stranger::Unchecked)?,
            None => None,
        };
        match by_link {
            Some(viewer) => Ok(viewer),
            None => self.auth.viewer(headers, peer, self.client(from)).await,
        }
    }

    /// One client, by its address; `None` for addresses from which many come.
    #[must_use]
    pub fn client(&self, from: Option<IpAddr>) -> Option<IpAddr> {
        from.filter(|from| !from.is_loopback() && !self.is_proxy(*from))
    }

    /// A proxy that is believed is at that address; many viewers may come from there.
    #[must_use]
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        self.auth.is_trusted(address) || is_among(&self.proxies, address)
    }

    /// The viewer, as the foot of each page names them.
    #[must_use]
    pub fn audience(&self, viewer: &Viewer) -> Audience {
        if let Some(link) = &viewer.link {
            return Audience::ByLink { maker: safe(&viewer.name), until: clock::stamp(link.until_millis) };
        }
        let known =
            |can_leave| Audience::Known { name: safe(&viewer.name), can_leave, can_share: self.shares.is_some() };
        match self.auth {
            Auth::None => Audience::Nobody,
            Auth::Open => Audience::Everybody,
            Auth::Proxy(_) => known(false),
            Auth::Token(_) | Auth::Oidc(_) => known(true),
        }
    }

    /// What viewers may see.
    pub(crate) const fn rights(&self) -> &Arc<Rights> {
        &self.rights
    }

    /// The lists that viewers follow.
    pub(crate) const fn listings(&self) -> &Arc<Listings> {
        &self.listings
    }

    /// What is kept, if anything is.
    pub(crate) const fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    /// Where a workload is that may not be seen: like one that was never there.
    pub(crate) fn empty_hub(&self, workload: &Workload) -> Option<Handle> {
        if workload.rollout.is_some() && self.archive.is_some() {
            return None; // as a rollout that is not kept
        }
        self.empty.get(&workload.cluster).cloned()
    }

    /// Where a workload is known: the hub of its cluster, or the past where one of its rollouts is looked at by itself.
    /// Such a rollout is told until a later moment where one is named.
    ///
    /// # Errors
    /// When there is no such cluster, or the rollout is not kept or cannot be read.
    pub(crate) async fn hub(&self, workload: &Workload, until_millis: Option<Millis>) -> Result<Handle, Arc<Lost>> {
        let Some(archive) = self.archive.as_ref().filter(|_| workload.rollout.is_some()) else {
            return self.clusters.get(&workload.cluster).cloned().ok_or_else(|| Arc::new(Lost::Unknown));
        };
        let opened = self.past.open(archive, workload, until_millis).await;
        if let Err(why) = &opened {
            tracing::debug!("{}: {why}", workload.name);
            if matches!(**why, Lost::Full) {
                self.limits.met(Limit::Rollouts);
            }
        }
        opened
    }

    /// Waits until something that takes long may be made for a client once more. Who is not told from others is not held back.
    pub(crate) async fn pay(&self, payer: &Follower) {
        if *payer != Follower::Many {
            self.budgets.ready(payer).await;
        }
    }

    /// What a link to one rollout or one moment opens. One client has so many of them made.
    ///
    /// # Errors
    /// When that is not known any more, cannot be read, or is one too many.
    pub(crate) async fn excerpt(&self, scope: &Scope, payer: &Follower) -> Result<Handle, Arc<Lost>> {
        let live = scope.cluster().and_then(|cluster| self.clusters.get(cluster));
        let live = live.ok_or_else(|| Arc::new(Lost::Unknown))?;
        if let Some(known) = self.excerpts.find(scope).await {
            return known;
        }
        self.pay(payer).await;
        let stored = self.archive.as_ref().map(|archive| (archive, &self.past));
        let opened = self.excerpts.open(live, stored, scope).await;
        if opened.as_ref().is_err_and(|why| matches!(**why, Lost::Full)) {
            self.limits.met(Limit::Rollouts);
        }
        opened
    }

    /// A way to a hub for a client who follows it; `None` where too many of those that are made for clients are followed already.
    pub(crate) fn seat(&self, hub: Handle, follower: &Follower) -> Option<Handle> {
        let seat = self.past.seat(hub, follower).and_then(|hub| self.excerpts.seat(hub, follower));
        if seat.is_none() {
            self.limits.met(Limit::Rollouts);
        }
        seat
    }

    /// There is something that a link to one rollout or one moment opens.
    pub(crate) async fn has_excerpt(&self, scope: &Scope) -> bool {
        let Some(live) = scope.cluster().and_then(|cluster| self.clusters.get(cluster)) else { return false };
        self.excerpts.find(scope).await.is_some_and(|known| known.is_ok())
            || excerpt::is_known(live, self.archive.as_ref(), scope).await
    }
}
