//! Does the cluster answer at all? A cheap request every few seconds, because a watch on a quiet cluster says nothing for
//! a minute and a half-open connection says nothing for ever.

use std::time::Duration;

use timeline::Millis;
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::request::{self, RequestError};
use super::{Cluster, SourceEvent};
use crate::clock;

/// Any answer proves life, also a refusal.
const PATH: &str = "/version";

/// What watches know of the cluster's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Life {
    /// It does not answer now.
    pub is_silent: bool,
    /// How often all connections were lost. One that was there when this changed is of no more use.
    pub losses: u64,
}

/// Probes until the hub is gone. The cluster is silent when there was no answer for the pace's silence.
pub(super) async fn run(cluster: Cluster, life: signal::Sender<Life>) {
    let mut last_answer = (Instant::now(), cluster.now_millis());
    let mut looked = (Instant::now(), clock::now_millis());
    loop {
        let asked = Instant::now();
        let why = probe(&cluster).await;
        let is_silent = last_answer.0.elapsed() >= cluster.pace.silence;
        let event = match why {
            Some(why) if is_silent => {
                life.send_if_modified(Life::fall_silent);
                Some(SourceEvent::Answers { silent: Some((last_answer.1, cluster.access.sentence(&why))) })
            }
            Some(_) => None,
            None => {
                last_answer = (Instant::now(), cluster.now_millis());
                life.send_if_modified(Life::speak).then_some(SourceEvent::Answers { silent: None })
            }
        };
        let gone = match event {
            Some(event) => cluster.events.send(event).await.is_err(),
            None => cluster.events.is_closed(),
        };
        if gone {
            return;
        }
        tokio::time::sleep(cluster.pace.probe.saturating_sub(asked.elapsed())).await;
        let before = std::mem::replace(&mut looked, (Instant::now(), clock::now_millis()));
        if has_slept(before.0.elapsed(), looked.1 - before.1, cluster.pace.silence) {
            tracing::info!("this machine slept; connecting anew");
            life.send_modify(|life| life.losses += 1);
        }
    }
}

/// Asks once; tells why there was no answer.
async fn probe(cluster: &Cluster) -> Option<RequestError> {
    let asked = async {
        let body = request::get(&cluster.access, &cluster.pace, PATH).await?;
        request::read(body, &cluster.pace).await
    };
    match tokio::time::timeout(cluster.pace.probe, asked).await {
        Ok(Err(why @ (RequestError::Unreachable(_) | RequestError::Credentials(_)))) => Some(why),
        Ok(_) => None,
        Err(_) => {
            let why = RequestError::Unreachable("the API server does not answer".to_owned());
            cluster.access.failed(cluster.access.generation(), &why, &cluster.pace);
            Some(why)
        }
    }
}

impl Life {
    const fn fall_silent(&mut self) -> bool {
        let is_new = !self.is_silent;
        if is_new {
            *self = Self { is_silent: true, losses: self.losses + 1 };
        }
        is_new
    }

    const fn speak(&mut self) -> bool {
        std::mem::replace(&mut self.is_silent, false)
    }
}

/// Whether this machine slept: our clock passed more time than we were awake. Connections may have died meanwhile, and no
/// limit of ours noticed, because those count the time awake. A clock that was set looks the same and costs new connections.
fn has_slept(awake: Duration, passed_millis: Millis, limit: Duration) -> bool {
    let awake = Millis::try_from(awake.as_millis()).unwrap_or(Millis::MAX);
    let limit = Millis::try_from(limit.as_millis()).unwrap_or(Millis::MAX);
    passed_millis.saturating_sub(awake) >= limit
}

/// Returns when connections were lost since `losses` of them.
pub(super) async fn lost(life: &mut signal::Receiver<Life>, losses: u64) {
    if life.wait_for(|life| life.losses != losses).await.is_err() {
        std::future::pending::<()>().await; // the probe has ended, and so will we
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

    #[test]
    fn connections_are_lost_once_with_each_silence() {
        let mut life = Life::default();
        assert!(life.fall_silent() && !life.fall_silent() && life.losses == 1);
        assert!(life.speak() && !life.speak() && life.losses == 1);
    }
}
