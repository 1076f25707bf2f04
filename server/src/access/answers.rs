//! What one cluster said of what somebody may see: asked again before it is too old, and never waited for long.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::access::sight::Seen;
use crate::hub::Handle;
use crate::kube::error::RequestError;
use crate::kube::review::{Reviewer, Subject};

/// What a cluster said is good for this long. With the longest that asking takes, and with how often its result is told, this is
/// under a minute: so long may a right be used that was taken away.
const GOOD_FOR: Duration = Duration::from_secs(48);
/// It is asked again after this long.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(30);
/// A cluster that did not say is asked again after this long.
const ASK_THE_SILENT: Duration = Duration::from_secs(4);
/// All questions of one round together take no longer.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);
/// Namespaces that are asked about at once, for one viewer.
const AT_ONCE: usize = 16;

/// Whether something may be seen, and when that was asked.
type Answer = (Instant, bool);

/// What a cluster said.
#[derive(Default)]
pub(super) struct Answers {
    /// Of all namespaces at once.
    whole: Option<Answer>,
    namespaces: BTreeMap<String, Answer>,
    /// When it was asked last.
    asked: Option<Instant>,
    /// It did not say, when asked last.
    is_silent: bool,
}

impl Answers {
    /// What may be seen of the cluster; `None` for nothing.
    pub(super) fn seen(&self) -> Option<Seen> {
        let is_good = |(at, is_allowed): &Answer| *is_allowed && at.elapsed() < GOOD_FOR;
        if self.whole.as_ref().is_some_and(is_good) {
            return Some(Seen::All);
        }
        let good = self.namespaces.iter().filter(|(_, answer)| is_good(answer));
        let all: BTreeSet<String> = good.map(|(name, _)| name.clone()).collect();
        (!all.is_empty()).then_some(Seen::Namespaces(all))
    }

    /// It does not say, and nothing that it said before is good any more.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent && self.seen().is_none()
    }

    /// Asks what is not known, or was said a while ago; what was said longest ago first, so that a slow cluster gets around to everything.
    pub(super) async fn ask(&mut self, hub: &Handle, subject: &Subject, namespaces: &BTreeSet<&String>) {
        let is_resting = self.is_silent && self.asked.is_some_and(|asked| asked.elapsed() < ASK_THE_SILENT);
        if is_resting {
            return;
        }
        let (now, was_silent) = (Instant::now(), self.is_silent);
        let by = now + PATIENCE;
        self.asked = Some(now);
        self.is_silent = false;
        if let Err(why) = self.ask_until(by, hub.reviewer(), subject, namespaces).await {
            if !was_silent {
                tracing::warn!("cannot check the permissions of viewers in cluster {}: {why}", hub.name());
            }
            self.is_silent = true;
        }
    }

    async fn ask_until(
        &mut self,
        by: Instant,
        reviewer: &Reviewer,
        subject: &Subject,
        namespaces: &BTreeSet<&String>,
    ) -> Result<(), RequestError> {
        let late = |_| RequestError::Unreachable("the API server did not respond in time".to_owned());
        if is_old(self.whole.as_ref()) {
            // What is answered was so at some time since then.
            let asked_at = Instant::now();
            let answer = timeout_at(by, reviewer.may_list_pods(subject, None)).await.map_err(late)??;
            self.whole = Some((asked_at, answer));
        }
        self.namespaces.retain(|name, _| namespaces.contains(name));
        // Who may see everything needs not be asked for parts.
        if self.whole.is_some_and(|(_, is_allowed)| is_allowed) {
            return Ok(());
        }
        let said = |name: &String| self.namespaces.get(name);
        let mut old: Vec<String> =
            namespaces.iter().filter(|name| is_old(said(name))).map(|name| (*name).clone()).collect();
        old.sort_by_key(|name| said(name).map(|(at, _)| *at));
        let asked = stream::iter(old.into_iter().map(|name| async move {
            let asked_at = Instant::now();
            let answer = reviewer.may_list_pods(subject, Some(&name)).await;
            (name, answer.map(|answer| (asked_at, answer)))
        }));
        let mut answers = pin!(asked.buffer_unordered(AT_ONCE));
        while let Some((name, answer)) = timeout_at(by, answers.next()).await.map_err(late)? {
            self.namespaces.insert(name, answer?);
        }
        Ok(())
    }
}

fn is_old(answer: Option<&Answer>) -> bool {
    answer.is_none_or(|(at, _)| at.elapsed() >= ASK_AGAIN)
}
