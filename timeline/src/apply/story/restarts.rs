//! Telling containers that ended and were started again.

use std::collections::BTreeSet;

use crate::apply::Timeline;
use crate::apply::pending::ToldRestarts;
use crate::model::container::{FORGETS_MILLIS, LONGEST_BACK_OFF_MILLIS};
use crate::model::fact::{Container, Exit, PodFact};
use crate::model::story::{ContainerEnd, Entry, Happening, LineKind, Restart};
use crate::model::{Deployment, Event, Pod, ReplicaSet};
use crate::rules::messages;
use crate::{Millis, Uid};

/// An Event about the end of a container arrives no later than this after its restart was told: kubelets send few at a time.
const LATE_MILLIS: Millis = 10_000;

impl Timeline {
    /// Tells which containers of a pod were started again since the pod was seen last, and returns whether any was.
    pub(in crate::apply) fn tell_restarts(&mut self, at: Millis, uid: Uid, fact: &PodFact, was_seen: bool) -> bool {
        let containers = &fact.containers;
        let is_over = fact.phase.is_terminal();
        if containers.iter().all(|container| container.restarts == 0) {
            return false;
        }
        let Some(pod) = self.model.pods.get(&uid) else { return false };
        let Some(deployment) = self.teller(pod) else { return false };
        let Some(known) = self.model.deployments.get(&deployment) else { return false };
        let set = pod.last_owner().and_then(|set| self.model.replica_sets.get(&set));
        let revision = set.and_then(ReplicaSet::revision);
        let restart = |container: &Container| {
            let before = pod.now.containers.iter().find(|before| before.name == container.name)?;
            let restarts = Some(container.restarts_since(before, is_over)).filter(|restarts| *restarts > 0)?;
            let restart = Restart {
                container: container.name.clone(),
                role: container.role,
                revision,
                end: last_end(known, pod, &container.as_restarted(), self.skew.millis()),
                was_seen,
            };
            Some((restart, restarts))
        };
        let found: Vec<(Restart, u32)> = containers.iter().filter_map(restart).collect();
        let is_restarted = !found.is_empty();
        for (restart, restarts) in found {
            self.tell_restart(deployment, at, uid, restart, restarts);
        }
        is_restarted
    }

    /// Containers that end in the same way are told together, whichever pods they are in, for as long as the kubelet remembers
    /// an end: a crash loop is one entry, however long it lasts. After a rollout started or is complete, or other replicas are asked for,
    /// the next restart is another entry: it would be told before what came before it.
    fn tell_restart(&mut self, deployment: Uid, at: Millis, uid: Uid, restart: Restart, more: u32) {
        let is_open = |told: &ToldRestarts| is_open_at(told, at);
        let is_same =
            |entry: &&Entry| matches!(&entry.what, Happening::Restarted { restart: known, .. } if *known == restart);
        let mut since = self.story(deployment).iter().rev().take_while(|entry| !is_turn(&entry.what));
        let last = since.find(is_same).map(|entry| entry.id);
        let place = last.and_then(|id| self.restarting.binary_search_by_key(&id, |told| told.entry).ok());
        let known = place.and_then(|place| self.restarting.get_mut(place));
        let Some(told) = known.filter(|told| is_open(told)) else {
            self.restarting.retain(is_open);
            let pod = self.model.pods.get(&uid).map(|pod| pod.name.clone()).unwrap_or_default();
            let first = Happening::Restarted { pod, pods: 1, restart, restarts: more, lasted_millis: 0 };
            let entry = self.tell(deployment, at, first);
            self.restarting.push(ToldRestarts { entry, pods: BTreeSet::from([uid]), last_millis: at });
            return;
        };
        told.last_millis = at;
        let (id, is_other) = (told.entry, told.pods.insert(uid));
        self.retell(deployment, id, |entry| {
            if let Happening::Restarted { pods, restarts, lasted_millis, .. } = &mut entry.what {
                (*pods, *restarts) = (*pods + u32::from(is_other), restarts.saturating_add(more));
                *lasted_millis = at - entry.at_millis;
            }
        });
    }

    /// The kubelet stopped a container of a pod, as an Event tells: that may be why containers ended whose first restart was told with no
    /// more than an exit code.
    pub(in crate::apply) fn retell_restart(&mut self, at: Millis, deployment: Uid, uid: Uid, stopped_millis: Millis) {
        let Some(known) = self.model.deployments.get(&deployment) else { return };
        let is_near = |told: &&ToldRestarts| {
            let last_millis = told.last_millis;
            told.pods.contains(&uid) && stopped_millis <= last_millis && at - last_millis <= LATE_MILLIS
        };
        let better = |told: &ToldRestarts| Some((told.entry, self.shared_end(known, told, uid)?));
        for (id, end) in self.restarting.iter().filter(is_near).filter_map(better).collect::<Vec<_>>() {
            self.retell(deployment, id, |entry| {
                if let Happening::Restarted { restart, .. } = &mut entry.what {
                    restart.end = end;
                }
            });
            self.join_restarts(deployment, id);
        }
    }

    /// An entry became like others, without a turn in between: the first one tells of all, as if that had been known at once.
    fn join_restarts(&mut self, deployment: Uid, id: u64) {
        let mut parts = self.story(deployment).split(|entry| is_turn(&entry.what));
        let Some(part) = parts.find(|part| part.iter().any(|entry| entry.id == id)) else { return };
        let Some(restart) = part.iter().find(|entry| entry.id == id).and_then(restart_of) else { return };
        let alike = part.iter().filter(|entry| restart_of(entry) == Some(restart)).map(|entry| entry.id);
        let mut alike = alike.collect::<Vec<u64>>().into_iter();
        let Some(mut earlier) = alike.next() else { return };
        for later in alike {
            if !self.join(deployment, earlier, later) {
                earlier = later;
            }
        }
    }

    /// Counts the restarts of an entry with those of an earlier one, if that is still open then; returns whether it did.
    fn join(&mut self, deployment: Uid, earlier: u64, later: u64) -> bool {
        let place = |id: u64| self.restarting.binary_search_by_key(&id, |told| told.entry).ok();
        let Some((first, second)) = place(earlier).zip(place(later)) else { return false };
        let Some(entry) = self.entry(deployment, |entry| entry.id == later) else { return false };
        let Happening::Restarted { restarts: more, .. } = entry.what else { return false };
        if !self.restarting.get(first).is_some_and(|told| is_open_at(told, entry.at_millis)) {
            return false;
        }
        let joined = self.restarting.remove(second);
        let Some(told) = self.restarting.get_mut(first) else { return false };
        told.pods.extend(joined.pods);
        told.last_millis = told.last_millis.max(joined.last_millis);
        let (count, last_millis) = (told.pods.len() as u32, told.last_millis);
        self.untell(deployment, later);
        self.retell(deployment, earlier, |entry| {
            if let Happening::Restarted { pods, restarts, lasted_millis, .. } = &mut entry.what {
                (*pods, *restarts) = (count, restarts.saturating_add(more));
                *lasted_millis = last_millis - entry.at_millis;
            }
        });
        true
    }

    /// Finds the end that all containers of an entry share with that of a pod, where only an exit code was told; `None` where
    /// there is none. Each end takes an Event, and no more than [`Event::MOST`] are kept.
    fn shared_end(&self, known: &Deployment, told: &ToldRestarts, uid: Uid) -> Option<ContainerEnd> {
        if told.pods.len() > Event::MOST {
            return None;
        }
        let entry = known.story.iter().find(|entry| entry.id == told.entry)?;
        let Happening::Restarted { restart, restarts, .. } = &entry.what else { return None };
        if *restarts as usize != told.pods.len() || !matches!(restart.end, ContainerEnd::Exited(_)) {
            return None;
        }
        let end = |pod: &Uid| {
            let pod = self.model.pods.get(pod)?;
            let container = pod.now.containers.iter().find(|one| one.name == restart.container)?;
            Some(last_end(known, pod, &container.as_restarted(), self.skew.millis()))
        };
        let first = end(&uid).filter(|first| !matches!(first, ContainerEnd::Exited(_)))?;
        told.pods.iter().all(|pod| end(pod) == Some(first)).then_some(first)
    }
}

fn restart_of(entry: &Entry) -> Option<&Restart> {
    match &entry.what {
        Happening::Restarted { restart, .. } => Some(restart),
        _ => None,
    }
}

/// The kubelet still remembered the last end of them at that time, or waited because of it.
const fn is_open_at(told: &ToldRestarts, at: Millis) -> bool {
    at - told.last_millis <= FORGETS_MILLIS + LONGEST_BACK_OFF_MILLIS
}

/// What comes after it in the story is not told before it.
pub(super) const fn is_turn(what: &Happening) -> bool {
    matches!(what.kind(), LineKind::Revision | LineKind::Done)
        || matches!(what, Happening::Scaled { .. } | Happening::Replicas { .. })
}

fn last_end(deployment: &Deployment, pod: &Pod, container: &Container, skew_millis: Millis) -> ContainerEnd {
    let Some(exit) = container.last_exit.as_deref().filter(|exit| !exit.is_unseen()) else {
        return ContainerEnd::Unknown;
    };
    if exit.reason == "OOMKilled" {
        return ContainerEnd::OutOfMemory;
    }
    if Exit::is_start_error(&exit.reason) {
        return ContainerEnd::NotStarted;
    }
    let kill = messages::last_kill(deployment, pod, container, skew_millis);
    kill.map_or(ContainerEnd::Exited(exit.code), |kill| kill.end)
}
