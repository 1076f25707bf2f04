//! What is told of single pods: why each went, what replaced it, and who left a node together.

use super::{Happening, LineKind, Teller};
use crate::model::{EndReason, Pod};
use crate::phase::PodState;
use crate::{Millis, order};

/// A replacement appears this soon after a pod was asked to go.
const REPLACEMENT_MILLIS: Millis = 5_000;
/// Pods that leave a node no further apart than this leave it together.
const TOGETHER_MILLIS: Millis = 60_000;

/// Pods that had to leave a node together.
struct Left {
    at: Millis,
    last: Millis,
    node: String,
    reason: EndReason,
    pods: Vec<String>,
}

impl Teller<'_> {
    pub(super) fn pods(&mut self) {
        let pods = self.model.pods_of_deployment(self.deployment.uid);
        let mut left: Vec<Left> = Vec::new();
        let mut replacing: Vec<crate::Uid> = Vec::new();
        for pod in &pods {
            let revision = pod.replica_set().and_then(|set| self.model.replica_sets.get(&set)?.revision());
            let name = pod.name.clone();
            if let Some(at) = pod.released_millis {
                self.tell(at, LineKind::Outside, Happening::Released { pod: name.clone(), revision });
            }
            if let Some(at) = pod.adopted_millis {
                self.tell(at, LineKind::Outside, Happening::Adopted { pod: name.clone() });
            }
            let Some(at) = pod.ended_millis() else { continue };
            match pod.end_reason {
                Some(EndReason::DeletedByHand) if !pod.is_out_of_rotation() => {
                    let other = replacement(&pods, pod, at, &replacing);
                    replacing.extend(other.map(|other| other.uid));
                    let what = Happening::Killed {
                        pod: name,
                        revision,
                        replacement: other.map(|other| (other.name.clone(), available_at(other).map(|up| up - at))),
                        drained_millis: pod.gone_millis().map(|gone| gone - at),
                    };
                    self.tell(at, LineKind::Outside, what);
                }
                Some(reason @ (EndReason::NodeLost | EndReason::Evicted)) if !pod.is_out_of_rotation() => {
                    let node = pod.now.node.clone().unwrap_or_else(|| "unknown".to_owned());
                    left.push(Left { at, last: at, node, reason, pods: vec![name] });
                }
                Some(reason @ (EndReason::NodeLost | EndReason::Evicted | EndReason::DeletedByHand)) => {
                    let was_released = pod.is_out_of_rotation();
                    self.tell(at, LineKind::Outside, Happening::Ended { pod: name, reason, was_released });
                }
                Some(reason @ EndReason::Unknown) => {
                    self.tell(at, LineKind::Unknown, Happening::Ended { pod: name, reason, was_released: false });
                }
                _ => {}
            }
        }
        self.left(left);
    }

    /// Pods that left the same node for the same reason one after the other are told together.
    fn left(&mut self, all: Vec<Left>) {
        let mut told: Vec<Left> = Vec::new();
        for one in order::by(all, |left| (left.at, 0)) {
            let is_same = |other: &&mut Left| {
                one.at - other.last <= TOGETHER_MILLIS && one.reason == other.reason && one.node == other.node
            };
            match told.iter_mut().find(is_same) {
                Some(other) => {
                    other.last = one.at;
                    other.pods.extend(one.pods);
                }
                None => told.push(one),
            }
        }
        for Left { at, node, reason, pods, .. } in told {
            let kind = if reason == EndReason::NodeLost { LineKind::Bad } else { LineKind::Outside };
            self.tell(at, kind, Happening::LeftNode { pods, node, reason });
        }
    }
}

/// The pod that was made in place of one that was asked to go at `at`.
fn replacement<'m>(pods: &[&'m Pod], gone: &Pod, at: Millis, taken: &[crate::Uid]) -> Option<&'m Pod> {
    let is_next = |pod: &&&Pod| {
        let seen = pod.first_seen_millis();
        pod.replica_set() == gone.replica_set()
            && seen >= at
            && seen - at <= REPLACEMENT_MILLIS
            && !taken.contains(&pod.uid)
    };
    pods.iter().find(is_next).copied()
}

fn available_at(pod: &Pod) -> Option<Millis> {
    pod.states.iter().find(|(state, _)| *state == PodState::Available).map(|(_, at)| *at)
}
