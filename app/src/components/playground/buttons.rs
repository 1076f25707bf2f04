//! Actions on the Deployment and on its cluster.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use timeline::address::at;

use super::group::Group;
use super::pods::Pods;
use super::speed::Speed;
use super::state::{ADDRESS, PlaygroundState};

/// The form with the buttons that do something to the Deployment, in groups.
#[component]
pub fn Buttons(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let groups = Memo::new(move |_| state.now.read().groups());
    view! {
        <form
            method="post"
            action=at(ADDRESS)
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
