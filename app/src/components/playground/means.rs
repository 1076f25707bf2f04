//! The command of the button that is pointed at, why something was refused, and all commands for those who cannot point.

use leptos::prelude::*;

use super::state::PlaygroundState;
use crate::components::detail::following::following;
use crate::playground::{Button, Playground};

/// The kubectl command of the button that is pointed at, and how kubectl reaches this cluster.
#[component]
pub fn Means(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let now = state.now;
    let is_command = move || !state.explained.read().is_empty();
    let hint = move || {
        let words = "Each button stands for a kubectl command: point at one, or tap it, to see it. In a terminal: ";
        if is_command() { "" } else { words }
    };
    let command = move || match state.explained.get() {
        command if command.is_empty() => format!("export KUBECONFIG={}", now.read().kubeconfig),
        command => command,
    };
    let line = move |first: Button| {
        let (action, label) = (first.action.clone(), first.label.clone());
        let id = format!("play-{action}-command");
        let button = following(now, first, move |now: &Playground| now.button(&action).cloned());
        view! { <div><dt>{label}</dt><dd><code id=id>{move || button.read().command.clone()}</code></dd></div> }
    };
    view! {
        <p class="means">
            <span id="play-means">{hint}<code>{command}</code></span>
            <span class="refused" role="status"><span id="play-refused">{move || now.read().refused.clone()}</span></span>
            <span id="play-speed">{move || now.read().speed_said()}</span>
        </p>
        <details class="all-means">
            <summary>"All commands"</summary>
            <dl><For each=move || now.read().buttons.clone() key=|button| button.action.clone() children=line/></dl>
        </details>
    }
}
