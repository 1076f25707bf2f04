//! Lists: for every question that viewers ask, ONE task chooses and sorts whenever a hub's list changes; each viewer then
//! hears only what changed in the lines it has in view.
//!
//! ```text
//!   hubs ──watch "list", "connection"──► task per question ──watch "chosen"──► sessions ──► ListDelta of the lines in view
//! ```

mod choose;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::select_all;
use timeline::list::{ClusterState, Query};
use timeline::wire::Connection;
use tokio::sync::watch as signal;

pub use choose::{Chosen, Source, choose};

use crate::hub::{Handle, List};

/// A list is chosen anew at most this often while things change, and at least this often: groups change by time alone.
const CHOOSE_EVERY: Duration = Duration::from_millis(250);
const CHOOSE_AGAIN: Duration = Duration::from_secs(15);

/// The clusters in the order of the command line.
#[derive(Clone)]
pub struct Clusters(Arc<[Handle]>);

impl Clusters {
    /// Brings them together.
    #[must_use]
    pub fn new(hubs: Vec<Handle>) -> Self {
        Self(hubs.into())
    }

    /// What can be listed now.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        let source = |hub: &Handle| Source {
            state: ClusterState {
                name: hub.name().to_owned(),
                accent: hub.accent(),
                connection: hub.connection().borrow().clone(),
                now_millis: hub.now_millis(),
            },
            list: hub.list().borrow().clone(),
        };
        self.0.iter().map(source).collect()
    }

    fn changes(&self) -> Changes {
        Changes {
            lists: self.0.iter().map(Handle::list).collect(),
            connections: self.0.iter().map(Handle::connection).collect(),
        }
    }
}

/// What lists are chosen anew for.
struct Changes {
    lists: Vec<signal::Receiver<List>>,
    connections: Vec<signal::Receiver<Connection>>,
}

impl Changes {
    /// Waits until one of the watched values changes.
    async fn next(&mut self) {
        async fn any<T>(of: &mut [signal::Receiver<T>]) {
            if of.is_empty() {
                return std::future::pending().await;
            }
            // Hubs end only when the program does.
            let _ = select_all(of.iter_mut().map(|one| Box::pin(one.changed()))).await;
        }
        tokio::select! {
            () = any(&mut self.lists) => {}
            () = any(&mut self.connections) => {}
        }
    }

    fn all_seen(&mut self) {
        self.lists.iter_mut().for_each(signal::Receiver::mark_unchanged);
        self.connections.iter_mut().for_each(signal::Receiver::mark_unchanged);
    }
}

/// The lists that somebody follows.
pub struct Listings {
    clusters: Clusters,
    followed: Mutex<HashMap<Query, signal::Sender<Arc<Chosen>>>>,
}

impl Listings {
    /// Of these clusters.
    #[must_use]
    pub fn new(clusters: Clusters) -> Arc<Self> {
        Arc::new(Self { clusters, followed: Mutex::default() })
    }

    /// A list as it is now.
    #[must_use]
    pub fn now(&self, query: &Query) -> Chosen {
        choose(&self.clusters.sources(), query)
    }

    /// Follows a list; whoever asks the same question shares the work.
    #[must_use]
    pub fn follow(self: &Arc<Self>, query: &Query) -> signal::Receiver<Arc<Chosen>> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = followed.get(query) {
            return chosen.subscribe();
        }
        // Before the first choice, so that nothing in between is missed.
        let changes = self.clusters.changes();
        let (chosen, chosen_out) = signal::channel(Arc::new(self.now(query)));
        followed.insert(query.clone(), chosen);
        tokio::spawn(self.clone().run(query.clone(), changes));
        chosen_out
    }

    /// Chooses for as long as somebody follows.
    async fn run(self: Arc<Self>, query: Query, mut changes: Changes) {
        loop {
            tokio::time::sleep(CHOOSE_EVERY).await;
            let _ = tokio::time::timeout(CHOOSE_AGAIN, changes.next()).await; // either way it is time
            changes.all_seen();
            {
                let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
                if followed.get(&query).is_none_or(|chosen| chosen.receiver_count() == 0) {
                    followed.remove(&query);
                    return;
                }
            }
            let anew = Arc::new(self.now(&query));
            let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(chosen) = followed.get(&query) {
                chosen.send_replace(anew);
            }
        }
    }
}
