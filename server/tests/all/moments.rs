//! The past of every recording: what is said and shown of a moment afterwards is what was said and shown at that moment.

use std::collections::BTreeMap;

use server::feed::recording::Recording;
use server::kube::Observed;
use timeline::model::Pod;
use timeline::view::{self, Now};
use timeline::{History, Millis, Model, Timeline, Uid, story};

use crate::common;

/// Moments are compared this often, in recorded milliseconds.
const EVERY: Millis = 100;

/// What a picture is drawn from, in words.
fn picture(model: &Model, uid: Uid) -> Vec<String> {
    let pod = |pod: &Pod| {
        let out = pod.is_out_of_rotation();
        format!("pod {} {:?} {:?} {out} {:?}", pod.name, pod.states, pod.released_millis(), pod.replica_set())
    };
    let sets = model.sets_of(uid).map(|set| {
        let wanted = if set.removed_millis.is_some() { 0 } else { set.now.counts.desired };
        format!("set {} {:?} {wanted} {:?}", set.name, set.revisions, set.removed_millis)
    });
    let ends = |rollout: &timeline::model::Rollout| {
        format!("rollout {} {:?} {:?}", rollout.revision, rollout.started_millis, rollout.completed_millis)
    };
    let rollouts = model.deployments.get(&uid).into_iter().flat_map(|known| &known.rollouts).map(ends);
    let mut lines: Vec<String> =
        sets.chain(model.pods_of_deployment(uid).into_iter().map(pod)).chain(rollouts).collect();
    lines.sort();
    lines
}

/// Takes in what was observed, as a hub does.
fn note(timeline: &mut Timeline, history: &mut History, observed: Observed) {
    let at_millis = observed.at_millis;
    let changes = observed.apply(timeline);
    history.note(at_millis, &changes);
}

#[test]
fn a_moment_is_afterwards_what_it_was() {
    let (mut compared, mut blurred) = (0, 0);
    for (name, text) in common::recordings() {
        let recording = Recording::read(&text);
        let (from, to) = recording.span().unwrap();
        let (mut timeline, mut history) = (Timeline::new(), History::default());
        let mut observed = recording.observed.into_iter().peekable();
        let mut then = Vec::new();
        let mut now = from;
        while now <= to {
            while let Some(next) = observed.next_if(|next| next.at_millis <= now) {
                note(&mut timeline, &mut history, next);
            }
            let changes = timeline.tick(now);
            history.note(now, &changes);
            let model = timeline.model();
            for uid in model.deployments.keys() {
                let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
                then.push((
                    clock,
                    *uid,
                    view::view(model, *uid, clock),
                    story::story(model, *uid),
                    picture(model, *uid),
                ));
            }
            now += EVERY;
        }
        let alone = |uid: &Uid| (*uid, history.only(timeline.model(), *uid));
        let alone: BTreeMap<Uid, History> = timeline.model().deployments.keys().map(alone).collect();
        for (clock, uid, view, told, shown) in then {
            let at = clock.millis;
            let past = alone[&uid].at(at);
            assert_eq!(view::view(&past, uid, clock), view, "{name}: what was said at {}", at - from);
            assert_eq!(story::story(&past, uid), told, "{name}: the story at {}", at - from);
            assert_eq!(picture(&past, uid), shown, "{name}: the picture at {}", at - from);
            // A viewer has starts only; what is decided within the settling time may differ for that long.
            compared += 1;
            blurred += usize::from(picture(&timeline.model().as_of(uid, at), uid) != shown);
        }
    }
    assert!(compared > 3_000, "{compared}");
    assert!(blurred * 100 < compared, "{blurred} of {compared} pictures differ");
}

#[test]
fn moments_before_what_is_kept_are_not_guessed() {
    let (_, text) = common::recordings().swap_remove(0);
    let recording = Recording::read(&text);
    let (from, to) = recording.span().unwrap();
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    for observed in recording.observed {
        note(&mut timeline, &mut history, observed);
    }
    let uid = *timeline.model().deployments.keys().next().unwrap();
    let alone = |history: &History| history.only(timeline.model(), uid);
    assert_eq!(alone(&history).base_millis(), None, "every moment is kept");
    let middle = from + (to - from) / 2;
    let exact = alone(&history).at(middle + 1_000);
    history.prune(middle);
    assert!(alone(&history).base_millis() > Some(from));
    assert_eq!(alone(&history).at(middle + 1_000), exact);
}

/// Old ReplicaSets without pods stay in a cluster; who looks at one rollout sees it, the one that it took the place of, and no other.
#[test]
fn an_excerpt_of_a_rollout_has_nothing_of_those_long_before() {
    let (mut looked_at, mut left_out) = (0, 0);
    for (name, text) in common::recordings() {
        let recording = Recording::read(&text);
        let (_, end) = recording.span().unwrap();
        let (mut timeline, mut history) = (Timeline::new(), History::default());
        for next in recording.observed {
            note(&mut timeline, &mut history, next);
        }
        let model = timeline.model();
        for known in model.deployments.values() {
            let uid = &known.uid;
            for (at, rollout) in known.rollouts.iter().enumerate() {
                let Some(began) = rollout.started_millis else { continue };
                let next = known.rollouts.get(at + 1).and_then(|next| next.started_millis);
                let (_, then) = history.excerpt(*uid, began, next.unwrap_or(end));
                let there = &then.deployments.get(uid).unwrap().rollouts;
                let shown: Vec<u64> = there.iter().map(|rollout| rollout.revision).collect();
                assert!(shown.contains(&rollout.revision), "{name}: {shown:?}");
                for set in then.sets_of(*uid) {
                    let is_rolled_out = set.revisions.iter().any(|(revision, _)| shown.contains(revision));
                    let has_pods = then.pods_of(set.uid).next().is_some();
                    assert!(is_rolled_out || has_pods, "{name} {}: {} of {shown:?}", rollout.revision, set.name);
                }
                looked_at += 1;
                left_out += known.rollouts[..at].iter().filter(|before| !shown.contains(&before.revision)).count();
            }
        }
    }
    assert!(looked_at > 40 && left_out > 10, "{looked_at} {left_out}");
}
