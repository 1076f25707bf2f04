//! What the marks of the pictures mean, read from across a room.

use leptos::prelude::*;

use crate::components::state_marks::{StateMarks, usual};

/// The legend; not there while there are no pictures.
#[component]
pub fn WallLegend(
    /// There are pictures.
    is_needed: Signal<bool>,
) -> impl IntoView {
    let class = move || if is_needed.get() { "wall-legend" } else { "unused" };
    let states = usual().map(|state| view! { <StateMarks state/> }).collect_view();
    view! { <ul class=class aria-label="Legend">{states}</ul> }
}
