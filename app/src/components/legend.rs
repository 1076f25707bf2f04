//! The legend: what each mark means.

use leptos::prelude::*;
use timeline::phase::PodState;

use super::token::{Token, TokenDrawings};

const STATES: [PodState; 7] = [
    PodState::Scheduling,
    PodState::Starting,
    PodState::Unready,
    PodState::Ready,
    PodState::Available,
    PodState::Failing,
    PodState::Terminating,
];

/// The legend.
#[component]
pub fn Legend() -> impl IntoView {
    let entry = |state: PodState| {
        view! { <li><svg viewBox="-10 -10 20 20" aria-hidden="true"><Token state=Signal::stored(state)/></svg>{state.label()}</li> }
    };
    view! {
        <TokenDrawings/>
        <ul class="legend" aria-label="Legend">
            {STATES.map(entry).collect_view()}
            <li>
                <svg viewBox="-10 -10 20 20" aria-hidden="true"><rect x="-9" y="-6" width="18" height="12" class="out"/></svg>
                "out of rotation"
            </li>
        </ul>
    }
}
