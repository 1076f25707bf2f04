//! Episodes in the index of history: one row, its values from a model, and the search for rows. Most rows are rollouts; an episode without
//! a rollout has a row of its own.

pub mod course;
pub mod language;
pub mod rollout_rows;
pub mod search;
mod words;

use crate::rollout::{Outcome, Trigger};
use crate::{EpisodeKind, Millis, Uid, Workload, WorkloadKind};
use serde::{Deserialize, Serialize};

pub use self::search::{Day, LENGTHS, OUTCOMES, Search, TIMES, UTC};
pub use self::words::{Status, StatusMark, extremes, outcome_name, replaces};
use crate::address;

/// The cause of a rollout that was stuck while nothing said why. Any other cause is more specific.
pub const UNKNOWN_CAUSE: &str = "No progress, and nothing says why.";

/// Returns whether a cause names a fault: not that a rollout was stuck without a reason, or that no pod was available meanwhile.
pub fn names_fault(cause: &str) -> bool {
    let is_outage = cause.contains(": no pod is available.") || cause.starts_with("No pod of ");
    !cause.is_empty() && cause != UNKNOWN_CAUSE && !is_outage
}

/// A rollout, or an episode without a rollout, as the index of history has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodeRow {
    /// Name of the cluster.
    pub cluster: String,
    /// Kind of the workload; what was written before there were several is of Deployments.
    #[serde(default)]
    pub kind: WorkloadKind,
    /// Kind of the episode.
    #[serde(default)]
    pub episode: EpisodeKind,
    /// The events of an episode without a rollout, in words; empty for a rollout.
    #[serde(default)]
    pub title: String,
    /// Namespace of the workload.
    pub namespace: String,
    /// Name of the workload.
    pub name: String,
    /// UID of the workload.
    pub uid: Uid,
    /// Which of the rollouts that are kept of it, from 0; the store gives it.
    pub number: u32,
    /// The revision that it rolled out.
    pub revision: u64,
    /// Trigger of the rollout.
    pub trigger: Trigger,
    /// When it began, or was first seen.
    pub started_millis: Millis,
    /// When it was complete or superseded.
    pub ended_millis: Option<Millis>,
    /// Its end was not observed, or the start of a rollout: neither its duration nor its extremes are known.
    #[serde(default)]
    pub is_part_unseen: bool,
    /// A part of it was not observed: its extremes are not known.
    #[serde(default)]
    pub has_gap: bool,
    /// Outcome so far, or at the end.
    pub outcome: Outcome,
    /// Why it could not start or was stuck, or why its pods failed in its episode after it was complete, as a sentence; else empty. Of an
    /// episode without a rollout it may be the title, where that says the trouble.
    pub cause: String,
    /// The trouble before it began, as a sentence: its ReplicaSet was refused, or old pods did not go. It is shown if there is no cause.
    pub refusal: Option<String>,
    /// The losses in the episode of a rollout after it was complete, in words.
    pub losses: Option<String>,
    /// The refusal of the next revision's ReplicaSet in that episode, in words.
    pub next_refusal: Option<String>,
    /// When its progress deadline passed, whatever came after; `None` where it did not, and of rollouts that an older version wrote.
    pub deadline_millis: Option<Millis>,
    /// Images of its template, joined.
    pub images: String,
    /// Images of the rollout before it, joined; empty where there is none. The store knows.
    #[serde(default)]
    pub images_before: String,
    /// Replicas that the Deployment asked for.
    pub replicas: u32,
    /// When as many of its pods as asked for were available.
    pub available_millis: Option<Millis>,
    /// Time until the first pod that was made for it was available, where that is known.
    pub first_available_millis: Option<Millis>,
    /// Number of container restarts of its pods until its episode was over, where that is known.
    pub restarts: Option<u32>,
    /// The most pods that there were at once.
    pub peak_pods: u32,
    /// The least pods that were available at once.
    pub min_available: u32,
    /// Replicas and `maxSurge`: the most pods that its strategy allowed; `None` of rollouts that an older version wrote.
    pub ceiling: Option<u32>,
    /// Replicas less `maxUnavailable`: the least available pods that its strategy allowed; `None` like `ceiling`.
    pub floor: Option<u32>,
    /// Annotation `kubernetes.io/change-cause`.
    pub change_cause: Option<String>,
    /// The tool that deployed it and what it calls that: "Helm release web"; empty where none is known.
    #[serde(default)]
    pub managed_by: String,
    /// Its most telling moment; `None` while it goes on.
    pub moment_millis: Option<Millis>,
    /// The last moment that knows nothing of the next rollout; `None` while there is none, and of rollouts that an older version wrote.
    pub last_millis: Option<Millis>,
    /// The Deployment is deleted.
    pub is_deleted: bool,
    /// Its pods are kept, so that it can be made again; the store knows.
    #[serde(default)]
    pub is_kept: bool,
}

impl EpisodeRow {
    /// Returns the page of this rollout, at its moment. An ended one is shown from its recording, whether or not its
    /// cluster is watched now.
    pub fn address(&self) -> String {
        let page = self.page();
        self.moment_millis.map_or_else(|| page.clone(), |at_millis| format!("{page}&at={at_millis}"))
    }

    /// Removes the trouble and the losses after it was complete, which are shown elsewhere or not known to be its own.
    pub fn clear_aftermath(&mut self) {
        if matches!(self.outcome, Outcome::Complete | Outcome::ScaledToZero) {
            self.cause.clear();
            (self.refusal, self.losses, self.next_refusal) = (None, None, None);
        }
    }

    /// Returns its workload.
    pub fn workload(&self) -> Workload {
        Workload { kind: self.kind, ..Workload::deployment(&*self.cluster, &*self.namespace, &*self.name) }
    }

    /// Returns cluster and namespace.
    pub fn place(&self) -> (&str, &str) {
        (&self.cluster, &self.namespace)
    }

    /// Returns whether the episode is a rollout.
    pub fn is_rollout(&self) -> bool {
        self.episode == EpisodeKind::Rollout
    }

    /// Returns whether it has not ended yet.
    pub const fn is_going_on(&self) -> bool {
        matches!(self.outcome, Outcome::Progressing | Outcome::DeadlineExceeded)
    }

    /// Returns this rollout as a workload of its own.
    pub fn by_itself(&self) -> Workload {
        Workload { uid: Some(self.uid), rollout: Some(self.number), ..self.workload() }
    }

    /// Returns the address that plays it from its begin.
    pub fn play_address(&self) -> String {
        format!("{}&at={}&play=yes", self.page(), self.started_millis)
    }

    fn page(&self) -> String {
        if self.is_going_on() {
            address::permanent(&self.workload(), self.uid, Some(self.revision).filter(|_| self.is_rollout()))
        } else {
            address::workload(&self.by_itself())
        }
    }

    /// Returns its duration; `None` while it goes on, and if its end was not observed, or the begin of a rollout.
    pub fn took_millis(&self) -> Option<Millis> {
        let is_seen = !self.is_part_unseen && (!self.is_rollout() || self.trigger != Trigger::Unknown);
        self.ended_millis.filter(|_| is_seen).map(|ended| ended - self.started_millis)
    }

    /// Returns the time until it was complete; `None` if it never was, or its begin or end was not observed.
    pub fn complete_millis(&self) -> Option<Millis> {
        self.took_millis().filter(|_| self.outcome == Outcome::Complete)
    }

    /// Returns whether it replaced nothing: the Deployment was created, or took over existing pods.
    pub const fn is_first(&self) -> bool {
        matches!(self.trigger, Trigger::Created | Trigger::Adopted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(outcome: Outcome) -> EpisodeRow {
        EpisodeRow {
            cluster: "prod".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            uid: Uid::from_bits(1),
            revision: 2,
            started_millis: 1_000,
            outcome,
            ..EpisodeRow::default()
        }
    }

    #[test]
    fn refusals_are_removed_with_the_trouble_and_the_losses_of_a_complete_rollout() {
        let cleared = |outcome| {
            let (cause, words) = ("Containers crash.".to_owned(), Some("Pod q4xzb deleted".to_owned()));
            let (refusal, losses, next_refusal) = (words.clone(), words.clone(), words);
            let mut told = EpisodeRow { cause, refusal, losses, next_refusal, ..rollout(outcome) };
            told.clear_aftermath();
            told
        };
        assert_eq!(cleared(Outcome::Complete), rollout(Outcome::Complete));
        assert_eq!(cleared(Outcome::Superseded).refusal.as_deref(), Some("Pod q4xzb deleted"));
    }

    #[test]
    fn what_is_over_is_played_by_itself_and_what_goes_on_live() {
        let uid = Uid::from_bits(1);
        let page = format!("/clusters/prod/namespaces/shop/deployments/web?uid={uid}");
        assert_eq!(rollout(Outcome::Complete).play_address(), format!("{page}&rollout=0&at=1000&play=yes"));
        assert_eq!(rollout(Outcome::Progressing).play_address(), format!("{page}&revision=2&at=1000&play=yes"));
        let over = EpisodeRow { moment_millis: Some(7_000), ..rollout(Outcome::Complete) };
        assert_eq!(over.address(), format!("{page}&rollout=0&at=7000"), "its cluster need not be watched any more");
        assert_eq!(rollout(Outcome::Progressing).address(), format!("{page}&revision=2"));
        let scaling = |outcome| EpisodeRow { episode: EpisodeKind::Scaling, ..rollout(outcome) };
        assert_eq!(scaling(Outcome::Complete).play_address(), format!("{page}&rollout=0&at=1000&play=yes"));
        let played = scaling(Outcome::Progressing).play_address();
        assert_eq!(played, format!("{page}&at=1000&play=yes"), "no moment of a revision");
    }
}
