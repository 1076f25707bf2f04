//! Telling pods that were ready and are not any more, but for those whose containers are told to have restarted in that moment.

use std::collections::BTreeSet;

use super::pods::TOGETHER_MILLIS;
use super::restarts::is_turn;
use crate::apply::Timeline;
use crate::apply::pending::ToldUnready;
use crate::model::PodState;
use crate::model::story::Happening;
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
                self.tell_unready(deployment, at, uid);
            }
            (PodState::Unready, PodState::Ready | PodState::Available) if is_told => {
                self.tell_ready_again(deployment, at, uid);
            }
            (PodState::Unready, _) => self.forget_unready(deployment, uid),
            _ => {}
        }
    }

    /// Pods that become unready at once, or soon after others did or were ready again, are one entry.
    fn tell_unready(&mut self, deployment: Uid, at: Millis, uid: Uid) {
        let since_turn = self.story(deployment).iter().rev().take_while(|entry| !is_turn(&entry.what));
        let mut told = since_turn.filter(|entry| matches!(entry.what, Happening::Unready { .. }));
        let last = told.next().map(|entry| entry.id);
        let known = self.unready.get_mut(&deployment);
        let known = known.filter(|known| Some(known.entry) == last && at - known.last_millis <= TOGETHER_MILLIS);
        let Some(known) = known else {
            let pod = self.model.pods.get(&uid).map(|pod| pod.name.clone()).unwrap_or_default();
            let entry = self.tell(deployment, at, Happening::Unready { pod, pods: 1, times: 1, lasted_millis: None });
            let pods = BTreeSet::from([uid]);
            self.unready.retain(|deployment, _| self.model.deployments.contains_key(deployment));
            self.unready.insert(deployment, ToldUnready { entry, unready: pods.clone(), pods, last_millis: at });
            return;
        };
        known.last_millis = at;
        known.unready.insert(uid);
        let (id, is_other) = (known.entry, known.pods.insert(uid));
        self.retell(deployment, id, |entry| {
            if let Happening::Unready { pods, times, lasted_millis, .. } = &mut entry.what {
                (*pods, *times) = (*pods + u32::from(is_other), times.saturating_add(1));
                *lasted_millis = None;
            }
        });
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
}
