//! Telling pods that were ready and are not any more, but for those whose containers are told to have restarted in that moment.

use std::collections::BTreeSet;

use super::pods::TOGETHER_MILLIS;
use super::restarts::is_turn;
use crate::apply::Timeline;
use crate::apply::pending::ToldUnready;
use crate::model::fact::PodFact;
use crate::model::story::Happening;
use crate::model::{Pod, PodState};
use crate::{Millis, Uid};

impl Timeline {
    /// A pod that was in the state `before` entered another one, as this fact says.
    pub(in crate::apply) fn tell_readiness(
        &mut self,
        at: Millis,
        uid: Uid,
        before: PodState,
        fact: &PodFact,
        was_seen: bool,
    ) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let is_told = was_seen && pod.owner.is_some();
        match (before, pod.state()) {
            (PodState::Ready | PodState::Available, PodState::Unready) if is_told && !is_restarted(pod, fact) => {
                self.tell_unready(at, uid);
            }
            (PodState::Unready, PodState::Ready | PodState::Available) if is_told => self.tell_ready_again(at, uid),
            (PodState::Unready, state) if state != PodState::Unready => self.forget_unready(uid),
            _ => {}
        }
    }

    /// Pods that become unready at once, or soon after others did or were ready again, are one entry.
    fn tell_unready(&mut self, at: Millis, uid: Uid) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let since_turn = self.story(deployment).iter().rev().take_while(|entry| !is_turn(&entry.what));
        let mut told = since_turn.filter(|entry| matches!(entry.what, Happening::Unready { .. }));
        let last = told.next().map(|entry| entry.id);
        let known = self.unready.get_mut(&deployment);
        let known = known.filter(|known| Some(known.entry) == last && at - known.last_millis <= TOGETHER_MILLIS);
        let Some(known) = known else {
            let what = Happening::Unready { pod: pod.name.clone(), pods: 1, times: 1, lasted_millis: None };
            let entry = self.tell(deployment, at, what);
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
    fn tell_ready_again(&mut self, at: Millis, uid: Uid) {
        let Some(deployment) = self.model.pods.get(&uid).and_then(|pod| self.teller(pod)) else { return };
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
    fn forget_unready(&mut self, uid: Uid) {
        let Some(deployment) = self.model.pods.get(&uid).and_then(|pod| self.teller(pod)) else { return };
        if self.unready.get(&deployment).is_some_and(|known| known.unready.contains(&uid)) {
            self.unready.remove(&deployment);
        }
    }
}

fn is_restarted(pod: &Pod, fact: &PodFact) -> bool {
    fact.containers.iter().any(|container| {
        let before = pod.now.containers.iter().find(|before| before.name == container.name);
        before.is_some_and(|before| container.restarts_since(before, fact.phase.is_terminal()) > 0)
    })
}
