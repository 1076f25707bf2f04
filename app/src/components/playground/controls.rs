//! Controls of the playground below its first line, closed by default: which story plays, and actions on the Deployment and its cluster.

use leptos::ev::SubmitEvent;
use leptos::html;
use leptos::prelude::*;
use timeline::address::at;

use super::state::{ADDRESS, PlaygroundState};
use crate::browser;
use crate::playground::Button;
use crate::scoped::ScopedFor;

/// Speeds of the cluster's time to choose from, besides its present one.
const SPEEDS: [&str; 6] = ["0.25", "0.5", "1", "2", "4", "10"];

/// Key of the browser's storage for whether the controls are open.
const REMEMBERED: &str = "rollcast.playground.open";

/// Stores whether the controls are open, if the browser allows that.
fn remember(is_open: bool) {
    browser::remember(REMEMBERED, if is_open { "1" } else { "0" });
}

/// The controls, closed until the viewer opens them; they then stay open on later pages.
#[component]
pub fn Controls(state: PlaygroundState) -> impl IntoView {
    let details = NodeRef::<html::Details>::new();
    Effect::new(move |_| {
        let Some(details) = details.get() else { return };
        if details.open() {
            remember(true); // the viewer clicked before this program started
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
            <div class="controls"><Stories state/><Buttons state/><CommandHint state/></div>
        </details>
    }
}

/// The form that plays, pauses and resumes a story.
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
                        <ScopedFor each=stories children=|(name, title)| view! { <option value=name>{title}</option> }/>
                    </select>
                </label>
                <button class="choice" name="action" value="story">"Play story"</button>
            </span>
        </form>
    }
}

/// The kubectl command of the button under the pointer, the reason of a refused action, and a list of all commands for viewers without a
/// pointer.
#[component]
fn CommandHint(state: PlaygroundState) -> impl IntoView {
    let now = state.now;
    let is_command = move || !state.explained_command.read().is_empty();
    let hint = move || {
        let words = "Each button stands for a kubectl command: point at one, or tap it, to see it. In a terminal: ";
        if is_command() { "" } else { words }
    };
    let command = move || match state.explained_command.get() {
        command if command.is_empty() => format!("export KUBECONFIG={}", now.read().kubeconfig),
        command => command,
    };
    let actions = move || now.read().buttons.iter().map(|button| button.action.clone()).collect::<Vec<_>>();
    let line = move |action: String| {
        let id = format!("play-{action}-command");
        let button = state.button(action);
        let label = button.with_untracked(|button| button.label.clone());
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
            <dl><ScopedFor each=actions children=line/></dl>
        </details>
    }
}

/// The form with the buttons that act on the Deployment, in groups.
#[component]
fn Buttons(state: PlaygroundState) -> impl IntoView {
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
            <ScopedFor each=move || groups.get() children=move |name| view! { <Group state name/> }/>
            <Speed state/>
        </form>
    }
}

/// Selection of the pod on which the buttons act. Opening a pod on the page selects it. The list does not change while the viewer chooses.
#[component]
fn Pods(state: PlaygroundState) -> impl IntoView {
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
                    <ScopedFor each=move || pods.get() children=option/>
                </select>
            </label>
        </div>
    }
}

#[component]
fn Group(state: PlaygroundState, name: String) -> impl IntoView {
    let (of, heading) = (name.clone(), name.clone());
    let actions = move || {
        let now = state.now.read();
        let of_group = now.buttons.iter().filter(|button| button.group == of);
        of_group.map(|button| button.action.clone()).collect::<Vec<_>>()
    };
    view! {
        <div class="play-group" role="group" aria-label=name>
            <span class="play-group-name" aria-hidden="true">{heading}</span>
            <ScopedFor each=actions children=move |action| view! { <DoButton state action/> }/>
        </div>
    }
}

/// A button that acts on the Deployment and shows the equivalent command, with an input field if it takes a value.
#[component]
fn DoButton(state: PlaygroundState, action: String) -> impl IntoView {
    let id = format!("play-{action}");
    let button = state.button(action.clone());
    let Button { label, field, .. } = button.get_untracked();
    let entered = StoredValue::new(field.as_ref().map(|(_, _, value)| value.clone()).unwrap_or_default());
    let explain = move || {
        let pod = untrack(|| state.pod());
        let command = button.with_untracked(|button| button.explained(&entered.get_value(), &pod));
        if !command.is_empty() {
            state.explained_command.set(command);
        }
    };
    let field = field.map(|(name, label, value)| {
        let id = format!("{id}-field");
        let enter = move |event| {
            entered.set_value(event_target_value(&event));
            explain();
        };
        view! {
            <label class="aside" for=id.clone()>{label}</label>
            <input id=id name=name type="number" min="0" max="50" value=value on:input=enter/>
        }
    });
    view! {
        <button
            class="play-button"
            id=id
            name="action"
            value=action
            title=move || button.read().command.clone()
            disabled=move || !button.read().is_possible
            on:pointerover=move |_| explain()
            on:focus=move |_| explain()
            on:click=move |_| explain()
        >
            {label}
        </button>
        {field}
    }
}

/// Returns the speeds to choose from; first the current one if the command line set another. Sorting them would add 15 KB to the page, for
/// the parser of fractions.
fn speeds(current: &str) -> Vec<String> {
    let own = (!SPEEDS.contains(&current)).then_some(current);
    own.into_iter().chain(SPEEDS).map(str::to_owned).collect()
}

/// The speed of the cluster's time, and the button that restarts. The selections start with the playground's values and then keep the
/// viewer's.
#[component]
fn Speed(state: PlaygroundState) -> impl IntoView {
    let (now, seed) = state.now.with_untracked(|now| (now.speed.clone(), now.seed.to_string()));
    let option = |speed: String| {
        let is_current = speed == now;
        view! { <option selected=is_current>{speed}</option> }
    };
    let speeds = speeds(&now).into_iter().map(option).collect_view();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_speed_can_be_chosen() {
        assert_eq!(speeds("2"), SPEEDS);
        assert_eq!(speeds("5"), ["5", "0.25", "0.5", "1", "2", "4", "10"]);
    }
}
