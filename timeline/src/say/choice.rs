//! Why a pod went and not another one, in words.

use crate::rules::removal_order::Criterion;

/// Says why a pod was removed and not another one, from [`crate::rules::removal_order::Choices::criteria`].
pub fn choice(criteria: &[Criterion]) -> String {
    if criteria == [Criterion::Chance] {
        return "nothing distinguished it from those that stayed; then the lower UID or chance decides".to_owned();
    }
    let said: Vec<String> = criteria.iter().map(|criterion| said(*criterion)).collect();
    said.join("; ")
}

fn said(criterion: Criterion) -> String {
    let words = match criterion {
        Criterion::NoNode => "it had no node yet",
        Criterion::NotRunning => "it was not running yet",
        Criterion::NotReady => "it was not ready",
        Criterion::Cheaper => "its pod-deletion-cost was lower",
        Criterion::Crowded(pods) => {
            return format!("{pods} pods of this Deployment were on its node, more than on others");
        }
        Criterion::ReadyLater => "it had been ready for a shorter time",
        Criterion::Restarts => "its containers had restarted more often",
        Criterion::Younger => "it was younger",
        Criterion::Chance => "nothing distinguished it from the rest; then the lower UID or chance decides",
    };
    words.to_owned()
}
