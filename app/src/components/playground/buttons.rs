//! What can be done to the Deployment and to its cluster.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;

use super::group::Group;
use super::pods::Pods;
use super::speed::Speed;
use super::state::{ADDRESS, PlaygroundState};

/// The form with all its buttons.
#[component]
pub fn Buttons(
    /// The playground.
    state: PlaygroundState,
) -> impl IntoView {
    let groups = Memo::new(move |_| state.now.read().groups());
    view! {
        <form
            method="post"
            action=ADDRESS
            class="play-buttons"
            aria-label="Do it yourself"
            on:submit=move |event: SubmitEvent| state.submit(&event)
        >
            <Pods state/>
            <For each=move || groups.get() key=Clone::clone children=move |name| view! { <Group state name/> }/>
            <Speed state/>
        </form>
    }
}
