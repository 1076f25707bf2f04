//! Marks of states and of the axis, as legends explain them, and the states that they explain.

use leptos::prelude::*;
use timeline::model::PodState;
use timeline::story::LineKind;

use crate::components::rollout::bars::{dashes, filling};
use crate::components::tokens::Token;
use crate::score::ink::{Ink, PodLook};

/// Returns the states in the order of a pod's life, without the one that pods of a Deployment rarely have. A deleted pod has no mark.
pub fn usual_states() -> impl Iterator<Item = PodState> {
    PodState::ALL.into_iter().filter(|state| !matches!(state, PodState::Finished | PodState::Gone))
}

/// A state: its token, a piece of its bar, its name.
#[component]
pub fn StateMarks(state: PodState) -> impl IntoView {
    view! {
        <li>
            <svg viewBox="-10 -10 20 20" aria-hidden="true"><Token state/></svg>
            <Swatch look=PodLook::In(state)/>
            {state.label()}
        </li>
    }
}

/// A piece of a bar, as the picture draws it, for legends.
#[component]
pub fn Swatch(look: PodLook) -> impl IntoView {
    let Ink { colour, roomy, edge, .. } = look.ink();
    let (fill, opacity) = filling(colour, roomy, "tile-");
    let (stroke, dashes) = (edge.map(|_| colour.var()), edge.and_then(dashes));
    view! {
        <svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">
            <rect x="1" y="1" width="24" height="10" fill=fill fill-opacity=opacity stroke=stroke stroke-dasharray=dashes></rect>
        </svg>
    }
}

#[component]
pub fn Points() -> impl IntoView {
    let point = |(kind, words): (LineKind, &'static str)| {
        view! { <li><i class=format!("sample point {}", kind.name())></i>{words}</li> }
    };
    let points = [
        (LineKind::Revision, "a revision starts (the same colours in the story)"),
        (LineKind::Done, "a rollout is complete"),
        (LineKind::Outside, "something from outside the rollout, or a Warning Event"),
        (LineKind::Bad, "something went wrong"),
    ];
    points.map(point).collect_view()
}
