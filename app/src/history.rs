//! Rollouts that are kept: one of them, which ones are asked for, and the page of them.

use serde::{Deserialize, Serialize};
use timeline::rollout::{Outcome, Trigger};
use timeline::words::{count, duration};
use timeline::{Millis, Uid, Workload, WorkloadKind};

use crate::address;
use crate::payload::Preview;

/// What took less than this is told without a number.
const AT_ONCE_MILLIS: Millis = 100;

/// A rollout as the index of history has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastRollout {
    /// Name of the cluster.
    pub cluster: String,
    /// Kind of the workload; what was written before there were several is of Deployments.
    #[serde(default)]
    pub kind: WorkloadKind,
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
    /// How long it took until the first pod that was made for it was available, where that is known.
    #[serde(default)]
    pub first_available_millis: Option<Millis>,
    /// How often containers of its pods were started again until it ended, where that is known.
    #[serde(default)]
    pub restarts: Option<u32>,
    /// The most pods that there were at once.
    pub peak_pods: u32,
    /// The least pods that were available at once.
    pub min_available: u32,
    /// Annotation `kubernetes.io/change-cause`.
    pub change_cause: Option<String>,
    /// The tool that deployed it and what it calls that: "Helm release web"; empty where none is known.
    #[serde(default)]
    pub managed_by: String,
    /// The moment at which it is best looked at; `None` while it goes on.
    pub moment_millis: Option<Millis>,
    /// The last moment that knows nothing of the next rollout; `None` while there is none, and of rollouts that an older version wrote.
    #[serde(default)]
    pub last_millis: Option<Millis>,
    /// The Deployment is deleted.
    pub is_deleted: bool,
    /// Its pods are kept, so that it can be made again; the store knows.
    #[serde(default)]
    pub is_kept: bool,
}

impl PastRollout {
    /// The page of this rollout, at its moment. What is over is shown from what is kept of it, whether or not its cluster is watched now.
    #[must_use]
    pub fn address(&self) -> String {
        let page = self.page();
        self.moment_millis.map_or_else(|| page.clone(), |at_millis| format!("{page}&at={at_millis}"))
    }

    /// Its workload.
    #[must_use]
    pub fn workload(&self) -> Workload {
        Workload {
            cluster: self.cluster.clone(),
            kind: self.kind,
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

    /// Where it is played from its begin.
    #[must_use]
    pub fn played(&self) -> String {
        format!("{}&at={}&play=yes", self.page(), self.started_millis)
    }

    fn page(&self) -> String {
        if self.is_going_on() {
            address::permanent(&self.workload(), self.uid, Some(self.revision))
        } else {
            address::workload(&self.by_itself())
        }
    }

    /// How long it took; `None` while it goes on.
    #[must_use]
    pub fn took_millis(&self) -> Option<Millis> {
        self.ended_millis.map(|ended| ended - self.started_millis)
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
        match self.took_millis() {
            Some(took) if took < AT_ONCE_MILLIS => format!("{end} at once"),
            Some(took) => format!("{end} after {}", duration(took)),
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

    /// Its extremes: "3 replicas, peak 4 pods, fewest available 3".
    #[must_use]
    pub fn extremes(&self) -> String {
        format!("{}, {}", count(self.replicas, "replica"), extremes(self.peak_pods, self.min_available))
    }
}

/// Most pods at once and fewest available ones, as they were observed. "At most" and "at least" are the limits of the strategy, between
/// which these need not be: pods that terminate count as well.
#[must_use]
pub fn extremes(peak_pods: u32, min_available: u32) -> String {
    format!("peak {}, fewest available {min_available}", count(peak_pods, "pod"))
}

/// A workload with its last rollouts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastWorkload {
    /// Its cluster and namespace.
    pub place: (String, String),
    /// Its name.
    pub name: String,
    /// Its last rollouts, the first one first.
    pub rollouts: Vec<PastRollout>,
}

impl PastWorkload {
    /// What can be said of all of them: "12 rollouts, 2 with trouble, mostly 40 s".
    #[must_use]
    pub fn said(rollouts: &[PastRollout]) -> String {
        let all = count(u32::try_from(rollouts.len()).unwrap_or(u32::MAX), "rollout");
        let complete = rollouts.iter().filter(|rollout| rollout.outcome == Outcome::Complete);
        let mut took: Vec<Millis> = complete.filter_map(PastRollout::took_millis).collect();
        took.sort_unstable();
        let median = took
            .get(took.len().saturating_sub(1) / 2)
            .filter(|_| took.len() > 1)
            .map(|median| format!(", half of those that were complete within {}", duration(*median)));
        let troubled = rollouts.iter().filter(|rollout| !rollout.cause.is_empty()).count();
        let troubled = if troubled == 0 { String::new() } else { format!(", {troubled} with trouble") };
        format!("{all}{troubled}{}", median.unwrap_or_default())
    }
}

/// Which rollouts are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Words that are in the names, the images, the change cause or the cause.
    pub text: String,
    /// Only rollouts of this cluster; empty for all.
    pub cluster: String,
    /// Only rollouts of this namespace; empty for all.
    pub namespace: String,
    /// Of the Deployment of this name.
    pub name: String,
    /// With this in the names of its images.
    pub image: String,
    /// Only rollouts with this outcome; `None` for all.
    pub outcome: Option<Outcome>,
    /// Only those that were stuck at some time.
    pub had_trouble: bool,
    /// Only those that were over after this time or more.
    pub longer_millis: Option<Millis>,
    /// What the time was said in: "last night"; empty where two times were.
    pub when: String,
    /// Went on at this time or later.
    pub from_millis: Option<Millis>,
    /// Began before this time.
    pub to_millis: Option<Millis>,
    /// The offset from UTC in which days, nights and times are told: "+02:00". For UTC "utc" where that was asked for, else empty: then
    /// browsers ask for their own.
    pub zone: String,
}

/// UTC, as addresses name it.
pub const UTC: &str = "utc";

/// Outcomes by their names in addresses.
pub const OUTCOMES: [(&str, Outcome, &str); 5] = [
    ("complete", Outcome::Complete, "Complete"),
    ("failed", Outcome::DeadlineExceeded, "Deadline passed"),
    ("superseded", Outcome::Superseded, "Superseded"),
    ("deleted", Outcome::Deleted, "Deleted"),
    ("in-progress", Outcome::Progressing, "In progress"),
];

/// Least durations by their names in addresses.
pub const LENGTHS: [(&str, Millis, &str); 4] = [
    ("30s", 30_000, "Over 30 s"),
    ("2m", 120_000, "Over 2 min"),
    ("10m", 600_000, "Over 10 min"),
    ("1h", 3_600_000, "Over 1 h"),
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

    /// What times are told in: "UTC", or "UTC+02:00".
    #[must_use]
    pub fn zone_name(&self) -> String {
        let offset = if self.zone == UTC { "" } else { &self.zone };
        format!("UTC{offset}")
    }

    /// The name of the least duration.
    #[must_use]
    pub fn length(&self) -> Option<&'static str> {
        LENGTHS.iter().find(|(_, millis, _)| Some(*millis) == self.longer_millis).map(|(name, ..)| *name)
    }

    /// The name of the outcome.
    #[must_use]
    pub fn outcome_name(&self) -> Option<&'static str> {
        OUTCOMES.iter().find(|(_, outcome, _)| Some(*outcome) == self.outcome).map(|(name, ..)| *name)
    }

    /// The same, after those that were shown.
    #[must_use]
    pub fn page(&self, after: Option<&str>) -> String {
        let time = |at: Option<Millis>| at.filter(|_| self.when.is_empty()).map(|at| at.to_string());
        let (from, to) = (time(self.from_millis).unwrap_or_default(), time(self.to_millis).unwrap_or_default());
        let told = [
            ("q", self.text.as_str()),
            ("cluster", &self.cluster),
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("image", &self.image),
            ("outcome", self.outcome_name().unwrap_or_default()),
            ("trouble", if self.had_trouble { "yes" } else { "" }),
            ("longer", self.length().unwrap_or_default()),
            ("when", &self.when),
            ("since", &from),
            ("until", &to),
            ("tz", &self.zone),
            ("after", after.unwrap_or_default()),
        ];
        format!("/history{}", address::parameters(&told))
    }
}

/// A day, and what began on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// First moment of the day.
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
    /// Since and until when, as the fields of forms have times; empty where no times were named.
    pub since: String,
    /// See `since`.
    pub until: String,
    /// They, the last one first, each with its day and time.
    pub rollouts: Vec<(String, PastRollout)>,
    /// The workloads that they are of, as many as are shown together.
    pub workloads: Vec<PastWorkload>,
    /// What comes after them, for the next page.
    pub after: Option<String>,
    /// The last days, the first one first, whatever time was asked for.
    pub days: Vec<Day>,
    /// How much is kept: "in /var/lib/rollcast for 30 d, at most 2 GB".
    pub kept: String,
    /// Why none can be shown; empty while they can.
    pub trouble: String,
    /// Since when what is observed is not written, and why; empty while it is.
    pub unwritten: String,
}

impl HistoryPayload {
    /// The page's title.
    #[must_use]
    pub fn title(&self) -> String {
        "History — Rollcast".to_owned()
    }

    /// What a chat shows of a link to the page.
    #[must_use]
    pub fn preview(&self) -> Preview {
        Preview { title: self.title(), description: self.said(), image: None }
    }

    /// Which rollouts there are, in words.
    #[must_use]
    pub fn said(&self) -> String {
        let when = TIMES.iter().find(|(name, _)| *name == self.search.when).map(|(_, words)| words.to_lowercase());
        let words = |text: &str| text.replace('T', " ");
        let zone = self.search.zone_name();
        let when = match (when, self.since.as_str(), self.until.as_str()) {
            (Some(when), ..) => format!(", {when}"),
            (None, "", "") => String::new(),
            (None, since, "") => format!(", since {} {zone}", words(since)),
            (None, "", until) => format!(", until {} {zone}", words(until)),
            (None, since, until) => format!(", from {} to {} {zone}", words(since), words(until)),
        };
        match (self.rollouts.len() as u32, &self.after) {
            (0, _) => format!("No rollouts{when} that match."),
            (many, Some(_)) => format!("The last {}{when}.", count(many, "rollout")),
            (many, None) => format!("{}{when}.", count(many, "rollout")),
        }
    }
}

/// Rollouts for tests.
#[cfg(test)]
pub(crate) mod made {
    use super::*;

    /// A complete one of `web` that took so long.
    pub(crate) fn rollout(revision: u64, took_millis: Option<Millis>) -> PastRollout {
        PastRollout {
            cluster: "prod".to_owned(),
            kind: WorkloadKind::Deployment,
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            uid: Uid::from_bits(1),
            number: 0,
            revision,
            trigger: Trigger::Template,
            started_millis: 1_000,
            ended_millis: took_millis.map(|took| 1_000 + took),
            outcome: if took_millis.is_some() { Outcome::Complete } else { Outcome::Progressing },
            cause: String::new(),
            images: "web:v1".to_owned(),
            replicas: 3,
            available_millis: None,
            first_available_millis: None,
            restarts: None,
            peak_pods: 4,
            min_available: 3,
            change_cause: None,
            managed_by: String::new(),
            moment_millis: None,
            last_millis: None,
            is_deleted: false,
            is_kept: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::made::rollout;
    use super::*;

    #[test]
    fn a_workloads_rollouts_are_told_together() {
        let said = |rollouts: &[PastRollout]| PastWorkload::said(rollouts);
        assert_eq!(said(&[rollout(1, Some(5_000))]), "1 rollout");
        let stuck = PastRollout { cause: "why".to_owned(), ..rollout(4, None) };
        let all = [rollout(1, Some(60_000)), rollout(2, Some(20_000)), rollout(3, Some(40_000)), stuck];
        assert_eq!(said(&all), "4 rollouts, 1 with trouble, half of those that were complete within 40 s");
    }

    #[test]
    fn links_keep_the_zone_that_was_asked_for() {
        let of = |zone: &str| {
            let search = Search { zone: zone.to_owned(), text: "web".to_owned(), ..Search::default() };
            (search.address(), search.zone_name())
        };
        assert_eq!(of("utc"), ("/history?q=web&tz=utc".to_owned(), "UTC".to_owned()));
        assert_eq!(of(""), ("/history?q=web".to_owned(), "UTC".to_owned()));
        assert_eq!(of("-03:30").1, "UTC-03:30");
    }

    #[test]
    fn what_is_over_is_played_by_itself_and_what_goes_on_live() {
        let uid = Uid::from_bits(1);
        let page = format!("/clusters/prod/namespaces/shop/deployments/web?uid={uid}");
        assert_eq!(rollout(2, Some(5_000)).played(), format!("{page}&rollout=0&at=1000&play=yes"));
        assert_eq!(rollout(2, None).played(), format!("{page}&revision=2&at=1000&play=yes"));
        let over = PastRollout { moment_millis: Some(7_000), ..rollout(2, Some(5_000)) };
        assert_eq!(over.address(), format!("{page}&rollout=0&at=7000"), "its cluster need not be watched any more");
        assert_eq!(rollout(2, None).address(), format!("{page}&revision=2"));
    }
}
