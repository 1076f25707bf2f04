//! Bands and slots: selects the ReplicaSets that have a band, and assigns each pod a slot that it keeps until it is gone.

use timeline::model::{Deployment, Pod, PodState, ReplicaSet};
use timeline::{Millis, Model, Uid, order, rollout, words};

/// Time after which the slot of a gone pod is free again.
const REST_MILLIS: Millis = 900;

/// A band of the score: one ReplicaSet, or the pods out of rotation.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Heading of the band.
    pub heading: BandHeading,
    /// Number of pods that are not gone.
    pub living: u32,
    /// Number of rows that its pods need.
    pub slots: u32,
    /// Pods of the band, each with its slot.
    pub pods: Vec<(Uid, u32)>,
}

/// Heading of a band: facts of its ReplicaSet; empty for the pods out of rotation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BandHeading {
    /// The ReplicaSet; `None` for "Out of rotation".
    pub replica_set: Option<Uid>,
    /// Revision of the ReplicaSet; `None` if unknown.
    pub revision: Option<u64>,
    /// Earlier revisions of the ReplicaSet.
    pub was: Vec<u64>,
    /// Images of the template, joined.
    pub images: String,
    /// Label `pod-template-hash` of its pods.
    pub hash: String,
    /// `spec.replicas`.
    pub desired: u32,
    /// Number of its pods that are available now.
    pub available: u32,
    /// Whether this is the ReplicaSet that is scaled up.
    pub is_current: bool,
    /// Whether the ReplicaSet was deleted; for the pods out of rotation, the ReplicaSet of one of them.
    pub is_removed: bool,
    /// Whether the Deployment released the ReplicaSet, so that its pods do not count here any more.
    pub is_let_go: bool,
    /// Time at which the Deployment adopted the ReplicaSet; the earlier life of its pods is not shown. `None` if the Deployment created it.
    pub taken_over_millis: Option<Millis>,
}

impl BandHeading {
    /// Returns whether this is the band of the pods out of rotation.
    pub const fn is_out(&self) -> bool {
        self.replica_set.is_none()
    }
}

/// Returns the name of a band's revision: its number, or one of two words for the pods out of rotation and for an unknown revision.
pub fn revision_name(is_out: bool, revision: Option<u64>, [out, unknown]: [&str; 2]) -> String {
    match revision {
        _ if is_out => out.to_owned(),
        Some(revision) => revision.to_string(),
        None => unknown.to_owned(),
    }
}

/// Returns the bands with content since `from_millis`: ordered by revision, the current one last, then the pods out of rotation.
pub fn bands(model: &Model, deployment: &Deployment, from_millis: Millis) -> Vec<Band> {
    let current = rollout::current_set(model, deployment).map(|set| set.uid);
    let bands = model
        .sets_of(deployment.uid)
        .filter_map(|set| {
            let stays = model.pods_of(set.uid).filter_map(|pod| stay(pod, Some(set.uid), pod.first_seen_millis()));
            let stays = in_order(stays);
            let from_millis = taken_over(set, deployment.uid).map_or(from_millis, |since| since.max(from_millis));
            let is_current = current == Some(set.uid);
            let is_live = set.removed_millis.is_none() && set.now.counts.desired > 0;
            let is_seen = is_current || is_live || stays.iter().any(|stay| is_in_view(stay, from_millis));
            is_seen.then(|| band(deployment.uid, set, &stays, is_current, from_millis))
        })
        .collect();
    let mut bands: Vec<Band> = order::sort_by(bands, |band: &Band| {
        (i64::from(band.heading.is_current), u128::from(band.heading.revision.map_or(0, |revision| revision + 1)))
    });
    let out = model.pods_of_deployment(deployment.uid).into_iter();
    let out = out.filter_map(|pod| stay(pod, None, pod.released_millis()?));
    let out = in_order(out.filter(|stay| is_in_view(stay, from_millis)));
    if !out.is_empty() {
        let (pods, slots) = assign_slots(&out);
        // Another ReplicaSet may have adopted the pod since.
        let is_left_behind =
            |pod: &Pod| pod.releases.last().is_some_and(|release| model.was_left_behind(pod, release.at_millis));
        let is_removed = out.iter().any(|(pod, ..)| is_left_behind(pod));
        bands.push(Band {
            heading: BandHeading { is_removed, ..BandHeading::default() },
            living: out.iter().filter(|(pod, ..)| pod.state() != PodState::Gone).count() as u32,
            slots,
            pods,
        });
    }
    bands
}

/// A pod of a band, the time from which it needs a slot, and the time at which it left the band; `None` while it is in the band.
type Stay<'m> = (&'m Pod, Millis, Option<Millis>);

/// Returns the stay of a pod in the band of a ReplicaSet, or in the band out of rotation; `None` if the pod was never in it.
fn stay(pod: &Pod, band: Option<Uid>, from: Millis) -> Option<Stay<'_>> {
    let mut left = None;
    each_stay(pod, band, &mut |_, until| left = Some(until));
    left.map(|left| (pod, from, left.or(pod.gone_millis())))
}

fn in_order<'m>(stays: impl Iterator<Item = Stay<'m>>) -> Vec<Stay<'m>> {
    order::sort_by(stays.collect(), |(pod, from, _)| (*from, pod.uid.bits()))
}

fn is_in_view((.., left): &Stay<'_>, from_millis: Millis) -> bool {
    left.is_none_or(|at| at > from_millis)
}

/// Calls a function with the start and end of each stay of a pod in the band of a ReplicaSet, or in the band out of rotation.
pub fn each_stay(pod: &Pod, replica_set: Option<Uid>, call: &mut dyn FnMut(Millis, Option<Millis>)) {
    each_place(pod, &mut |place, from, until| {
        if place == replica_set && until != Some(from) {
            call(from, until);
        }
    });
}

/// Returns the time at which a pod entered its present band, and the band it came from: a ReplicaSet, or `None` for the pods out
/// of rotation. Returns nothing if the pod was in no other band.
pub fn last_move(pod: &Pod) -> Option<(Millis, Option<Uid>)> {
    let (mut before, mut last) = (None, None);
    each_place(pod, &mut |place, from, _| {
        last = before.map(|before| (from, before));
        before = Some(place);
    });
    last
}

/// Calls a function with each band of a pod in order, with start and end: the ReplicaSet, or `None` for the pods out of rotation.
/// A callback, because an iterator would add bytes to the page's program.
fn each_place(pod: &Pod, call: &mut dyn FnMut(Option<Uid>, Millis, Option<Millis>)) {
    // A pod that changed its owner without an observed release was first observed afterwards.
    let first = if pod.releases.is_empty() { pod.owner.or(pod.replica_set()) } else { pod.replica_set() };
    let (mut place, mut from) = (first, Millis::MIN);
    for release in &pod.releases {
        let out = release.at_millis;
        if release.adopted.is_some_and(|(at, set)| at == out && place == Some(set)) {
            continue; // it never left
        }
        call(place, from, Some(out));
        (place, from) = (None, out);
        if let Some((at, set)) = release.adopted {
            if at != out {
                call(None, out, Some(at));
            }
            (place, from) = (Some(set), at);
        }
    }
    call(place, from, None);
}

/// Assigns slots over the whole life of the ReplicaSet, so that no pod moves when an old one leaves the picture.
fn band(deployment: Uid, set: &ReplicaSet, stays: &[Stay<'_>], is_current: bool, from_millis: Millis) -> Band {
    let mut placed = assign_slots(stays).0;
    let mut seen = stays.iter().map(|stay| is_in_view(stay, from_millis));
    placed.retain(|_| seen.next().unwrap_or(false)); // in the order of the pods
    let slots = placed.iter().map(|(_, slot)| slot + 1).max().unwrap_or(0);
    let count = |is_counted: fn(PodState) -> bool| {
        let is_mine = |(pod, ..): &&Stay<'_>| pod.owner == Some(set.uid) && is_counted(pod.state());
        stays.iter().filter(is_mine).count() as u32
    };
    let heading = BandHeading {
        replica_set: Some(set.uid),
        revision: set.revision(),
        was: set.revisions.iter().rev().skip(1).map(|(revision, _)| *revision).collect(),
        images: words::images(&set.images),
        hash: words::safe(&set.template_hash),
        desired: if set.removed_millis.is_some() { 0 } else { set.now.counts.desired },
        available: count(|state| state == PodState::Available),
        is_current,
        is_removed: set.removed_millis.is_some(),
        is_let_go: set.owner != Some(deployment),
        taken_over_millis: taken_over(set, deployment),
    };
    let living = count(|state| state != PodState::Gone);
    Band { heading, living, slots, pods: placed }
}

/// Returns the time at which a Deployment adopted a ReplicaSet that had another owner or none before.
pub fn taken_over(set: &ReplicaSet, deployment: Uid) -> Option<Millis> {
    let is_other = set.owners.first() != Some(&deployment)
        || set.owner_changes.first().is_some_and(|(_, owner)| *owner == Some(deployment));
    let mut changes = set.owner_changes.iter().filter(|_| is_other);
    changes.find(|(_, owner)| *owner == Some(deployment)).map(|(at, _)| *at)
}

/// Gives each pod, in the order in which their stays begin, the first free slot. Slots stay unused for a short time after a pod.
fn assign_slots(stays: &[Stay<'_>]) -> (Vec<(Uid, u32)>, u32) {
    let mut free_at: Vec<Millis> = Vec::new();
    // Time at which the next slot becomes free: most pods stay, so that the slots need no search.
    let mut next_free = Millis::MAX;
    let mut placed = Vec::with_capacity(stays.len());
    for (pod, from, to) in stays {
        let until = to.map_or(Millis::MAX, |to| to + REST_MILLIS);
        let slot = if next_free <= *from { free_at.iter().position(|free| free <= from) } else { None };
        let slot = slot.unwrap_or_else(|| {
            free_at.push(Millis::MAX);
            free_at.len() - 1
        });
        let was = free_at.get_mut(slot).map_or(Millis::MAX, |free| std::mem::replace(free, until));
        next_free = if was == Millis::MAX {
            next_free.min(until)
        } else {
            free_at.iter().copied().fold(Millis::MAX, Millis::min)
        };
        placed.push((pod.uid, slot as u32));
    }
    (placed, free_at.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::Change;
    use timeline::fact::ReplicaSetCounts;
    use timeline::model::{Release, ReplicaSetNow};

    fn pod(number: u128, from: Millis, gone: Option<Millis>) -> Pod {
        let mut states = vec![(PodState::Available, from)];
        states.extend(gone.map(|at| (PodState::Gone, at)));
        Pod {
            uid: Uid::from_bits(number),
            owners: vec![Uid::from_bits(99)],
            owner: Some(Uid::from_bits(99)),
            states,
            ..Pod::default()
        }
    }

    /// A released ReplicaSet still shows its own counts.
    #[test]
    fn a_replica_set_that_was_let_go_is_counted_as_what_it_is() {
        let set = |owner: Option<Uid>| ReplicaSet {
            uid: Uid::from_bits(99),
            owner,
            owners: vec![Uid::from_bits(1)],
            revisions: vec![(1, None)],
            now: ReplicaSetNow {
                counts: ReplicaSetCounts { desired: 2, replicas: 2, available: 2 },
                ..ReplicaSetNow::default()
            },
            ..ReplicaSet::default()
        };
        let pods = [pod(1, 0, None), pod(2, 0, None)];
        let stays: Vec<Stay> = pods.iter().map(|pod| (pod, 0, None)).collect();
        let heading = |owner| band(Uid::from_bits(1), &set(owner), &stays, false, 0).heading;
        let let_go = heading(None);
        assert_eq!((let_go.desired, let_go.available, let_go.is_let_go), (2, 2, true));
        assert!(!heading(Some(Uid::from_bits(1))).is_let_go);
        let (mine, other) = (Uid::from_bits(1), Uid::from_bits(2));
        let taken = ReplicaSet {
            owners: vec![other, mine],
            owner_changes: vec![(5, None), (6, Some(mine))],
            ..set(Some(mine))
        };
        assert_eq!(taken_over(&taken, mine), Some(6));
        // Released and adopted again.
        let back = ReplicaSet { owners: vec![mine], ..taken };
        assert_eq!(taken_over(&back, mine), None);
    }

    #[test]
    fn pods_that_were_left_behind_are_told_from_those_with_other_labels_after_their_adoption_too() {
        let [web, first, again] = [1, 99, 98].map(Uid::from_bits);
        let deployment = Deployment { uid: web, ..Deployment::default() };
        let mut model = Model::default();
        for (uid, removed_millis) in [(first, Some(12)), (again, None)] {
            let owners = vec![web];
            let set = ReplicaSet { uid, removed_millis, owner: Some(web), owners, ..ReplicaSet::default() };
            model.apply_change(Change::ReplicaSet(Box::new(set)));
        }
        let releases = vec![Release { at_millis: 10, adopted: Some((16, again)) }];
        let orphan = Pod { owners: vec![first, again], owner: Some(again), releases, ..pod(9, 0, None) };
        model.apply_change(Change::Pod(Box::new(orphan)));
        let out = |model: &Model| {
            let heading = bands(model, &deployment, 0).pop().map(|band| band.heading);
            heading.map(|heading| (heading.is_out(), heading.is_removed))
        };
        assert_eq!(out(&model), Some((true, true)));
        model.apply_change(Change::PodReleased(Uid::from_bits(9), 20));
        assert_eq!(out(&model), Some((true, false)), "the ReplicaSet that let go of it last is there");
    }

    #[test]
    fn a_pod_comes_from_the_band_that_it_left_last() {
        let [first, second] = [1, 2].map(Uid::from_bits);
        let release = |at_millis, adopted| Release { at_millis, adopted };
        let came = |releases: &[Release]| {
            last_move(&Pod { owners: vec![first], releases: releases.to_vec(), ..pod(9, 0, None) })
        };
        assert_eq!(came(&[]), None);
        assert_eq!(came(&[release(10, None)]), Some((10, Some(first))));
        let back = release(10, Some((20, first)));
        assert_eq!(came(&[back]), Some((20, None)));
        assert_eq!(came(&[back, release(30, None)]), Some((30, Some(first))));
        let other = release(10, Some((20, second)));
        assert_eq!(came(&[other, release(30, None)]), Some((30, Some(second))));
        // Moved from one ReplicaSet to another at once, and a pod that never left.
        assert_eq!(came(&[release(10, Some((10, second)))]), Some((10, Some(first))));
        assert_eq!(came(&[back, release(30, Some((30, first)))]), Some((20, None)));
    }

    #[test]
    fn a_slot_is_kept_until_its_pod_is_gone_and_then_used_again() {
        let pods = [pod(1, 0, Some(1000)), pod(2, 10, None), pod(3, 1500, None), pod(4, 2000, None)];
        let stays: Vec<Stay> = pods.iter().map(|pod| (pod, pod.first_seen_millis(), pod.gone_millis())).collect();
        let (placed, slots) = assign_slots(&stays);
        let slots_of: Vec<u32> = placed.iter().map(|(_, slot)| *slot).collect();
        assert_eq!((slots_of, slots), (vec![0, 1, 2, 0], 3));
    }
}
