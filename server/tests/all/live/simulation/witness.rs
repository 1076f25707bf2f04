//! A witness of everything that happens in the cluster, at once and without a network: states of pods that are shown were states of
//! theirs, in that order.

use server::kube::translate::Object;
use timeline::fact::{Kind, Seen};
use timeline::model::{Pod, PodState};
use timeline::{Fact, Millis, Model, Timeline};

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
}

/// States of a pod. How long a pod has to be ready its ReplicaSet tells, which may be listed later than the pod.
fn states(pod: &Pod) -> Vec<PodState> {
    let state = |state| if state == PodState::Available { PodState::Ready } else { state };
    let mut states: Vec<_> = pod.states.iter().map(|(of, _)| state(*of)).collect();
    states.dedup();
    states
}
