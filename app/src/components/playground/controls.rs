//! Actions of the playground below the line, for those who open it.

use leptos::html;
use leptos::prelude::*;

use super::buttons::Buttons;
use super::means::Means;
use super::state::PlaygroundState;
use super::stories::Stories;
use crate::browser;

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
