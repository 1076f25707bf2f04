//! Tokens: one mark per state, always colour and shape. Drawn around (0, 0) with radius 8.

use leptos::prelude::*;
use timeline::phase::PodState;

/// The mark of a state.
#[component]
pub fn Token(
    /// The state.
    #[prop(into)]
    state: Signal<PodState>,
) -> impl IntoView {
    move || {
        let state = state.get();
        let ring = |dashes: &'static str| view! { <circle r="7" class="ring" stroke-dasharray=dashes/> };
        let mark = match state {
            PodState::Scheduling => ring("1.5 3").into_any(),
            PodState::Starting => view! { {ring("3 2")} <circle r="1.8" class="fill"/> }.into_any(),
            PodState::Unready => ring("none").into_any(),
            PodState::Ready => view! { {ring("none")} <path d="M0 -5a5 5 0 0 1 0 10z" class="fill"/> }.into_any(),
            PodState::Available => view! { <circle r="8" class="fill"/> }.into_any(),
            PodState::Failing => {
                view! { <rect x="-7.5" y="-7.5" width="15" height="15" rx="2" class="fill"/> <path d="M-2.8 -2.8l5.6 5.6m0 -5.6l-5.6 5.6" class="cut"/> }.into_any()
            }
            PodState::Finished => view! { {ring("none")} <path d="M-3 0l2 2.5 4 -5" class="stroke"/> }.into_any(),
            PodState::Terminating => view! { <circle r="5.5" class="ring"/> <path d="M-3 0h6" class="stroke"/> }.into_any(),
            PodState::Gone => view! { <circle r="0"/> }.into_any(),
        };
        view! { <g class=format!("token {}", state.name())>{mark}</g> }
    }
}
