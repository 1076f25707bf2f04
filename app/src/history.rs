//! Rollouts that are kept: one of them, which ones are asked for, and the page of them.

use serde::{Deserialize, Serialize};
use timeline::rollout::{Outcome, Trigger};
use timeline::words::{count, duration};
use timeline::{Millis, Uid, Workload, WorkloadKind};

use crate::address;

/// What took less than this is told without a number.
const AT_ONCE_MILLIS: Millis = 100;

/// A rollout as the index of history has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastRollout {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace of the workload.
    pub namespace: String,
    /// Name of the workload.
    pub name: String,
    /// UID of the workload.
    pub uid: Uid,
    /// Which of the rollouts that are kept of it, from 0; the store gives it.
    pub number: u32,
    /// The revision.
    pub revision: u64,
    /// What set it off.
    pub trigger: Trigger,
    /// When it began, or was first seen.
    pub started_millis: Millis,
    /// When it was complete or superseded.
    pub ended_millis: Option<Millis>,
    /// How it stands or ended.
    pub outcome: Outcome,
    /// Why it was stuck, as a sentence; empty if it never was.
    pub cause: String,
    /// Images of its template, joined.
    pub images: String,
    /// Replicas that the Deployment asked for.
    pub replicas: u32,
    /// When as many of its pods as asked for were available.
    pub available_millis: Option<Millis>,
    /// The most pods that there were at once.
    pub peak_pods: u32,
    /// The least pods that were available at once.
    pub min_available: u32,
    /// Annotation `kubernetes.io/change-cause`.
    pub change_cause: Option<String>,
    /// The moment at which it is best looked at; `None` while it goes on.
    pub moment_millis: Option<Millis>,
    /// The Deployment is deleted.
    pub is_deleted: bool,
}

impl PastRollout {
    /// The page of this rollout, at its moment.
    #[must_use]
    pub fn address(&self) -> String {
        let page = address::permanent(&self.workload(), self.uid, Some(self.revision));
        self.moment_millis.map_or_else(|| page.clone(), |at_millis| format!("{page}&at={at_millis}"))
    }

    /// Its workload.
    #[must_use]
    pub fn workload(&self) -> Workload {
        Workload {
            cluster: self.cluster.clone(),
            kind: WorkloadKind::Deployment,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: None,
            rollout: None,
        }
    }

    /// Cluster and namespace.
    #[must_use]
    pub fn place(&self) -> (&str, &str) {
        (&self.cluster, &self.namespace)
    }

    /// It is not over yet.
    #[must_use]
    pub const fn is_going_on(&self) -> bool {
        matches!(self.outcome, Outcome::Progressing | Outcome::DeadlineExceeded)
    }

    /// This rollout of its workload.
    #[must_use]
    pub fn by_itself(&self) -> Workload {
        Workload { uid: Some(self.uid), rollout: Some(self.number), ..self.workload() }
    }

    /// How it ended: "Complete after 12 s".
    #[must_use]
    pub fn ended(&self) -> String {
        let end = match self.outcome {
            Outcome::Complete => "Complete",
            Outcome::Superseded => "Superseded",
            Outcome::DeadlineExceeded => "Progress deadline passed",
            Outcome::Deleted => "Deployment deleted",
            Outcome::Progressing => "In progress",
        };
        match self.ended_millis {
            Some(ended) if ended - self.started_millis < AT_ONCE_MILLIS => format!("{end} at once"),
            Some(ended) => format!("{end} after {}", duration(ended - self.started_millis)),
            None => end.to_owned(),
        }
    }

    /// What set it off, in words.
    #[must_use]
    pub const fn began(&self) -> &'static str {
        match self.trigger {
            Trigger::Unknown => "Was going on",
            Trigger::Rollback => "Rollback",
            Trigger::Adopted => "ReplicaSet adopted",
            Trigger::Created => "Created",
            Trigger::Restart => "Restart",
            Trigger::Template => "New template",
        }
    }

    /// Its extremes: "3 replicas, at most 4 pods, at least 3 available".
    #[must_use]
    pub fn extremes(&self) -> String {
        let (replicas, pods) = (count(self.replicas, "replica"), count(self.peak_pods, "pod"));
        format!("{replicas}, at most {pods}, at least {} available", self.min_available)
    }
}

/// Which rollouts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Words that are in the names, the images, the change cause or the cause.
    pub text: String,
    /// Of this cluster.
    pub cluster: String,
    /// Of this namespace.
    pub namespace: String,
    /// With this outcome.
    pub outcome: Option<Outcome>,
    /// Only those that were stuck at some time.
    pub had_trouble: bool,
    /// What the time was said in: "last night"; empty where two times were.
    pub when: String,
    /// Began at this time or later.
    pub from_millis: Option<Millis>,
    /// Began before this time.
    pub to_millis: Option<Millis>,
}

/// Outcomes by their names in addresses.
pub const OUTCOMES: [(&str, Outcome, &str); 5] = [
    ("complete", Outcome::Complete, "Complete"),
    ("failed", Outcome::DeadlineExceeded, "Deadline passed"),
    ("superseded", Outcome::Superseded, "Superseded"),
    ("deleted", Outcome::Deleted, "Deleted"),
    ("in-progress", Outcome::Progressing, "In progress"),
];

/// Times by their names in addresses.
pub const TIMES: [(&str, &str); 5] = [
    ("today", "Today"),
    ("last-night", "Last night"),
    ("yesterday", "Yesterday"),
    ("week", "Last 7 days"),
    ("month", "Last 30 days"),
];

impl Search {
    /// The page of what is asked for.
    #[must_use]
    pub fn address(&self) -> String {
        self.page(None)
    }

    /// The same, after those that were shown.
    #[must_use]
    pub fn page(&self, after: Option<&str>) -> String {
        let outcome = OUTCOMES.iter().find(|(_, outcome, _)| Some(*outcome) == self.outcome).map(|(name, ..)| *name);
        let time = |at: Option<Millis>| at.filter(|_| self.when.is_empty()).map(|at| at.to_string());
        let (from, to) = (time(self.from_millis).unwrap_or_default(), time(self.to_millis).unwrap_or_default());
        let told = [
            ("q", self.text.as_str()),
            ("cluster", &self.cluster),
            ("namespace", &self.namespace),
            ("outcome", outcome.unwrap_or_default()),
            ("trouble", if self.had_trouble { "yes" } else { "" }),
            ("when", &self.when),
            ("since", &from),
            ("until", &to),
            ("after", after.unwrap_or_default()),
        ];
        format!("/history{}", address::parameters(&told))
    }
}

/// A day, and what began on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Its first moment, in UTC.
    pub from_millis: Millis,
    /// Its name: "21 Nov".
    pub name: String,
    /// How many rollouts began.
    pub rollouts: u32,
    /// How many of them were stuck at some time.
    pub troubled: u32,
}

/// Some of the rollouts that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPayload {
    /// Which were asked for.
    pub search: Search,
    /// They, the last one first, each with its day and time in UTC.
    pub rollouts: Vec<(String, PastRollout)>,
    /// What comes after them, for the next page.
    pub after: Option<String>,
    /// The last days, the first one first, whatever time was asked for.
    pub days: Vec<Day>,
    /// How much is kept: "in /var/lib/rollcast for 30 d, at most 2 GB".
    pub kept: String,
    /// Why none can be shown; empty while they can.
    pub trouble: String,
}

impl HistoryPayload {
    /// The page's title.
    #[must_use]
    pub fn title(&self) -> String {
        "History — Rollcast".to_owned()
    }

    /// Which rollouts there are, in words.
    #[must_use]
    pub fn said(&self) -> String {
        let when = TIMES.iter().find(|(name, _)| *name == self.search.when).map(|(_, words)| words.to_lowercase());
        let when = when.map(|when| format!(", {when}")).unwrap_or_default();
        match (self.rollouts.len() as u32, &self.after) {
            (0, _) => format!("No rollouts{when} that match."),
            (many, Some(_)) => format!("The last {}{when}.", count(many, "rollout")),
            (many, None) => format!("{}{when}.", count(many, "rollout")),
        }
    }
}
