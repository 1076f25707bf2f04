//! Telling containers that ended and were started again.

use std::collections::BTreeSet;

use crate::apply::Timeline;
use crate::apply::pending::ToldRestarts;
use crate::model::ReplicaSet;
use crate::model::container::FORGETS_MILLIS;
use crate::model::fact::{Container, Exit};
use crate::model::story::{ContainerEnd, Entry, Happening, Restart};
use crate::{Millis, Uid};

impl Timeline {
    /// Tells which containers of a pod were started again since the pod was seen last.
    pub(in crate::apply) fn tell_restarts(&mut self, at: Millis, uid: Uid, containers: &[Container], was_seen: bool) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let set = pod.last_owner().and_then(|set| self.model.replica_sets.get(&set));
        let (revision, name) = (set.and_then(ReplicaSet::revision), pod.name.clone());
        let restart = |container: &Container| {
            let before = pod.now.containers.iter().find(|before| before.name == container.name)?;
            // A status that begins anew, and then remembers, tells of no new restarts. The end that it tells of now is none, either.
            let ends = container.exits() - container.restarts;
            let known = before.restarts.max(before.exits_before.saturating_sub(ends));
            let restart = Restart {
                container: container.name.clone(),
                role: container.role,
                revision,
                end: last_end(container),
                was_seen,
            };
            (container.restarts > known).then(|| (restart, container.restarts - known))
        };
        let found: Vec<(Restart, u32)> = containers.iter().filter_map(restart).collect();
        for (restart, restarts) in found {
            self.tell_restart(deployment, at, (uid, name.as_str()), restart, restarts);
        }
    }

    /// Containers that end in the same way are told together, whichever pods they are in, for as long as the kubelet remembers
    /// an end: a crash loop is one entry, however long it lasts.
    fn tell_restart(&mut self, deployment: Uid, at: Millis, (uid, pod): (Uid, &str), restart: Restart, more: u32) {
        self.restarting.retain(|told| at - told.last_millis <= FORGETS_MILLIS);
        let is_same =
            |entry: &Entry| matches!(&entry.what, Happening::Restarted { restart: known, .. } if *known == restart);
        let last = self.entry(deployment, is_same).map(|entry| entry.id);
        let Some(told) = self.restarting.iter_mut().find(|told| Some(told.entry) == last) else {
            let first = Happening::Restarted { pod: pod.to_owned(), pods: 1, restart, restarts: more };
            let entry = self.tell(deployment, at, first);
            self.restarting.push(ToldRestarts { entry, pods: BTreeSet::from([uid]), last_millis: at });
            return;
        };
        told.last_millis = at;
        let (id, is_other) = (told.entry, told.pods.insert(uid));
        self.retell(deployment, id, |entry| {
            if let Happening::Restarted { pods, restarts, .. } = &mut entry.what {
                (*pods, *restarts) = (*pods + u32::from(is_other), restarts.saturating_add(more));
            }
        });
    }
}

fn last_end(container: &Container) -> ContainerEnd {
    match container.last_exit.as_deref() {
        Some(exit) if exit.is_unseen() => ContainerEnd::Unknown,
        Some(exit) if exit.reason == "OOMKilled" => ContainerEnd::OutOfMemory,
        Some(exit) if Exit::is_start_error(&exit.reason) => ContainerEnd::NotStarted,
        Some(exit) => ContainerEnd::Exited(exit.code),
        None => ContainerEnd::Unknown,
    }
}
