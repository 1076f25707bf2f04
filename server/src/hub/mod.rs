//! Holds what is known of a cluster, and publishes each change of it.
//! Owns the timeline of each cluster, its topics, its moments and its subscriptions.
//! Must not know storage, the web, or who looks.
//!
//! The hub: ONE task owns the timeline of a cluster. Sources put observations in, viewers take frames out, and nobody
//! else ever holds the timeline.
//!
//! ```text
//!   source ───mpsc──► ┌──────────────────────────────┐ ──broadcast per topic──► sessions (encoded once, shared)
//!   commands ─mpsc──► │ drain, apply, then publish:  │ ──watch "list"────────► lists
//!                     │ at once when idle, else 50 ms│ ──watch "connection"──► sessions
//!                     └──────────────────────────────┘
//! ```
//! Whoever asks learns of everything that was in the queue before. A connection is told after everything that was known by then was
//! published, and passed on in that order (`Followed`).

mod connection;
mod follow;
mod lag;
mod listed;
mod moments;
mod queue;
mod tally;
mod task;
mod topic;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use moka::future::Cache;
use timeline::document::{self, Document};
use timeline::fact::Kind;
use timeline::view::Now;
use timeline::wire::{Connection, Objects, Position, Snapshot};
use timeline::{History, Millis, Model, Retention, Timeline, Uid, Workload};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch as signal};
use tokio::time::Instant;

pub use self::follow::{First, Followed, Update};
pub use self::lag::Lag;
pub use self::listed::{List, ListedDeployment};
pub use self::moments::Then;
use self::moments::{Pasts, Streams};
pub use self::tally::{Series, Tally};
pub use self::task::told;
use crate::kube::review::Reviewer;
use crate::kube::{self, ByKind, Counters, Health, InitialState, SourceEvent};
use crate::telemetry::clock::{Clock, OwnClock};

/// Capacity of the queue of commands to a hub.
const COMMANDS: usize = 256;

/// Timeline documents of a cluster that are copied or written at once; more wait.
const DOCUMENTS: usize = 4;
/// Pages of Deployments that are made at once; who wants the same one at the same time shares it.
const PAGES: usize = 4;

/// Exit code when a hub broke.
const BROKEN: i32 = 70;

/// The hub has ended, which happens only when the program does.
#[derive(Debug, thiserror::Error)]
#[error("the hub has ended")]
pub struct HubEnded;

/// What a hub counts; shown under `/metrics`.
#[derive(Debug, Default)]
pub struct HubCounters {
    /// Facts applied.
    pub facts: AtomicU64,
    /// Objects with missing or contradictory fields that were used as far as they go.
    pub odd: AtomicU64,
    /// Changes published.
    pub changes: AtomicU64,
    /// Frames encoded.
    pub frames: AtomicU64,
    /// Frames that viewers who fell behind did not receive; they got a new snapshot.
    pub dropped: AtomicU64,
    /// Lists that ended a stretch of time in which their kind was not observed.
    pub gaps: AtomicU64,
    /// Time between the arrival of events and their being applied.
    pub lags: ByKind<Lag>,
    /// Rollouts that ended.
    pub rollouts: Tally,
    /// When the connection entered its state, in milliseconds of the cluster's time.
    state_since_millis: AtomicI64,
}

/// What a viewer gets: everything now, then frames as they come.
pub struct Subscription {
    /// The first frame, encoded: a snapshot, or a delta that only confirms where the viewer stands.
    pub first: Bytes,
    /// Later frames, encoded. A viewer that lags behind must subscribe anew.
    pub frames: broadcast::Receiver<Bytes>,
    /// The hub's clock; a shared snapshot may carry an older one.
    pub now_millis: Millis,
}

/// What counts a way to a hub for as long as somebody has it.
pub type Lease = Arc<dyn Any + Send + Sync>;

type Job = Box<dyn FnOnce(&Reader<'_>) + Send>;

enum Command {
    Subscribe { workload: Workload, since: Option<Position>, reply: oneshot::Sender<Subscription> },
    Page { workload: Workload, reply: oneshot::Sender<Copied> },
    Read(Job),
}

/// What a page is made of, outside of the hub's task.
struct Copied {
    /// A snapshot that has neither objects nor what is said.
    snapshot: Snapshot,
    /// The Deployment with what belongs to it and what is spoken of.
    model: Model,
    now: Now,
}

impl Copied {
    fn page(self) -> Snapshot {
        let Self { snapshot, model, now } = self;
        let of = |uid| (Objects::of(&model, uid), told(&model, uid, now));
        let (objects, said) = snapshot.deployment.map(of).unwrap_or_default();
        Snapshot { objects, said, ..snapshot }
    }
}

/// What a hub stands still with.
pub struct Standing {
    /// What is known at the end.
    pub timeline: Timeline,
    /// How it came to that, as far as that is told.
    pub history: History,
    /// Nothing is told to have been seen before.
    pub from_millis: Millis,
    /// The time that it stands at.
    pub at_millis: Millis,
    /// Name of what is shown.
    pub name: String,
}

/// What a reader sees of a hub.
pub struct Reader<'h> {
    /// The timeline.
    pub timeline: &'h Timeline,
    /// Its past.
    pub history: &'h History,
    /// First and last observation.
    pub observed: Option<(Millis, Millis)>,
    /// The hub's clock.
    pub now_millis: Millis,
    /// The time for sentences, which stands still while the cluster is silent.
    pub now: Now,
    /// State of each watch, by its kind and its namespace (`None` for all).
    pub watches: &'h BTreeMap<(Kind, Option<String>), Health>,
    /// Which life of the timeline it is.
    pub epoch: u64,
    /// Number of the last change that touched a Deployment.
    touched: &'h BTreeMap<Uid, u64>,
}

impl Reader<'_> {
    /// Deployments that were touched by a change after the one of this number.
    pub fn touched_since(&self, seq: u64) -> impl Iterator<Item = Uid> {
        self.touched.iter().filter(move |(_, touched)| **touched > seq).map(|(uid, _)| *uid)
    }

    /// Number of the last change that touched a Deployment, or another one of its name.
    fn touched(&self, deployment: Uid) -> u64 {
        let all = &self.timeline.model().deployments;
        let name = all.get(&deployment).map(|known| (&known.namespace, &known.name));
        let named = all.values().filter(|other| Some((&other.namespace, &other.name)) == name);
        named.filter_map(|other| self.touched.get(&other.uid)).copied().max().unwrap_or_default()
    }
}

/// The way to a hub.
#[derive(Clone)]
pub struct Handle {
    name: Arc<str>,
    accent: u8,
    /// The namespaces that are watched; empty for all.
    namespaces: Arc<[String]>,
    commands: mpsc::Sender<Command>,
    connection: signal::Receiver<Connection>,
    list: signal::Receiver<List>,
    clock: signal::Receiver<Clock>,
    counters: Arc<HubCounters>,
    sources: Arc<Counters>,
    /// The queues between its sources and it, as long as there are sources.
    queues: Vec<mpsc::WeakSender<SourceEvent>>,
    reviewer: Reviewer,
    pasts: Pasts,
    streams: Streams,
    documents: Arc<Semaphore>,
    /// Pages that are being made. None is kept: each is of its moment.
    pages: Cache<Workload, Arc<Snapshot>>,
    page_turns: Arc<Semaphore>,
    /// It stands still at the end of what it shows.
    is_over: bool,
    /// What counts those who have a way to it, where they are counted.
    lease: Option<Lease>,
}

impl Handle {
    /// Starts a hub. Its sources send to the returned queue.
    #[must_use]
    pub fn start(name: &str, sources: Arc<Counters>, retention: Retention) -> (Self, mpsc::Sender<SourceEvent>) {
        Self::begin(name, sources, retention, None, Vec::new())
    }

    /// Starts a hub that waits for what it begins with. It begins with nothing if the sender is dropped.
    #[must_use]
    pub fn start_from(
        name: &str,
        sources: Arc<Counters>,
        retention: Retention,
        initial: oneshot::Receiver<InitialState>,
    ) -> (Self, mpsc::Sender<SourceEvent>) {
        Self::begin(name, sources, retention, Some(initial), Vec::new())
    }

    /// Starts a hub that stands still with what it is given: time does not pass in it, and nothing is observed.
    #[must_use]
    pub fn standing(name: &str, standing: Standing) -> Self {
        let whole = Retention { age_millis: Millis::MAX / 4, ..Retention::default() };
        let Standing { timeline, history, from_millis, at_millis, name: title } = standing;
        let observed = Some((from_millis, at_millis));
        let looking_since_millis = Some(from_millis);
        let before = None;
        let initial = InitialState { timeline, history, before, observed, looking_since_millis, heard_millis: None };
        let clock = OwnClock { start_millis: at_millis, started: Instant::now(), speed: 0.0 };
        let events = vec![SourceEvent::Begins(Box::new(initial)), SourceEvent::Played { name: title, clock }];
        Self::begin(name, Arc::default(), whole, None, events).0
    }

    /// Starts a hub that takes some events before anybody can ask it.
    fn begin(
        name: &str,
        sources: Arc<Counters>,
        retention: Retention,
        initial: Option<oneshot::Receiver<InitialState>>,
        first: Vec<SourceEvent>,
    ) -> (Self, mpsc::Sender<SourceEvent>) {
        let name: Arc<str> = name.into();
        let (commands, command_inbox) = mpsc::channel(COMMANDS);
        let (events, event_inbox) = mpsc::channel(kube::QUEUE);
        let (connection, connection_out) = signal::channel(Connection::default());
        let (list, list_out) = signal::channel(List::default());
        let (clock, clock_out) = signal::channel(Clock::Real);
        let counters = Arc::new(HubCounters::default());
        let signals = task::Signals { connection, list, clock };
        let mut hub = task::Hub::new(name.clone(), retention, signals, counters.clone());
        first.into_iter().for_each(|event| hub.event(event));
        let running = tokio::spawn(hub.run(event_inbox, command_inbox, initial));
        let cluster = name.clone();
        tokio::spawn(async move {
            // A hub that broke would leave its last picture standing as if it was live: whoever started us starts us again.
            if running.await.is_err_and(|error| error.is_panic()) {
                tracing::error!("the hub of cluster {cluster} panicked; exiting");
                std::process::exit(BROKEN);
            }
        });
        let handle = Self {
            name,
            accent: 0,
            namespaces: Arc::default(),
            commands,
            connection: connection_out,
            list: list_out,
            clock: clock_out,
            counters,
            sources,
            queues: vec![events.downgrade()],
            reviewer: Reviewer::new(signal::channel(None).1),
            pasts: moments::no_pasts(),
            streams: Streams::default(),
            documents: Arc::new(Semaphore::new(DOCUMENTS)),
            pages: Cache::new(0),
            page_turns: Arc::new(Semaphore::new(PAGES)),
            is_over: false,
            lease: None,
        };
        (handle, events)
    }

    /// Name of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// With an accent: the number of a colour of the style sheet.
    #[must_use]
    pub fn with_accent(self, accent: u8) -> Self {
        Self { accent, ..self }
    }

    /// Of which only these namespaces are watched; all, where none is named.
    #[must_use]
    pub fn with_namespaces(self, namespaces: &[String]) -> Self {
        Self { namespaces: namespaces.into(), ..self }
    }

    /// That namespace of the cluster is watched.
    #[must_use]
    pub fn watches(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|watched| watched == namespace)
    }

    /// One that stands still at the end of what it shows.
    #[must_use]
    pub fn over(self) -> Self {
        Self { is_over: true, ..self }
    }

    /// It stands still at the end of what it shows.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whoever has this way to it, or one that is made of it, has that as well.
    #[must_use]
    pub fn leased(self, lease: Lease) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// What counts those who have this way to it.
    #[must_use]
    pub const fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// With a cluster that says what people may see of it.
    #[must_use]
    pub fn with_reviewer(self, reviewer: Reviewer) -> Self {
        Self { reviewer, ..self }
    }

    /// Says what people may see of the cluster.
    #[must_use]
    pub const fn reviewer(&self) -> &Reviewer {
        &self.reviewer
    }

    /// A hub of the same cluster that holds no objects: it answers those who may not see what they ask for.
    #[must_use]
    pub fn empty(&self) -> Self {
        let (nothing, _) = Self::start(&self.name, Arc::default(), Retention::default());
        let (reviewer, namespaces) = (self.reviewer.clone(), self.namespaces.clone());
        Self { accent: self.accent, reviewer, namespaces, ..nothing.beside(self) }
    }

    /// With the connection and the clock of another hub.
    #[must_use]
    pub fn beside(self, other: &Self) -> Self {
        Self { connection: other.connection.clone(), clock: other.clock.clone(), ..self }
    }

    /// It is the way to the same hub.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.commands.same_channel(&other.commands)
    }

    /// Its accent; 0 for none.
    #[must_use]
    pub const fn accent(&self) -> u8 {
        self.accent
    }

    /// How the server gets on with the cluster.
    #[must_use]
    pub fn connection(&self) -> signal::Receiver<Connection> {
        self.connection.clone()
    }

    /// The cluster's list of Deployments.
    #[must_use]
    pub fn list(&self) -> signal::Receiver<List> {
        self.list.clone()
    }

    /// The cluster's clock, for its sources.
    #[must_use]
    pub fn clock(&self) -> signal::Receiver<Clock> {
        self.clock.clone()
    }

    /// The time of its cluster.
    #[must_use]
    pub fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// What the hub counts.
    #[must_use]
    pub fn counters(&self) -> &HubCounters {
        &self.counters
    }

    /// When the connection entered its state, in milliseconds of the cluster's time.
    #[must_use]
    pub fn state_since_millis(&self) -> Millis {
        self.counters.state_since_millis.load(Ordering::Relaxed)
    }

    /// What its sources count.
    #[must_use]
    pub fn sources(&self) -> &Counters {
        &self.sources
    }

    /// Follows a Deployment.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn subscribe(&self, workload: &Workload, since: Option<Position>) -> Result<Subscription, HubEnded> {
        let workload = workload.clone();
        self.ask(|reply| Command::Subscribe { workload, since, reply }).await
    }

    /// Everything about a Deployment, for one page. Copied in the hub's task, told elsewhere.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn page(&self, workload: &Workload) -> Result<Snapshot, HubEnded> {
        let make = async {
            let turn = self.page_turns.clone().acquire_owned().await;
            let copied = self.ask(|reply| Command::Page { workload: workload.clone(), reply }).await?;
            let made = tokio::task::spawn_blocking(move || {
                let _turn = turn; // whoever asked may have left
                Arc::new(copied.page())
            });
            made.await.map_err(|_| HubEnded)
        };
        let made = self.pages.try_get_with_by_ref(workload, make).await;
        made.map(Arc::unwrap_or_clone).map_err(|_| HubEnded)
    }

    /// Reads something from the timeline, in the hub's task. The job must be short.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Reader<'_>) -> T + Send + 'static,
    ) -> Result<T, HubEnded> {
        read(&self.commands, job).await
    }

    /// The timeline document of a Deployment; `None` when there is none of that name. Copied in the hub's task, written elsewhere.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn document(&self, workload: &Workload) -> Result<Option<Document>, HubEnded> {
        let workload = workload.clone();
        let turn = self.documents.clone().acquire_owned().await;
        let copy = self.read(move |reader| {
            let model = reader.timeline.model();
            Some((model.only(workload.find(model)?.uid), reader.observed.unzip()))
        });
        let Some((model, (from, to))) = copy.await? else { return Ok(None) };
        let written = tokio::task::spawn_blocking(move || {
            let _turn = turn; // whoever asked may have left: writing is not called off
            document::document(&model, from, to)
        });
        written.await.map(Some).map_err(|_| HubEnded)
    }

    /// A way to the hub that does not keep it running.
    #[must_use]
    pub fn downgrade(&self) -> WeakHandle {
        WeakHandle(self.commands.downgrade())
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, HubEnded> {
        ask(&self.commands, command).await
    }
}

/// A way to a hub that does not keep it running.
pub struct WeakHandle(mpsc::WeakSender<Command>);

impl WeakHandle {
    /// Reads something from the timeline, in the hub's task. The job must be short.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Reader<'_>) -> T + Send + 'static,
    ) -> Result<T, HubEnded> {
        read(&self.0.upgrade().ok_or(HubEnded)?, job).await
    }
}

async fn read<T: Send + 'static>(
    commands: &mpsc::Sender<Command>,
    job: impl FnOnce(&Reader<'_>) -> T + Send + 'static,
) -> Result<T, HubEnded> {
    ask(commands, |reply| {
        Command::Read(Box::new(move |reader| {
            let _ = reply.send(job(reader)); // the asker may have left
        }))
    })
    .await
}

async fn ask<T>(
    commands: &mpsc::Sender<Command>,
    command: impl FnOnce(oneshot::Sender<T>) -> Command,
) -> Result<T, HubEnded> {
    let (reply, answer) = oneshot::channel();
    commands.send(command(reply)).await.map_err(|_| HubEnded)?;
    answer.await.map_err(|_| HubEnded)
}
