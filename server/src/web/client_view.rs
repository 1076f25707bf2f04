//! The server as one client reads it. Handlers get nothing else, so they can read no more than the viewer may see.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use timeline::list::Query;
use timeline::wire::Connection;
use timeline::{Millis, Uid, Workload};
use tokio::sync::{OwnedMutexGuard, watch as signal};

use crate::access::Viewer;
use crate::access::clients::{ClientKey, UsageGuard};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::access::scope::LinkScope;
use crate::export::export_limit::ExportJob;
use crate::history::Archive;
use crate::history::hub_cache::OpenError;
use crate::history::sql::Reader;
use crate::history::store::StoreError;
use crate::hub::{Handle, List};
use crate::web::limits::Limit;
use crate::web::listing::{ListResult, ListSubscription};
use crate::web::state::Rollcast;

/// The server as one client reads it: the clusters and workloads that its viewer may see, and the limits that count it.
#[derive(Clone)]
pub struct ClientView {
    rollcast: Arc<Rollcast>,
    viewer: Viewer,
    permissions: Arc<Permissions>,
    /// Address of the client, if known.
    from: Option<IpAddr>,
}

impl ClientView {
    /// Returns the view of a viewer; `None` if there are too many viewers.
    pub async fn new(rollcast: &Arc<Rollcast>, viewer: Viewer) -> Option<Self> {
        let permissions = viewer.limit(rollcast.authorizer.watch(&viewer).await?.borrow().clone());
        Some(Self { rollcast: rollcast.clone(), viewer, permissions, from: None })
    }

    /// Adds a named namespace, if the viewer may see it: it is checked even if it is empty.
    pub async fn with_namespace(self, cluster: &str, namespace: &str) -> Self {
        let is_allowed = self.check_namespace(cluster, namespace).await == Some(true);
        if is_allowed { self.and_namespace(cluster, namespace) } else { self }
    }

    /// Adds a namespace that a review allowed.
    pub(super) fn and_namespace(mut self, cluster: &str, namespace: &str) -> Self {
        if !self.sees_some_of(cluster, namespace) {
            self.permissions = self.viewer.limit(Arc::new(self.permissions.and(cluster, namespace)));
        }
        self
    }

    /// Returns whether they may see a namespace; `None` if its cluster does not respond.
    pub async fn check_namespace(&self, cluster: &str, namespace: &str) -> Option<bool> {
        if self.viewer.link.as_ref().is_some_and(|link| !link.scope.has_some_of(cluster, namespace)) {
            return Some(false);
        }
        self.rollcast.authorizer.check_namespace(&self.viewer, cluster, namespace).await
    }

    /// Replaces the permissions.
    #[must_use]
    pub fn with_permissions(self, permissions: Arc<Permissions>) -> Self {
        Self { permissions: self.viewer.limit(permissions), ..self }
    }

    /// Returns their permissions, now and whenever they change; `None` if there are too many viewers.
    pub async fn watch_permissions(&self) -> Option<signal::Receiver<Arc<Permissions>>> {
        self.rollcast.authorizer.watch(&self.viewer).await
    }

    /// Returns the viewer.
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Returns the permissions.
    pub const fn permissions(&self) -> &Arc<Permissions> {
        &self.permissions
    }

    /// Returns the hubs of the visible clusters.
    pub fn hubs(&self) -> impl Iterator<Item = &Handle> {
        self.rollcast.all_hubs().filter(|hub| self.permissions.of(hub.name()).is_some())
    }

    /// Returns whether something of a namespace is visible.
    pub fn sees_some_of(&self, cluster: &str, namespace: &str) -> bool {
        self.permissions.of(cluster).is_some_and(|seen| seen.has_some_of(namespace))
    }

    /// Returns whether all of a cluster is visible to a viewer without a link. Figures of a whole cluster, and texts
    /// for operators, are no part of what a link opens.
    pub fn sees_all_of(&self, cluster: &str) -> bool {
        self.permissions.of(cluster) == Some(&ClusterPermissions::All)
    }

    /// Returns whether all of every cluster is visible, and so texts about all of them together.
    pub fn sees_all(&self) -> bool {
        self.rollcast.all_hubs().all(|hub| self.sees_all_of(hub.name()))
    }

    /// Returns whether a cluster is visible.
    pub fn has_cluster(&self, name: &str) -> bool {
        self.hubs().any(|hub| hub.name() == name)
    }

    /// Returns the visible Deployments of a cluster.
    pub async fn list(&self, hub: &Handle) -> List {
        match self.list_permissions().of(hub.name()) {
            Some(seen) => seen.visible(hub.list().await),
            None => List::default(),
        }
    }

    /// Returns the connection state of a cluster, without details that the viewer may not see.
    pub fn connection(&self, hub: &Handle) -> Connection {
        let connection = hub.connection().borrow().clone();
        match self.permissions.of(hub.name()) {
            Some(seen) => seen.of_connection(connection),
            None => Connection { forbidden: Vec::new(), ..ClusterPermissions::AllByLink.of_connection(connection) },
        }
    }

    /// Returns whether a workload of that name may be seen.
    pub fn can_see(&self, workload: &Workload) -> bool {
        self.permissions.has(&workload.cluster, workload.kind, &workload.namespace, &workload.name)
    }

    /// Returns the scope of their link, if it opens one rollout or one moment only.
    pub fn part(&self) -> Option<&LinkScope> {
        self.viewer.link.as_ref().map(|link| &link.scope).filter(|scope| scope.part().is_some())
    }

    /// Returns the permissions for lists.
    pub fn list_permissions(&self) -> Arc<Permissions> {
        if self.part().is_some() { Arc::new(Permissions::none()) } else { self.permissions.clone() }
    }

    /// Returns the server's state that belongs to no cluster.
    pub const fn rollcast(&self) -> &Arc<Rollcast> {
        &self.rollcast
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn from_address(self, from: Option<IpAddr>) -> Self {
        Self { from, ..self }
    }

    /// Returns the hub of a workload: that of its cluster, or a past one for a single rollout. For a hidden workload
    /// an empty hub.
    pub async fn hub(&self, workload: &Workload) -> Option<Handle> {
        self.hub_at(workload, None).await.ok()
    }

    /// Like [`Self::hub`], but also returns past moments that are still stored.
    ///
    /// # Errors
    /// When it does not exist, is hidden, or the stored data cannot be read.
    pub async fn hub_at(&self, workload: &Workload, at_millis: Option<Millis>) -> Result<Handle, OpenError> {
        let is_kept = workload.uid.is_some() && workload.rollout.is_some() && self.part().is_none();
        if is_kept && self.can_see(workload) {
            self.throttle().await; // reading and replaying a recording is expensive
        }
        self.open_hub(workload, at_millis).await
    }

    /// Like [`Self::hub_at`], without waiting for [`Self::throttle`]: a stream did so before.
    pub(super) async fn open_hub(&self, workload: &Workload, at_millis: Option<Millis>) -> Result<Handle, OpenError> {
        if !self.can_see(workload) {
            let is_cluster_seen = self.permissions.of(&workload.cluster).is_some();
            return self.rollcast.empty_hub(workload).filter(|_| is_cluster_seen).ok_or(OpenError::Unknown);
        }
        if let Some(part) = self.part() {
            let is_it = part.is_part_of(workload);
            let excerpt =
                if is_it { self.rollcast.excerpt(part, &self.throttle_key()).await } else { Err(OpenError::Unknown) };
            return match excerpt {
                Err(OpenError::Unknown) => self.rollcast.empty_hub(workload).ok_or(OpenError::Unknown),
                excerpt => excerpt,
            };
        }
        let _turn = match workload.uid.filter(|_| workload.rollout.is_some()) {
            Some(uid) => {
                let turn = self.history_turn().await;
                // A UID of another workload is answered like one that does not exist.
                self.read_stored(workload, uid, |_| Ok(())).await?.ok_or(OpenError::Unknown)?;
                turn
            }
            None => None,
        };
        self.rollcast.hub(workload, at_millis).await
    }

    /// Counts response bytes until the guard is dropped; `None` if too many are waiting.
    #[must_use]
    pub fn queue_bytes(&self, bytes: usize) -> Option<UsageGuard<ClientKey>> {
        self.rollcast.limits.count_refusal(Limit::Unsent, self.rollcast.send_queue.begin(self.client_key(), bytes))
    }

    /// Begins to make a file of a rollout; `None` while the client has another one, or too many are made.
    #[must_use]
    pub fn begin_export(&self) -> Option<ExportJob> {
        self.rollcast.limits.count_refusal(Limit::Exports, self.rollcast.exports.begin(self.client_key()))
    }

    /// Returns a handle of a hub that counts as followed; `None` if the client already follows too many past rollouts,
    /// or links too many excerpts.
    pub fn subscribe_to(&self, hub: Handle) -> Option<Handle> {
        let (follower, Rollcast { past, excerpts, limits, .. }) = (self.client_key(), &*self.rollcast);
        let seat = past.hubs.add_follower(hub, &follower);
        let seat = seat.and_then(|hub| excerpts.hubs.add_follower(hub, &follower));
        limits.count_refusal(Limit::Rollouts, seat)
    }

    /// Returns the hub of the cluster, whichever rollout the workload names.
    pub async fn live_hub(&self, workload: &Workload) -> Option<Handle> {
        self.hub(&Workload { rollout: None, ..workload.clone() }).await
    }

    /// Returns lines of a list as they are now. A handler that responds with them awaits [`Self::throttle`] first.
    pub async fn list_now(&self, query: &Query) -> ListResult {
        self.rollcast.listings.now(query, &self.list_permissions()).await
    }

    /// Waits until the client may request expensive work again.
    pub async fn throttle(&self) {
        self.rollcast.throttle(&self.throttle_key()).await;
    }

    /// Waits for the client's turn to read much of the history. Readers and replays serve requests in order of arrival:
    /// without turns, other clients would wait for all requests of one client.
    pub async fn history_turn(&self) -> Option<OwnedMutexGuard<()>> {
        self.rollcast.history_turns.take(&self.throttle_key()).await
    }

    /// Waits for the client's turn for details, a moment or a preview: only one is made at a time for each cluster, or
    /// of all previews.
    pub async fn moment_turn(&self) -> Option<OwnedMutexGuard<()>> {
        self.rollcast.moment_turns.take(&self.throttle_key()).await
    }

    /// Waits until the client may request another list; one that has followers needs no wait.
    pub async fn throttle_list(&self, query: &Query) {
        if !self.rollcast.listings.is_followed(query, &self.list_permissions()) {
            self.throttle().await;
        }
    }

    /// Follows a list. Callers await [`Self::throttle_list`] first.
    pub async fn follow(&self, query: &Query) -> ListSubscription {
        let (listings, permissions, follower) = (&self.rollcast.listings, self.list_permissions(), self.client_key());
        if !listings.is_followed(query, &permissions) {
            listings.renew(&permissions).await;
        }
        listings.follow(query, &permissions, &follower)
    }

    /// Returns the key under which limits count this client.
    pub fn client_key(&self) -> ClientKey {
        let link = self.viewer.link.as_ref().map(|link| link.id.clone());
        match (&self.viewer.subjects, self.rollcast.client(self.from)) {
            (Some(subjects), _) => ClientKey::Subjects(subjects.clone(), link),
            (None, Some(client)) => ClientKey::of_address(client),
            (None, None) => ClientKey::Shared,
        }
    }

    /// Returns the key whose rate limit applies: with a link that of the address, so that users of the same link do
    /// not delay each other.
    fn throttle_key(&self) -> ClientKey {
        let address = self.viewer.link.as_ref().and_then(|_| self.rollcast.client(self.from));
        address.map_or_else(|| self.client_key(), ClientKey::of_address)
    }

    /// Returns whether a history is stored that the viewer may read.
    pub fn has_history(&self) -> bool {
        self.archive().is_some()
    }

    /// Returns the archive, which callers ask with [`Self::permissions`]; `None` for a link to one rollout or moment.
    pub fn archive(&self) -> Option<&Archive> {
        self.rollcast.archive.as_ref().filter(|_| self.part().is_none())
    }

    /// Reads stored data of a visible workload with that UID; `None` if there is none, or it is hidden.
    pub async fn read_stored<T: Send + 'static>(
        &self,
        workload: &Workload,
        uid: Uid,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let Some(archive) = self.archive().filter(|_| self.can_see(workload)) else {
            return Ok(None);
        };
        let named = Workload { uid: None, rollout: None, ..workload.clone() };
        archive
            .read(move |reader| {
                // A UID identifies a workload, whatever else the address says.
                if reader.workloads(uid)?.contains(&named) { read(reader).map(Some) } else { Ok(None) }
            })
            .await
    }
}

/// The view that the guard created for a request.
impl<S: Send + Sync> FromRequestParts<S> for ClientView {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::UNAUTHORIZED)
    }
}
