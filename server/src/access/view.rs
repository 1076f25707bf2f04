//! A view: the clusters and workloads that one viewer may see. All readers go through one.

use std::sync::Arc;

use timeline::Workload;
use timeline::wire::Connection;
use tokio::sync::watch as signal;

use super::Viewer;
use crate::access::authorizer::{Authorizer, TooManyViewers};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::access::scope::LinkScope;
use crate::hub::{Handle, List};

/// The clusters and workloads that one viewer may see.
#[derive(Clone)]
pub struct View {
    authorizer: Arc<Authorizer>,
    viewer: Viewer,
    permissions: Arc<Permissions>,
}

impl View {
    /// Returns the view of a viewer.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn new(authorizer: &Arc<Authorizer>, viewer: Viewer) -> Result<Self, TooManyViewers> {
        let permissions = viewer.limit(authorizer.watch(&viewer).await?.borrow().clone());
        Ok(Self { authorizer: authorizer.clone(), viewer, permissions })
    }

    /// Adds a named namespace, if the viewer may see it: it is checked even if it is empty.
    pub async fn with_namespace(mut self, cluster: &str, namespace: &str) -> Self {
        if self.viewer.link.as_ref().is_some_and(|link| !link.scope.has_some_of(cluster, namespace)) {
            return self;
        }
        let is_seen = self.permissions.of(cluster).is_some_and(|seen| seen.has_some_of(namespace));
        if self.check_namespace(cluster, namespace).await == Some(true) && !is_seen {
            self.permissions = self.viewer.limit(Arc::new(self.permissions.and(cluster, namespace)));
        }
        self
    }

    /// Returns whether they may see a namespace; `None` if its cluster does not respond.
    pub async fn check_namespace(&self, cluster: &str, namespace: &str) -> Option<bool> {
        self.authorizer.check_namespace(&self.viewer, cluster, namespace).await
    }

    /// Returns their permissions, now and whenever they change.
    ///
    /// # Errors
    /// When there are too many viewers.
    pub async fn watch_permissions(&self) -> Result<signal::Receiver<Arc<Permissions>>, TooManyViewers> {
        self.authorizer.watch(&self.viewer).await
    }

    /// Replaces the permissions.
    #[must_use]
    pub fn with_permissions(self, permissions: Arc<Permissions>) -> Self {
        Self { permissions: self.viewer.limit(permissions), ..self }
    }

    /// Returns the viewer.
    #[must_use]
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Returns the permissions.
    #[must_use]
    pub const fn permissions(&self) -> &Arc<Permissions> {
        &self.permissions
    }

    /// The clusters that are seen.
    pub fn hubs(&self) -> impl Iterator<Item = &Handle> {
        self.authorizer.clusters().filter(|hub| self.permissions.of(hub.name()).is_some())
    }

    /// Returns whether something of a namespace is visible.
    #[must_use]
    pub fn sees_some_of(&self, cluster: &str, namespace: &str) -> bool {
        self.permissions.of(cluster).is_some_and(|seen| seen.has_some_of(namespace))
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
        self.authorizer.clusters().all(|hub| self.sees_all_of(hub.name()))
    }

    /// A cluster that is seen.
    #[must_use]
    pub fn has_cluster(&self, name: &str) -> bool {
        self.hubs().any(|hub| hub.name() == name)
    }

    /// The Deployments of a cluster that are seen.
    pub async fn list(&self, hub: &Handle) -> List {
        match self.list_permissions().of(hub.name()) {
            Some(seen) => seen.visible(hub.list().await),
            None => List::default(),
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

    /// Returns whether a workload of that name may be seen.
    #[must_use]
    pub fn can_see(&self, workload: &Workload) -> bool {
        self.permissions.has(&workload.cluster, workload.kind, &workload.namespace, &workload.name)
    }

    /// Returns the scope of their link, if it opens one rollout or one moment only.
    #[must_use]
    pub fn part(&self) -> Option<&LinkScope> {
        self.viewer.link.as_ref().map(|link| &link.scope).filter(|scope| scope.part().is_some())
    }

    /// Returns the permissions for lists.
    #[must_use]
    pub fn list_permissions(&self) -> Arc<Permissions> {
        if self.part().is_some() { Arc::new(Permissions::none()) } else { self.permissions.clone() }
    }
}
