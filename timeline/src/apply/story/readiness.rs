//! Telling pods that were ready and are not any more, though no container of theirs restarted with it.

use super::pods::TOGETHER_MILLIS;
use super::restarts::is_turn;
use crate::apply::Timeline;
use crate::model::story::Happening;
use crate::model::{Pod, PodState};
use crate::{Millis, Uid};

impl Timeline {
    /// A pod that was in the state `before` was seen to enter another one, or stays in it.
    pub(in crate::apply) fn tell_readiness(&mut self, at: Millis, uid: Uid, before: PodState, is_restarted: bool) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.owner.is_some()) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let was_ready = || pod.states.iter().nth_back(2).is_some_and(|(state, _)| state.is_ready());
        match (before, pod.state()) {
            (PodState::Ready | PodState::Available, PodState::Unready) if !is_restarted => {
                self.tell_unready(deployment, at, uid);
            }
            (PodState::Unready, PodState::Unready) => {}
            (PodState::Unready, _) if was_ready() => self.tell_unready_over(deployment, at),
            _ => {}
        }
    }

    /// Pods that are unready at once, or one soon after the other, are one entry.
    fn tell_unready(&mut self, deployment: Uid, at: Millis, uid: Uid) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let known = self.last_unready(deployment).filter(|(_, since, lasted)| match lasted {
            Some(lasted) => at - (since + lasted) <= TOGETHER_MILLIS,
            None => self.has_unready(deployment, *since, Some(uid)),
        });
        let Some((id, since, _)) = known else {
            let what = Happening::Unready { pod: pod.name.clone(), pods: 1, times: 1, lasted_millis: None };
            self.tell(deployment, at, what);
            return;
        };
        let mut earlier = pod.states.iter().rev().skip(1);
        let is_other = !earlier.any(|(state, entered)| *state == PodState::Unready && *entered >= since);
        self.retell(deployment, id, |entry| {
            if let Happening::Unready { pods, times, lasted_millis, .. } = &mut entry.what {
                (*pods, *times) = (*pods + u32::from(is_other), times.saturating_add(1));
                *lasted_millis = None;
            }
        });
    }

    /// A pod that was unready is ready again, or it fails or has to go: of the last one, the duration is told.
    fn tell_unready_over(&mut self, deployment: Uid, at: Millis) {
        let Some((id, since, None)) = self.last_unready(deployment) else { return };
        if self.has_unready(deployment, since, None) {
            return;
        }
        self.retell(deployment, id, |entry| {
            if let Happening::Unready { lasted_millis, .. } = &mut entry.what {
                *lasted_millis = Some(at - since);
            }
        });
    }

    /// The last entry of this kind, if no rollout and no scaling came after it: its number, when it began, how long it lasted.
    fn last_unready(&self, deployment: Uid) -> Option<(u64, Millis, Option<Millis>)> {
        let mut since_turn = self.story(deployment).iter().rev().take_while(|entry| !is_turn(&entry.what));
        since_turn.find_map(|entry| match entry.what {
            Happening::Unready { lasted_millis, .. } => Some((entry.id, entry.at_millis, lasted_millis)),
            _ => None,
        })
    }

    /// Returns whether pods of a Deployment, but for one, became unready after they had been ready, since then, and still are.
    fn has_unready(&self, deployment: Uid, since: Millis, except: Option<Uid>) -> bool {
        let has_some = |set: &Uid| {
            let counts = self.model.pod_counts(*set);
            counts.not_yet > counts.failing
        };
        let is_it = |pod: &Pod| {
            let mut states = pod.states.iter().rev();
            let is_unready = |(state, entered): &(PodState, Millis)| *state == PodState::Unready && *entered >= since;
            Some(pod.uid) != except
                && states.next().is_some_and(is_unready)
                && states.next().is_some_and(|(state, _)| state.is_ready())
        };
        let sets = self.model.owned_sets(deployment).map(|set| set.uid).filter(has_some);
        sets.flat_map(|set| self.model.controlled_pods(set)).any(is_it)
    }
}
