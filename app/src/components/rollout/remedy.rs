//! The command that undoes what goes wrong, ready to copy: Rollcast itself changes nothing.

use leptos::prelude::*;

use crate::components::copy::CopyButton;
use crate::rollout::board::Board;

/// The command that undoes a failing rollout or shows why it fails, ready to copy; nothing where there is none.
#[component]
pub fn Remedy(
    /// The state of the Deployment's page, which this follows.
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
