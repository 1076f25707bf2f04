//! Permission reviews of one cluster for one viewer, refreshed before they expire, with a timeout.

use std::collections::{BTreeMap, BTreeSet};
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
/// Time after which a refusal is reviewed again in a namespace that only the stored history has. There may be thousands of
/// them, deleted long ago; a later answer can only show more.
const STORED_REFUSAL_FOR: Duration = Duration::from_mins(10);
/// Timeout of all reviews of one round together.
pub(super) const REVIEW_TIMEOUT: Duration = Duration::from_secs(8);
/// Namespaces that are reviewed at once, for one viewer.
const REVIEWS_AT_ONCE: usize = 16;

/// Whether a viewer may see a namespace of a cluster, or all of them (`None`).
pub(super) type ClusterReviews = RefreshingCache<Option<String>, bool>;

/// The namespaces of a cluster, and whether the cluster has them now or the viewer named them. The others are only in the
/// stored history.
pub(super) type ReviewedNamespaces<'a> = BTreeMap<&'a String, bool>;

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

    /// Returns whether there is an answer for each namespace that counts.
    pub(super) fn has_all(&self, namespaces: &ReviewedNamespaces<'_>) -> bool {
        let has = |(namespace, is_current): (&&String, &bool)| {
            let namespace = Some((*namespace).clone());
            self.get(&namespace).is_some() || self.is_stored_refusal(&namespace, *is_current)
        };
        self.get(&None).is_some_and(|sees_all| *sees_all || namespaces.iter().all(has))
    }

    /// Returns whether the last review of a namespace that only the stored history has was a refusal, which counts until the next one.
    fn is_stored_refusal(&self, namespace: &Option<String>, is_current: bool) -> bool {
        !is_current && self.latest(namespace) == Some(&false)
    }

    /// Returns whether a namespace should be reviewed now.
    fn is_review_due(&self, namespace: &Option<String>, is_current: bool) -> bool {
        let is_recent = || self.requested_at(namespace).is_some_and(|at| at.elapsed() < STORED_REFUSAL_FOR);
        self.is_due(namespace) && !(self.is_stored_refusal(namespace, is_current) && is_recent())
    }

    /// Reviews namespaces with missing and old answers, the oldest first, so that a slow cluster gets around to all of
    /// them. Refusals in namespaces of the stored history come last: the others expire sooner.
    pub(super) async fn refresh(&mut self, hub: &Handle, subject: &Subject, namespaces: &ReviewedNamespaces<'_>) {
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
        namespaces: &ReviewedNamespaces<'_>,
    ) -> Result<(), RequestError> {
        if self.is_due(&None) {
            let asked_at = Instant::now();
            let answer = reviewer.may_list_pods(subject, None).await?;
            self.insert(None, asked_at, answer);
        }
        self.retain(|namespace| namespace.as_ref().is_none_or(|name| namespaces.contains_key(name)));
        // A viewer who may see everything needs no reviews of namespaces.
        if self.get(&None) == Some(&true) {
            return Ok(());
        }
        let all = namespaces.iter().map(|(name, is_current)| (Some((*name).clone()), *is_current));
        let mut old: Vec<(Option<String>, bool)> =
            all.filter(|(namespace, is_current)| self.is_review_due(namespace, *is_current)).collect();
        old.sort_by_key(|(namespace, is_current)| {
            (self.is_stored_refusal(namespace, *is_current), self.requested_at(namespace))
        });
        let asked = stream::iter(old.into_iter().map(|(namespace, _)| async move {
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
    use std::sync::{Arc, Mutex};

    use ::kube::client::{Body, Client};
    use http_body_util::BodyExt;
    use serde_json::{Value, json};
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
        reviews.refresh(&hub, &Subject::default(), &ReviewedNamespaces::new()).await;
        assert!(reviews.has_failed() && reviews.is_backing_off());
        tokio::time::advance(POLICY.retry_after).await;
        assert!(!reviews.is_backing_off());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_where_only_the_history_has_something_is_reviewed_again_after_ten_minutes() {
        let asked = Arc::<Mutex<BTreeMap<String, u32>>>::default();
        let counts = asked.clone();
        let cluster = tower::service_fn(move |request: http::Request<Body>| {
            let counts = counts.clone();
            async move {
                let review = request.into_body().collect().await.unwrap().to_bytes();
                let review: Value = serde_json::from_slice(&review).unwrap();
                let namespace = review["spec"]["resourceAttributes"]["namespace"].as_str().unwrap_or("*").to_owned();
                let answer = json!({ "metadata": {}, "spec": {}, "status": { "allowed": namespace == "own" } });
                *counts.lock().unwrap().entry(namespace).or_default() += 1;
                Ok::<_, Infallible>(http::Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        let access = Access::fixed(Client::new(cluster, "default"), Pace::default());
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let hub = hub.with_reviewer(Reviewer::new(watch::channel(Some(access)).1));
        let names = ["deleted", "live", "own"].map(str::to_owned);
        let namespaces: ReviewedNamespaces<'_> = names.iter().zip([false, true, false]).collect();
        let mut reviews = ClusterReviews::new(POLICY);
        let count = |namespace: &str| asked.lock().unwrap().get(namespace).copied().unwrap_or_default();
        for round in 1..=20 {
            reviews.refresh(&hub, &Subject::default(), &namespaces).await;
            assert_eq!(["*", "live", "own", "deleted"].map(count), [round, round, round, 1]);
            tokio::time::advance(POLICY.refresh_after).await;
        }
        assert!(reviews.has_all(&namespaces), "the refusal still counts");
        let all_current: ReviewedNamespaces<'_> = names.iter().map(|name| (name, true)).collect();
        assert!(!reviews.has_all(&all_current), "not once something is there");
        assert_eq!(reviews.permissions(), Some(ClusterPermissions::Namespaces(BTreeSet::from(["own".to_owned()]))));
        reviews.refresh(&hub, &Subject::default(), &namespaces).await;
        assert_eq!(count("deleted"), 2);
        tokio::time::advance(POLICY.refresh_after).await;
        reviews.refresh(&hub, &Subject::default(), &all_current).await;
        assert_eq!(count("deleted"), 3, "something is there again");
    }
}
