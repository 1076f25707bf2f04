//! The story in one line; what does not fit is in its title, and in the opened strip.

use leptos::prelude::*;

use super::state::PlaygroundState;

/// The line that tells what the story does at present.
#[component]
pub fn Tale(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let now = state.now;
    let all = move || now.with(|now| format!("{} {}", now.sentence, now.command));
    view! {
        <p class="tale-head">
            <b class="tag">"Playground"</b>
            <span class="tale-title" title=move || now.read().title.clone()><span id="play-title">{move || now.read().title.clone()}</span></span>
            <span id="play-step">{move || now.read().step.clone()}</span>
        </p>
        <p class="tale-sentence" role="status" title=all>
            <span id="play-sentence">{move || now.read().sentence.clone()}</span>
            " "
            <code><span id="play-command">{move || now.read().command.clone()}</span></code>
        </p>
    }
}
