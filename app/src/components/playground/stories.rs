//! Which story is told, and whether it goes on.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use timeline::address::at;

use super::state::{ADDRESS, PlaygroundState};

/// The form that plays a story.
#[component]
pub fn Stories(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let now = state.now;
    let going = move || if now.read().is_playing { "Stop the story" } else { "Resume story" };
    let stories = move || now.read().stories.clone();
    view! {
        <form class="tale-choice" method="post" action=at(ADDRESS) on:submit=move |event: SubmitEvent| state.submit(&event)>
            <button class="choice" name="action" value="pause-story"><span id="play-going">{going}</span></button>
            <span class="tale-pick">
                <label>
                    "Story "
                    <select name="story">
                        <For each=stories key=Clone::clone children=|(name, title)| view! { <option value=name>{title}</option> }/>
                    </select>
                </label>
                <button class="choice" name="action" value="story">"Play story"</button>
            </span>
        </form>
    }
}
