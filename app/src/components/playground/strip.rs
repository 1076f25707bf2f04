//! The strip: complete on the page of the playground's Deployment; other pages show which story plays, with a link to it.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use timeline::address::{at, below_base};

use super::controls::Controls;
use super::state::{ADDRESS, PlaygroundState};
use crate::playground::Playground;

/// The strip above the pages of the playground.
#[component]
pub fn Strip(first: Playground) -> impl IntoView {
    let state = PlaygroundState::new(first);
    let path = use_location().pathname;
    // The server renders without the base.
    let is_its_page = Memo::new(move |_| below_base(&path.read()) == below_base(&state.now.read().page));
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <Show when=move || is_its_page.get() fallback=move || view! { <Summary playground=state.now/> }>
                <div class="tale">
                    <Tale state/>
                    // A separate form, so that it works without scripts.
                    <form class="tale-next" method="post" action=at(ADDRESS) on:submit=move |event: SubmitEvent| state.submit(&event)>
                        <button class="choice" name="action" value="next-story">"Next story"</button>
                    </form>
                </div>
                <Controls state/>
            </Show>
        </section>
    }
}

/// The story in one line; the tooltip and the opened strip have all of it.
#[component]
fn Tale(state: PlaygroundState) -> impl IntoView {
    let now = state.now;
    let all = move || now.with(|now| format!("{} {}", now.sentence, now.command));
    view! {
        <p class="tale-head">
            <b class="tag">"Playground"</b>
            <span class="tale-title" title=move || now.read().title.clone()><span id="play-title">{move || now.read().title.clone()}</span></span>
            <span id="play-step">{move || now.read().step.clone()}</span>
        </p>
        <p class="tale-sentence" role="status" title=all>
            <span id="play-sentence">{move || now.read().sentence.clone()}</span>
            " "
            <code><span id="play-command">{move || now.read().command.clone()}</span></code>
        </p>
    }
}

/// The strip on pages of the playground that run no program.
#[cfg(feature = "ssr")]
#[component]
pub fn StillStrip(playground: Playground) -> impl IntoView {
    view! {
        <section id="playground" class="playground" aria-label="Playground" data-testid="playground">
            <Summary playground=Signal::stored(playground)/>
        </section>
    }
}

/// Which story plays, a description of its cluster, and a link to the story.
#[component]
fn Summary(#[prop(into)] playground: Signal<Playground>) -> impl IntoView {
    let about = move || playground.with(Playground::about);
    view! {
        <div class="tale">
            <p class="tale-head">
                <b class="tag">"Playground"</b>
                <span class="tale-title" title=move || playground.read().title.clone()>{move || playground.read().title.clone()}</span>
                <span>{move || playground.read().step.clone()}</span>
            </p>
            <p class="tale-sentence" title=about><span>{about}</span></p>
            <a class="choice take-part" href=move || playground.read().page.clone()>
                {move || if playground.read().plays_story() { "Watch live" } else { "Open web" }}
            </a>
        </div>
    }
}
