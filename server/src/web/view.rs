//! This Rollcast as one viewer may see it. Handlers get nothing else: whoever has a [`View`] has asked for no more than the rights of
//! its viewer give.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use timeline::list::Query;
use timeline::wire::Connection;
use timeline::{Millis, Uid, Workload};
use tokio::sync::watch as signal;

use crate::access::Viewer;
use crate::access::followers::Follower;
use crate::access::rights::TooMany;
use crate::access::scope::Scope;
use crate::access::sight::{Seen, Sight};
use crate::history::Archive;
use crate::history::past::Lost;
use crate::history::sql::Reader;
use crate::history::store::StoreError;
use crate::hub::{Handle, ListedDeployment};
use crate::web::limits::Limit;
use crate::web::listing::{Choice, Chosen};
use crate::web::state::Rollcast;
use crate::web::unsent::Place;

/// What one viewer may see.
#[derive(Clone)]
pub struct View {
    rollcast: Arc<Rollcast>,
    viewer: Viewer,
    sight: Arc<Sight>,
    /// The address from which they ask, where that is known.
    from: Option<IpAddr>,
}

impl View {
    /// What a viewer may see now.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn of(rollcast: &Arc<Rollcast>, viewer: Viewer) -> Result<Self, TooMany> {
        let sight = viewer.within(rollcast.rights().of(&viewer).await?.borrow().clone());
        Ok(Self { rollcast: rollcast.clone(), viewer, sight, from: None })
    }

    /// The same, of who asks from that address.
    #[must_use]
    pub fn coming_from(self, from: Option<IpAddr>) -> Self {
        Self { from, ..self }
    }

    /// The same, who named a namespace: whether they may see it is asked even if nothing is known to be in it.
    pub async fn naming(mut self, cluster: &str, namespace: &str) -> Self {
        if self.viewer.link.as_ref().is_some_and(|link| !link.scope.has_some_of(cluster, namespace)) {
            return self;
        }
        let is_seen = self.sight.of(cluster).is_some_and(|seen| seen.has_some_of(namespace));
        if self.rollcast.rights().may_see(&self.viewer, cluster, namespace).await && !is_seen {
            self.sight = self.viewer.within(Arc::new(self.sight.and(cluster, namespace)));
        }
        self
    }

    /// Whether they may see a namespace, as its cluster says now; `None` where it does not say.
    pub async fn says(&self, cluster: &str, namespace: &str) -> Option<bool> {
        self.rollcast.rights().says(&self.viewer, cluster, namespace).await
    }

    /// What they may see from now on.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn changes(&self) -> Result<signal::Receiver<Arc<Sight>>, TooMany> {
        self.rollcast.rights().of(&self.viewer).await
    }

    /// The same viewer, who may see that.
    #[must_use]
    pub fn with(self, sight: Arc<Sight>) -> Self {
        Self { sight: self.viewer.within(sight), ..self }
    }

    /// Who looks.
    #[must_use]
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// What of this Rollcast is of no cluster.
    #[must_use]
    pub const fn rollcast(&self) -> &Arc<Rollcast> {
        &self.rollcast
    }

    /// What is seen.
    #[must_use]
    pub const fn sight(&self) -> &Arc<Sight> {
        &self.sight
    }

    /// The clusters that are seen.
    pub fn hubs(&self) -> impl Iterator<Item = &Handle> {
        self.rollcast.all_hubs().filter(|hub| self.sight.of(hub.name()).is_some())
    }

    /// All of a cluster is seen, by who came without a link: figures of all of it are no part of what a link opens, nor are texts that
    /// are written for operators.
    #[must_use]
    pub fn sees_all_of(&self, cluster: &str) -> bool {
        self.sight.of(cluster) == Some(&Seen::All)
    }

    /// Something of a namespace is seen.
    #[must_use]
    pub fn sees_some_of(&self, cluster: &str, namespace: &str) -> bool {
        self.sight.of(cluster).is_some_and(|seen| seen.has_some_of(namespace))
    }

    /// All of every cluster is seen, and with it what tells of all of them together.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.rollcast.all_hubs().all(|hub| self.sees_all_of(hub.name()))
    }

    /// A cluster that is seen.
    #[must_use]
    pub fn has_cluster(&self, name: &str) -> bool {
        self.hubs().any(|hub| hub.name() == name)
    }

    /// The Deployments of a cluster that are seen.
    #[must_use]
    pub fn list(&self, hub: &Handle) -> Vec<Arc<ListedDeployment>> {
        let list = hub.list().borrow().clone();
        match self.sight_of_lists().of(hub.name()) {
            Some(Seen::All | Seen::AllByLink) => list.to_vec(),
            Some(seen) => list.iter().filter(|listed| seen.has_listed(&listed.summary)).cloned().collect(),
            None => Vec::new(),
        }
    }

    /// How the server gets on with a cluster, as far as that tells of what is seen.
    #[must_use]
    pub fn connection(&self, hub: &Handle) -> Connection {
        let connection = hub.connection().borrow().clone();
        match self.sight.of(hub.name()) {
            Some(seen) => seen.of_connection(connection),
            None => Connection { forbidden: Vec::new(), ..Seen::AllByLink.of_connection(connection) },
        }
    }

    /// A workload of that name is seen, if there is one.
    #[must_use]
    pub fn shows(&self, workload: &Workload) -> bool {
        self.sight.has(&workload.cluster, workload.kind, &workload.namespace, &workload.name)
    }

    /// What they came by a link to, where that opens one rollout or one moment alone: nothing else is told.
    #[must_use]
    pub fn part(&self) -> Option<&Scope> {
        self.viewer.link.as_ref().map(|link| &link.scope).filter(|scope| scope.part().is_some())
    }

    /// What of lists is seen.
    fn sight_of_lists(&self) -> Arc<Sight> {
        if self.part().is_some() { Arc::new(Sight::nothing()) } else { self.sight.clone() }
    }

    /// Where a workload is known: the hub of its cluster, or the past where one of its rollouts is looked at by itself. Of what is not
    /// seen: a hub that knows nothing.
    pub async fn hub(&self, workload: &Workload) -> Option<Handle> {
        self.hub_at(workload, None).await.ok()
    }

    /// The same, which knows of a moment, as far as that can be told.
    ///
    /// # Errors
    /// When there is nothing, or nothing to see, or what is kept cannot be read.
    pub async fn hub_at(&self, workload: &Workload, at_millis: Option<Millis>) -> Result<Handle, Arc<Lost>> {
        let unknown = || Arc::new(Lost::Unknown);
        if !self.shows(workload) {
            let is_cluster_seen = self.sight.of(&workload.cluster).is_some();
            return self.rollcast.empty_hub(workload).filter(|_| is_cluster_seen).ok_or_else(unknown);
        }
        if let Some(part) = self.part() {
            let is_it = part.is_part_of(workload);
            let excerpt = if is_it { self.rollcast.excerpt(part, &self.payer()).await } else { Err(unknown()) };
            return match excerpt {
                Err(lost) if matches!(*lost, Lost::Unknown) => self.rollcast.empty_hub(workload).ok_or(lost),
                excerpt => excerpt,
            };
        }
        if let (Some(uid), Some(_)) = (workload.uid, workload.rollout) {
            // A UID of another workload leads to nothing, as one that is nobody's.
            let known = self.kept(workload, uid, |_| Ok(())).await.map_err(|why| Arc::new(Lost::from(why)))?;
            known.ok_or_else(unknown)?;
        }
        self.rollcast.hub(workload, at_millis).await
    }

    /// So many bytes wait to be sent to them for as long as that lives; `None` where too much waits.
    #[must_use]
    pub fn wait_to_send(&self, bytes: usize) -> Option<Place> {
        let place = self.rollcast.unsent.begin(self.follower(), bytes);
        if place.is_none() {
            self.rollcast.limits.met(Limit::Unsent);
        }
        place
    }

    /// A way to a hub that they follow; `None` where they follow too many rollouts that are over, or links too many excerpts, already.
    #[must_use]
    pub fn seat(&self, hub: Handle) -> Option<Handle> {
        self.rollcast.seat(hub, &self.follower())
    }

    /// The cluster's hub, whichever rollout the workload names.
    pub async fn live(&self, workload: &Workload) -> Option<Handle> {
        self.hub(&Workload { rollout: None, ..workload.clone() }).await
    }

    /// Lines of a list as they are now. Whoever answers a request with them has it [`Self::pay`] first.
    #[must_use]
    pub fn listed(&self, query: &Query) -> Chosen {
        self.rollcast.listings().now(query, &self.sight_of_lists())
    }

    /// Waits until something that takes long may be made for them once more.
    pub async fn pay(&self) {
        self.rollcast.pay(&self.payer()).await;
    }

    /// Follows a list.
    pub async fn follow(&self, query: &Query) -> Choice {
        let (listings, sight, follower) = (self.rollcast.listings(), self.sight_of_lists(), self.follower());
        if !listings.is_followed(query, &sight) {
            self.pay().await;
        }
        listings.follow(query, &sight, &follower)
    }

    /// Who this is, where what one has is counted.
    #[must_use]
    pub fn follower(&self) -> Follower {
        let link = self.viewer.link.as_ref().map(|link| link.id.clone());
        match (&self.viewer.subjects, self.rollcast.client(self.from)) {
            (Some(subjects), _) => Follower::Known(subjects.clone(), link),
            (None, Some(client)) => Follower::at(client),
            (None, None) => Follower::Many,
        }
    }

    /// Whose budget pays for what is made for them: of who came by a link that of their address, so that others who came by it, or by
    /// another one of its maker, do not wait for them.
    fn payer(&self) -> Follower {
        let address = self.viewer.link.as_ref().and_then(|_| self.rollcast.client(self.from));
        address.map_or_else(|| self.follower(), Follower::at)
    }

    /// Something is kept beyond the life of the program.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.archive().is_some()
    }

    /// The archive, for what asks it with [`Self::sight`]; not for who came by a link to one rollout or moment.
    #[must_use]
    pub fn archive(&self) -> Option<&Archive> {
        self.rollcast.archive().filter(|_| self.part().is_none())
    }

    /// Reads what is kept of a workload that is seen and of that UID; `None` where there is nothing, or nothing to see.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub async fn kept<T: Send + 'static>(
        &self,
        workload: &Workload,
        uid: Uid,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let Some(archive) = self.archive().filter(|_| self.shows(workload)) else {
            return Ok(None);
        };
        let named = Workload { uid: None, rollout: None, ..workload.clone() };
        archive
            .read(move |reader| {
                // A UID names a workload, whatever the address says besides.
                if reader.places(uid)?.contains(&named) { read(reader).map(Some) } else { Ok(None) }
            })
            .await
    }
}

/// What the guard found out of the viewer of a request.
impl<S: Send + Sync> FromRequestParts<S> for View {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::UNAUTHORIZED)
    }
}
