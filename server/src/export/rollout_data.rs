//! Data of a rollout, copied from its hub, and the content of its file.

use std::collections::{BTreeMap, BTreeSet};

use app::detail::history::PodPast;
use app::detail::{Detail, PodDetail, RevisionDetail, RolloutsDetail};
use app::exported::{Record, WHOLE_EVERY};
use app::payload::{DeploymentPayload, Export};
use timeline::address;
use timeline::change::Subject;
use timeline::history::History;
use timeline::model::{Deployment, DeploymentNow, Pod, PodNow};
use timeline::removal_order::Choices;
use timeline::view::Now;
use timeline::wire::{Connection, ConnectionState, Objects, Said, Snapshot};
use timeline::{Change, Millis, Model, Uid, Workload};

use crate::history::rollout_span;
use crate::hub::{HubReader, describe_deployment};

/// Interval of the moments without changes, and the maximum number of moments.
const TICK_MILLIS: Millis = 1_000;
const MOST_MOMENTS: Millis = 2_000;

/// Copies of what a hub knows of a rollout.
#[derive(Debug)]
pub struct RolloutData {
    /// Revision of the rollout.
    pub revision: u64,
    /// The workload, with its UID.
    pub workload: Workload,
    deployment: Uid,
    past: History,
    skew_millis: Millis,
    from_millis: Millis,
    to_millis: Millis,
}

/// Copies the data of a rollout: of the last one, if no revision is named. Called in the hub's task, and short.
pub fn gather(reader: &HubReader<'_>, workload: Workload, revision: Option<u64>) -> Option<RolloutData> {
    let model = reader.timeline.model();
    let known = workload.find(model)?;
    let (revision, from_millis, to_millis) = shown_span(model, known, revision, reader.now_millis)?;
    let from_millis = from_millis.max(reader.history.base_millis().unwrap_or(Millis::MIN));
    Some(RolloutData {
        revision,
        deployment: known.uid,
        workload: Workload { uid: Some(known.uid), rollout: None, ..workload },
        past: reader.history.only(model, known.uid),
        skew_millis: reader.timeline.skew_millis(),
        from_millis,
        to_millis: Some(to_millis).filter(|to| *to >= from_millis)?,
    })
}

/// Returns the revision to show, and the begin and end of the time in which its rollout is shown.
pub(super) fn shown_span(
    model: &Model,
    deployment: &Deployment,
    revision: Option<u64>,
    now_millis: Millis,
) -> Option<(u64, Millis, Millis)> {
    let rollouts = &deployment.rollouts;
    let index = match revision {
        Some(revision) => rollouts.iter().rposition(|rollout| rollout.revision == revision)?,
        None => rollouts.len().checked_sub(1)?,
    };
    let rollout = rollouts.get(index)?;
    let last = timeline::rollout::last_moment_millis(model, deployment, index);
    let ended = rollout.ended_millis();
    let first = deployment.known_since_millis();
    let (from, to) = match (rollout.started_millis, ended) {
        (Some(started), Some(_)) => rollout_span::shown_span(started, ended, last),
        // A rollout in progress is shown up to now, however long it takes.
        (Some(started), None) => (rollout_span::shown_span(started, None, last).0, last.unwrap_or(now_millis)),
        // A superseded rollout ends before the first sign of the next one, or before the gap in which that one began.
        (None, _) => (first, rollout.completed_millis.or(last).unwrap_or(now_millis)),
    };
    Some((rollout.revision, from.max(first), to.min(now_millis)))
}

/// Details of pods and revisions by path, each with its start.
type RecordedDetails = BTreeMap<String, Vec<(Millis, Detail)>>;

/// Reasons of pods, each with its start.
type RecordedReasons = BTreeMap<Uid, Vec<(Millis, String)>>;

/// Records a detail, unless it is unchanged.
fn record_detail(details: &mut RecordedDetails, path: String, at_millis: Millis, detail: Detail) {
    let known = details.entry(path).or_default();
    let is_same = known.last().is_some_and(|(_, last)| match (last, &detail) {
        (Detail::Pod(last), Detail::Pod(pod)) => last.as_ref().clone().at(pod.now_millis) == **pod, // equal except for the time
        (last, detail) => last == detail,
    });
    if !is_same {
        known.push((at_millis, detail));
    }
}

/// Records the reason of a pod, unless it is unchanged.
fn record_reason(reasons: &mut RecordedReasons, pod: &Pod, at_millis: Millis) {
    let last = reasons.get(&pod.uid).and_then(|known| known.last()).map_or("", |(_, last)| last.as_str());
    if last != pod.now.reason {
        reasons.entry(pod.uid).or_default().push((at_millis, pod.now.reason.clone()));
    }
}

impl RolloutData {
    /// Returns the model at the end.
    pub fn final_model(&self) -> Model {
        self.past.at(self.to_millis)
    }

    /// Calls `see` with each state of a pod that the file may contain. Sentences also name what the last states no
    /// longer have.
    pub fn for_each_pod_state(&self, mut see: impl FnMut(&PodNow)) {
        self.past.at(self.from_millis).pods.values().for_each(|pod| see(&pod.now));
        for (_, change) in self.past.changes() {
            match change {
                Change::Pod(pod) => see(&pod.now),
                Change::PodNow(_, now) => see(now),
                _ => {}
            }
        }
    }

    /// Calls `see` with each state of a Deployment that the file may contain.
    pub fn for_each_deployment_state(&self, mut see: impl FnMut(&DeploymentNow)) {
        self.past.at(self.from_millis).deployments.values().for_each(|known| see(&known.now));
        for (_, change) in self.past.changes() {
            match change {
                Change::Deployment(known) => see(&known.now),
                Change::DeploymentNow(_, now) => see(now),
                _ => {}
            }
        }
    }

    /// Returns the content of the file.
    pub fn export(&self) -> Export {
        let end = self.final_model();
        let pods: BTreeSet<Uid> = end
            .pods_of_deployment(self.deployment)
            .into_iter()
            .filter(|pod| pod.gone_millis().is_none_or(|gone| gone >= self.from_millis))
            .map(|pod| pod.uid)
            .collect();
        let mut objects = Objects::of(&end, self.deployment);
        objects.pods.retain(|pod| pods.contains(&pod.uid)); // other pods are not part of this rollout
        let snapshot = Snapshot {
            epoch: 0,
            seq: 0,
            cluster: self.workload.cluster.clone(),
            now_millis: self.to_millis,
            deployment: Some(self.deployment),
            looking_since_millis: self.from_millis,
            objects,
            said: describe_deployment(&end, self.deployment, self.now(self.to_millis)),
        };
        let name = format!("{} revision {}", self.workload.name, self.revision);
        let state = ConnectionState::Replay { name };
        let deployment = DeploymentPayload {
            workload: self.workload.clone(),
            revision: None,
            connection: Connection { state, speed_percent: 0, ..Connection::default() },
            snapshot,
            moment: None,
            is_snapshot: false,
        };
        let (told, details, reasons) = self.record(&pods);
        let record = Record {
            from_millis: self.from_millis,
            to_millis: self.to_millis,
            told,
            details: details.into_iter().collect(),
            reasons: reasons.into_iter().collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Export { deployment, record }
    }

    const fn now(&self, millis: Millis) -> Now {
        Now { millis, skew_millis: self.skew_millis }
    }

    /// Returns the times at which sentences may change.
    fn moments(&self) -> Vec<Millis> {
        // Recordings may have any times.
        let span = self.to_millis.saturating_sub(self.from_millis);
        let step = TICK_MILLIS.max(span / MOST_MOMENTS);
        let changes =
            self.past.changes().map(|(at, _)| at).filter(|at| (self.from_millis..=self.to_millis).contains(at));
        let ticks = std::iter::successors(Some(self.from_millis), |at| at.checked_add(step));
        let ticks = ticks.take_while(|at| *at < self.to_millis);
        let all: BTreeSet<Millis> = changes.chain(ticks).chain([self.to_millis]).collect();
        // With very many changes, not each of them gets sentences of its own.
        let apart = if all.len() as Millis > MOST_MOMENTS { span / MOST_MOMENTS } else { 0 };
        let mut last = Millis::MIN;
        let is_apart = |at: &Millis| {
            let is_it = at.saturating_sub(apart) >= last || *at == self.to_millis;
            last = if is_it { *at } else { last };
            is_it
        };
        all.into_iter().filter(is_apart).collect()
    }

    /// Returns the sentences, the details of pods and revisions, and the reasons of pods, each with its start.
    fn record(
        &self,
        pods: &BTreeSet<Uid>,
    ) -> (Vec<(Millis, timeline::wire::SaidDelta)>, RecordedDetails, RecordedReasons) {
        let (mut walk, mut changes) = (self.past.walk(), self.past.changes().peekable());
        let (mut said, mut deltas, mut details) = (Said::default(), Vec::new(), RecordedDetails::default());
        let mut reasons = RecordedReasons::default();
        let mut pasts: BTreeMap<Uid, Vec<(Millis, Change)>> = BTreeMap::new();
        for at_millis in self.moments() {
            let (then, now) = (walk.to(at_millis), self.now(at_millis));
            let mut changed = BTreeSet::new();
            let mut is_changed = false;
            while let Some((at, change)) = changes.next_if(|(at, _)| *at <= at_millis) {
                is_changed = true;
                if let Subject::Pod(uid) = change.subject() {
                    pasts.entry(uid).or_default().push((at, change.clone()));
                    changed.insert(uid);
                }
            }
            let is_end = at_millis == self.to_millis;
            // Changes before the first moment may not be stored.
            let is_begin_or_end = is_end || at_millis == self.from_millis;
            if is_begin_or_end {
                changed.clone_from(pods);
            }
            let Some(deployment) = then.deployments.get(&self.deployment) else { continue };
            let mut choices = Choices::new(then, self.skew_millis);
            for pod in changed.intersection(pods).filter_map(|uid| then.pods.get(uid)) {
                let changes = pasts.get(&pod.uid).map(Vec::as_slice).unwrap_or_default();
                let past = PodPast { before: self.past.pod_before(pod.uid), changes };
                let of = (&self.workload, self.deployment);
                let detail = PodDetail::from_model(of, then, pod, past, now, &mut choices);
                record_detail(&mut details, address::pod(pod.uid), at_millis, Detail::Pod(Box::new(detail)));
                record_reason(&mut reasons, pod, at_millis);
            }
            if is_changed || is_begin_or_end {
                let revisions: BTreeSet<u64> = deployment.rollouts.iter().map(|rollout| rollout.revision).collect();
                for revision in revisions {
                    let end = self.now(self.to_millis);
                    if let Some(detail) = RevisionDetail::from_model(&self.workload, then, deployment, revision, end) {
                        let detail = Detail::Revision(Box::new(detail));
                        record_detail(&mut details, address::revision(revision), at_millis, detail);
                    }
                }
            }
            if is_end {
                let detail = RolloutsDetail::from_model(then, deployment, &[], String::new(), None, self.to_millis);
                record_detail(&mut details, "rollouts".to_owned(), Millis::MIN, Detail::Rollouts(detail));
            }
            if deltas.len() % WHOLE_EVERY == 0 {
                said = Said::default();
            }
            let heard_millis = self.past.heard_millis(self.deployment, at_millis);
            let words = describe_deployment(then, self.deployment, self.now(heard_millis));
            if let Some(delta) = words.delta_since(&said) {
                deltas.push((at_millis, delta));
                said = words;
            }
        }
        (deltas, details, reasons)
    }
}

#[cfg(test)]
mod tests {
    use timeline::fact::{DeploymentFact, DeploymentSpec, Meta, ReplicaSetFact, Seen};
    use timeline::{Fact, Timeline};

    use super::*;
    use crate::feed::recording::Recording;
    use crate::history::rollout_cache;

    #[test]
    fn a_file_has_details_of_its_first_moment_though_what_was_before_is_not_kept() {
        let text = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollover.jsonl");
        let recording = Recording::read(&std::fs::read_to_string(text).unwrap());
        let (_, end_millis) = recording.span().unwrap();
        let played = rollout_cache::play_to_end(recording.observed, end_millis).unwrap();
        let model = played.timeline.model();
        let known = model.deployments.values().next().unwrap();
        let (revision, from_millis, to_millis) = shown_span(model, known, Some(3), end_millis).unwrap();
        let (past, _) = played.history.excerpt(known.uid, from_millis, to_millis);
        let begin = past.at(from_millis);
        let workload = Workload::deployment("prod", &known.namespace, &known.name);
        let data =
            RolloutData { revision, workload, deployment: known.uid, past, skew_millis: 0, from_millis, to_millis };
        let record = data.export().record;
        let pods: Vec<_> =
            begin.pods_of_deployment(known.uid).into_iter().filter(|pod| pod.gone_millis().is_none()).collect();
        assert!(!pods.is_empty(), "those of revision 1");
        for pod in pods {
            let Some(Detail::Pod(told)) = record.detail(&address::pod(pod.uid), Some(from_millis)) else {
                panic!("{}", pod.name)
            };
            assert_eq!((told.state, told.now_millis), (pod.state(), from_millis), "{}", pod.name);
        }
        let of_revision = record.detail(&address::revision(1), Some(from_millis));
        assert!(matches!(of_revision, Some(Detail::Revision(told)) if told.revision == 1));
    }

    #[test]
    fn the_moments_of_a_file_are_few_however_far_apart_a_recording_has_its_lines() {
        let moments = |from_millis, to_millis| {
            let workload = Workload::deployment("prod", "shop", "web");
            let (past, deployment) = (History::default(), Uid::from_bits(1));
            RolloutData { revision: 1, workload, deployment, past, skew_millis: 0, from_millis, to_millis }.moments()
        };
        assert_eq!(moments(1_000, 3_500), [1_000, 2_000, 3_000, 3_500]);
        for (from_millis, to_millis, count) in
            [(0, 10_000_000, 2_001), (0, Millis::MAX, 2_002), (Millis::MIN, Millis::MAX, 4_002)]
        {
            let all = moments(from_millis, to_millis);
            assert_eq!((all.first(), all.last()), (Some(&from_millis), Some(&to_millis)));
            assert_eq!(all.len(), count, "{from_millis} to {to_millis}");
        }
    }

    #[test]
    fn a_rollout_that_was_there_when_watching_began_is_shown_until_the_next_one() {
        let meta = |number: u128, name: &str, controller: Option<u128>| {
            let (uid, controller) = (Uid::from_bits(number), controller.map(Uid::from_bits));
            Meta { uid, namespace: "shop".into(), name: name.into(), controller, ..Meta::default() }
        };
        let web = |revision, seen| {
            let spec = DeploymentSpec { replicas: 1, ..DeploymentSpec::default() };
            let now = DeploymentNow { revision: Some(revision), spec, ..DeploymentNow::default() };
            Fact::Deployment(Box::new(DeploymentFact { meta: meta(1, "web", None), now }), seen)
        };
        let set = |number, revision, seen| {
            let meta = meta(number, &format!("web-{number}"), Some(1));
            let fact = ReplicaSetFact { meta, revision: Some(revision), ..ReplicaSetFact::default() };
            Fact::ReplicaSet(Box::new(fact), seen)
        };
        let mut timeline = Timeline::new();
        for (at_millis, fact) in [
            (1_000, web(1, Seen::InList)),
            (1_000, set(2, 1, Seen::InList)),
            (90_000, set(3, 2, Seen::Added)),
            (90_020, web(2, Seen::Modified)),
        ] {
            timeline.apply(at_millis, fact);
        }
        let model = timeline.model();
        let deployment = model.deployments.get(&Uid::from_bits(1)).unwrap();
        assert_eq!(shown_span(model, deployment, Some(1), 200_000), Some((1, 1_000, 89_999)));
    }
}
