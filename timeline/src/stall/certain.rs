//! Which causes are certain: those that waiting will not mend, so that they are said at once and not after a while in which
//! nothing moved. It goes by what the kubelet and the API server say.

use super::{Cause, CauseKind, Refused};
use crate::budget::Next;
use crate::view::Assessment;

/// Restarts from which on a crash is a crash loop.
const LOOP_RESTARTS: u32 = 2;

/// Why an image cannot be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not have it.
    NotFound,
    /// The registry does not give it.
    Denied,
    /// Its name is none, or it may not be pulled at all.
    Unusable,
    /// Something else, which may pass: a network, a registry that is overloaded.
    Other,
}

/// What a reason, the message beside it and Events about it tell of a failed pull.
#[must_use]
pub fn pull_failure<'t>(reason: &str, message: &'t str, events: impl Iterator<Item = &'t str>) -> PullFailure {
    for text in std::iter::once(message).chain(events) {
        if text.contains("not found") || text.contains("manifest unknown") {
            return PullFailure::NotFound;
        }
        if text.contains("unauthorized") || text.contains("denied") {
            return PullFailure::Denied;
        }
    }
    match reason {
        "InvalidImageName" | "ErrImageNeverPull" => PullFailure::Unusable,
        _ => PullFailure::Other,
    }
}

/// What Events about failures of this object ("Pod web-1") say, the last one first.
pub fn told<'l>(looked: &'l Assessment<'_>, object: &'l str) -> impl Iterator<Item = &'l str> {
    let (kind, name) = object.split_once(' ').unwrap_or_default();
    let events = looked.deployment.events.iter().rev();
    let failures =
        events.filter(move |event| event.reason == "Failed" && event.about.0 == kind && event.about.1 == name);
    failures.map(|event| event.message.as_str())
}

/// A quota refuses it.
#[must_use]
pub fn is_quota(message: &str) -> bool {
    message.contains("exceeded quota")
}

/// Waiting will not mend it.
#[must_use]
pub fn is_certain(cause: &Cause, looked: &Assessment<'_>) -> bool {
    let evidence = &cause.evidence;
    let is_of_new_pods = !looked.awaits_revision();
    match &cause.kind {
        CauseKind::Image { .. } => {
            let failure = pull_failure(&evidence.reason, &evidence.message, told(looked, &evidence.object));
            // The kubelet backs off only after it tried more than once.
            is_of_new_pods && (failure != PullFailure::Other || evidence.reason == "ImagePullBackOff")
        }
        CauseKind::BadContainer => is_of_new_pods,
        CauseKind::Crash { restarts, .. } => {
            // A pod that ran for long may have restarts behind it that are no news.
            let is_news = looked.is_rolling_out() || evidence.reason == "CrashLoopBackOff";
            is_of_new_pods && is_news && *restarts >= LOOP_RESTARTS
        }
        CauseKind::Refused(Refused::Pods) if is_quota(&evidence.message) => !makes_room(looked),
        CauseKind::Refused(Refused::ReplicaSet | Refused::Pods) => is_decided(&evidence.message),
        _ => false,
    }
}

/// Pods are going, or may be asked to: they leave room in a quota.
fn makes_room(looked: &Assessment<'_>) -> bool {
    looked.counts.terminating > 0
        || looked.owed.1 > 0
        || matches!(looked.next, Next::RemoveOld { .. } | Next::RemoveNew(_))
}

/// The API server, or what it asks, says no; other errors of it may pass.
fn is_decided(message: &str) -> bool {
    is_quota(message)
        || ["denied the request", "is forbidden", "is invalid"].iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_is_slow_decides_nothing() {
        let failure = |reason, message| pull_failure(reason, message, std::iter::empty());
        assert_eq!(
            failure("ErrImagePull", "failed to resolve reference: web:missing: not found"),
            PullFailure::NotFound
        );
        assert_eq!(failure("ErrImagePull", "pull access denied, repository does not exist"), PullFailure::Denied);
        assert_eq!(failure("InvalidImageName", "couldn't parse image name"), PullFailure::Unusable);
        assert_eq!(failure("ErrImagePull", "net/http: TLS handshake timeout"), PullFailure::Other);
        assert_eq!(
            pull_failure(
                "ImagePullBackOff",
                "Back-off pulling image",
                ["Error: ErrImagePull", "manifest unknown"].into_iter()
            ),
            PullFailure::NotFound
        );
    }

    #[test]
    fn an_api_server_that_is_busy_decides_nothing() {
        assert!(is_decided("pods \"web-1\" is forbidden: violates PodSecurity \"restricted:latest\""));
        assert!(is_decided("admission webhook \"policy\" denied the request: no latest tags"));
        assert!(!is_decided("Internal error occurred: failed calling webhook: context deadline exceeded"));
    }
}
