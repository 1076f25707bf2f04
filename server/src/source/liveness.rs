//! Does the cluster answer at all? A cheap request every few seconds, because a watch on a quiet cluster says nothing for
//! a minute and a half-open connection says nothing for ever.

use std::time::Instant;

use tokio::sync::watch as signal;

use super::request::{self, RequestError};
use super::{Cluster, SourceEvent};

/// Any answer proves life, also a refusal.
const PATH: &str = "/version";

/// Probes until the hub is gone. `silent` becomes true when there was no answer for the pace's silence.
pub(super) async fn run(cluster: Cluster, silent: signal::Sender<bool>) {
    let mut last_answer = (Instant::now(), cluster.now_millis());
    loop {
        let asked = Instant::now();
        let answer = tokio::time::timeout(cluster.pace.probe, request::get(&cluster.client, PATH)).await;
        let why = match answer {
            Ok(Ok(body)) => request::read(body).await.err().map(|error| error.to_string()),
            Ok(Err(RequestError::Unreachable(why))) => Some(why),
            Ok(Err(_)) => None,
            Err(_) => Some("the API server does not answer".to_owned()),
        };
        let event = match why {
            None => {
                last_answer = (Instant::now(), cluster.now_millis());
                silent.send_replace(false).then_some(SourceEvent::Answers { silent: None })
            }
            Some(why) if last_answer.0.elapsed() >= cluster.pace.silence => {
                silent.send_replace(true);
                Some(SourceEvent::Answers { silent: Some((last_answer.1, why)) })
            }
            Some(_) => None,
        };
        let gone = match event {
            Some(event) => cluster.events.send(event).await.is_err(),
            None => cluster.events.is_closed(),
        };
        if gone {
            return;
        }
        tokio::time::sleep(cluster.pace.probe.saturating_sub(asked.elapsed())).await;
    }
}
