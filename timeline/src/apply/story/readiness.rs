//! Telling pods that were ready and are not any more, but for those whose containers are told to have restarted in that moment.

use std::collections::BTreeSet;

use super::pods::TOGETHER_MILLIS;
use super::restarts::is_turn;
use crate::apply::Timeline;
use crate::apply::pending::ToldUnready;
use crate::model::story::{Happening, Unavailable};
use crate::model::{Pod, PodState};
use crate::{Millis, Uid};

impl Timeline {
    /// A pod entered another state than `before`.
    pub(in crate::apply) fn tell_readiness(
        &mut self,
        at: Millis,
        uid: Uid,
        before: PodState,
        was_seen: bool,
        is_restarted: bool,
    ) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let is_told = was_seen && pod.owner.is_some();
        match (before, pod.state()) {
            (PodState::Ready | PodState::Available, PodState::Unready) if is_told && !is_restarted => {
                let is_last = before == PodState::Available && !self.has_available(deployment);
                self.tell_unready(deployment, at, uid, is_last);
            }
            (PodState::Unready, PodState::Ready | PodState::Available) if is_told => {
                self.tell_ready_again(deployment, at, uid);
            }
            (PodState::Unready, _) => self.forget_unready(deployment, uid),
            _ => {}
        }
    }

    /// Pods that become unready at once, or soon after others did or were ready again, are one entry. If the last available one goes
    /// after all were ready, and no entry tells of such a time yet, another one begins with those that are not ready again since.
    fn tell_unready(&mut self, deployment: Uid, at: Millis, uid: Uid, is_last: bool) {
        let since_turn = self.story(deployment).iter().rev().take_while(|entry| !is_turn(&entry.what));
        let mut told = since_turn.filter(|entry| matches!(entry.what, Happening::Unready { .. }));
        let last = told.next().map(|entry| (entry.id, entry.what.clone()));
        let known = self.unready.get_mut(&deployment).zip(last);
        let known = known.filter(|(known, (id, _))| known.entry == *id && at - known.last_millis <= TOGETHER_MILLIS);
        let entry = if let Some((known, (id, what))) = known {
            if known.unready.is_empty() {
                (known.since_millis, known.before) = (at, Some(what));
                known.pods_since.clear();
            }
            known.last_millis = at;
            known.unready.insert(uid);
            known.pods_since.insert(uid);
            let is_other = known.pods.insert(uid);
            let since = known.since_millis;
            self.retell(deployment, id, |entry| {
                if let Happening::Unready { pods, times, since_millis, lasted_millis, .. } = &mut entry.what {
                    (*pods, *times) = (*pods + u32::from(is_other), times.saturating_add(1));
                    (*since_millis, *lasted_millis) = (since, None);
                }
            });
            if is_last { self.part_unready(deployment, uid) } else { id }
        } else {
            let pod = self.model.pods.get(&uid).map(|pod| pod.name.clone()).unwrap_or_default();
            let what =
                Happening::Unready { pod, pods: 1, times: 1, since_millis: at, lasted_millis: None, unavailable: None };
            let entry = self.tell(deployment, at, what);
            let pods = BTreeSet::from([uid]);
            self.unready.retain(|deployment, _| self.model.deployments.contains_key(deployment));
            self.unready.insert(
                deployment,
                ToldUnready {
                    entry,
                    unready: pods.clone(),
                    pods_since: pods.clone(),
                    pods,
                    last_millis: at,
                    since_millis: at,
                    before: None,
                },
            );
            entry
        };
        if is_last {
            self.begin_unavailable(deployment, at, entry);
        }
    }

    /// The last available pod of a Deployment became unready, as its last entry tells by now. If that began earlier, and without a time
    /// like that, it goes back to what it told then, and the rest becomes another entry. Returns the one that tells of the pod.
    fn part_unready(&mut self, deployment: Uid, uid: Uid) -> u64 {
        let Some(known) = self.unready.get_mut(&deployment) else { return 0 };
        let id = known.entry;
        let Some(Happening::Unready { times: times_before, unavailable: None, .. }) = known.before else { return id };
        let Some(before) = known.before.take() else { return id };
        known.pods.clone_from(&known.pods_since);
        let (at, pods) = (known.since_millis, u32::try_from(known.pods.len()).unwrap_or(u32::MAX));
        let told = self.entry(deployment, |entry| entry.id == id);
        let Some(Happening::Unready { times, .. }) = told.map(|entry| &entry.what) else { return id };
        let times = times.saturating_sub(times_before);
        self.retell(deployment, id, |entry| entry.what = before);
        // It is named where it is the only one.
        let pod = self.model.pods.get(&uid).map(|pod| pod.name.clone()).unwrap_or_default();
        let what = Happening::Unready { pod, pods, times, since_millis: at, lasted_millis: None, unavailable: None };
        let entry = self.tell(deployment, at, what);
        if let Some(known) = self.unready.get_mut(&deployment) {
            known.entry = entry;
        }
        entry
    }

    /// A pod that was unready is ready again: of the last one, it is told when.
    fn tell_ready_again(&mut self, deployment: Uid, at: Millis, uid: Uid) {
        let Some(known) = self.unready.get_mut(&deployment) else { return };
        if !known.unready.remove(&uid) {
            return;
        }
        known.last_millis = at;
        if !known.unready.is_empty() {
            return;
        }
        let id = known.entry;
        self.retell(deployment, id, |entry| {
            if let Happening::Unready { lasted_millis, .. } = &mut entry.what {
                *lasted_millis = Some(at - entry.at_millis);
            }
        });
    }

    /// A pod that was unready fails or has to go, or was ready again when nobody looked: no time is told after which all are ready again.
    fn forget_unready(&mut self, deployment: Uid, uid: Uid) {
        if self.unready.get(&deployment).is_some_and(|known| known.unready.contains(&uid)) {
            self.unready.remove(&deployment);
        }
    }

    fn begin_unavailable(&mut self, deployment: Uid, at: Millis, entry: u64) {
        self.unavailable.retain(|deployment, _| self.model.deployments.contains_key(deployment));
        self.unavailable.insert(deployment, (entry, at));
        self.retell_unavailable(deployment, entry, |before| {
            let before = before.unwrap_or_default();
            Some(Unavailable { times: before.times.saturating_add(1), is_over: false, ..before })
        });
    }

    /// Looks whether a pod is available again where none was.
    pub(in crate::apply) fn follow_unavailable(&mut self, at: Millis) {
        if self.unavailable.is_empty() {
            return;
        }
        let changed: BTreeSet<Uid> = self.changes.iter().flat_map(|change| self.model.deployments_of(change)).collect();
        for uid in changed {
            let Some((entry, since)) = self.unavailable.get(&uid).copied() else { continue };
            let Some(deployment) = self.model.deployments.get(&uid) else { continue };
            let sets = self.model.controlled_sets(uid);
            let pods = sets.flat_map(|set| self.model.controlled_pods(set.uid));
            let first = || pods.filter(|pod| pod.state() == PodState::Available).min_by_key(|pod| pod.since_millis());
            // The counts are kept: in an outage of many pods, not all of them are looked at with each change of one.
            let first = self.has_available(uid).then(first).flatten();
            // Where no pod is asked for any more, none should be available.
            let is_over = deployment.is_over() || deployment.now.spec.replicas == 0;
            let Some(end) = first.map(Pod::since_millis).or(is_over.then_some(at)) else { continue };
            // When one that a list told of became available, nobody saw.
            if first.is_some_and(|pod| pod.now.listed_millis == Some(end)) {
                self.forget_unavailable(uid);
                continue;
            }
            self.unavailable.remove(&uid);
            self.retell_unavailable(uid, entry, |before| {
                let millis = |before: Unavailable| before.millis.saturating_add((end - since).max(0));
                before.map(|before| Unavailable { millis: millis(before), is_over: true, ..before })
            });
        }
    }

    /// Nobody looked for a while, in which a pod may have been available: how long none was is not told.
    pub(super) fn forget_unavailable(&mut self, deployment: Uid) {
        if let Some((entry, _)) = self.unavailable.remove(&deployment) {
            self.retell_unavailable(deployment, entry, |_| None);
        }
    }

    fn retell_unavailable(
        &mut self,
        deployment: Uid,
        id: u64,
        alter: impl FnOnce(Option<Unavailable>) -> Option<Unavailable>,
    ) {
        self.retell(deployment, id, |entry| {
            if let Happening::Unready { unavailable, .. } = &mut entry.what {
                *unavailable = alter(*unavailable);
            }
        });
    }

    /// Returns whether a Deployment has an available pod.
    pub(super) fn has_available(&self, deployment: Uid) -> bool {
        self.model.controlled_sets(deployment).any(|set| self.model.pod_counts(set.uid).available > 0)
    }
}
