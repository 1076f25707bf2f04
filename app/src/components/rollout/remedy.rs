//! The command that undoes what goes wrong, ready to copy: Rollcast itself changes nothing.

use leptos::prelude::*;
use timeline::view::Command;

use crate::components::copy::CopyButton;

/// The command that undoes a failing rollout or shows why it fails, ready to copy; nothing where there is none.
#[component]
pub fn Remedy(
    /// The command; `None` where there is none.
    remedy: Signal<Option<Command>>,
) -> impl IntoView {
    let remedy = Memo::new(move |_| remedy.get());
    move || {
        remedy.get().map(|remedy| {
            view! {
                <p class="remedy" data-testid="remedy">
                    <span>{remedy.what}": "</span><code title=remedy.command.clone()>{remedy.command.clone()}</code>" "<CopyButton text=remedy.command/>
                </p>
            }
        })
    }
}
