//! Commands that show more, or do what this page never does, ready to copy.

use leptos::prelude::*;
use timeline::view::Command;

use super::following::numbered;
use crate::components::copy::CopyButton;

/// The kubectl commands that show more of what the detail is about, each with a button that copies it.
#[component]
pub fn Commands(
    /// The commands and what each is for.
    #[prop(into)]
    commands: Signal<Vec<Command>>,
) -> impl IntoView {
    let line = |(_, Command { what, command }): (usize, Command)| {
        view! {
            <li>
                <span>{what}</span>
                <code>{command.clone()}</code>
                <CopyButton text=command/>
            </li>
        }
    };
    view! {
        <h3>"In a terminal"</h3>
        <ul class="commands"><For each=move || numbered(&commands.read()) key=Clone::clone children=line/></ul>
    }
}
