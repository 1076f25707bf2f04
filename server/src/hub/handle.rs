//! Handles of a hub: start its task, and send requests to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use moka::future::Cache;
use timeline::document::{self, Document};
use timeline::wire::{Connection, Objects, Position, Snapshot};
use timeline::{Millis, Model, Retention, Workload};
use tokio::sync::{Semaphore, mpsc, oneshot, watch as signal};
use tokio::time::Instant;

use super::answer::{HubEnded, HubReader, TopicSubscription};
use super::counters::HubCounters;
use super::listed::List;
use super::moments::{self, HistoryCache, StreamQueue};
use super::task::{Command, Hub, Signals};
use crate::kube::review::Reviewer;
use crate::kube::{self, Counters, InitialState, SourceEvent};
use crate::telemetry::clock::{Clock, OwnClock};
use crate::telemetry::panics::exit_on_panic;

/// Capacity of the queue of commands to a hub.
const COMMANDS: usize = 256;

/// Timeline documents of a cluster that are copied or written at once; more wait.
const DOCUMENTS: usize = 4;
/// Pages of Deployments that are made at once; concurrent requests for the same one share it.
const PAGES: usize = 4;

/// Longest wait for the list of a hub that still reads its initial state.
const LIST_WAIT: Duration = Duration::from_secs(1);

/// A handle of a hub: sends requests to its task.
#[derive(Clone)]
pub struct Handle {
    name: Arc<str>,
    /// Number of a colour of the style sheet; 0 for none.
    pub accent: u8,
    /// The namespaces that are watched; empty for all.
    pub namespaces: Arc<[String]>,
    commands: mpsc::Sender<Command>,
    connection: signal::Receiver<Connection>,
    list: signal::Sender<List>,
    clock: signal::Receiver<Clock>,
    counters: Arc<HubCounters>,
    /// Counters of its sources.
    pub sources: Arc<Counters>,
    /// The queues between its sources and it, as long as there are sources.
    queues: Vec<mpsc::WeakSender<SourceEvent>>,
    /// Reviews permissions in the cluster.
    pub reviewer: Reviewer,
    pub(super) histories: HistoryCache,
    pub(super) streams: StreamQueue,
    documents: Arc<Semaphore>,
    /// Pages that are being made. None is cached: each shows its moment.
    pages: Cache<Workload, Arc<Snapshot>>,
    page_turns: Arc<Semaphore>,
    /// It is frozen at the end of its data.
    pub is_over: bool,
    /// Counts the hub as in use until the last handle with it is dropped; nothing reads it.
    _lease: Option<Arc<dyn Send + Sync>>,
}

impl Handle {
    /// Starts a hub. Its sources send to the returned queue.
    pub fn start(name: &str, sources: Arc<Counters>, retention: Retention) -> (Self, mpsc::Sender<SourceEvent>) {
        Self::start_from(name, sources, retention, oneshot::channel().1)
    }

    /// Starts a hub that waits for its initial state. It begins without any if the sender is dropped.
    pub fn start_from(
        name: &str,
        sources: Arc<Counters>,
        retention: Retention,
        initial: oneshot::Receiver<InitialState>,
    ) -> (Self, mpsc::Sender<SourceEvent>) {
        Self::begin(name, sources, retention, initial, Vec::new())
    }

    /// Starts a hub that is frozen at the last observation of a given state, and named `title`: time does not pass in
    /// it, and nothing is observed.
    pub fn start_frozen(name: &str, title: impl Into<String>, initial: InitialState) -> Self {
        let whole = Retention { age_millis: Millis::MAX / 4, ..Retention::default() };
        let (from_millis, at_millis) = initial.observed.unwrap_or_default();
        let initial = InitialState { looking_since_millis: Some(from_millis), ..initial };
        let clock = OwnClock { start_millis: at_millis, started: Instant::now(), speed: 0.0 };
        let events = vec![SourceEvent::Begins(Box::new(initial)), SourceEvent::Played { name: title.into(), clock }];
        Self::begin(name, Arc::default(), whole, oneshot::channel().1, events).0
    }

    /// Starts a hub that applies some events before the first request.
    fn begin(
        name: &str,
        sources: Arc<Counters>,
        retention: Retention,
        initial: oneshot::Receiver<InitialState>,
        first: Vec<SourceEvent>,
    ) -> (Self, mpsc::Sender<SourceEvent>) {
        let name: Arc<str> = name.into();
        let (commands, command_inbox) = mpsc::channel(COMMANDS);
        let (events, event_inbox) = mpsc::channel(kube::QUEUE);
        let (connection, connection_out) = signal::channel(Connection::default());
        let list = signal::Sender::new(List::default());
        let (clock, clock_out) = signal::channel(Clock::Real);
        let counters = Arc::new(HubCounters::default());
        let signals = Signals { connection, list: list.clone(), clock };
        let mut hub = Hub::new(name.clone(), retention, signals, counters.clone());
        first.into_iter().for_each(|event| hub.event(event));
        let running = hub.run(event_inbox, command_inbox, initial);
        tokio::spawn(exit_on_panic(format!("the hub of cluster {name}"), running));
        let handle = Self {
            name,
            accent: 0,
            namespaces: Arc::default(),
            commands,
            connection: connection_out,
            list,
            clock: clock_out,
            counters,
            sources,
            queues: vec![events.downgrade()],
            reviewer: Reviewer::new(signal::channel(None).1),
            histories: moments::empty_cache(),
            streams: StreamQueue::default(),
            documents: Arc::new(Semaphore::new(DOCUMENTS)),
            pages: Cache::new(0),
            page_turns: Arc::new(Semaphore::new(PAGES)),
            is_over: false,
            _lease: None,
        };
        (handle, events)
    }

    /// Adds a queue in front of that of the hub.
    #[must_use]
    pub fn with_queue(mut self, queue: &mpsc::Sender<SourceEvent>) -> Self {
        self.queues.push(queue.downgrade());
        self
    }

    /// Returns how many events of its sources wait to be applied, and how many fit into the queues; `None` without sources.
    pub fn queue(&self) -> Option<(usize, usize)> {
        let queues: Vec<_> = self.queues.iter().filter_map(mpsc::WeakSender::upgrade).collect();
        let capacity = queues.iter().map(|queue| queue.max_capacity()).sum::<usize>();
        let room = queues.iter().map(|queue| queue.capacity()).sum::<usize>();
        (capacity > 0).then(|| (capacity.saturating_sub(room), capacity))
    }

    /// Returns the name of the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether that namespace of the cluster is watched.
    pub fn watches(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|watched| watched == namespace)
    }

    /// Attaches a lease, which this handle and its clones hold.
    #[must_use]
    pub fn with_lease(self, lease: Arc<dyn Send + Sync>) -> Self {
        Self { _lease: Some(lease), ..self }
    }

    /// Adds the reviewer of permissions in the cluster.
    #[must_use]
    pub fn with_reviewer(self, reviewer: Reviewer) -> Self {
        Self { reviewer, ..self }
    }

    /// Returns a hub of the same cluster without objects, for viewers who may not see what they request.
    pub fn empty(&self) -> Self {
        let (nothing, _) = Self::start(&self.name, Arc::default(), Retention::default());
        let (connection, clock) = (self.connection.clone(), self.clock.clone());
        // Whether a namespace is watched is hidden, too.
        Self { accent: self.accent, reviewer: self.reviewer.clone(), connection, clock, ..nothing }
    }

    /// Returns whether both are handles of the same hub.
    pub fn is_same(&self, other: &Self) -> bool {
        self.commands.same_channel(&other.commands)
    }

    /// Returns the state of the connection to the cluster, now and whenever it changes.
    #[must_use]
    pub fn connection(&self) -> signal::Receiver<Connection> {
        self.connection.clone()
    }

    /// Returns the cluster's list of Deployments, which is kept current for as long as the receiver lives.
    #[must_use]
    pub fn follow_list(&self) -> signal::Receiver<List> {
        let list = self.list.subscribe();
        let _ = self.commands.try_send(Box::new(|_| {})); // wakes the hub; a full inbox wakes it anyway
        list
    }

    /// Returns the cluster's list of Deployments as it is now, or the last one if the hub does not respond.
    pub async fn list(&self) -> List {
        let _ = tokio::time::timeout(LIST_WAIT, run_in_task(&self.commands, Hub::refresh_list)).await;
        self.list.borrow().clone()
    }

    /// Returns the cluster's clock, for its sources.
    #[must_use]
    pub fn clock(&self) -> signal::Receiver<Clock> {
        self.clock.clone()
    }

    /// Returns the time of the cluster.
    pub fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// Returns the counters of the hub.
    pub fn counters(&self) -> &HubCounters {
        &self.counters
    }

    /// Returns when the connection entered its state, in milliseconds of the cluster's time.
    pub fn state_since_millis(&self) -> Millis {
        self.counters.state_since_millis.load(Ordering::Relaxed)
    }

    /// Follows a Deployment.
    pub async fn subscribe(&self, workload: &Workload, since: Option<Position>) -> Result<TopicSubscription, HubEnded> {
        let workload = workload.clone();
        run_in_task(&self.commands, move |hub| hub.subscribe(workload, since)).await
    }

    /// Returns everything about a Deployment, for one page. It is copied in the hub's task; its sentences are made
    /// elsewhere.
    pub async fn page(&self, workload: &Workload) -> Result<Snapshot, HubEnded> {
        let make = async {
            let (turn, named) = (self.page_turns.clone().acquire_owned().await, workload.clone());
            let page = run_in_task(&self.commands, move |hub| hub.page(&named)).await?;
            let made = tokio::task::spawn_blocking(move || {
                let _turn = turn; // held even if the request was cancelled
                Arc::new(page())
            });
            made.await.map_err(|_| HubEnded)
        };
        let made = self.pages.try_get_with_by_ref(workload, make).await;
        made.map(Arc::unwrap_or_clone).map_err(|_| HubEnded)
    }

    /// Reads something from the timeline, in the hub's task. The job must be short.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&HubReader<'_>) -> T + Send + 'static,
    ) -> Result<T, HubEnded> {
        run_in_task(&self.commands, move |hub| job(&hub.reader())).await
    }

    /// Returns the timeline document of a Deployment; `None` if there is none of that name. It is copied in the hub's
    /// task and written elsewhere.
    pub async fn document(&self, workload: &Workload) -> Result<Option<Document>, HubEnded> {
        let workload = workload.clone();
        let turn = self.documents.clone().acquire_owned().await;
        let copy = self.read(move |reader| {
            let model = reader.timeline.model();
            Some((Objects::of(model, workload.find(model)?.uid), reader.observed.unzip()))
        });
        let Some((objects, (from, to))) = copy.await? else { return Ok(None) };
        let written = tokio::task::spawn_blocking(move || {
            let _turn = turn; // held even if the request was cancelled: the work continues
            document::document(&Model::from(objects), from, to)
        });
        written.await.map(Some).map_err(|_| HubEnded)
    }

    /// Returns a handle that does not keep the hub running.
    pub fn downgrade(&self) -> WeakHandle {
        WeakHandle(self.commands.downgrade())
    }
}

/// A handle that does not keep its hub running.
pub struct WeakHandle(mpsc::WeakSender<Command>);

impl WeakHandle {
    /// Reads something from the timeline, in the hub's task. The job must be short.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&HubReader<'_>) -> T + Send + 'static,
    ) -> Result<T, HubEnded> {
        run_in_task(&self.0.upgrade().ok_or(HubEnded)?, move |hub| job(&hub.reader())).await
    }
}

/// Runs a job in the hub's task, unless the caller has left by then.
async fn run_in_task<T: Send + 'static>(
    commands: &mpsc::Sender<Command>,
    job: impl FnOnce(&mut Hub) -> T + Send + 'static,
) -> Result<T, HubEnded> {
    let (reply, answer) = oneshot::channel();
    let command = Box::new(move |hub: &mut Hub| {
        if !reply.is_closed() {
            let _ = reply.send(job(hub)); // the caller may have left
        }
    });
    commands.send(command).await.map_err(|_| HubEnded)?;
    answer.await.map_err(|_| HubEnded)
}
