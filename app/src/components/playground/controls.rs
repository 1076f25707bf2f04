//! Actions of the playground below the line, for those who open it.

use leptos::ev::SubmitEvent;
use leptos::html;
use leptos::prelude::*;
use timeline::address::at;

use super::buttons::Buttons;
use super::state::{ADDRESS, PlaygroundState};
use crate::browser;
use crate::components::detail::following::following;
use crate::playground::{Button, Playground};

/// Where the browser remembers whether the strip is open.
const REMEMBERED: &str = "rollcast.playground.open";

/// Remembers whether the strip is open, where the browser allows that.
fn remember(is_open: bool) {
    browser::remember(REMEMBERED, if is_open { "1" } else { "0" });
}

/// The controls, closed until the viewer opens them; then they are open on the next page, too.
#[component]
pub fn Controls(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let details = NodeRef::<html::Details>::new();
    Effect::new(move |_| {
        let Some(details) = details.get() else { return };
        if details.open() {
            remember(true); // the viewer was faster than this program
        } else if browser::remembered(REMEMBERED).as_deref() == Some("1") {
            details.set_open(true);
        }
    });
    let toggled = move |_| {
        if let Some(details) = details.get_untracked() {
            remember(details.open());
        }
    };
    view! {
        <details id="play-more" data-testid="playground-more" node_ref=details on:toggle=toggled>
            <summary class="choice take-part">
                <span class="when-closed">"Take part"</span><span class="when-open">"Close"</span>
            </summary>
            <div class="controls"><Stories state/><Buttons state/><Means state/></div>
        </details>
    }
}

/// The form that plays a story, and lets it go on or stand still.
#[component]
fn Stories(state: PlaygroundState) -> impl IntoView {
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

/// The kubectl command of the button that is pointed at, why something was refused, and all commands for those who cannot point.
#[component]
fn Means(state: PlaygroundState) -> impl IntoView {
    let now = state.now;
    let is_command = move || !state.explained.read().is_empty();
    let hint = move || {
        let words = "Each button stands for a kubectl command: point at one, or tap it, to see it. In a terminal: ";
        if is_command() { "" } else { words }
    };
    let command = move || match state.explained.get() {
        command if command.is_empty() => format!("export KUBECONFIG={}", now.read().kubeconfig),
        command => command,
    };
    let line = move |first: Button| {
        let (action, label) = (first.action.clone(), first.label.clone());
        let id = format!("play-{action}-command");
        let button = following(now, first, move |now: &Playground| now.button(&action).cloned());
        view! { <div><dt>{label}</dt><dd><code id=id>{move || button.read().command.clone()}</code></dd></div> }
    };
    view! {
        <p class="means">
            <span id="play-means">{hint}<code>{command}</code></span>
            <span class="refused" role="status"><span id="play-refused">{move || now.read().refused.clone()}</span></span>
            <span id="play-speed">{move || now.read().speed_said()}</span>
        </p>
        <details class="all-means">
            <summary>"All commands"</summary>
            <dl><For each=move || now.read().buttons.clone() key=|button| button.action.clone() children=line/></dl>
        </details>
    }
}
