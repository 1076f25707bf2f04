//! The watch loop of one kind: list, watch from there, and list again when the position is lost, with a limited rate of requests
//! to the API server.
//!
//! ```text
//!            ┌── 410 or 400 in any form, three failures in a row, or a new list is requested ──┐
//!            ▼                                                                                 │
//!        ┌────────┐  listed   ┌─────────┐  ended after a while: watch again from there   ┌───────────┐
//!  ────► │  list  │ ────────► │  watch  │ ─────────────────────────────────────────────► │ position  │
//!        └────────┘           └─────────┘ ◄───────────────────────────────────────────── └───────────┘
//!            │ failed, forbidden   │ failed, ended at once, or did not end when it should
//!            └──────────► wait: full jitter, and never more requests without a result than the budget allows.
//!                         Waits grow until a watch lives; successful lists do not reset them.
//!
//! A list is streamed (`sendInitialEvents`) if the API server supports that, and is in pages otherwise. A list in pages continues
//! with the page that failed. Pages with objects do not count for the budget: a list that advances is as fast as the server
//! responds.
//! ```

mod list_source;

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use timeline::Millis;
use timeline::fact::Kind;
use tokio::sync::watch as signal;
use tokio::time::Instant;
use tracing::Instrument;

use super::backoff::Backoff;
use super::cluster::Cluster;
use super::counters::{Counters, RelistReason};
use super::error::RequestError;
use super::event::{Health, SourceEvent};
use super::line::{Bookmark, WatchEvent};
use super::list::{self, List, SharedLists};
use super::liveness::{self, Liveness};
use super::stream::{Stream, WatchEnd};
use crate::telemetry::panics::exit_on_panic;
use crate::telemetry::rate::RateLimit;

/// The hub has ended, so its watches must end.
pub(super) struct HubGone;

/// The watch of one kind in one namespace or all.
pub(super) struct Watch {
    cluster: Cluster,
    kind: Kind,
    namespace: Option<String>,
    liveness: signal::Receiver<Liveness>,
    /// Weak, because watches that wait for a response detect the end of the hub by the end of the probe, which owns the sender.
    liveness_sender: Weak<signal::Sender<Liveness>>,
    /// Whether this watch ends sooner than the others. If it is dead, all connections of the cluster count as lost.
    is_sentinel: bool,
    /// Lifetime after which the server ends a watch.
    watch_seconds: u32,
    /// Budget of requests without a result; each list and watch takes one before it begins.
    budget: RateLimit<()>,
    backoff: Backoff,
    /// The list in pages that is in progress.
    list: Option<List>,
    lists: Arc<SharedLists>,
    /// Number of consecutive failed watches since the last list.
    failed_watches: u32,
    /// Whether a position expired, and no watch lived since.
    has_expired: bool,
    /// Total duration of watches without events or bookmarks, since the last one.
    mute: Duration,
    last_response: Option<Millis>,
    /// Time until which every change was received; `None` before the first list.
    seen_until: Option<Millis>,
    health: Option<Health>,
    /// Whether a watch has been open since the start.
    has_watched: bool,
    /// Generation of the client of the last request.
    generation: u64,
    /// Number of requests for a new list at the begin of the last list.
    seen_relists: u64,
    /// Number of losses of all connections at the begin of the last list or watch.
    seen_losses: u64,
    /// Time of the last progress report of the first list.
    progress_sent: Option<Instant>,
    /// Reason for the next list; `None` for the first one.
    relist: Option<RelistReason>,
    /// Time of the last data, or of the begin of the last list or watch.
    heard_at: Instant,
}

impl Watch {
    pub(super) fn new(
        cluster: Cluster,
        kind: Kind,
        namespace: Option<String>,
        liveness: &Arc<signal::Sender<Liveness>>,
        lists: Arc<SharedLists>,
    ) -> Self {
        let budget = RateLimit::new(cluster.pace().burst, cluster.pace().earn);
        let watch_seconds = cluster.pace().watch_seconds;
        Self {
            cluster,
            kind,
            namespace,
            liveness: liveness.subscribe(),
            liveness_sender: Arc::downgrade(liveness),
            is_sentinel: false,
            watch_seconds,
            budget,
            backoff: Backoff::default(),
            list: None,
            lists,
            failed_watches: 0,
            has_expired: false,
            mute: Duration::ZERO,
            last_response: None,
            seen_until: None,
            health: None,
            has_watched: false,
            generation: 0,
            seen_relists: 0,
            seen_losses: 0,
            progress_sent: None,
            relist: None,
            heard_at: Instant::now(),
        }
    }

    /// Runs until the hub ends.
    pub(super) async fn run(mut self) {
        let mut position: Option<String> = None;
        let mut place = self.cluster.access.place();
        loop {
            // While the cluster does not respond, only the probe sends requests. It ends with the hub.
            let _ = self.liveness.wait_for(|liveness| !liveness.is_silent).await;
            self.budget.ready(&()).await;
            self.generation = self.cluster.access.generation();
            let here = self.cluster.access.place();
            if std::mem::replace(&mut place, here) != here {
                (position, self.list) = (None, None); // resource versions are only valid at their own API server
                self.relist_for(RelistReason::Moved);
                self.lists.set_stream_refused(false);
            }
            if *self.cluster.relist_requests.borrow() != self.seen_relists {
                (position, self.list) = (None, None);
                self.relist_for(RelistReason::Requested);
            }
            self.heard_at = Instant::now();
            let step = match position.take() {
                None => self.list().await,
                Some(at) => self.watch(at).await,
            };
            match step {
                Ok(next) => position = next,
                Err(HubGone) => return,
            }
        }
    }

    async fn watch(&mut self, mut position: String) -> Result<Option<String>, HubGone> {
        Counters::add(&self.cluster.counters.watches);
        let (ended, lived, is_heard) = self.follow(&mut position).await?;
        // Long enough to count as a watch.
        let has_lived = lived >= self.cluster.pace().min_watch_lifetime;
        self.mute = if is_heard { Duration::ZERO } else { self.mute + lived };
        if has_lived {
            self.note_progress();
        }
        self.note_end(&ended, has_lived, is_heard);
        match ended {
            // The API server sends a bookmark every minute, and before it ends a watch. Watches that end without any data may
            // have a position that this server has not reached yet, for example after a restored backup: they would never receive
            // anything.
            WatchEnd::Closed if self.mute >= self.cluster.pace().bookmark => {
                tracing::info!("watches ended without events or bookmarks; listing again");
                self.relist_for(RelistReason::Mute);
                Ok(None)
            }
            WatchEnd::Closed if has_lived => Ok(Some(position)),
            WatchEnd::Left => {
                tracing::info!("a new list was requested; listing again");
                Ok(None)
            }
            WatchEnd::Failed(error @ RequestError::Gone(_)) => {
                tracing::info!("resource version expired; listing again");
                self.relist_for(RelistReason::Expired);
                // At once, but not repeatedly. Failed watches since the last list have had their waits.
                let is_again = std::mem::replace(&mut self.has_expired, true);
                let wait = Self::count_failure(&self.cluster, &mut self.backoff);
                if is_again && self.failed_watches == 0 {
                    self.report_failure("watch", &error, wait).await?;
                } else {
                    self.send_catching_up("the resource version of the watch has expired; listing again").await?;
                }
                Ok(None)
            }
            WatchEnd::Lost => {
                tracing::warn!("no response; reconnecting");
                self.send_catching_up("the connection was lost; reconnecting").await?;
                Ok(Some(position))
            }
            WatchEnd::Closed => {
                let why = RequestError::Unreachable("the server closes watches immediately".to_owned());
                self.failed_watch(position, why).await
            }
            WatchEnd::Dead(error) => {
                if let Some(liveness) = self.liveness_sender.upgrade().filter(|_| self.is_sentinel) {
                    liveness.send_modify(|liveness| liveness.losses += 1);
                }
                self.failed_watch(position, error).await
            }
            WatchEnd::Failed(error) => self.failed_watch(position, error).await,
        }
    }

    /// Counts the end of a watch, and records the time until which everything was sent.
    fn note_end(&mut self, ended: &WatchEnd, has_lived: bool, is_heard: bool) {
        let is_restart = match ended {
            WatchEnd::Failed(error) => !matches!(error, RequestError::Gone(_)),
            WatchEnd::Lost | WatchEnd::Dead(_) => true,
            WatchEnd::Closed => !has_lived,
            WatchEnd::Left => false,
        };
        if is_restart {
            Counters::add(&self.cluster.counters.kind(self.kind).restarts);
        }
        let now = self.cluster.now_millis();
        if !has_lived || self.has_lost_connections() {
            return;
        }
        // A server that ends a watch in time is alive, even if it sent nothing: there are no bookmarks for Events.
        if matches!(ended, WatchEnd::Closed) {
            self.last_response = Some(now);
        }
        // An orderly end: everything until now was sent. A silent watch may have a position that the server has not reached yet.
        if is_heard && matches!(ended, WatchEnd::Closed | WatchEnd::Left) {
            self.seen_until = Some(now);
        }
    }

    async fn failed_watch(&mut self, position: String, error: RequestError) -> Result<Option<String>, HubGone> {
        self.failed_watches += 1;
        let wait = Self::count_failure(&self.cluster, &mut self.backoff);
        self.report_failure("watch", &error, wait).await?;
        let give_up = matches!(error, RequestError::Forbidden(_))
            || self.failed_watches >= self.cluster.pace().failures_before_relist;
        if give_up {
            self.relist_for(RelistReason::Failed);
        }
        Ok((!give_up).then_some(position))
    }

    /// Reports that changes were missed and are being caught up.
    async fn send_catching_up(&mut self, why: &str) -> Result<(), HubGone> {
        if !self.has_watched {
            return Ok(()); // the first list is still in progress
        }
        self.send_stale(Duration::ZERO, why.to_owned()).await
    }

    /// Reports that nothing was received since the last response. The next try comes after `wait`; without a wait it is in progress.
    async fn send_stale(&mut self, wait: Duration, why: String) -> Result<(), HubGone> {
        let clock = *self.cluster.clock.borrow();
        let since_millis = *self.last_response.get_or_insert(clock.now_millis());
        let retry_at_millis = (!wait.is_zero()).then(|| clock.after(wait));
        self.send_health(Health::Stale { since_millis, retry_at_millis, why }).await
    }

    /// Watches from `position` and advances it, until the watch ends. Returns the kind of end, the lifetime, and whether any data
    /// was received. A watch that did not begin properly has a lifetime of zero and does not count as mute.
    async fn follow(&mut self, position: &mut String) -> Result<(WatchEnd, Duration, bool), HubGone> {
        let (namespace, liveness) = (self.namespace.as_deref(), self.liveness.clone());
        self.seen_losses = liveness.borrow().losses;
        let from = Some(position.as_str());
        let opened = Stream::open(&self.cluster, self.kind, namespace, from, self.watch_seconds, liveness).await;
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(ended) => return Ok((ended, Duration::ZERO, true)),
        };
        (self.has_watched, self.heard_at) = (true, Instant::now());
        self.send_health(Health::Live).await?;
        let (began, mut is_heard) = (Instant::now(), false);
        let (mut relist_requests, seen_relists) = (self.cluster.relist_requests.clone(), self.seen_relists);
        // One future for all lines, because it enters a queue when it begins and leaves it when it is dropped.
        let mut relist = pin!(liveness::wait_until(&mut relist_requests, |asked| *asked != seen_relists));
        loop {
            let next = tokio::select! {
                biased; // data that has arrived is read first
                next = stream.next() => next,
                () = relist.as_mut() => Err(WatchEnd::Left),
            };
            match next {
                Ok(WatchEvent::Object(object, _)) if is_earlier(object.resource_version(), position) => {
                    let ended = WatchEnd::Failed(RequestError::Gone(http::StatusCode::GONE));
                    return Ok((ended, Duration::ZERO, true));
                }
                Ok(line) => {
                    is_heard = true;
                    self.line(line, position).await?;
                }
                Err(ended) => return Ok((ended, began.elapsed(), is_heard)),
            }
        }
    }

    async fn line(&mut self, line: WatchEvent, position: &mut String) -> Result<(), HubGone> {
        let at_millis = self.note_response();
        match line {
            WatchEvent::Bookmark(Bookmark { resource_version, .. }) => {
                if let Some(later) = resource_version {
                    *position = later;
                    self.note_progress();
                }
            }
            WatchEvent::Object(object, seen) => {
                self.cluster.counters.kind(self.kind).note_event(at_millis);
                if let Some(version) = object.resource_version() {
                    position.clone_from(version);
                }
                self.note_progress();
                let object = self.cluster.trim_object(object);
                self.send(SourceEvent::Object { object, seen, at_millis }).await?;
            }
            WatchEvent::Skipped(error) => {
                self.cluster.counters.kind(self.kind).note_event(at_millis);
                list::count_skipped(&self.cluster, self.kind, &error);
            }
        }
        Ok(())
    }

    /// Records the reason for the next list, unless the first one is not complete yet.
    fn relist_for(&mut self, reason: RelistReason) {
        self.relist = self.seen_until.map(|_| reason);
    }

    /// Resets the count of failures after a watch received data.
    const fn note_progress(&mut self) {
        self.backoff.reset();
        (self.failed_watches, self.has_expired) = (0, false);
    }

    /// Counts a failure and returns the time to wait.
    fn count_failure(cluster: &Cluster, backoff: &mut Backoff) -> Duration {
        Counters::add(&cluster.counters.failures);
        backoff.fail(cluster.pace().first_backoff, cluster.pace().max_backoff, fastrand::f64())
    }

    async fn report_failure(
        &mut self,
        verb: &'static str,
        error: &RequestError,
        wait: Duration,
    ) -> Result<(), HubGone> {
        // A request without a response for that long counts as the wait.
        let wait = if self.heard_at.elapsed() < self.cluster.pace().answer { wait } else { Duration::ZERO };
        let wait = if let RequestError::Status { retry_after, .. } = error { wait.max(*retry_after) } else { wait };
        // A request may fail every few seconds for days: only the first of consecutive equal failures is a warning.
        if matches!(error, RequestError::Forbidden(_)) {
            let health = Health::Forbidden { verb };
            if self.health.as_ref() == Some(&health) {
                tracing::debug!(%error, verb, "still forbidden");
            } else {
                tracing::warn!(%error, verb, "forbidden");
            }
            self.send_health(health).await?;
        } else {
            let why = self.cluster.access.sentence(error);
            if matches!(&self.health, Some(Health::Stale { why: last, .. }) if *last == why) {
                tracing::debug!(%error, verb, wait_millis = wait.as_millis(), "failed again; retrying");
            } else {
                tracing::warn!(%error, verb, wait_millis = wait.as_millis(), "failed; retrying");
            }
            self.send_stale(wait, why).await?;
        }
        // New credentials are tried at once.
        let _ = tokio::time::timeout(wait, self.cluster.access.wait_for_renewal(self.generation)).await;
        // The wait is over: while the next try hangs, no retry time may be shown.
        if let Some(Health::Stale { since_millis, retry_at_millis: Some(_), why }) = self.health.clone() {
            self.send_health(Health::Stale { since_millis, retry_at_millis: None, why }).await?;
        }
        Ok(())
    }

    fn note_response(&mut self) -> Millis {
        let now = self.cluster.now_millis();
        self.heard_at = Instant::now();
        self.cluster.counters.note_response(now);
        if !self.has_lost_connections() {
            self.last_response = Some(now);
            self.seen_until = self.seen_until.map(|_| now);
        }
        now
    }

    /// Returns whether all connections were lost since the last list or watch began, also because this process was stopped. Data
    /// that is read then may be old: later changes are unknown. Call this before taking the time, because the process may be
    /// stopped in between.
    fn has_lost_connections(&self) -> bool {
        if let Some(liveness) = self.liveness_sender.upgrade() {
            liveness::note_alive(&liveness, self.cluster.pace());
        }
        self.liveness.borrow().losses != self.seen_losses
    }

    async fn send_health(&mut self, health: Health) -> Result<(), HubGone> {
        if self.health.as_ref() == Some(&health) {
            return Ok(());
        }
        self.health = Some(health.clone());
        self.send(SourceEvent::Health { kind: self.kind, namespace: self.namespace.clone(), health }).await
    }

    async fn send(&self, event: SourceEvent) -> Result<(), HubGone> {
        self.cluster.events.send(event).await.map_err(|_| HubGone)
    }
}

/// Returns whether an object of a watch is older than the position of the watch. Only a new list can correct that.
fn is_earlier(version: Option<&String>, position: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    version
        .and_then(|version| number(version))
        .zip(number(position))
        .is_some_and(|(version, position)| version < position)
}

/// Starts the watches of a cluster: one task per kind and namespace, and the liveness probe. They end when the hub does.
///
/// All of them are reported as connecting before the first request: a cluster is live once the last of them is.
pub fn start(cluster: &Cluster, kinds: &[Kind], namespaces: &[String]) {
    cluster.counters.note_start(cluster.now_millis());
    let liveness = Arc::new(signal::Sender::new(Liveness::new()));
    let span = tracing::info_span!("cluster", cluster.name = %cluster.name);
    let probe = liveness::run(cluster.clone(), liveness.clone());
    let name = format!("the liveness probe of cluster {}", cluster.name);
    tokio::spawn(exit_on_panic(name, probe).instrument(span.clone()));
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    // With many watches each lives longer, one second for each watch, so that about one per second is renewed.
    let many = u32::try_from(kinds.len() * scopes.len()).unwrap_or(u32::MAX).min(cluster.pace().most_watch_seconds);
    let has_sentinel = many > cluster.pace().watch_seconds;
    let (mut watches, lists) = (Vec::new(), Arc::new(SharedLists::new()));
    for kind in kinds {
        for namespace in &scopes {
            let span = tracing::info_span!(parent: &span, "watch", k8s.kind = kind.name(), k8s.namespace = namespace.as_deref());
            let mut watch = Watch::new(cluster.clone(), *kind, namespace.clone(), &liveness, lists.clone());
            if has_sentinel && watches.is_empty() {
                watch.is_sentinel = true;
            } else {
                watch.watch_seconds = many.max(watch.watch_seconds);
            }
            watches.push((watch, span));
        }
    }
    tokio::spawn(async move {
        for (watch, _) in &mut watches {
            if watch.send_health(Health::Connecting { listed: 0 }).await.is_err() {
                return; // the hub has ended
            }
        }
        for (watch, span) in watches {
            let name = format!("the watch of {} of cluster {}", watch.kind.resource(), watch.cluster.name);
            tokio::spawn(exit_on_panic(name, watch.run()).instrument(span));
        }
    });
}
