//! The way from other pages to where things can be done.

use leptos::prelude::*;

use super::controls;
use super::state::PlaygroundState;

/// The link. Who takes part wants the buttons: there the strip is open.
#[component]
pub fn TakePart(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    view! {
        <a class="choice take-part" href=move || format!("{}#{}", state.now.read().page, controls::ID)>"Take part"</a>
    }
}
