//! History of a pod for a viewer: states and reasons, each with its duration.

use serde::{Deserialize, Serialize};
use timeline::model::{EndReason, Pod};
use timeline::words::count;
use timeline::{Change, Millis, Model};

use super::lines::joined;

/// Maximum number of lines of a pod's history; older ones are dropped.
const MOST_LINES: usize = 60;

/// A line of a pod's history.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// When the state began.
    pub at_millis: Millis,
    /// State from then on, as a sentence.
    pub text: String,
    /// Duration of the state; a lower bound if it began before the observation.
    pub lasted_millis: Millis,
    /// Whether the state began before the observation.
    pub is_older: bool,
}

/// The stored past of one pod.
#[derive(Debug, Clone, Copy, Default)]
pub struct PodPast<'p> {
    /// The pod before the first of the changes, if older changes are past retention.
    pub before: Option<&'p Pod>,
    /// Changes of the pod, in order.
    pub changes: &'p [(Millis, Change)],
}

/// Returns the lines of a pod's past, in order, until now. `is_creation_seen` says whether the first line begins at its observed time.
pub fn spans((model, pod): (&Model, &Pod), past: PodPast<'_>, is_creation_seen: bool, now_millis: Millis) -> Vec<Span> {
    let PodPast { before, changes } = past;
    let mut lines: Vec<(Millis, String)> = Vec::new();
    let mut tell = |at: Millis, text: String| {
        if !text.is_empty() && lines.last().is_none_or(|(_, last)| *last != text) {
            lines.push((at, text));
        }
    };
    let mut restarts = before.map(|pod| pod.now.restarts());
    // The end reason of a pod may be revised when later facts about its owners arrive; only the last one is listed, once.
    let mut end_reason = changes.iter().rev().find_map(|(_, change)| match change {
        Change::PodEnds(_, reason) => Some(*reason),
        _ => None,
    });
    for (at, change) in changes {
        match change {
            Change::Pod(pod) => {
                // For a pod that existed before the observation, the next facts give its number of restarts at that time.
                restarts = is_creation_seen.then(|| pod.now.restarts());
                tell(pod.first_seen_millis(), joined(&[pod.state().label(), &pod.now.reason]));
            }
            Change::PodState(_, state, since) => tell(*since, state.label().to_owned()),
            Change::PodNow(_, now) => {
                let total = now.restarts();
                if restarts.is_some_and(|known| total > known) {
                    tell(*at, format!("restarted, {} in total", count(total, "restart")));
                }
                restarts = Some(total);
                tell(*at, joined(&[&now.reason, &now.message]));
            }
            Change::PodReleased(_, at) if model.was_left_behind(pod, *at) => tell(*at, "released".to_owned()),
            Change::PodReleased(_, at) => tell(*at, "released: its labels no longer match".to_owned()),
            Change::PodAdopted(_, _, at) => tell(*at, "adopted by a ReplicaSet".to_owned()),
            Change::PodEnds(..) => {
                if let Some(reason) = end_reason.take() {
                    tell(*at, format!("ends: {}", end_reason_words(reason, model.is_surplus(pod))));
                }
            }
            _ => {} // not of pods
        }
    }
    let ends: Vec<Millis> = lines.iter().skip(1).map(|(at, _)| *at).chain([now_millis]).collect();
    let surplus = lines.len().saturating_sub(MOST_LINES);
    let is_first_older = !is_creation_seen && matches!(changes.first(), Some((_, Change::Pod(_))));
    let span = |(index, ((at_millis, text), until)): (usize, ((Millis, String), Millis))| Span {
        at_millis,
        text,
        lasted_millis: until - at_millis,
        is_older: index == 0 && is_first_older,
    };
    lines.into_iter().zip(ends).enumerate().skip(surplus).map(span).collect()
}

/// Returns the prefix of a duration that began before the observation.
pub const fn at_least(is_older: bool) -> &'static str {
    if is_older { "at least " } else { "" }
}

/// Returns why a pod ended, with its own reason.
pub(super) fn ended_because(model: &Model, pod: &Pod) -> Option<&'static str> {
    let disruption = pod.now.disruption.as_deref().map(|(reason, _)| reason.as_str());
    let is_evicted = pod.end_reason == Some(EndReason::Evicted);
    match (disruption, pod.now.reason.as_str()) {
        (Some("PreemptionByScheduler"), _) if is_evicted => Some("a pod of higher priority took its place"),
        (Some("DeletionByTaintManager"), _) if pod.end_reason == Some(EndReason::NodeLost) => {
            Some("its node has a taint that it does not tolerate, as nodes have that do not answer")
        }
        (_, "Terminated" | "Shutdown" | "NodeShutdown") if is_evicted => Some("its node shut down"),
        _ => pod.end_reason.map(|reason| end_reason_words(reason, model.is_surplus(pod))),
    }
}

/// Returns why a pod ended; `is_surplus` says that its ReplicaSet removed it as one too many.
const fn end_reason_words(reason: EndReason, is_surplus: bool) -> &'static str {
    match reason {
        EndReason::NodeLost => "its node is gone, or has a taint that it does not tolerate",
        EndReason::Evicted => "it was evicted, preempted, or ended by its kubelet",
        EndReason::DeploymentDeleted => "its Deployment was deleted",
        EndReason::ReplicaSetDeleted => "its ReplicaSet was deleted",
        EndReason::ScaledDown if is_surplus => "its ReplicaSet had one pod too many",
        EndReason::ScaledDown => "its ReplicaSet was scaled down",
        EndReason::DeletedManually => "someone or something outside the rollout deleted it",
        EndReason::Unknown => "unknown: it ended while Rollcast was not watching",
    }
}

#[cfg(test)]
mod tests {
    use timeline::Uid;
    use timeline::fact::{Container, ContainerState, Exit, Role, STATUS_UNKNOWN};
    use timeline::model::story::{Adopter, Entry, Happening};
    use timeline::model::{Deployment, PodNow, PodState, Release, ReplicaSet};

    use super::*;

    /// Returns spans of a pod whose creation was observed and whose ReplicaSet exists.
    fn spans_of_seen(past: PodPast<'_>, now_millis: Millis) -> Vec<Span> {
        spans((&Model::default(), &Pod::default()), past, true, now_millis)
    }

    #[test]
    fn a_pod_that_was_left_behind_lost_no_labels_also_after_its_adoption() {
        let [uid, first, again] = [1, 2, 3].map(Uid::from_bits);
        let mut model = Model::default();
        let deleted = ReplicaSet { uid: first, removed_millis: Some(12), ..ReplicaSet::default() };
        model.apply_change(Change::ReplicaSet(Box::new(deleted)));
        let released = |at_millis, adopted| Release { at_millis, adopted };
        let releases = vec![released(10, Some((16, again))), released(20, None)];
        let pod = Pod { uid, owners: vec![first, again], releases, ..Pod::default() };
        let changes = [
            (10, Change::PodReleased(uid, 10)),
            (16, Change::PodAdopted(uid, again, 16)),
            (20, Change::PodReleased(uid, 20)),
        ];
        let told = spans((&model, &pod), PodPast { before: None, changes: &changes }, true, 50);
        let told: Vec<_> = told.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(told, ["released", "adopted by a ReplicaSet", "released: its labels no longer match"]);
    }

    #[test]
    fn a_taint_is_no_lost_node() {
        let ended = |reason: &str| {
            let now = PodNow { disruption: Some(Box::new((reason.to_owned(), 0))), ..PodNow::default() };
            let pod = Pod { end_reason: Some(EndReason::NodeLost), now: std::sync::Arc::new(now), ..Pod::default() };
            ended_because(&Model::default(), &pod).unwrap()
        };
        assert!(ended("DeletionByTaintManager").starts_with("its node has a taint"));
        assert!(ended("DeletionByPodGC").starts_with("its node is gone"));
    }

    #[test]
    fn a_pod_that_is_one_too_many_is_not_told_as_scaled_down() {
        let [web, set, uid] = [1, 2, 3].map(Uid::from_bits);
        let told = |removed: &str| {
            let by = Adopter::Same;
            let what = Happening::Adopted { pod: "web-a".to_owned(), by, removed: Some(removed.to_owned()) };
            let story = vec![Entry { id: 1, at_millis: 10, what }];
            let mut model = Model::default();
            model.apply_change(Change::Deployment(Box::new(Deployment { uid: web, story, ..Deployment::default() })));
            let owned = ReplicaSet { uid: set, owner: Some(web), ..ReplicaSet::default() };
            model.apply_change(Change::ReplicaSet(Box::new(owned)));
            let pod = Pod {
                uid,
                name: "web-b".to_owned(),
                owner: Some(set),
                states: vec![(PodState::Available, 0), (PodState::Terminating, 11)],
                end_reason: Some(EndReason::ScaledDown),
                ..Pod::default()
            };
            let changes = [(11, Change::PodEnds(uid, EndReason::ScaledDown))];
            let spans = spans((&model, &pod), PodPast { before: None, changes: &changes }, true, 50);
            (ended_because(&model, &pod), spans.into_iter().map(|span| span.text).collect::<Vec<_>>())
        };
        let [surplus, scaled] = ["its ReplicaSet had one pod too many", "its ReplicaSet was scaled down"];
        assert_eq!(told("web-b"), (Some(surplus), vec![format!("ends: {surplus}")]));
        assert_eq!(told("web-c"), (Some(scaled), vec![format!("ends: {scaled}")]));
    }

    #[test]
    fn why_a_pod_ends_is_told_once_as_it_was_decided_last() {
        let pod = Uid::from_bits(1);
        let past = [
            (10, Change::PodEnds(pod, EndReason::DeletedManually)),
            (20, Change::PodState(pod, PodState::Gone, 20)),
            (30, Change::PodEnds(pod, EndReason::ScaledDown)),
        ];
        let told = spans_of_seen(PodPast { before: None, changes: &past }, 50);
        let told: Vec<_> = told.into_iter().map(|span| (span.at_millis, span.text)).collect();
        let expected = [(10, "ends: its ReplicaSet was scaled down"), (20, PodState::Gone.label())];
        assert_eq!(told, expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn a_restart_that_never_was_is_not_told() {
        let unknown = || STATUS_UNKNOWN.to_owned();
        let lost = |restarts: u32| {
            let exit = Exit { code: 137, reason: unknown(), ..Exit::default() };
            let state = ContainerState::Terminated { exit_code: 137, reason: unknown(), message: String::new() };
            let container = Container::new("web".to_owned(), Role::App);
            let container = Container { restarts, state: Some(state), last_exit: Some(exit.into()), ..container };
            PodNow { restarts, reason: unknown(), containers: vec![container], ..PodNow::default() }
        };
        let told = |now: PodNow| {
            let before = Pod::default();
            let changes = [(10, Change::PodNow(Uid::from_bits(1), now.into()))];
            let told = spans_of_seen(PodPast { before: Some(&before), changes: &changes }, 50);
            told.into_iter().map(|span| span.text).collect::<Vec<_>>()
        };
        assert_eq!(told(lost(1)), [STATUS_UNKNOWN]);
        assert_eq!(told(lost(2)), ["restarted, 1 restart in total", STATUS_UNKNOWN]);
    }

    #[test]
    fn each_line_lasts_until_the_next_one_and_the_oldest_go() {
        let pod = Uid::from_bits(1);
        let states = [PodState::Starting, PodState::Unready, PodState::Unready, PodState::Available];
        let change = |(at, state): (usize, &PodState)| (at as i64 * 10, Change::PodState(pod, *state, at as i64 * 10));
        let past: Vec<_> = states.iter().enumerate().map(change).collect();
        let of = |past, now_millis| spans_of_seen(PodPast { before: None, changes: past }, now_millis);
        let told: Vec<_> = of(&past, 50).into_iter().map(|span| (span.at_millis, span.lasted_millis)).collect();
        assert_eq!(told, [(0, 10), (10, 20), (30, 20)]);
        let many: Vec<_> = states[..2].iter().cycle().take(200).enumerate().map(change).collect();
        assert_eq!(of(&many, 2_000).len(), MOST_LINES);
        assert!(of(&[], 0).is_empty());
    }
}
