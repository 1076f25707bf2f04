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
use crate::access::authorizer::TooManyViewers;
use crate::access::clients::ClientKey;
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::access::scope::Scope;
use crate::history::Archive;
use crate::history::past::Lost;
use crate::history::sql::Reader;
use crate::history::store::StoreError;
use crate::hub::{Handle, ListedDeployment};
use crate::web::limits::Limit;
use crate::web::listing::{ListResult, ListSubscription};
use crate::web::send_queue::QueuedBytes;
use crate::web::state::Rollcast;

/// This server as one viewer may see it.
#[derive(Clone)]
pub struct View {
    rollcast: Arc<Rollcast>,
    viewer: Viewer,
    permissions: Arc<Permissions>,
    /// The address from which they ask, where that is known.
    from: Option<IpAddr>,
}

impl View {
    /// Returns the view of a viewer.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn of(rollcast: &Arc<Rollcast>, viewer: Viewer) -> Result<Self, TooManyViewers> {
        let permissions = viewer.within(rollcast.authorizer().of(&viewer).await?.borrow().clone());
        Ok(Self { rollcast: rollcast.clone(), viewer, permissions, from: None })
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn coming_from(self, from: Option<IpAddr>) -> Self {
        Self { from, ..self }
    }

    /// Adds a named namespace, if the viewer may see it: it is checked even if it is empty.
    pub async fn naming(mut self, cluster: &str, namespace: &str) -> Self {
        if self.viewer.link.as_ref().is_some_and(|link| !link.scope.has_some_of(cluster, namespace)) {
            return self;
        }
        let is_seen = self.permissions.of(cluster).is_some_and(|seen| seen.has_some_of(namespace));
        if self.rollcast.authorizer().may_see(&self.viewer, cluster, namespace).await && !is_seen {
            self.permissions = self.viewer.within(Arc::new(self.permissions.and(cluster, namespace)));
        }
        self
    }

    /// Returns whether they may see a namespace; `None` if its cluster does not respond.
    pub async fn says(&self, cluster: &str, namespace: &str) -> Option<bool> {
        self.rollcast.authorizer().says(&self.viewer, cluster, namespace).await
    }

    /// Returns their permissions, now and whenever they change.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn changes(&self) -> Result<signal::Receiver<Arc<Permissions>>, TooManyViewers> {
        self.rollcast.authorizer().of(&self.viewer).await
    }

    /// Replaces the permissions.
    #[must_use]
    pub fn with(self, permissions: Arc<Permissions>) -> Self {
        Self { permissions: self.viewer.within(permissions), ..self }
    }

    /// Returns the viewer.
    #[must_use]
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Returns the server's state that belongs to no cluster.
    #[must_use]
    pub const fn rollcast(&self) -> &Arc<Rollcast> {
        &self.rollcast
    }

    /// Returns the permissions.
    #[must_use]
    pub const fn permissions(&self) -> &Arc<Permissions> {
        &self.permissions
    }

    /// The clusters that are seen.
    pub fn hubs(&self) -> impl Iterator<Item = &Handle> {
        self.rollcast.all_hubs().filter(|hub| self.permissions.of(hub.name()).is_some())
    }

    /// All of a cluster is seen, by who came without a link: figures of all of it are no part of what a link opens, nor are texts that
    /// are written for operators.
    #[must_use]
    pub fn sees_all_of(&self, cluster: &str) -> bool {
        self.permissions.of(cluster) == Some(&ClusterPermissions::All)
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
        match self.list_permissions().of(hub.name()) {
            Some(ClusterPermissions::All | ClusterPermissions::AllByLink) => list.to_vec(),
            Some(seen) => list.iter().filter(|listed| seen.has_listed(&listed.summary)).cloned().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the connection state of a cluster, without details that the viewer may not see.
    #[must_use]
    pub fn connection(&self, hub: &Handle) -> Connection {
        let connection = hub.connection().borrow().clone();
        match self.permissions.of(hub.name()) {
            Some(seen) => seen.of_connection(connection),
            None => Connection { forbidden: Vec::new(), ..ClusterPermissions::AllByLink.of_connection(connection) },
        }
    }

    /// A workload of that name is seen, if there is one.
    #[must_use]
    pub fn shows(&self, workload: &Workload) -> bool {
        self.permissions.has(&workload.cluster, workload.kind, &workload.namespace, &workload.name)
    }

    /// Returns the scope of their link, if it opens one rollout or one moment only.
    #[must_use]
    pub fn part(&self) -> Option<&Scope> {
        self.viewer.link.as_ref().map(|link| &link.scope).filter(|scope| scope.part().is_some())
    }

    /// Returns the permissions for lists.
    fn list_permissions(&self) -> Arc<Permissions> {
        if self.part().is_some() { Arc::new(Permissions::nothing()) } else { self.permissions.clone() }
    }

    /// Returns the hub of a workload: that of its cluster, or a past one for a single rollout. For a hidden workload
    /// an empty hub.
    pub async fn hub(&self, workload: &Workload) -> Option<Handle> {
        self.hub_at(workload, None).await.ok()
    }

    /// Like [`Self::hub`], but also returns past moments that are still stored.
    ///
    /// # Errors
    /// When there is nothing, or nothing to see, or what is kept cannot be read.
    pub async fn hub_at(&self, workload: &Workload, at_millis: Option<Millis>) -> Result<Handle, Arc<Lost>> {
        let unknown = || Arc::new(Lost::Unknown);
        if !self.shows(workload) {
            let is_cluster_seen = self.permissions.of(&workload.cluster).is_some();
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

    /// Counts response bytes until the guard is dropped; `None` if too many are waiting.
    #[must_use]
    pub fn wait_to_send(&self, bytes: usize) -> Option<QueuedBytes> {
        let place = self.rollcast.send_queue.begin(self.follower(), bytes);
        if place.is_none() {
            self.rollcast.limits.count_hit(Limit::Unsent);
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
    pub fn listed(&self, query: &Query) -> ListResult {
        self.rollcast.listings().now(query, &self.list_permissions())
    }

    /// Waits until something that takes long may be made for them once more.
    pub async fn pay(&self) {
        self.rollcast.pay(&self.payer()).await;
    }

    /// Follows a list.
    pub async fn follow(&self, query: &Query) -> ListSubscription {
        let (listings, permissions, follower) = (self.rollcast.listings(), self.list_permissions(), self.follower());
        if !listings.is_followed(query, &permissions) {
            self.pay().await;
        }
        listings.follow(query, &permissions, &follower)
    }

    /// Returns the key under which limits count this client.
    #[must_use]
    pub fn follower(&self) -> ClientKey {
        let link = self.viewer.link.as_ref().map(|link| link.id.clone());
        match (&self.viewer.subjects, self.rollcast.client(self.from)) {
            (Some(subjects), _) => ClientKey::Subjects(subjects.clone(), link),
            (None, Some(client)) => ClientKey::of_address(client),
            (None, None) => ClientKey::Shared,
        }
    }

    /// Returns the key whose rate limit applies: with a link that of the address, so that users of the same link do
    /// not delay each other.
    fn payer(&self) -> ClientKey {
        let address = self.viewer.link.as_ref().and_then(|_| self.rollcast.client(self.from));
        address.map_or_else(|| self.follower(), ClientKey::of_address)
    }

    /// Something is kept beyond the life of the program.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.archive().is_some()
    }

    /// The archive, for what asks it with [`Self::permissions`]; not for who came by a link to one rollout or moment.
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

/// The view that the guard created for a request.
impl<S: Send + Sync> FromRequestParts<S> for View {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::UNAUTHORIZED)
    }
}
