//! The way from other pages to where things can be done.

use leptos::prelude::*;

use super::controls;
use super::state::PlaygroundState;

/// The link. Who takes part wants the buttons: there the strip is open.
#[component]
pub fn TakePart(
    /// The playground.
    state: PlaygroundState,
) -> impl IntoView {
    view! {
        <a class="choice take-part" href=move || state.now.read().page.clone() on:click=move |_| controls::remember(true)>"Take part"</a>
    }
}
