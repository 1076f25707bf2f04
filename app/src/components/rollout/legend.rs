//! The legend: the meaning of every mark.

use leptos::{html, prelude::*};
use timeline::model::PodState;
use timeline::view::Hold;

use crate::components::popup::Popup;
use crate::components::state_marks::{Points, StateMarks, Swatch, usual_states};
use crate::components::tokens::Token;
use crate::score::budget::{Limit, hold_class};
use crate::score::ink::PodLook;

/// The legend: the states in one line if there is room, and all marks when it is opened.
#[component]
pub fn Legend(
    /// The checkbox that shows the pods as a table. Only the style sheet reads it, and it holds the only copy of the state: a choice made
    /// before hydration stays.
    as_table: NodeRef<html::Input>,
) -> impl IntoView {
    let state = |state: PodState| {
        view! { <li><svg viewBox="-10 -10 20 20" aria-hidden="true"><Token state/></svg>{state.label()}</li> }
    };
    view! {
        <div class="legend">
            <ul aria-label="States">{usual_states().map(state).collect_view()}</ul>
            <Popup id="legend" label="Legend"><Marks/></Popup>
            <label class="as-table">
                <input type="checkbox" id="as-table" node_ref=as_table/>
                "Pods as a table"
            </label>
        </div>
    }
}

/// All marks of the picture with their meanings.
#[component]
fn Marks() -> impl IntoView {
    let line =
        |class: &'static str, words: &'static str| view! { <li><i class=format!("sample {class}")></i>{words}</li> };
    let hold = |hold: Hold, words: &'static str| {
        view! { <li><span class=hold_class(hold)>{hold.words()}</span>{words}</li> }
    };
    view! {
        <ul class="marks-of-states" aria-label="Legend">
            {usual_states().chain([PodState::Finished]).map(|state| view! { <StateMarks state/> }).collect_view()}
            <li><Swatch look=PodLook::Outside/>"out of rotation: no ReplicaSet controls it any more"</li>
            {line(Limit::Ceiling.name(), "ceiling: replicas + maxSurge, a percentage rounded up; pods being deleted do not count")}
            {line(Limit::Floor.name(), "floor: replicas − maxUnavailable, a percentage rounded down")}
            {line("gap-sample", "not observed, or no longer kept")}
            {line("end", "a pod is gone")}
            {line("now", "now: right of it are the pods as they are")}
            {hold(Hold::Waits, "the next step waits for pods, as it should")}
            {hold(Hold::Blocked, "a fault holds up the next step")}
            <Points/>
        </ul>
    }
}
