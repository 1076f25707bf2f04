//! Permission reviews of one cluster for one viewer, refreshed before they expire, with a timeout.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, timeout};

use super::refreshing_cache::{RefreshPolicy, RefreshingCache};
use crate::access::permissions::ClusterPermissions;
use crate::hub::Handle;
use crate::kube::error::RequestError;
use crate::kube::review::{Reviewer, Subject};

/// Lifetime of an answer. With the timeout of a round and the interval of publishing, a revoked permission works for
/// less than a minute.
pub(super) const POLICY: RefreshPolicy = RefreshPolicy {
    refresh_after: Duration::from_secs(30),
    expire_after: Duration::from_secs(48),
    retry_after: Duration::from_secs(4),
};
/// Timeout of all reviews of one round together.
pub(super) const REVIEW_TIMEOUT: Duration = Duration::from_secs(8);
/// Namespaces that are reviewed at once, for one viewer.
const REVIEWS_AT_ONCE: usize = 16;

/// Whether a viewer may see a namespace of a cluster, or all of them (`None`).
pub(super) type ClusterReviews = RefreshingCache<Option<String>, bool>;

impl ClusterReviews {
    /// Returns the permissions in the cluster; `None` if there are none.
    pub(super) fn permissions(&self) -> Option<ClusterPermissions> {
        if self.get(&None) == Some(&true) {
            return Some(ClusterPermissions::All);
        }
        let allowed = self.unexpired().filter(|(_, is_allowed)| **is_allowed);
        let all: BTreeSet<String> = allowed.filter_map(|(namespace, _)| namespace.clone()).collect();
        (!all.is_empty()).then_some(ClusterPermissions::Namespaces(all))
    }

    /// Returns whether there is an unexpired answer for each namespace.
    pub(super) fn has_all(&self, namespaces: &BTreeSet<&String>) -> bool {
        let has = |namespace: &&String| self.get(&Some((*namespace).clone())).is_some();
        self.get(&None).is_some_and(|sees_all| *sees_all || namespaces.iter().all(has))
    }

    /// Has missing and old answers reviewed, the oldest first, so that a slow cluster gets around to all of them.
    pub(super) async fn refresh(&mut self, hub: &Handle, subject: &Subject, namespaces: &BTreeSet<&String>) {
        if self.is_backing_off() {
            return;
        }
        let has_failed_before = self.has_failed();
        let late = || RequestError::Unreachable("the API server did not respond in time".to_owned());
        let reviewed = timeout(REVIEW_TIMEOUT, self.review_due(&hub.reviewer, subject, namespaces)).await;
        match reviewed.unwrap_or_else(|_| Err(late())) {
            Ok(()) => self.clear_failure(),
            Err(why) => {
                if !has_failed_before {
                    tracing::warn!("cannot check the permissions of viewers in cluster {}: {why}", hub.name());
                }
                // Now, not at the start of the round: the pause after a timeout is shorter than the timeout.
                self.record_failure(Instant::now());
            }
        }
    }

    async fn review_due(
        &mut self,
        reviewer: &Reviewer,
        subject: &Subject,
        namespaces: &BTreeSet<&String>,
    ) -> Result<(), RequestError> {
        if self.is_due(&None) {
            let asked_at = Instant::now();
            let answer = reviewer.may_list_pods(subject, None).await?;
            self.insert(None, asked_at, answer);
        }
        self.retain(|namespace| namespace.as_ref().is_none_or(|name| namespaces.contains(name)));
        // A viewer who may see everything needs no reviews of namespaces.
        if self.get(&None) == Some(&true) {
            return Ok(());
        }
        let all = namespaces.iter().map(|name| Some((*name).clone()));
        let mut old: Vec<Option<String>> = all.filter(|namespace| self.is_due(namespace)).collect();
        old.sort_by_key(|namespace| self.requested_at(namespace));
        let asked = stream::iter(old.into_iter().map(|namespace| async move {
            let asked_at = Instant::now();
            let answer = reviewer.may_list_pods(subject, namespace.as_deref()).await;
            (namespace, asked_at, answer)
        }));
        let mut answers = pin!(asked.buffer_unordered(REVIEWS_AT_ONCE));
        while let Some((namespace, asked_at, answer)) = answers.next().await {
            self.insert(namespace, asked_at, answer?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::sync::Arc;

    use ::kube::client::{Body, Client};
    use timeline::Retention;
    use tokio::sync::watch;

    use super::*;
    use crate::kube::Pace;
    use crate::kube::access::Access;

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_does_not_answer_is_left_alone_for_a_while() {
        let mute = tower::service_fn(|_: http::Request<Body>| pending::<Result<http::Response<Body>, Infallible>>());
        let access = Access::fixed(Client::new(mute, "default"), Pace::default());
        let access = watch::channel(Some(access)).1;
        let (hub, _events) = Handle::start("mute", Arc::default(), Retention::default());
        let hub = hub.with_reviewer(Reviewer::new(access));
        let mut reviews = ClusterReviews::new(POLICY);
        reviews.refresh(&hub, &Subject::default(), &BTreeSet::new()).await;
        assert!(reviews.has_failed() && reviews.is_backing_off());
        tokio::time::advance(POLICY.retry_after).await;
        assert!(!reviews.is_backing_off());
    }
}
