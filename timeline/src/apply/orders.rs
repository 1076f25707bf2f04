//! The replicas that owners asked for, in the order of the cluster's store.
//!
//! The streams of kinds overtake each other; versions of objects do not: of two changes in one cluster the one with the smaller
//! `resourceVersion` came first. So a pod that was marked before its ReplicaSet asked for less was not scaled down by it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::Uid;
use crate::model::fact::Seen;

/// Steps kept per ReplicaSet. Ends are decided within seconds, so only the last few matter.
const STEPS: usize = 16;

/// A `resourceVersion` that is a number.
pub(super) type Version = u64;

/// The first of two is known to have come after the second.
pub(super) fn is_later(version: Option<Version>, than: Option<Version>) -> bool {
    matches!((version, than), (Some(version), Some(than)) if version > than)
}

/// The versions of owners in which their replicas or their existence changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Orders {
    /// Per ReplicaSet: the versions in which `spec.replicas` became what it was.
    desired: BTreeMap<Uid, VecDeque<(Version, u32)>>,
    /// Deployments and ReplicaSets that are being deleted, or are gone: the version that first said so.
    leaving: BTreeMap<Uid, Version>,
}

impl Orders {
    /// A version of a ReplicaSet asks for so many replicas.
    pub(super) fn asks(&mut self, set: Uid, version: Option<Version>, replicas: u32, seen: Seen) {
        let steps = self.desired.entry(set).or_default();
        if seen == Seen::InList {
            steps.clear(); // what it asked for in between was not seen
        }
        match version {
            None => steps.clear(),
            Some(version) if steps.back().is_none_or(|(last, known)| *known != replicas && *last < version) => {
                steps.push_back((version, replicas));
                if steps.len() > STEPS {
                    steps.pop_front();
                }
            }
            Some(_) => {}
        }
    }

    /// Finds the replicas that a ReplicaSet asked for when something else got this version, where that is known.
    pub(super) fn desired_at(&self, set: Uid, version: Option<Version>) -> Option<u32> {
        let version = version?;
        let before = self.desired.get(&set)?.iter().rev().find(|(since, _)| *since < version);
        before.map(|(_, replicas)| *replicas)
    }

    /// Finds the version in which a ReplicaSet asked for so many replicas last, where that is known.
    pub(super) fn asked_in(&self, set: Uid, replicas: u32) -> Option<Version> {
        let mut steps = self.desired.get(&set)?.iter().rev();
        steps.find(|(_, asked)| *asked == replicas).map(|(version, _)| *version)
    }

    /// A version of an owner says that it is leaving, or its last one that it is gone.
    pub(super) fn leaves(&mut self, owner: Uid, version: Option<Version>) {
        if let Some(version) = version {
            self.leaving.entry(owner).or_insert(version);
        }
    }

    /// An owner that left is there again.
    pub(super) fn returns(&mut self, owner: Uid) {
        self.leaving.remove(&owner);
    }

    /// In which version an owner was first leaving.
    pub(super) fn left(&self, owner: Uid) -> Option<Version> {
        self.leaving.get(&owner).copied()
    }

    /// Only these are known still.
    pub(super) fn keep(&mut self, is_known: impl Fn(&Uid) -> bool) {
        self.desired.retain(|uid, _| is_known(uid));
        self.leaving.retain(|uid, _| is_known(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Uid = Uid::from_bits(1);

    fn orders(steps: &[(Version, u32)]) -> Orders {
        let mut orders = Orders::default();
        for (version, replicas) in steps {
            orders.asks(SET, Some(*version), *replicas, Seen::Modified);
        }
        orders
    }

    #[test]
    fn what_was_asked_is_that_of_the_last_version_before() {
        let orders = orders(&[(10, 3), (11, 3), (20, 2), (30, 5)]);
        for (version, desired) in [(9, None), (10, None), (11, Some(3)), (20, Some(3)), (21, Some(2)), (99, Some(5))] {
            assert_eq!(orders.desired_at(SET, Some(version)), desired, "{version}");
        }
        assert_eq!(orders.desired_at(SET, None), None);
        assert_eq!(orders.desired_at(Uid::from_bits(2), Some(99)), None);
        assert_eq!([3, 2, 5, 4].map(|replicas| orders.asked_in(SET, replicas)), [Some(10), Some(20), Some(30), None]);
        assert_eq!(orders.asked_in(Uid::from_bits(2), 3), None);
    }

    #[test]
    fn a_list_begins_anew_and_versions_that_are_no_numbers_say_nothing() {
        let mut listed = orders(&[(10, 3), (20, 2)]);
        listed.asks(SET, Some(40), 2, Seen::InList);
        assert_eq!(listed.desired_at(SET, Some(21)), None);
        assert_eq!(listed.desired_at(SET, Some(41)), Some(2));
        listed.asks(SET, None, 1, Seen::Modified);
        assert_eq!(listed.desired_at(SET, Some(41)), None);
    }

    #[test]
    fn what_is_asked_again_or_told_late_is_no_step() {
        let late = orders(&[(10, 3), (20, 2), (15, 9)]);
        assert_eq!(late.desired_at(SET, Some(25)), Some(2));
        assert_eq!(late.desired_at(SET, Some(20)), Some(3));
        let twice = orders(&[(10, 3), (10, 9)]);
        assert_eq!(twice.desired_at(SET, Some(11)), Some(3), "a version says one thing");
        let again: Vec<(Version, u32)> = (10..60).map(|version| (version, 3)).collect();
        assert_eq!(orders(&again).desired_at(SET, Some(11)), Some(3), "since the first time");
    }

    #[test]
    fn the_first_word_of_leaving_counts_and_old_ones_go() {
        let mut orders = orders(&[(10, 3)]);
        orders.leaves(SET, Some(15));
        orders.leaves(SET, Some(17));
        orders.leaves(Uid::from_bits(2), None);
        assert_eq!((orders.left(SET), orders.left(Uid::from_bits(2))), (Some(15), None));
        assert!(
            is_later(Some(2), Some(1))
                && !is_later(Some(1), Some(1))
                && !is_later(None, Some(1))
                && !is_later(Some(1), None)
        );
        orders.keep(|uid| *uid != SET);
        assert_eq!((orders.left(SET), orders.desired_at(SET, Some(99))), (None, None));
    }

    #[test]
    fn steps_are_bounded() {
        let steps: Vec<(Version, u32)> = (1..100).map(|version| (version, version as u32)).collect();
        let orders = orders(&steps);
        assert_eq!(orders.desired.values().map(VecDeque::len).sum::<usize>(), STEPS);
        assert_eq!(orders.desired_at(SET, Some(100)), Some(99));
    }
}
