//! What the marks of the pictures mean, read from across a room.

use leptos::prelude::*;
use timeline::phase::PodState;

use crate::components::rollout::legend::Swatch;
use crate::components::tokens::Token;
use crate::score::ink::Look;

/// States in the order of a pod's life.
const STATES: [PodState; 7] = [
    PodState::Scheduling,
    PodState::Starting,
    PodState::Unready,
    PodState::Ready,
    PodState::Available,
    PodState::Failing,
    PodState::Terminating,
];

/// The legend; not there while there are no pictures.
#[component]
pub fn WallLegend(
    /// There are pictures.
    is_needed: Signal<bool>,
) -> impl IntoView {
    let entry = |state: PodState| {
        view! { <li><svg viewBox="-10 -10 20 20" aria-hidden="true"><Token state/></svg><Swatch look=Look::In(state)/>{state.label()}</li> }
    };
    let class = move || if is_needed.get() { "wall-legend" } else { "unused" };
    view! { <ul class=class aria-label="Legend">{STATES.map(entry).collect_view()}</ul> }
}
