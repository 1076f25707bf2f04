//! Everything about one pod.

use leptos::prelude::*;
use timeline::fact::ConditionStatus;
use timeline::model::PodState;
use timeline::words::{capitalized, duration};
use timeline::{Millis, Workload};

use super::commands::Commands;
use super::facts::Facts;
use super::following::lines;
use super::frame::Frame;
use super::moment::{Moment, present};
use crate::components::tokens::Token;
use crate::detail::PodDetail;
use crate::detail::history::at_least;
use crate::detail::pod::{ConditionDetail, ContainerDetail, Step, started_in_millis};
use crate::scoped::ScopedFor;
use crate::zone::Zone;

/// Durations are shown to a tenth of a second, and a shorter one would be shown as 0.
const SHORTEST_MILLIS: Millis = 100;

#[component]
pub fn PodView(workload: StoredValue<Workload>, pod: Memo<Box<PodDetail>>) -> impl IntoView {
    let zone = Zone::of_page();
    let now_millis = present(move || pod.read().now_millis);
    let state = move || {
        let PodDetail { state, since_millis, is_older, now_millis: at_millis, .. } = **pod.read();
        match state {
            PodState::Gone => format!("Gone since {}.", zone.dated(since_millis, now_millis.get())),
            state => {
                let (label, lasted) = (capitalized(state.label().to_owned()), duration(at_millis - since_millis));
                format!("{label} for {}{lasted}.", at_least(is_older))
            }
        }
    };
    view! {
        <Frame workload test_id="pod-detail" title=move || pod.read().name.clone()>
            <p class="state">
                // A deleted pod has no token.
                <Show when=move || pod.read().state != PodState::Gone>
                    <svg viewBox="-10 -10 20 20" width="16" height="16" aria-hidden="true"><Token state=move || pod.read().state/></svg>
                    " "
                </Show>
                {state}
            </p>
            <p class="why">{move || pod.read().why.clone()}</p>
            <Facts workload now_millis facts=Signal::derive(move || pod.read().facts.clone())/>
            <Start pod now_millis/>
            <Containers pod/>
            <Conditions pod/>
            <History workload pod now_millis/>
            <Commands commands=move || pod.read().commands.clone()/>
        </Frame>
    }
}

/// Duration of each step from the pod's creation to being available. Renders nothing before the first step.
#[component]
fn Start(pod: Memo<Box<PodDetail>>, now_millis: Signal<Millis>) -> impl IntoView {
    let zone = Zone::of_page();
    let line = move |Step { name, at_millis, after_millis }: Step| {
        let is_at_once = after_millis < SHORTEST_MILLIS;
        let after = if is_at_once { "at once".to_owned() } else { format!("after {}", duration(after_millis)) };
        view! {
            <tr><td>{name}</td><td>{move || zone.dated(at_millis, now_millis.get())}</td><td>{after}</td></tr>
        }
    };
    view! {
        <Show when=move || !pod.read().start.is_empty()>
            <h3>"Startup"{move || started_in_millis(&pod.read().start).map(|took| ": ".to_owned() + &duration(took))}</h3>
            <table><tbody><ScopedFor each=move || pod.read().start.clone() children=line/></tbody></table>
        </Show>
    }
}

/// The containers of a pod: state, restarts and how the last run ended.
#[component]
fn Containers(pod: Memo<Box<PodDetail>>) -> impl IntoView {
    let line = |of: ContainerDetail| {
        view! {
            <tr><td>{of.name}" "<span class="muted">{of.role.label()}</span></td><td>{of.state}</td><td>{of.restarts}</td><td>{of.last_end}</td></tr>
        }
    };
    view! {
        <h3>"Containers"</h3>
        <table class="containers">
            <thead><tr><th>"Name"</th><th>"State"</th><th>"Restarts"</th><th>"Last exit code"</th></tr></thead>
            <tbody>{lines(move || pod.read().containers.clone(), line)}</tbody>
        </table>
    }
}

/// The conditions. Those that are not true are listed apart from those that are, such as `DisruptionTarget` or a readiness gate.
#[component]
fn Conditions(pod: Memo<Box<PodDetail>>) -> impl IntoView {
    let group = move |heading: &'static str, is_true: bool| {
        let conditions = Memo::new(move |_| {
            let pod = pod.read();
            let of_group = |condition: &&ConditionDetail| (condition.status == ConditionStatus::True) == is_true;
            pod.conditions.iter().filter(of_group).cloned().collect::<Vec<_>>()
        });
        let line = |ConditionDetail { kind, status, why }: ConditionDetail| {
            view! { <tr><td>{kind}</td><td>{status.label()}</td><td>{why}</td></tr> }
        };
        view! {
            <Show when=move || !conditions.read().is_empty()>
                <h3>{heading}</h3>
                <table class="conditions"><tbody>{lines(move || conditions.get(), line)}</tbody></table>
            </Show>
        }
    };
    view! {
        {group("Conditions that are not true", false)}
        {group("Further conditions that are true", true)}
    }
}

/// The history of a pod: each state with its reason and how long it lasted.
#[component]
fn History(workload: StoredValue<Workload>, pod: Memo<Box<PodDetail>>, now_millis: Signal<Millis>) -> impl IntoView {
    let zone = Zone::of_page();
    let deployment = pod.with_untracked(|pod| pod.deployment);
    let line = move |(index, at_millis, text, is_older): (usize, Millis, String, bool)| {
        let is_gone = text == PodState::Gone.label();
        let lasted = move || {
            let lasted_millis = pod.read().history.get(index).map_or(0, |span| span.lasted_millis);
            // The last state of a deleted pod has no duration, and neither has one that another state followed at once.
            let has_length = lasted_millis >= SHORTEST_MILLIS && !is_gone;
            has_length.then(|| format!("for {}{}", at_least(is_older), duration(lasted_millis)))
        };
        view! {
            <tr>
                <td><Moment workload deployment at_millis now_millis/></td>
                <td>{text}</td>
                <td>{lasted}</td>
            </tr>
        }
    };
    // The duration of the last line changes with each request, so it is not part of the key.
    let each = move || {
        let pod = pod.read();
        let items = pod.history.iter().enumerate();
        items.map(|(index, span)| (index, span.at_millis, span.text.clone(), span.is_older)).collect::<Vec<_>>()
    };
    view! {
        <h3>{move || format!("History ({})", zone.name(pod.read().now_millis))}</h3>
        <table class="past"><tbody><ScopedFor each children=line/></tbody></table>
    }
}
