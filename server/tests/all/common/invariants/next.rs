//! What is said to come next.

use timeline::Millis;
use timeline::budget::{Next, Sums};
use timeline::view::{Assessment, Hold, View};

use super::controller::{May, may};
use super::{Invariants, SETTLING_MILLIS};

impl Invariants {
    /// What is said to come is what the controller may do by these counts.
    pub(super) fn next(&mut self, looked: &Assessment<'_>, view: &View, now: Millis, found: &mut Vec<String>) {
        let may = may(&looked.deployment.now.spec, &looked.sums);
        if !may.allows(looked.next) {
            found.push(format!(
                "said to come: {:?}; by the controller's arithmetic: {may:?}, {:?}",
                looked.next, looked.sums
            ));
        }
        if view.hold == Hold::Waits && !matches!(may, May::Nothing | May::Create) {
            found.push(format!("waits, although {may:?}"));
        }
        let next = &view.next;
        let is_said = |words: &str| next.contains(words);
        let is_wrong = match looked.next {
            Next::AddNew(pods) => is_said("(floor") || is_said("can be added") && !is_said(&format!("{pods} new pod")),
            Next::RemoveOld { unhealthy, healthy } => {
                is_said("an old one can be removed")
                    || is_said("(floor") && !is_said(&format!("{} old pod", unhealthy + healthy))
            }
            Next::WaitForNew(_) => {
                is_said("old pod can be removed") || is_said("old pods can be removed") || is_said("can be added")
            }
            _ => is_said("(floor") || is_said("can be added"),
        };
        if is_wrong || next.is_empty() {
            found.push(format!("{next:?} with {:?}", looked.next));
        }
        let account = self.of.entry(looked.deployment.uid).or_default();
        // What is said of pods comes a moment before the ReplicaSets report it; the controller goes by their reports.
        let reported =
            timeline::budget::next(&looked.deployment.now.spec, &Sums::from_sets(looked.model, looked.deployment));
        for next in [looked.next, reported] {
            match account.said.iter_mut().find(|(_, said)| *said == next) {
                Some((until, _)) => *until = now,
                None => account.said.push_back((now, next)),
            }
        }
        // The last thing that was said holds until something else is said.
        let latest = account.said.iter().map(|(until, _)| *until).max().unwrap_or(now);
        account.said.retain(|(until, _)| *until == latest || now - until <= SETTLING_MILLIS);
    }
}
