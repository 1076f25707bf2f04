//! Figures beside the verdict, of bands, strip, list and document.

use timeline::list::Group;
use timeline::model::Deployment;
use timeline::view::{self, Now, Tone, View};
use timeline::{Model, steps};

use super::Invariants;
use super::counted::{Counted, available_in_document, layer};

impl Invariants {
    /// Figures beside the verdict, of bands, strip and list are those of the document.
    pub(super) fn figures(
        &mut self,
        model: &Model,
        deployment: &Deployment,
        view: &View,
        counted: &Counted,
        clock: Now,
        found: &mut Vec<String>,
    ) {
        let counts = view.counts;
        let said = [counts.available, counts.new_available, counts.not_yet, counts.terminating, counts.desired];
        let ours = [counted.available, counted.new_available, counted.not_yet, counted.terminating, counted.desired];
        if said != ours {
            found.push(format!("counts {said:?} instead of {ours:?}"));
        }
        let bands = view.sets.iter().fold((0, 0), |(d, a), set| (d + set.desired, a + set.available));
        if bands != (counts.desired, counts.available) {
            found.push(format!("bands together {bands:?}, verdict {counts:?}"));
        }
        let strip = steps::steps(&model.counted_pods(deployment.uid), |_, state| layer(state), clock.millis);
        let strip = strip.last().map(|(_, [available, not_yet, terminating, ..])| [*available, *not_yet, *terminating]);
        let beside = [counts.available, counts.not_yet, counts.terminating].map(|pods| pods as i32);
        if strip != Some(beside) && !counted.is_reported {
            found.push(format!("the strip ends at {strip:?}, the verdict says {beside:?}"));
        }
        if let Some(summary) = view::summary(model, deployment.uid, clock) {
            let line =
                [counts.new_available, counts.available - counts.new_available, counts.not_yet, counts.terminating];
            let [new, old, on_their_way, failing, terminating] = summary.pods;
            if [new, old, on_their_way + failing, terminating] != line || summary.verdict != view.verdict {
                found
                    .push(format!("the list says {:?}, {}; the page {line:?}", summary.pods, summary.verdict.sentence));
            }
            let is_still = matches!(Group::of(&summary, clock.millis), Group::Stable | Group::Finished);
            if is_still != matches!(view.verdict.tone, Tone::Ok | Tone::Quiet) {
                found.push(format!(
                    "{:?} in the list, {:?} on the page",
                    Group::of(&summary, clock.millis),
                    view.verdict
                ));
            }
        }
        let account = self.of.entry(deployment.uid).or_default();
        let is_shared = |set: &timeline::model::ReplicaSet| set.owners.len() > 1 || set.owner != Some(deployment.uid);
        account.has_shared_sets |= model.sets_of(deployment.uid).any(is_shared);
        // A document tells a pod's first release and its last adoption: one that was released again looks adopted.
        let is_told = |pod: &&timeline::model::Pod| pod.is_out_of_rotation() && pod.adopted_millis().is_some();
        let is_reported = counted.is_reported;
        let counted = model.counted_pods(deployment.uid);
        let is_shared = account.has_shared_sets || counted.len() != model.pods_of_deployment(deployment.uid).len();
        let is_exact = !is_shared && !is_reported && !counted.iter().any(is_told);
        if self.instants.is_multiple_of(8) && is_exact {
            let available = available_in_document(model, deployment.uid);
            if available != counts.available {
                found.push(format!("{} available, {available} in the document", counts.available));
            }
        }
    }
}
