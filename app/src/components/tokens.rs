//! Tokens: one mark per state, always colour and shape. Each is drawn once per document, around (0, 0) with radius 8, and used by
//! name.

use leptos::prelude::*;
use timeline::phase::PodState;

use crate::score::ink::{DOT, Pattern};

/// The drawings, once per document. Style sheets and pages refer to them by id.
#[component]
pub fn Drawings() -> impl IntoView {
    view! {
        <svg class="drawings" aria-hidden="true">
            <defs>
                <g id="token-scheduling"><circle r="7" class="token-ring" stroke-dasharray="1.5 3"/></g>
                <g id="token-starting"><circle r="7" class="token-ring" stroke-dasharray="3 2"/><circle r="1.8" class="token-fill"/></g>
                <g id="token-unready"><circle r="7" class="token-ring"/></g>
                <g id="token-ready"><circle r="7" class="token-ring"/><path d="M0 -5a5 5 0 0 1 0 10z" class="token-fill"/></g>
                <g id="token-available"><circle r="8" class="token-fill"/></g>
                <g id="token-failing">
                    <rect x="-7.5" y="-7.5" width="15" height="15" rx="2" class="token-fill"/>
                    <path d="M-2.8 -2.8l5.6 5.6m0 -5.6l-5.6 5.6" class="token-cut"/>
                </g>
                <g id="token-finished"><circle r="7" class="token-ring"/><path d="M-3 0l2 2.5 4 -5" class="token-line"/></g>
                <g id="token-terminating"><circle r="5.5" class="token-ring"/><path d="M-3 0h6" class="token-line"/></g>
                {Pattern::ALL.map(|pattern| view! { <Tile pattern/> }).into_iter().collect_view()}
            </defs>
        </svg>
    }
}

/// A pattern as it is on paper; pictures turn and stretch it.
#[component]
fn Tile(
    /// Which one.
    pattern: Pattern,
) -> impl IntoView {
    let (tile, colour) = (pattern.tile(), format!("var({})", pattern.colour().token()));
    let (side, middle) = (tile.side, tile.side / 2.0);
    let dot = (tile.stripe <= 0.0).then(|| {
        view! { <circle cx=middle cy=middle r=DOT fill=colour.clone()></circle> }
    });
    view! {
        <pattern id=format!("tile-{}", pattern.name()) width=side height=side patternUnits="userSpaceOnUse" patternTransform=format!("rotate({})", pattern.degrees())>
            <rect width=side height=side fill=colour.clone() fill-opacity=tile.ground></rect>
            <rect width=tile.stripe height=side fill=colour></rect>
            {dot}
        </pattern>
    }
}

/// The mark of a state, around (0, 0).
#[component]
pub fn Token(
    /// The state.
    #[prop(into)]
    state: Signal<PodState>,
) -> impl IntoView {
    view! {
        <g class=move || format!("token {}", state.get().name())>
            <use href=move || format!("#token-{}", state.get().name())></use>
        </g>
    }
}
