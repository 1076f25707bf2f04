//! A button that does something to the Deployment, and says which command does the same.

use leptos::prelude::*;

use super::state::PlaygroundState;
use crate::components::detail::following::following;
use crate::playground::{Button, Playground};

/// The button, with the field beside it where it has one.
#[component]
pub fn DoButton(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
    /// The button as the page was rendered; it is followed from there.
    first: Button,
) -> impl IntoView {
    let Button { action, label, field, .. } = first.clone();
    let id = format!("play-{action}");
    let name = action.clone();
    let button = following(state.now, first, move |now: &Playground| now.button(&name).cloned());
    let entered = RwSignal::new(field.as_ref().map(|(_, _, value)| value.clone()).unwrap_or_default());
    let explain = move || {
        let pod = untrack(|| state.pod());
        let command = button.with_untracked(|button| button.explained(&entered.read_untracked(), &pod));
        if !command.is_empty() {
            state.explained.set(command);
        }
    };
    let field = field.map(|(name, label, value)| {
        let id = format!("{id}-field");
        let enter = move |event| {
            entered.set(event_target_value(&event));
            explain();
        };
        view! {
            <label class="aside" for=id.clone()>{label}</label>
            <input id=id name=name type="number" min="0" max="50" value=value on:input=enter/>
        }
    });
    view! {
        <button
            class="play-button"
            id=id
            name="action"
            value=action
            title=move || button.read().command.clone()
            disabled=move || !button.read().is_possible
            on:pointerover=move |_| explain()
            on:focus=move |_| explain()
            on:click=move |_| explain()
        >
            {label}
        </button>
        {field}
    }
}
