//! Speed of time in the cluster, and the button that starts again.

use leptos::prelude::*;

use super::state::PlaygroundState;

/// The speeds of the cluster's time that can be chosen.
const SPEEDS: [&str; 6] = ["0.25", "0.5", "1", "2", "4", "10"];

/// The choices. They begin as the playground is, and stay what the viewer makes them.
#[component]
pub fn Speed(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let (now, seed) = state.now.with_untracked(|now| (now.speed.clone(), now.seed.to_string()));
    let speeds = SPEEDS.map(|speed| view! { <option selected=speed == now>{speed}</option> });
    view! {
        <div class="play-group" role="group" aria-label="This cluster">
            <button class="play-button" name="action" value="speed" title="Lets time pass at this speed">"Speed"</button>
            <label class="aside" for="play-speeds">"Times as fast"</label>
            <select name="speed" id="play-speeds">{speeds}</select>
            <button class="play-button" name="action" value="reset" title="A new cluster; this one is gone">"Begin again"</button>
            <label>"seed " <input name="seed" type="number" min="0" value=seed/></label>
        </div>
    }
}
