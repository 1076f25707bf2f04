//! Tokens: one mark for each state, by colour and shape. Each is drawn once in a document, around (0, 0) with radius 8, and referenced by
//! id.

use leptos::prelude::*;
use timeline::model::PodState;

use crate::score::ink::{DOT, Pattern};

/// The drawings, once per document. Style sheets and pages refer to them by id.
#[component]
pub fn Drawings() -> impl IntoView {
    view! {
        <svg class="drawings" aria-hidden="true">
            <defs>
                {PodState::ALL.map(|state| view! { <g id=format!("token-{}", state.name())>{shape(state)}</g> }).into_iter().collect_view()}
                {Pattern::ALL.map(|pattern| view! { <Tile pattern/> }).into_iter().collect_view()}
            </defs>
        </svg>
    }
}

/// Renders the mark of a state. A deleted pod has none.
fn shape(state: PodState) -> AnyView {
    let ring = |radius: &'static str, dashes: Option<&'static str>| {
        view! { <circle r=radius class="token-ring" stroke-dasharray=dashes></circle> }
    };
    let inside = |class: &'static str, d: &'static str| view! { <path class=class d=d></path> };
    match state {
        PodState::Scheduling => ring("7", Some("1.5 3")).into_any(),
        PodState::Starting => view! { {ring("7", Some("3 2"))}<circle r="1.8" class="token-fill"></circle> }.into_any(),
        PodState::Unready => ring("7", None).into_any(),
        PodState::Ready => (ring("7", None), inside("token-fill", "M0 -5a5 5 0 0 1 0 10z")).into_any(),
        PodState::Available => view! { <circle r="8" class="token-fill"></circle> }.into_any(),
        PodState::Failing => (
            view! { <rect x="-7.5" y="-7.5" width="15" height="15" rx="2" class="token-fill"></rect> },
            inside("token-cut", "M-2.8 -2.8l5.6 5.6m0 -5.6l-5.6 5.6"),
        )
            .into_any(),
        PodState::Finished => (ring("7", None), inside("token-line", "M-3 0l2 2.5 4 -5")).into_any(),
        PodState::Terminating => (ring("5.5", None), inside("token-line", "M-3 0h6")).into_any(),
        PodState::Gone => ().into_any(),
    }
}

/// A pattern in its own coordinates; pictures rotate and scale it.
#[component]
fn Tile(pattern: &'static Pattern) -> impl IntoView {
    let Pattern { name, colour, degrees, side, ground, stripe } = *pattern;
    let (colour, middle) = (colour.var(), side / 2.0);
    let dot = (stripe <= 0.0).then(|| {
        view! { <circle cx=middle cy=middle r=DOT fill=colour.clone()></circle> }
    });
    view! {
        <pattern id=format!("tile-{name}") width=side height=side patternUnits="userSpaceOnUse" patternTransform=format!("rotate({degrees})")>
            <rect width=side height=side fill=colour.clone() fill-opacity=ground></rect>
            <rect width=stripe height=side fill=colour></rect>
            {dot}
        </pattern>
    }
}

/// The token of a state, drawn around (0, 0).
#[component]
pub(crate) fn Token(#[prop(into)] state: Signal<PodState>) -> impl IntoView {
    view! {
        <g class=move || format!("token {}", state.get().name())>
            <use href=move || format!("#token-{}", state.get().name())></use>
        </g>
    }
}
