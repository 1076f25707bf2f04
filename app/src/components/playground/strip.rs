//! The strip. On the page of the playground's Deployment all of it, on others the story alone.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::controls::Controls;
use super::next_story::NextStory;
use super::state::PlaygroundState;
use super::take_part::TakePart;
use super::tale::Tale;
use crate::playground::Playground;

/// The strip above the pages of the playground.
#[component]
pub fn Strip(
    /// How the playground was when the document was rendered.
    first: Playground,
) -> impl IntoView {
    let state = PlaygroundState::new(first);
    let path = use_location().pathname;
    let is_its_page = Memo::new(move |_| path.read().as_str() == state.now.read().page);
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <div class="tale">
                <Tale state/>
                <Show when=move || is_its_page.get() fallback=move || view! { <TakePart state/> }><NextStory state/></Show>
            </div>
            <Show when=move || is_its_page.get()><Controls state/></Show>
        </section>
    }
}
