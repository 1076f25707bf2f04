//! Legend of the marks in the pictures, to be read from across a room.

use leptos::prelude::*;

use crate::components::state_marks::{Points, StateMarks, usual};
use crate::components::swatch::Swatch;
use crate::score::budget::Limit;
use crate::score::ink::PodLook;

/// The legend; not there while there are no pictures.
#[component]
pub fn WallLegend(
    /// True while there are pictures to explain.
    is_needed: Signal<bool>,
) -> impl IntoView {
    let class = move || if is_needed.get() { "wall-legend" } else { "unused" };
    let states = usual().map(|state| view! { <StateMarks state/> }).collect_view();
    view! {
        <ul class=class aria-label="Legend">
            {states}
            <li><Swatch look=PodLook::Outside/>"out of rotation"</li>
            <li><i class=format!("sample {}", Limit::Ceiling.name())></i>"ceiling (replicas + maxSurge)"</li>
            <li><i class=format!("sample {}", Limit::Floor.name())></i>"floor (replicas − maxUnavailable)"</li>
            <Points/>
        </ul>
    }
}
