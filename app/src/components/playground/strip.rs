//! The strip. On the page of the playground's Deployment all of it, on others the story alone.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::controls::Controls;
use super::next_story::NextStory;
use super::state::PlaygroundState;
use super::tale::Tale;
use crate::playground::Playground;

/// What leads from other pages to the one that the story is about.
const TO_STORY: &str = "Go to the story";

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
                <Show when=move || is_its_page.get() fallback=move || view! { <a class="choice take-part" href=move || state.now.read().page.clone()>{TO_STORY}</a> }><NextStory state/></Show>
            </div>
            <Show when=move || is_its_page.get()><Controls state/></Show>
        </section>
    }
}

/// The strip above the playground's pages in which no program runs: which story plays, and the way to it.
#[cfg(feature = "ssr")]
#[component]
pub fn StillStrip(
    /// How the playground was when the document was rendered.
    playground: Playground,
) -> impl IntoView {
    let Playground { title, sentence, page, .. } = playground;
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <div class="tale">
                <p class="tale-head"><b class="tag">"Playground"</b><span class="tale-title">{title}</span></p>
                <p class="tale-sentence"><span>{sentence}</span></p>
                <a class="choice take-part" href=page>{TO_STORY}</a>
            </div>
        </section>
    }
}
