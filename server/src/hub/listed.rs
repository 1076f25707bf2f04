//! A Deployment in the list of its cluster, and its group: one that flaps does not jump between groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use timeline::list::Group;
use timeline::view::{Summary, Tone};
use timeline::{Millis, Uid};

/// A Deployment that is well again for the second time within this time stays "in progress" for as long.
pub const STEADY_MILLIS: Millis = 60_000;

/// A Deployment in the list of its cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedDeployment {
    /// The fields that lists show.
    pub summary: Summary,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Text that searches look in, in lower case.
    pub text: String,
    /// Start of its time in the group, by the clock of its cluster; decides its place within the group.
    pub since_millis: Millis,
    /// Time of its last recovery.
    recovered_millis: Option<Millis>,
    /// It is well, and stays "in progress" until this time.
    steady_until_millis: Option<Millis>,
}

impl ListedDeployment {
    /// Creates a line, with the text that searches look in.
    pub fn new(summary: Summary, labels: BTreeMap<String, String>) -> Self {
        let revision = summary.revision.map(|revision| format!("revision {revision}")).unwrap_or_default();
        let verdict = &summary.verdict;
        let fields = [&summary.namespace, &summary.name, &summary.images, &verdict.badge, &verdict.sentence, &revision];
        let text = fields.map(|field| field.to_lowercase()).join("\n");
        let since_millis = summary.since_millis;
        Self { summary, labels, text, since_millis, recovered_millis: None, steady_until_millis: None }
    }

    /// Returns the line that follows an earlier one of the same Deployment. A line moves between groups at once. If
    /// pods are lost and come back again and again, only the first ones move it; it moves back a minute after the last
    /// one.
    #[must_use]
    pub fn continue_from(mut self, before: &Self, now_millis: Millis) -> Self {
        let rollout = |listed: &Self| (listed.summary.revision, listed.summary.finished_millis);
        if rollout(&self) != rollout(before) {
            return self;
        }
        let was = before.group(now_millis);
        let is_well = |listed: &Self| listed.summary.verdict.tone == Tone::Ok;
        self.recovered_millis = before.recovered_millis;
        if is_well(&self) && is_well(before) {
            self.steady_until_millis = before.steady_until_millis;
        } else if is_well(&self) && matches!(was, Group::InTrouble | Group::InProgress) {
            let is_again = before.recovered_millis.is_some_and(|at| now_millis - at < STEADY_MILLIS);
            self.steady_until_millis = is_again.then_some(now_millis + STEADY_MILLIS);
            self.recovered_millis = Some(now_millis);
        }
        if self.group(now_millis) == was {
            self.since_millis = before.since_millis;
        }
        self
    }

    /// Returns the group of the line at a time of its cluster.
    pub fn group(&self, now_millis: Millis) -> Group {
        match self.steady_until_millis {
            Some(until) if now_millis < until => Group::InProgress,
            _ => Group::of(&self.summary, now_millis),
        }
    }
}

/// The Deployments of a cluster by namespace and name.
pub type List = Arc<Vec<Arc<ListedDeployment>>>;

#[derive(Debug, Default)]
pub(super) struct ListedDeployments {
    by_uid: BTreeMap<Uid, Arc<ListedDeployment>>,
    /// The same Deployments, in the order of the list.
    by_place: List,
}

impl ListedDeployments {
    pub(super) fn get(&self, uid: Uid) -> Option<&ListedDeployment> {
        self.by_uid.get(&uid).map(|listed| &**listed)
    }

    /// Inserts a line, or replaces an earlier one.
    pub(super) fn insert(&mut self, listed: ListedDeployment) {
        let listed = Arc::new(listed);
        let list = Arc::make_mut(&mut self.by_place);
        match list.binary_search_by(|known| known.summary.place().cmp(&listed.summary.place())) {
            Ok(index) => list.splice(index..=index, [listed.clone()]).for_each(drop),
            Err(index) => list.insert(index, listed.clone()),
        }
        self.by_uid.insert(listed.summary.uid, listed);
    }

    /// Removes a line; `false` if none has that UID.
    pub(super) fn remove(&mut self, uid: Uid) -> bool {
        let Some(listed) = self.by_uid.remove(&uid) else { return false };
        let list = Arc::make_mut(&mut self.by_place);
        if let Ok(index) = list.binary_search_by(|known| known.summary.place().cmp(&listed.summary.place())) {
            list.remove(index);
        }
        true
    }

    /// Returns all lines in order, to be shared. The next change copies the pointers to them, and no Deployment.
    pub(super) fn list(&self) -> List {
        self.by_place.clone()
    }

    pub(super) fn uids(&self) -> impl Iterator<Item = Uid> {
        self.by_uid.keys().copied()
    }

    pub(super) fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.by_uid.values().map(|listed| &listed.summary)
    }
}

#[cfg(test)]
mod tests {
    use timeline::verdict::KubectlVerdict;
    use timeline::view::Verdict;

    use super::*;

    fn summary(tone: Tone, since_millis: Millis, finished_millis: Millis) -> Summary {
        let verdict = Verdict { tone, kubectl: KubectlVerdict::Complete, ..Verdict::default() };
        Summary {
            uid: Uid::from_bits(1),
            namespace: "shop".into(),
            name: "web".into(),
            revision: Some(7),
            verdict,
            desired: 1,
            since_millis,
            finished_millis: Some(finished_millis),
            ..Summary::default()
        }
    }

    /// Returns the groups of a Deployment with these tones at these times, each with its start.
    fn groups(all: &[(Tone, Millis)]) -> Vec<(Group, Millis)> {
        let mut known: Option<ListedDeployment> = None;
        let mut groups = Vec::new();
        for (tone, at) in all {
            let new = ListedDeployment::new(summary(*tone, *at, 0), BTreeMap::new());
            let new = match &known {
                Some(before) => new.continue_from(before, *at),
                None => new,
            };
            groups.push((new.group(*at), new.since_millis));
            known = Some(new);
        }
        groups
    }

    #[test]
    fn a_readiness_probe_that_flaps_moves_a_line_until_it_is_known_to_flap() {
        let flapping: Vec<(Tone, Millis)> =
            (0..12).map(|turn| (if turn % 2 == 0 { Tone::Ok } else { Tone::Busy }, turn * 7_000)).collect();
        let all = groups(&flapping);
        let first = [(Group::Finished, 0), (Group::InProgress, 7_000), (Group::Finished, 14_000)];
        assert_eq!(all[..3], first);
        assert!(all.iter().skip(3).all(|place| *place == (Group::InProgress, 21_000)), "{all:?}");
    }

    #[test]
    fn what_is_well_again_moves_back_at_once_and_the_second_time_after_a_minute() {
        let busy = |at| ListedDeployment::new(summary(Tone::Busy, at, 0), BTreeMap::new());
        let well = |at| ListedDeployment::new(summary(Tone::Ok, at, 0), BTreeMap::new());
        let once = well(20_000).continue_from(&busy(10_000), 20_000);
        assert_eq!(once.group(20_000), Group::Finished);
        let back = well(40_000).continue_from(&busy(30_000).continue_from(&once, 30_000), 40_000);
        // Another sentence with the same tone does not restart the minute.
        let back = well(40_000).continue_from(&back, 50_000);
        assert_eq!(back.group(99_999), Group::InProgress);
        assert_eq!(back.group(100_000), Group::Finished);
        let back = well(40_000).continue_from(&back, 105_000);
        assert_eq!(back.group(105_000), Group::Finished);
        // The last recovery was more than a minute ago.
        let later = well(115_000).continue_from(&busy(110_000).continue_from(&back, 110_000), 115_000);
        assert_eq!(later.group(115_000), Group::Finished);
    }

    #[test]
    fn a_rollout_that_is_completed_moves_at_once_and_so_does_what_gets_worse() {
        let busy = ListedDeployment::new(summary(Tone::Busy, 10_000, 0), BTreeMap::new());
        let done =
            ListedDeployment::new(summary(Tone::Ok, 20_000, 20_000), BTreeMap::new()).continue_from(&busy, 20_000);
        assert_eq!((done.group(20_000), done.since_millis), (Group::Finished, 20_000));
        let all = groups(&[(Tone::Ok, 0), (Tone::Busy, 7_000), (Tone::Bad, 9_000), (Tone::Quiet, 11_000)]);
        assert_eq!(
            all.iter().map(|(group, _)| *group).collect::<Vec<_>>(),
            [Group::Finished, Group::InProgress, Group::InTrouble, Group::Stable]
        );
    }
}
