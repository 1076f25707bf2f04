//! Makes every sentence: verdicts, causes, the budget, commands and lines of the story, from data alone.
//! Owns the wording and the types that hold it ([`Verdict`], [`Command`], [`story::Line`]).
//! Must not know pages or what travels, and decides nothing: [`crate::assess`] does.
//!
//! Rules: say what happened, to what, with numbers. Present tense, but for moments that are past ([`past`]). Kubernetes' own
//! terms. Nothing that is not known. Text from clusters goes through [`crate::words::safe`] and has at most 200 characters.

mod budget;
mod cause;
mod choice;
pub mod command;
mod crash;
mod episode;
mod excerpt;
mod happening;
mod headline;
mod next;
mod pod_causes;
mod pod_happenings;
mod scale_happenings;
mod start_causes;
pub mod story;
mod tense;
mod unseen;
mod verdict;
mod why;

pub use budget::{budget, derived};
pub use cause::cause;
pub use choice::choice;
pub use command::{Command, remedy};
pub use episode::{episode, say_losses, say_refusal};
pub use next::next;
pub use tense::past;
pub use unseen::only_last_seen;
pub use verdict::{Verdict, badge, recreated, succeeded, verdict};
pub use why::why;

use crate::model::{KubectlVerdict, Pod};
use crate::words::safe;

/// The state of a pod, with its reason: "failing (CrashLoopBackOff)".
pub fn pod(pod: &Pod) -> String {
    let label = pod.state().label();
    if pod.now.reason.is_empty() { label.to_owned() } else { format!("{label} ({})", safe(&pod.now.reason)) }
}

/// The verdict of `kubectl rollout status` in words.
pub const fn kubectl(verdict: KubectlVerdict) -> &'static str {
    match verdict {
        KubectlVerdict::NotObserved => "waiting for the spec to be observed",
        KubectlVerdict::DeadlineExceeded => "failed: progress deadline exceeded",
        KubectlVerdict::Updating => "waiting for new replicas to be updated",
        KubectlVerdict::OldPending => "waiting for old replicas to terminate",
        KubectlVerdict::AvailabilityPending => "waiting for updated replicas to be available",
        KubectlVerdict::Complete => "successfully rolled out",
        KubectlVerdict::Gone => "not found",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KubectlVerdict::{AvailabilityPending, Complete, DeadlineExceeded, Gone, NotObserved, OldPending, Updating};

    #[test]
    fn a_verdict_of_kubectl_says_what_it_waits_for() {
        let all = [NotObserved, DeadlineExceeded, Updating, OldPending, AvailabilityPending, Complete, Gone];
        assert_eq!(
            all.map(kubectl),
            [
                "waiting for the spec to be observed",
                "failed: progress deadline exceeded",
                "waiting for new replicas to be updated",
                "waiting for old replicas to terminate",
                "waiting for updated replicas to be available",
                "successfully rolled out",
                "not found"
            ]
        );
    }
}
