//! Checks with a cheap request every few seconds whether the cluster responds: a watch on a quiet cluster sends nothing for a
//! minute, and a half-open connection sends nothing at all. Also detects that this process was stopped: data that waited in the
//! system meanwhile is older than it appears.

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

/// Path of the probe. Any response proves that the cluster responds, even a rejection.
const PATH: &str = "/version";
/// A clock that differs this much from the expected time was set; a smaller difference may come from a busy machine.
const STEP_MILLIS: Millis = 2_000;
/// Interval in which the process records that it runs, independent of its other work.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A process that recorded nothing for this long was stopped; a busy one may be late by seconds.
const STOPPED: Duration = Duration::from_secs(7);

/// State of the cluster's connection, as watches see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Liveness {
    /// Whether it does not respond now.
    pub is_silent: bool,
    /// Number of times that all connections were lost, or that this process or machine was stopped. Connections from before are useless.
    pub losses: u64,
    /// Last time at which this process ran: by the time awake, and by this machine's clock.
    alive_at: (Instant, Millis),
}

impl Liveness {
    /// Creates the state of a cluster without a probe so far.
    pub(super) fn new() -> Self {
        Self { is_silent: false, losses: 0, alive_at: (Instant::now(), clock::now_millis()) }
    }
}

/// Records that this process runs. If the process or its machine was stopped since the last call, all connections count as lost:
/// their data waited in the system meanwhile. A task that wakes up calls this before it trusts what it reads.
///
/// The time awake is that of the timers. If a test lets it advance automatically, it goes from timer to timer and so at most by
/// `ALIVE_EVERY` at once: only a test that advances it further simulates a stopped process.
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

/// Probes until the hub ends, and records meanwhile that this process runs.
pub(super) async fn run(cluster: Cluster, liveness: Arc<signal::Sender<Liveness>>) {
    tokio::select! {
        () = run_probes(&cluster, &liveness) => {}
        () = keep_alive(&liveness, cluster.pace()) => {}
    }
}

/// Records repeatedly that this process runs, even if nothing is read and the hub is slow.
async fn keep_alive(liveness: &signal::Sender<Liveness>, pace: &Pace) {
    loop {
        tokio::time::sleep(ALIVE_EVERY).await;
        note_alive(liveness, pace);
    }
}

/// Probes until the hub ends. The cluster is silent if there was no response for the pace's silence.
async fn run_probes(cluster: &Cluster, liveness: &signal::Sender<Liveness>) {
    let mut last_answer = (Instant::now(), cluster.now_millis());
    let mut looked = (clock::now_millis(), uptime());
    loop {
        let asked = Instant::now();
        // Pieces of a list prove that the cluster responds, too: a server that is busy with a long list may be late with everything else.
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
            let _ = cluster.events.send(event).await; // the hub may have ended
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

/// Sends one probe; returns why there was no response.
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

/// Returns whether this machine slept: its clock advanced more than the time awake. Connections may have died unnoticed, because
/// time limits count the time awake. A clock that was set looks the same; it costs only new connections.
fn has_slept(awake: Duration, passed_millis: Millis, limit: Duration) -> bool {
    let awake = Millis::try_from(awake.as_millis()).unwrap_or(Millis::MAX);
    let limit = Millis::try_from(limit.as_millis()).unwrap_or(Millis::MAX);
    passed_millis.saturating_sub(awake) >= limit
}

/// Returns the time since this machine started, including sleep; `None` if unknown.
fn uptime() -> Option<Duration> {
    let said = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(said.split_whitespace().next()?.parse().ok()?).ok()
}

/// Returns by how much the clock was set while this machine ran from `before` to `after`; `None` if it was not set.
fn step(before: Option<Duration>, after: Option<Duration>, passed_millis: Millis) -> Option<Millis> {
    let ran = Millis::try_from(after?.saturating_sub(before?).as_millis()).ok()?;
    Some(passed_millis.saturating_sub(ran)).filter(|by| by.saturating_abs() >= STEP_MILLIS)
}

/// Waits until a value meets the condition. Waits forever if its sender is gone: the caller ends with the sender, or notices that
/// in another way.
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
