//! The ribbon: a band of so many pods that none can be seen alone. Counts per state over time, stacked, in the colours and
//! patterns of the bars.

use std::fmt::Write;

use timeline::model::Pod;
use timeline::phase::PodState;

use super::{Frame, Placed, steps};
use crate::rows::{Plan, Row};

/// The layers, the lowest first.
const LAYERS: [(&str, PodState); 8] = [
    ("available", PodState::Available),
    ("ready", PodState::Ready),
    ("unready", PodState::Unready),
    ("starting", PodState::Starting),
    ("scheduling", PodState::Scheduling),
    ("failing", PodState::Failing),
    ("terminating", PodState::Terminating),
    ("finished", PodState::Finished),
];

fn layer(state: PodState) -> Option<usize> {
    LAYERS.iter().position(|(_, known)| *known == state)
}

/// The ribbon of one band, in a row of its own beside the band's ground.
pub(super) fn plan<'m>(one: &Placed, pods: &[&Pod], frame: Frame) -> Plan<'m> {
    let steps = steps::steps(pods, layer, frame);
    let most = steps.iter().map(|(_, counts)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1);
    let bottom = one.place.top + one.place.height - (one.place.first - one.place.top);
    let unit = (bottom - one.place.first) / f64::from(most);
    let y = |pods: f64| bottom - pods * unit;
    let mut inside = String::new();
    for (index, (name, _)) in LAYERS.into_iter().enumerate() {
        if steps.iter().any(|(_, counts)| counts.get(index).is_some_and(|count| *count > 0)) {
            let _ = write!(inside, "<path class=\"bar {name}\" d=\"{}\"/>", steps::area(&steps, index, frame, &y));
        }
    }
    let attributes = vec![("class", "pod ribbon".to_owned()), ("data-testid", "ribbon".to_owned())];
    Plan::made(!super::band_key(&one.band), Row { attributes, style: String::new(), inside })
}
