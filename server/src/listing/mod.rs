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

use crate::hub::{Handle, List, ListedDeployment};
use crate::sight::{Seen, Sight};

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

    /// What can be listed now, for those who may see that.
    #[must_use]
    pub fn sources(&self, sight: &Sight) -> Vec<Source> {
        let source = |hub: &Handle| {
            let seen = sight.of(hub.name())?;
            let list = hub.list().borrow().clone();
            let is_seen = |listed: &&Arc<ListedDeployment>| seen.has(&listed.summary.namespace, &listed.summary.name);
            Some(Source {
                state: ClusterState {
                    name: hub.name().to_owned(),
                    accent: hub.accent(),
                    connection: seen.of_connection(hub.connection().borrow().clone()),
                    now_millis: hub.now_millis(),
                },
                list: if *seen == Seen::All { list } else { Arc::new(list.iter().filter(is_seen).cloned().collect()) },
            })
        };
        self.0.iter().filter_map(source).collect()
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

/// What is asked, and what those who ask may see.
type Question = (Query, Arc<Sight>);

/// The lists that somebody follows.
pub struct Listings {
    clusters: Clusters,
    followed: Mutex<HashMap<Question, signal::Sender<Arc<Chosen>>>>,
}

impl Listings {
    /// Of these clusters.
    #[must_use]
    pub fn new(clusters: Clusters) -> Arc<Self> {
        Arc::new(Self { clusters, followed: Mutex::default() })
    }

    /// A list as it is now.
    #[must_use]
    pub fn now(&self, query: &Query, sight: &Sight) -> Chosen {
        let mut chosen = choose(&self.clusters.sources(sight), query);
        let trouble = sight.trouble();
        if !trouble.is_empty() {
            chosen.overall.trouble = format!("{trouble} {}", chosen.overall.trouble).trim_end().to_owned();
        }
        chosen
    }

    /// Follows a list; whoever asks the same question and may see the same shares the work.
    #[must_use]
    pub fn follow(self: &Arc<Self>, query: &Query, sight: &Arc<Sight>) -> signal::Receiver<Arc<Chosen>> {
        let question = (query.clone(), sight.clone());
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = followed.get(&question) {
            return chosen.subscribe();
        }
        // Before the first choice, so that nothing in between is missed.
        let changes = self.clusters.changes();
        let (chosen, chosen_out) = signal::channel(Arc::new(self.now(query, sight)));
        followed.insert(question.clone(), chosen);
        tokio::spawn(self.clone().run(question, changes));
        chosen_out
    }

    /// Chooses for as long as somebody follows.
    async fn run(self: Arc<Self>, question: Question, mut changes: Changes) {
        loop {
            tokio::time::sleep(CHOOSE_EVERY).await;
            let _ = tokio::time::timeout(CHOOSE_AGAIN, changes.next()).await; // either way it is time
            changes.all_seen();
            {
                let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
                if followed.get(&question).is_none_or(|chosen| chosen.receiver_count() == 0) {
                    followed.remove(&question);
                    return;
                }
            }
            let anew = Arc::new(self.now(&question.0, &question.1));
            let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(chosen) = followed.get(&question) {
                chosen.send_replace(anew);
            }
        }
    }
}
