//! Does the cluster answer at all? A cheap request every few seconds, because a watch on a quiet cluster says nothing for
//! a minute and a half-open connection says nothing for ever. And did this process run all the time? What waited in the system
//! while it did not is older than it looks.

use std::sync::Arc;
use std::time::Duration;

use timeline::Millis;
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::error::RequestError;
use super::event::SourceEvent;
use super::pace::Pace;
use super::request;
use crate::telemetry::clock::{self, Clock};

/// Any answer proves life, also a refusal.
const PATH: &str = "/version";
/// A clock that is further from where it would be was set; less than this may be a busy machine.
const STEP_MILLIS: Millis = 2_000;
/// How often it is noted that this process runs, whatever else it has to do.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A process that noted nothing for this long was stopped; one that is busy may be late by seconds.
const STOPPED: Duration = Duration::from_secs(7);

/// State of the cluster's connection, as watches see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Liveness {
    /// It does not answer now.
    pub is_silent: bool,
    /// Number of times that all connections were lost, or this process or machine stood still. A connection from before is of no
    /// more use.
    pub losses: u64,
    /// When this process last ran: time awake, and by the clock of this machine.
    alive_at: (Instant, Millis),
}

impl Liveness {
    /// Creates the state of a cluster that was not asked yet.
    pub(super) fn new() -> Self {
        Self { is_silent: false, losses: 0, alive_at: (Instant::now(), clock::now_millis()) }
    }
}

/// Notes that this process runs. If it, or its machine, was stopped since the last time, all connections count as lost: what came of
/// them meanwhile waited in the system. Whoever wakes first calls this before it trusts what it reads.
///
/// The time awake is that of the timers. Where a test lets it pass by itself, it goes from timer to timer and so at most
/// `ALIVE_EVERY` at once: only a test that moves it further plays a process that was stopped.
pub(super) fn note_alive(liveness: &signal::Sender<Liveness>, pace: &Pace) {
    let was_stopped = liveness.send_if_modified(|liveness| {
        let now = (Instant::now(), clock::now_millis());
        let before = std::mem::replace(&mut liveness.alive_at, now);
        let awake = now.0.saturating_duration_since(before.0);
        let was_stopped = awake >= STOPPED || has_slept(awake, now.1 - before.1, pace.silence);
        liveness.losses += u64::from(was_stopped);
        was_stopped
    });
    if was_stopped {
        tracing::info!("this machine was suspended, or this process was stopped; reconnecting");
    }
}

/// Probes until the hub is gone, and notes meanwhile that this process runs.
pub(super) async fn run(cluster: Cluster, liveness: Arc<signal::Sender<Liveness>>) {
    tokio::select! {
        () = run_probes(&cluster, &liveness) => {}
        () = keep_alive(&liveness, cluster.pace()) => {}
    }
}

/// Notes again and again that this process runs, even while nothing is read and the hub is slow.
async fn keep_alive(liveness: &signal::Sender<Liveness>, pace: &Pace) {
    loop {
        tokio::time::sleep(ALIVE_EVERY).await;
        note_alive(liveness, pace);
    }
}

/// Probes until the hub is gone. The cluster is silent when there was no answer for the pace's silence.
async fn run_probes(cluster: &Cluster, liveness: &signal::Sender<Liveness>) {
    let mut last_answer = (Instant::now(), cluster.now_millis());
    let mut looked = (clock::now_millis(), uptime());
    loop {
        let asked = Instant::now();
        // What comes of a list is a sign of life as well: a server that is busy with a long list may be late with everything else.
        let why = probe(cluster).await;
        if let Some(piece) = cluster.counters.last_piece() {
            last_answer = last_answer.max(piece);
        }
        let is_silent = last_answer.0.elapsed() >= cluster.pace().silence;
        let event = match why {
            Some(why) if is_silent => {
                liveness.send_if_modified(|liveness| {
                    let is_new = !std::mem::replace(&mut liveness.is_silent, true);
                    liveness.losses += u64::from(is_new);
                    is_new
                });
                Some(SourceEvent::Answers { silent: Some((last_answer.1, cluster.access.sentence(&why))) })
            }
            Some(_) => None,
            None => {
                last_answer = (Instant::now(), cluster.now_millis());
                cluster.counters.note_response(last_answer.1);
                let was_silent = liveness.send_if_modified(|liveness| std::mem::take(&mut liveness.is_silent));
                was_silent.then_some(SourceEvent::Answers { silent: None })
            }
        };
        if let Some(event) = event {
            let _ = cluster.events.send(event).await; // the hub may be gone
        }
        if cluster.events.is_closed() {
            return;
        }
        tokio::time::sleep(cluster.pace().probe.saturating_sub(asked.elapsed())).await;
        let before = std::mem::replace(&mut looked, (clock::now_millis(), uptime()));
        let passed_millis = looked.0 - before.0;
        let is_ours = matches!(*cluster.clock.borrow(), Clock::Real);
        if let Some(by_millis) = step(before.1, looked.1, passed_millis).filter(|_| is_ours) {
            tracing::info!(by_millis, "the clock of this machine was changed");
            if cluster.events.send(SourceEvent::ClockSet { by_millis }).await.is_err() {
                return;
            }
        }
    }
}

/// Asks once; tells why there was no answer.
async fn probe(cluster: &Cluster) -> Option<RequestError> {
    let asked = async {
        let body = request::get(&cluster.access, PATH).await?;
        request::read(body, cluster.pace()).await
    };
    match tokio::time::timeout(cluster.pace().probe, asked).await {
        Ok(Err(why @ (RequestError::Unreachable(_) | RequestError::Credentials(_)))) => Some(why),
        Ok(_) => None,
        Err(_) => {
            let why = RequestError::Unreachable("the API server does not respond".to_owned());
            cluster.access.note_failure(cluster.access.generation(), &why);
            Some(why)
        }
    }
}

/// Returns whether this machine slept: our clock passed more time than we were awake. Connections may have died, and no
/// limit of ours noticed, because those count the time awake. A clock that was set looks the same and costs new connections.
fn has_slept(awake: Duration, passed_millis: Millis, limit: Duration) -> bool {
    let awake = Millis::try_from(awake.as_millis()).unwrap_or(Millis::MAX);
    let limit = Millis::try_from(limit.as_millis()).unwrap_or(Millis::MAX);
    passed_millis.saturating_sub(awake) >= limit
}

/// Returns the time since this machine started, the time asleep included; `None` where it is not known.
fn uptime() -> Option<Duration> {
    let said = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(said.split_whitespace().next()?.parse().ok()?).ok()
}

/// Returns by how much our clock was set while this machine ran from `before` to `after`; `None` if it was not set.
fn step(before: Option<Duration>, after: Option<Duration>, passed_millis: Millis) -> Option<Millis> {
    let ran = Millis::try_from(after?.saturating_sub(before?).as_millis()).ok()?;
    Some(passed_millis.saturating_sub(ran)).filter(|by| by.saturating_abs() >= STEP_MILLIS)
}

/// Waits until a value is so; for ever where its sender is gone: whoever waits ends with it, or finds that out by other means.
pub(super) async fn wait_until<T>(values: &mut signal::Receiver<T>, is_so: impl FnMut(&T) -> bool) {
    if values.wait_for(is_so).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_slept_when_its_clock_passed_more_time_than_it_was_awake() {
        let (awake, limit) = (Duration::from_secs(3), Duration::from_secs(8));
        assert!(!has_slept(awake, 3_010, limit) && !has_slept(awake, 10_000, limit), "busy");
        assert!(has_slept(awake, 3_600_000, limit), "slept");
        assert!(!has_slept(awake, -3_600_000, limit), "set back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_stopped_has_lost_its_connections_once() {
        let (liveness, pace) = (signal::Sender::new(Liveness::new()), Pace::default());
        let losses_of_alive = async |seconds: u64| {
            let _ = tokio::time::timeout(Duration::from_secs(seconds), keep_alive(&liveness, &pace)).await;
            liveness.borrow().losses
        };
        assert_eq!(losses_of_alive(3_600).await, 0, "time passes");
        note_alive(&liveness, &pace);
        tokio::time::advance(STOPPED - Duration::from_millis(10)).await;
        note_alive(&liveness, &pace);
        assert_eq!(liveness.borrow().losses, 0, "busy");
        for stops in 1..3 {
            tokio::time::advance(STOPPED).await;
            note_alive(&liveness, &pace);
            assert_eq!(liveness.borrow().losses, stops, "whoever wakes first counts it");
            assert_eq!(losses_of_alive(10).await, stops, "and nobody else");
        }
    }

    #[test]
    fn a_clock_that_was_set_is_told_from_sleep() {
        let ran = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(step(ran(100), ran(103), 3_010), None);
        assert_eq!(step(ran(100), ran(3_703), 3_603_010), None, "asleep for an hour");
        assert_eq!(step(ran(100), ran(103), 3_603_000), Some(3_600_000), "set forward");
        assert_eq!(step(ran(100), ran(103), -3_597_000), Some(-3_600_000), "set back");
        assert_eq!(step(None, None, 3_600_000), None, "not known");
    }
}
