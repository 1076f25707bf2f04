//! The command that undoes what goes wrong, ready to copy: Rollcast itself changes nothing.

use leptos::prelude::*;

use crate::components::copy::CopyButton;
use crate::rollout::board::Board;

/// The command, where there is one.
#[component]
pub fn Remedy(
    /// What it follows.
    board: Board,
) -> impl IntoView {
    let remedy = Memo::new(move |_| board.said(|view| view.remedy.clone()));
    move || {
        remedy.get().map(|remedy| {
            view! {
                <p class="remedy" data-testid="remedy">
                    <span>{remedy.what}": "</span><code>{remedy.command.clone()}</code>" "<CopyButton text=remedy.command/>
                </p>
            }
        })
    }
}
