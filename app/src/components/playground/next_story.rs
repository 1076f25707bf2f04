//! On to the next story.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use timeline::address::at;

use super::state::{ADDRESS, PlaygroundState};

/// The button, a form of its own, so that it works without scripts.
#[component]
pub fn NextStory(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    view! {
        <form class="tale-next" method="post" action=at(ADDRESS) on:submit=move |event: SubmitEvent| state.submit(&event)>
            <button class="choice" name="action" value="next-story">"Next story"</button>
        </form>
    }
}
