//! Which pod the buttons mean.

use leptos::prelude::*;

use super::state::PlaygroundState;

/// The choice. A pod that is opened on the page is chosen by that. While the viewer chooses, the pods stay as they are.
#[component]
pub fn Pods(
    /// The state of the playground, which all of the strip shares.
    state: PlaygroundState,
) -> impl IntoView {
    let is_choosing = RwSignal::new(false);
    let pods = Memo::new(move |known: Option<&Vec<String>>| match known {
        Some(known) if is_choosing.get() => known.clone(),
        _ => state.now.read().pods.clone(),
    });
    let meant = Memo::new(move |_| state.pod());
    let option = move |pod: String| {
        let name = pod.clone();
        view! { <option prop:selected=move || *meant.read() == name>{pod}</option> }
    };
    view! {
        <div class="play-group" role="group" aria-label="Which pod">
            <label>
                "Pod "
                <select
                    name="pod"
                    id="play-pods"
                    on:change=move |event| state.choose(event_target_value(&event))
                    on:focus=move |_| is_choosing.set(true)
                    on:blur=move |_| is_choosing.set(false)
                >
                    <option value="" prop:selected=move || meant.read().is_empty()>"any"</option>
                    <For each=move || pods.get() key=Clone::clone children=option/>
                </select>
            </label>
        </div>
    }
}
