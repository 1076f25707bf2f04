//! A witness of everything that happens in the cluster, at once and without a network: states of pods that are shown were states of
//! theirs, in that order, and those that are not shown lie in gaps.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use server::kube::translate::Object;
use timeline::fact::{Kind, Seen};
use timeline::model::{Gap, Pod, PodState};
use timeline::{Fact, Millis, Model, Timeline};

/// A state that lasts no longer may be missing without a gap: a watch that ends and a list at the same instant leave no time for one. The
/// test's clock has whole milliseconds.
const BRIEF_MILLIS: Millis = 2;

/// An object that exists, with its kind, as JSON.
pub type Existing = (Kind, String);

pub struct Witness(Timeline);

impl Witness {
    /// One that begins with these objects.
    pub fn of(objects: &[Existing], at_millis: Millis) -> Self {
        let mut witness = Self(Timeline::new());
        objects.iter().for_each(|(kind, json)| witness.see(*kind, Seen::InList, json, at_millis));
        for kind in Kind::ALL {
            let of_kind = objects.iter().filter(|(of, _)| *of == kind);
            let present = of_kind.map(|(kind, json)| Object::decode(*kind, json).unwrap().uid().unwrap()).collect();
            let listed = Fact::Listed { kind, namespace: None, present, gap_since_millis: None };
            witness.0.apply(at_millis, listed);
        }
        witness
    }

    pub fn see(&mut self, kind: Kind, seen: Seen, json: &str, at_millis: Millis) {
        self.pass_until(at_millis);
        if let Ok(Some(fact)) = Object::decode(kind, json).unwrap().fact(seen) {
            self.0.apply(at_millis, fact);
        }
    }

    pub fn pass_until(&mut self, millis: Millis) {
        while let Some(due) = self.0.next_due_millis().filter(|due| *due <= millis) {
            self.0.tick(due);
        }
    }

    /// Pods whose states, as they are shown, were never theirs in that order.
    pub fn differences(&self, shown: &Model) -> Vec<String> {
        let pods = self.0.model().pods.values().filter_map(|pod| Some((pod, shown.pods.get(&pod.uid)?)));
        let invented = pods.filter(|(seen, shown)| {
            let mut seen = states(seen).into_iter();
            !states(shown).into_iter().all(|state| seen.any(|seen| seen == state))
        });
        invented.map(|(seen, shown)| format!("{}: {:?}, shown {:?}", seen.name, seen.states, shown.states)).collect()
    }

    /// States of pods, ends among them, that are neither shown nor in a gap, with their times since the begin. These may be missing:
    ///
    /// - a state that began in a gap of any Deployment: a list tells the last state alone, so that those before it merge or go unseen. A
    ///   gap begins when the last line before it arrived, and others of that time may be lost that were on their way as well: a line
    ///   arrives late by `late_millis` at most;
    /// - a state that began while the network kept lines back (`slow_times`, since the begin): the end of a watch that arrives late hides
    ///   that nothing came before it, and a position that has expired by then leaves a gap from there only;
    /// - a state of [`BRIEF_MILLIS`] or less;
    /// - a state like the one shown before, after others that may be missing: both are shown as one;
    /// - every state while no Deployment is known that exists until the end: a list gives a gap to those alone that exist when it arrives;
    /// - every state of a pod that is not shown at all and was released once: without a controller it is not taken for a Deployment's.
    ///
    /// Everything else is required. When a state is shown is not: it may arrive late.
    pub fn uncovered(
        &self,
        shown: &Model,
        began_millis: Millis,
        late_millis: Millis,
        slow_times: &[RangeInclusive<Millis>],
    ) -> Vec<String> {
        let gaps: Vec<Gap> = shown.deployments.values().flat_map(|known| known.gaps.clone()).collect();
        let lasting = shown.deployments.values().filter(|known| known.deleted_millis.is_none());
        let has_gaps_since = lasting.map(|known| known.first_seen_millis).min();
        let may_miss = |at: Millis| {
            let is_inside = |gap: &Gap| (gap.from_millis - late_millis..=gap.to_millis).contains(&at);
            let is_slow = slow_times.iter().any(|time| time.contains(&(at - began_millis)));
            is_slow || has_gaps_since.is_none_or(|since| at < since) || gaps.iter().any(is_inside)
        };
        let since = |at: Millis| at - began_millis;
        let gaps_since: Vec<_> = gaps.iter().map(|gap| (since(gap.from_millis), since(gap.to_millis))).collect();
        let lost = self.0.model().pods.values().filter_map(|pod| {
            let known = shown.pods.get(&pod.uid);
            if known.is_none() && !pod.releases.is_empty() {
                return None;
            }
            let known = known.map(states).unwrap_or_default();
            let (state, at) = first_lost(&changes(pod), &known, may_miss)?;
            let all: Vec<_> = changes(pod).into_iter().map(|(state, at)| (state, since(at))).collect();
            let lost = format!("{}: {state:?} at {} ms is not shown and in no gap", pod.name, since(at));
            Some(format!("{lost}; gaps {gaps_since:?}, late by {late_millis} ms; was {all:?}, shown {known:?}"))
        });
        lost.collect()
    }
}

/// Changes of state of a pod. How long a pod has to be ready its ReplicaSet tells, which may be listed later than the pod.
fn changes(pod: &Pod) -> Vec<(PodState, Millis)> {
    let state = |state| if state == PodState::Available { PodState::Ready } else { state };
    let mut changes: Vec<_> = pod.states.iter().map(|(of, at)| (state(*of), *at)).collect();
    changes.dedup_by_key(|(state, _)| *state);
    changes
}

fn states(pod: &Pod) -> Vec<PodState> {
    changes(pod).into_iter().map(|(state, _)| state).collect()
}

/// The first state that is not shown, though it may not be missing.
fn first_lost(
    seen: &[(PodState, Millis)],
    shown: &[PodState],
    may_miss: impl Fn(Millis) -> bool,
) -> Option<(PodState, Millis)> {
    // How many states are shown until then: in each way in which the others may be missing.
    let mut counts = BTreeSet::from([0]);
    for (place, (state, at)) in seen.iter().enumerate() {
        let is_brief = seen.get(place + 1).is_some_and(|(_, next)| next - at <= BRIEF_MILLIS);
        let may_be_missing = is_brief || may_miss(*at);
        let mut after = BTreeSet::new();
        for count in counts {
            let is_shown_still = shown[..count].last() == Some(state);
            if is_shown_still || may_be_missing {
                after.insert(count);
            }
            if shown.get(count) == Some(state) {
                after.insert(count + 1);
            }
        }
        if after.is_empty() {
            return Some((*state, *at));
        }
        counts = after;
    }
    // That all of them were states of the pod, `differences` tells; here the last one was another time.
    seen.last().copied().filter(|_| !counts.contains(&shown.len()))
}

#[test]
fn a_state_that_is_neither_shown_nor_in_a_gap_is_lost() {
    use PodState::{Gone, Ready, Starting, Unready};
    let seen = [(Starting, 0), (Unready, 100), (Ready, 200), (Unready, 300), (Ready, 400), (Gone, 500)];
    let lost = |shown: &[PodState], from: Millis, to: Millis| first_lost(&seen, shown, |at| (from..=to).contains(&at));
    assert_eq!(lost(&[Starting, Unready, Ready, Unready, Ready, Gone], 900, 999), None);
    assert_eq!(lost(&[Starting, Unready, Ready, Gone], 250, 350), None, "ready again is shown as ready still");
    assert_eq!(lost(&[Starting, Unready, Ready, Gone], 900, 999), Some((Unready, 300)));
    assert_eq!(lost(&[Starting, Ready, Gone], 50, 150), Some((Unready, 300)), "the gap was before");
    assert_eq!(lost(&[Starting, Gone], 50, 450), None);
    assert_eq!(lost(&[], 50, 999), Some((Starting, 0)), "a pod that is not shown");
    let brief = [(Starting, 0), (Unready, 100), (Ready, 102)];
    assert_eq!(first_lost(&brief, &[Starting, Ready], |_| false), None);
}
