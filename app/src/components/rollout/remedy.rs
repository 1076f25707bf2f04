//! What comes next, and the command that undoes what goes wrong: Rollcast itself changes nothing.

use leptos::prelude::*;

use crate::components::copy::CopyButton;
use crate::rollout::board::Board;
use crate::zone::Zone;

/// What comes next, and the command.
#[component]
pub fn Remedy(
    /// What it follows.
    board: Board,
) -> impl IntoView {
    let zone = Zone::of_page();
    let next = move || zone.said(&board.said(|view| view.next.clone()), board.now_millis());
    let remedy = Memo::new(move |_| board.said(|view| view.remedy.clone()));
    let command = move || {
        remedy.get().map(|remedy| {
            view! {
                <p class="remedy" data-testid="remedy">
                    <span>{remedy.what}": "</span><code>{remedy.command.clone()}</code>" "<CopyButton text=remedy.command/>
                </p>
            }
        })
    };
    view! {
        <p class="next" data-testid="next">{next}</p>
        {command}
    }
}
