//! kubectl commands that show more, or do what this page never does, ready to copy.

use leptos::prelude::*;
use timeline::view::Command;

use super::following::lines;
use super::moment::is_past;
use crate::components::copy::CopyButton;

/// Renders a command so that lines do not break at its hyphens unless a word is too long for the line.
fn unbroken_words(command: &str) -> Vec<AnyView> {
    let word = |(index, word): (usize, &str)| {
        let space = (index > 0).then_some(" ");
        view! { {space}<span class="word">{word.to_owned()}</span> }.into_any()
    };
    command.split(' ').enumerate().map(word).collect()
}

/// The kubectl commands that show more about the subject of the detail, each with a copy button.
#[component]
pub fn Commands(#[prop(into)] commands: Signal<Vec<Command>>) -> impl IntoView {
    let line = |Command { what, command, .. }: Command| {
        view! {
            <li>
                <span>{what}</span>
                <code>{unbroken_words(&command)}</code>
                <CopyButton text=command/>
            </li>
        }
    };
    // A command that changes the cluster would change its present state, not the past one that is shown.
    let is_past = is_past();
    let shown = move || {
        let mut shown = commands.get();
        shown.retain(|command| !is_past.get() || !command.changes_cluster);
        shown
    };
    view! {
        <Show when=move || !shown().is_empty()>
            <h3>"In a terminal"</h3>
            <ul class="commands">{lines(shown, line)}</ul>
        </Show>
    }
}
