//! Details of the rollouts of a Deployment, each with its moment.

use serde::{Deserialize, Serialize};
use timeline::address;
use timeline::episodes::course::{limits, moment};
use timeline::episodes::{EpisodeRow, Status, extremes, outcome_name, replaces};
use timeline::model::{Deployment, Model, Rollout};
use timeline::rollout::{self, Outcome};
use timeline::words::{capitalized, count, duration_in_words, images, is_are, safe};
use timeline::{Millis, Uid, Workload};

use crate::measure::Measure;

/// All stored rollouts of a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutsDetail {
    /// UID of the Deployment.
    pub deployment: Uid,
    /// Name of the Deployment, safe to show.
    pub name: String,
    /// Time of the data.
    pub now_millis: Millis,
    /// Its rollouts, the last one first.
    pub rollouts: Vec<RolloutLine>,
    /// Number of older rollouts that are past retention.
    pub pruned: u32,
    /// Sentences that compare the last one with earlier ones; empty where there are none to compare with.
    pub standing: String,
    /// The durations of earlier rollouts; `None` where none are known.
    pub measure: Option<Measure>,
}

/// One rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RolloutLine {
    /// The revision of the rollout.
    pub revision: u64,
    /// The earlier revision number of its ReplicaSet, if it had one.
    pub was: Option<u64>,
    /// When it began; `None` when that was before watching began.
    pub started_millis: Option<Millis>,
    /// Result of the rollout.
    pub end: Outcome,
    /// Whether its progress deadline passed at any time.
    pub is_past_deadline: bool,
    /// The cause of its trouble from the history; empty if it had none, `None` if the history does not have the rollout.
    pub trouble: Option<String>,
    /// Time until it was complete or superseded; `None` if its beginning or end was not observed.
    pub took_millis: Option<Millis>,
    /// Whether a part of it was not observed.
    pub has_gap: bool,
    /// Maximum number of pods at once; `None` if a part of it, or all its pods, were not observed, so that the extremes may be wrong.
    pub peak_pods: Option<u32>,
    /// Minimum number of available pods; `None` if it replaced no revision, and so began with none.
    pub min_available: Option<u32>,
    /// The limits of its strategy: maximum number of pods, and minimum number of available ones. `None` if no longer known.
    pub limits: Option<(u32, u32)>,
    /// Images of its template, joined.
    pub images: String,
    /// The moment to which links lead: when it was complete, failed or superseded. `None` while it is in progress.
    pub moment_millis: Option<Millis>,
}

impl RolloutsDetail {
    /// Collects the rollouts of a Deployment. `past` are its rows in the history.
    pub fn from_model(
        model: &Model,
        deployment: &Deployment,
        past: &[EpisodeRow],
        standing: String,
        measure: Option<Measure>,
        now_millis: Millis,
    ) -> Self {
        Self {
            deployment: deployment.uid,
            name: safe(&deployment.name),
            now_millis,
            rollouts: lines(model, deployment).rev().map(|line| line.with_trouble(past)).collect(),
            pruned: deployment.rollouts_pruned,
            standing,
            measure,
        }
    }

    /// Returns the sentence about rollouts past retention; empty if there are none.
    pub fn pruned_said(&self) -> String {
        let many = count(self.pruned, "rollout");
        format!("{many} before these {} not listed here any more.", is_are(self.pruned))
    }

    /// Returns the address of the page that compares the last rollout with earlier ones.
    pub fn compare_address(&self, workload: &Workload) -> Option<String> {
        let last = self.rollouts.first()?;
        Some(address::compare(workload, self.deployment, last.revision, None))
    }

    /// Returns the address of a rollout's page. A rollback gives its ReplicaSet another revision number; the moment in the address stays
    /// valid.
    pub fn address(&self, workload: &Workload, line: &RolloutLine) -> String {
        let page = address::permanent(workload, self.deployment, Some(line.revision));
        line.moment_millis.map_or_else(|| page.clone(), |at_millis| format!("{page}&at={at_millis}"))
    }
}

/// Returns every rollout of a Deployment, in order.
pub(super) fn lines(model: &Model, deployment: &Deployment) -> impl DoubleEndedIterator<Item = RolloutLine> {
    (0..deployment.rollouts.len()).filter_map(move |index| RolloutLine::of(model, deployment, index))
}

impl RolloutLine {
    fn of(model: &Model, deployment: &Deployment, index: usize) -> Option<Self> {
        let rollout = deployment.rollouts.get(index)?;
        let ended_millis = rollout.ended_millis();
        let began_millis = rollout::began_millis(model, deployment, rollout);
        let took = began_millis.zip(ended_millis).map(|(from, to)| to - from);
        let has_gap = rollout::has_gap(model, deployment, rollout);
        let is_part_unseen = rollout::is_part_unseen(model, deployment, rollout);
        // A rollout that was complete when the observation began has no pods of its own time.
        let is_unseen = began_millis.is_none() && rollout.peak_active == 0;
        Some(Self {
            revision: rollout.revision,
            was: revision_before(model, deployment, rollout),
            started_millis: began_millis,
            end: rollout::outcome(deployment, rollout),
            is_past_deadline: rollout.deadline_exceeded_millis.is_some(),
            trouble: None,
            took_millis: took.filter(|_| !is_part_unseen),
            has_gap,
            peak_pods: (!is_part_unseen && !has_gap && !is_unseen).then_some(rollout.peak_active),
            min_available: Some(rollout.min_available)
                .filter(|_| replaces(rollout::trigger(model, deployment, index), rollout.revision)),
            limits: limits(deployment, index),
            images: images(&rollout.images),
            moment_millis: moment(model, deployment, index),
        })
    }

    /// Adds the data of the history. If several rollouts have its revision number, the one with the nearest beginning counts.
    fn with_trouble(mut self, past: &[EpisodeRow]) -> Self {
        let rows = past.iter().filter(|row| row.revision == self.revision);
        let row = rows.min_by_key(|row| self.started_millis.map_or(0, |at| row.started_millis.abs_diff(at)));
        self.trouble = row.map(|row| if row.trouble().is_empty() { String::new() } else { row.cause_words() });
        self
    }

    /// Returns the status in the history; `None` if the history does not have the rollout.
    pub fn status(&self) -> Option<Status> {
        let trouble = self.trouble.as_ref()?;
        Some(Status::of_rollout(self.end, self.is_past_deadline, !trouble.is_empty()))
    }

    /// "Revision 5 (was 3)".
    pub fn name(&self) -> String {
        let was = self.was.map(|was| format!(" (was {was})")).unwrap_or_default();
        format!("Revision {}{was}", self.revision)
    }

    /// Formats the result: "complete after 12 s".
    pub fn result_words(&self) -> String {
        let end = outcome_name(self.end);
        let passed = self.is_past_deadline && self.end != Outcome::DeadlineExceeded;
        let passed = if passed { ", progress deadline passed" } else { "" };
        let is_over = matches!(self.end, Outcome::Complete | Outcome::ScaledToZero | Outcome::Superseded);
        let is_part_unseen = self.has_gap || (self.took_millis.is_none() && is_over && self.started_millis.is_some());
        let unseen = if is_part_unseen { ", part not observed" } else { "" };
        match self.took_millis {
            Some(took) => format!("{end} after {}{passed}{unseen}", duration_in_words(took)),
            None => format!("{end}{passed}{unseen}"),
        }
    }

    /// Formats the result for a list of rollouts: "took 12 s, complete".
    pub fn duration_words(&self) -> String {
        match self.took_millis.filter(|_| self.end == Outcome::Complete) {
            Some(took) if !self.has_gap => format!("took {}, complete", duration_in_words(took)),
            Some(took) => format!("took {}, complete, part not observed", duration_in_words(took)),
            None => self.result_words(),
        }
    }

    /// Says when it began, with a time that `stamp` formats.
    pub fn began_words(&self, stamp: impl FnOnce(Millis) -> String) -> String {
        let began = self.started_millis.map(|at| format!("Began {}.", stamp(at)));
        began.unwrap_or_else(|| "Was there when watching began.".to_owned())
    }

    /// Formats all of it: "Complete after 12 s. Began 14:02:05 UTC. Observed: peak 4 pods."
    pub fn sentences(&self, stamp: impl FnOnce(Millis) -> String) -> String {
        let said = format!("{}. {} {}", capitalized(self.result_words()), self.began_words(stamp), self.extremes());
        said.trim_end().to_owned()
    }

    /// Formats the maximum number of pods and the minimum number of available ones; empty if they are not known.
    pub fn extremes(&self) -> String {
        let said = |peak_pods| format!("Observed: {}.", extremes(peak_pods, self.min_available, self.limits));
        self.peak_pods.map(said).unwrap_or_default()
    }
}

/// Returns the earlier revision number of a rollout's ReplicaSet, in this Deployment.
fn revision_before(model: &Model, deployment: &Deployment, of: &Rollout) -> Option<u64> {
    let set = rollout::replica_set(model, deployment, of.revision)?;
    let numbers = set.revisions.iter().rev().map(|(revision, _)| *revision);
    let is_own = |number: &u64| deployment.rollouts.iter().any(|other| other.revision == *number);
    numbers.skip_while(|number| *number != of.revision).skip(1).find(is_own)
}

#[cfg(test)]
pub(crate) mod tests {
    use timeline::episodes::StatusMark;
    use timeline::fact::{DeploymentFact, DeploymentNow, DeploymentSpec, DeploymentStatus, Kind, Meta, Seen};
    use timeline::{Fact, Timeline};

    use super::*;

    const WEB: Uid = Uid::from_bits(1);

    /// Returns a Deployment of three replicas whose controller has observed that revision.
    pub(crate) fn deployment(revision: u64) -> Box<DeploymentFact> {
        let meta = Meta { uid: WEB, namespace: "shop".into(), name: "web".into(), ..Meta::default() };
        let spec = DeploymentSpec { replicas: 3, ..DeploymentSpec::default() };
        let status = DeploymentStatus { observed_generation: revision, ..DeploymentStatus::default() };
        let (generation, revision) = (revision, Some(revision));
        let now = DeploymentNow { generation, revision, spec, status, ..DeploymentNow::default() };
        Box::new(DeploymentFact { meta, now })
    }

    /// Returns a timeline that received these facts at these times.
    pub(crate) fn timeline_of(facts: impl IntoIterator<Item = (Millis, Fact)>) -> Timeline {
        let mut timeline = Timeline::new();
        for (at_millis, fact) in facts {
            timeline.apply(at_millis, fact);
        }
        timeline
    }

    /// Returns the Deployment as observed.
    fn seen(seen: Seen) -> (Millis, Fact) {
        (1_000, Fact::Deployment(deployment(1), seen))
    }

    /// Returns the last rollout of the Deployment after these facts.
    fn last_line(facts: impl IntoIterator<Item = (Millis, Fact)>) -> RolloutLine {
        let timeline = timeline_of(facts);
        let deployment = timeline.model().deployments.get(&WEB).unwrap();
        lines(timeline.model(), deployment).last().unwrap()
    }

    #[test]
    fn a_rollout_ends_with_its_deployment() {
        assert_eq!(last_line([seen(Seen::Added)]).result_words(), "in progress");
        assert_eq!(last_line([Seen::Added, Seen::Deleted].map(seen)).result_words(), "Deployment deleted");
    }

    #[test]
    fn a_gap_in_a_rollout_takes_the_figures_of_its_pods_away() {
        let extremes = |gap_since_millis| {
            let (kind, namespace, present) = (Kind::Deployment, None, vec![WEB]);
            let listed = Fact::Listed { kind, namespace, present, gap_since_millis: Some(gap_since_millis) };
            last_line([seen(Seen::Added), (9_000, listed)]).extremes()
        };
        assert!(extremes(8_001).starts_with("Observed: peak 0 pods"));
        assert_eq!(extremes(8_000), "");
    }

    #[test]
    fn a_rollout_of_which_no_pod_was_observed_has_no_figures() {
        assert_eq!(last_line([seen(Seen::InList)]).extremes(), "");
        assert!(last_line([seen(Seen::Added)]).extremes().starts_with("Observed: peak 0 pods"));
    }

    #[test]
    fn rollouts_are_told_with_their_ends() {
        let line = |end, took_millis| RolloutLine {
            revision: 2,
            was: Some(1),
            end,
            took_millis,
            peak_pods: Some(1),
            min_available: Some(3),
            limits: Some((4, 3)),
            ..RolloutLine::default()
        };
        assert_eq!(line(Outcome::Complete, None).name(), "Revision 2 (was 1)");
        assert_eq!(line(Outcome::Complete, Some(12_000)).duration_words(), "took 12 s, complete");
        assert_eq!(line(Outcome::Complete, Some(12_000)).result_words(), "complete after 12 s");
        assert_eq!(line(Outcome::Complete, None).duration_words(), "complete");
        let in_gap = RolloutLine { started_millis: Some(1_000), ..line(Outcome::Complete, None) };
        assert_eq!(in_gap.duration_words(), "complete, part not observed");
        let with_gap = RolloutLine { has_gap: true, ..line(Outcome::Complete, Some(12_000)) };
        let (ended, took) = (with_gap.result_words(), with_gap.duration_words());
        assert_eq!(
            (ended.as_str(), took.as_str()),
            ("complete after 12 s, part not observed", "took 12 s, complete, part not observed")
        );
        assert_eq!(line(Outcome::Superseded, Some(12_000)).duration_words(), "superseded after 12 s");
        assert_eq!(line(Outcome::Progressing, None).result_words(), "in progress");
        let passed = RolloutLine { is_past_deadline: true, ..line(Outcome::Superseded, Some(12_000)) };
        assert_eq!(passed.duration_words(), "superseded after 12 s, progress deadline passed");
        assert_eq!(
            line(Outcome::DeadlineExceeded, None).extremes(),
            "Observed: peak 1 pod (ceiling: 4 desired), lowest 3 available (floor: 3)."
        );
        let without_limits = RolloutLine { limits: None, ..line(Outcome::Complete, None) };
        assert_eq!(without_limits.extremes(), "Observed: peak 1 pod, lowest 3 available.");
        assert_eq!(in_gap.began_words(|at| at.to_string()), "Began 1000.");
        assert_eq!(
            line(Outcome::Complete, None).sentences(|_| String::new()),
            "Complete. Was there when watching began. Observed: peak 1 pod (ceiling: 4 desired), lowest 3 available \
             (floor: 3)."
        );
        let unseen = RolloutLine { peak_pods: None, ..with_gap };
        assert_eq!(
            unseen.sentences(|_| String::new()),
            "Complete after 12 s, part not observed. Was there when watching began."
        );
        let row = |started_millis, cause: &str| EpisodeRow {
            revision: 2,
            started_millis,
            cause: cause.to_owned(),
            outcome: Outcome::Complete,
            ..EpisodeRow::default()
        };
        let told = |cause: &str| {
            let rows = [row(9_000, "Revision 2 cannot start."), row(2_000, cause)];
            let line = RolloutLine { started_millis: Some(1_000), ..line(Outcome::Complete, Some(12_000)) };
            let line = line.with_trouble(&rows);
            (line.status().map(|status| status.mark), line.trouble)
        };
        let trouble = "Revision 2 cannot create pods: quota pods is used up.";
        let said = "Could not create pods: quota pods was used up.".to_owned();
        assert_eq!(told(trouble), (Some(StatusMark::Late), Some(said)));
        assert_eq!(told(""), (Some(StatusMark::Ok), Some(String::new())));
        assert_eq!(line(Outcome::Complete, None).with_trouble(&[]).status(), None, "nothing is known of its trouble");
    }

    /// Details beside a picture use the styles of `style/main.css`, without those of the history page.
    #[test]
    fn each_mark_has_a_sign_beside_a_picture() {
        const STYLES: &str = include_str!("../../../style/overview.css");
        for (mark, _) in StatusMark::ALL.into_iter().filter(|(mark, _)| *mark != StatusMark::Ok) {
            let signs = [".sign", ":is(.sign, .row .sentence)"].map(|sign| format!("{sign}.{}::before", mark.name()));
            assert!(signs.iter().any(|sign| STYLES.contains(sign)), "{}", mark.name());
        }
    }
}
