//! Buttons under one heading.

use leptos::prelude::*;

use super::do_button::DoButton;
use super::state::PlaygroundState;
use crate::playground::Button;

/// Buttons that belong together, below a heading.
#[component]
pub fn Group(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
    /// The heading of the group.
    name: String,
) -> impl IntoView {
    let (of, heading) = (name.clone(), name.clone());
    let buttons = move || {
        let now = state.now.read();
        now.buttons.iter().filter(|button| button.group == of).cloned().collect::<Vec<Button>>()
    };
    view! {
        <div class="play-group" role="group" aria-label=name>
            <span class="play-group-name" aria-hidden="true">{heading}</span>
            <For each=buttons key=|button| button.action.clone() children=move |first| view! { <DoButton state first/> }/>
        </div>
    }
}
