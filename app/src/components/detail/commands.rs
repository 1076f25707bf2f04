//! Commands that show more, or do what this page never does, ready to copy.

use leptos::prelude::*;
use timeline::view::Command;

use super::following::numbered;
use super::moment::is_past;
use crate::components::copy::CopyButton;

/// The kubectl commands that show more of what the detail is about, each with a button that copies it.
#[component]
pub fn Commands(#[prop(into)] commands: Signal<Vec<Command>>) -> impl IntoView {
    let line = |(_, Command { what, command }): (usize, Command)| {
        view! {
            <li>
                <span>{what}</span>
                <code>{command.clone()}</code>
                <CopyButton text=command/>
            </li>
        }
    };
    // What changes the cluster would change today's.
    let is_past = is_past();
    let shown = move || {
        let mut shown = commands.get();
        shown.retain(|command| !is_past.get() || !command.changes_cluster());
        numbered(&shown)
    };
    view! {
        <Show when=move || !shown().is_empty()>
            <h3>"In a terminal"</h3>
            <ul class="commands"><For each=shown key=Clone::clone children=line/></ul>
        </Show>
    }
}
