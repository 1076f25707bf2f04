//! Everything about one pod.

use std::fmt::Write;

use leptos::prelude::*;
use timeline::fact::{Container, ContainerState, Role, Truth};
use timeline::model::{EndReason, Pod};
use timeline::phase::PodState;
use timeline::say::choice;
use timeline::view::Now;
use timeline::words::{clock, count, duration, safe};
use timeline::{Change, Millis, Model, chosen};

use super::{Home, commands, detail, fact, word};
use crate::address;
use crate::rows::escaped;
use crate::scene::token::token;

/// Lines of a pod's history that are shown.
const MOST_LINES: usize = 60;

/// Everything about a pod. `past` is what happened to it, in order, as far as it is kept.
#[must_use]
pub fn pod(home: &Home, model: &Model, pod: &Pod, past: &[(Millis, Change)], now: Now) -> AnyView {
    let now_millis = now.millis;
    let chosen = chosen::criteria(model, pod, now.skew_millis);
    let set = pod.replica_set().and_then(|uid| model.replica_sets.get(&uid));
    let revision = set.and_then(timeline::model::ReplicaSet::revision);
    let state = pod.state();
    let since =
        format!("{} for {}", state.label(), duration(pod.gone_millis().map_or(now_millis - pod.since_millis(), |_| 0)));
    let since = if state == PodState::Gone { format!("gone since {} UTC", clock(pod.since_millis())) } else { since };
    let token = format!(
        "<svg viewBox=\"-10 -10 20 20\" width=\"16\" height=\"16\" aria-hidden=\"true\">{}</svg>",
        token(state)
    );
    let out = if pod.is_out_of_rotation() { "labels no longer match; no ReplicaSet controls it" } else { "" };
    let left = pod.now.deletion_at_millis.filter(|_| state == PodState::Terminating);
    let body = view! {
        <p class="state"><span inner_html=token></span>" "{since}</p>
        <p class="why">{safe(&pod.now.reason)}{if pod.now.message.is_empty() { String::new() } else { format!(": {}", safe(&pod.now.message)) }}</p>
        <dl class="facts">
            {revision.map(|revision| view! { <dt>"Revision"</dt><dd><a data-open=address::revision(revision) href=format!("{}/{}", home.page(), address::revision(revision))>{revision}</a></dd> })}
            {fact("ReplicaSet", set.map(|set| safe(&set.name)).unwrap_or_default())}
            {fact("Out of rotation", out.to_owned())}
            {fact("Node", pod.now.node.as_deref().map(safe).unwrap_or_default())}
            {fact("Restarts", pod.now.restarts.to_string())}
            {fact("Grace ends", left.map(|at| format!("{} UTC", clock(at))).unwrap_or_default())}
            {fact("Ended because", pod.end_reason.map(|reason| because(reason).to_owned()).unwrap_or_default())}
            {fact("Chosen because", chosen.map(|criteria| choice(&criteria)).unwrap_or_default())}
        </dl>
        {startup(pod)}
        {containers(&pod.now.containers)}
        {conditions(pod)}
        {history(past, now_millis)}
        {commands(lookups(home, pod))}
    };
    detail(home, "pod-detail", safe(&pod.name), body)
}

/// Why a pod ended.
const fn because(reason: EndReason) -> &'static str {
    match reason {
        EndReason::NodeLost => "its node is gone",
        EndReason::Evicted => "it was evicted",
        EndReason::DeploymentDeleted => "its Deployment was deleted",
        EndReason::ReplicaSetDeleted => "its ReplicaSet was deleted",
        EndReason::ScaledDown => "its ReplicaSet was scaled down",
        EndReason::DeletedByHand => "someone or something outside the rollout deleted it",
        EndReason::Unknown => "not known: it went while nobody looked",
    }
}

/// How long each step from creation to counting took, by arrival here.
fn startup(pod: &Pod) -> AnyView {
    let until = |states: &[PodState]| pod.states.iter().find(|(state, _)| states.contains(state)).map(|(_, at)| *at);
    use PodState::{Available, Ready, Starting, Unready};
    let steps = [
        ("scheduled", until(&[Starting, Unready, Ready, Available])),
        ("started", until(&[Unready, Ready, Available])),
        ("ready", until(&[Ready, Available])),
        ("available", until(&[Available])),
    ];
    let mut before = pod.first_seen_millis();
    let mut rows = Vec::new();
    for (name, at) in steps {
        let Some(at) = at else { break };
        rows.push(view! { <tr><td>{name}</td><td>{format!("{} UTC", clock(at))}</td><td>{format!("after {}", duration(at - before))}</td></tr> });
        before = at;
    }
    if rows.is_empty() {
        return ().into_any();
    }
    let whole = format!("in all {}", duration(before - pod.first_seen_millis()));
    view! { <h3>"Start, as it was observed: "{whole}</h3><table><tbody>{rows}</tbody></table> }.into_any()
}

fn containers(containers: &[Container]) -> AnyView {
    let row = |container: &Container| {
        let role = match container.role {
            Role::Init => "init",
            Role::Sidecar => "sidecar",
            Role::App => "app",
        };
        let state = match &container.state {
            None => "no status yet".to_owned(),
            Some(ContainerState::Running) => "running".to_owned(),
            Some(ContainerState::Waiting { reason, message }) => with("waiting", reason, message),
            Some(ContainerState::Terminated { exit_code, reason, message }) => {
                with(&format!("ended with exit code {exit_code}"), reason, message)
            }
        };
        let mut last = container.last_exit.as_ref().map(|exit| format!("exit code {}", exit.code)).unwrap_or_default();
        if let Some(reason) = container.last_exit.as_ref().map(|exit| safe(&exit.reason)).filter(|it| !it.is_empty()) {
            let _ = write!(last, " ({reason})");
        }
        view! { <tr><td>{safe(&container.name)}</td><td>{role}</td><td>{state}</td><td>{count(container.restarts, "restart")}</td><td>{last}</td></tr> }
    };
    view! {
        <h3>"Containers"</h3>
        <table>
            <thead><tr><th>"Name"</th><th>"Role"</th><th>"State"</th><th>"Restarts"</th><th>"Ended last with"</th></tr></thead>
            <tbody>{containers.iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn with(state: &str, reason: &str, message: &str) -> String {
    let mut text = state.to_owned();
    for part in [reason, message].into_iter().filter(|part| !part.is_empty()) {
        let _ = write!(text, ": {}", safe(part));
    }
    text
}

fn conditions(pod: &Pod) -> AnyView {
    if pod.now.conditions.is_empty() {
        return ().into_any();
    }
    let row = |condition: &timeline::fact::PodCondition| {
        let status = match condition.status {
            Truth::True => "true",
            Truth::False => "false",
            Truth::Unknown => "unknown",
        };
        let why = with("", &condition.reason, &condition.message);
        view! { <tr><td>{safe(&condition.kind)}</td><td>{status}</td><td>{why.trim_start_matches(": ").to_owned()}</td></tr> }
    };
    view! {
        <h3>"Conditions that are not true, and readiness gates"</h3>
        <table><tbody>{pod.now.conditions.iter().map(row).collect_view()}</tbody></table>
    }
    .into_any()
}

/// States and reasons, each with how long it was so.
fn history(past: &[(Millis, Change)], now_millis: Millis) -> AnyView {
    let mut lines: Vec<(Millis, String)> = Vec::new();
    let mut tell = |at: Millis, text: String| {
        if !text.is_empty() && lines.last().is_none_or(|(_, last)| *last != text) {
            lines.push((at, text));
        }
    };
    let mut restarts = 0;
    for (at, change) in past {
        match change {
            Change::Pod(pod) => tell(pod.first_seen_millis(), with(pod.state().label(), &pod.now.reason, "")),
            Change::PodState(_, state, since) => tell(*since, state.label().to_owned()),
            Change::PodNow(_, now) => {
                if now.restarts > restarts {
                    tell(*at, format!("restarted, {} in all", count(now.restarts, "restart")));
                }
                restarts = now.restarts;
                tell(*at, with("", &now.reason, &now.message).trim_start_matches(": ").to_owned());
            }
            Change::PodReleased(_, at) => tell(*at, "released: its labels no longer match".to_owned()),
            Change::PodAdopted(_, _, at) => tell(*at, "adopted by a ReplicaSet".to_owned()),
            Change::PodEnds(_, reason) => tell(*at, format!("ends: {}", because(*reason))),
            _ => {}
        }
    }
    let until = lines.iter().skip(1).map(|(at, _)| *at).chain([now_millis]);
    let spans: Vec<(Millis, String, Millis)> =
        lines.iter().zip(until).map(|((at, text), until)| (*at, text.clone(), until - at)).collect();
    let surplus = spans.len().saturating_sub(MOST_LINES);
    let row = |(at, text, lasted): &(Millis, String, Millis)| {
        let at_text = format!("<button data-at=\"{at}\">{}</button>", escaped(&clock(*at)));
        view! { <tr><td inner_html=at_text></td><td>{text.clone()}</td><td>{format!("for {}", duration(*lasted))}</td></tr> }
    };
    view! {
        <h3>"History (UTC)"</h3>
        <table class="past"><tbody>{spans.iter().skip(surplus).map(row).collect_view()}</tbody></table>
    }
    .into_any()
}

fn lookups(home: &Home, pod: &Pod) -> Vec<(&'static str, String)> {
    let (namespace, name) = (word(&home.namespace), word(&pod.name));
    let mut all = vec![
        ("Everything about it", format!("kubectl --namespace {namespace} describe pod {name}")),
        ("What it says", format!("kubectl --namespace {namespace} logs {name} --all-containers")),
    ];
    if pod.now.restarts > 0 {
        all.push(("What it said before it ended", format!("kubectl --namespace {namespace} logs {name} --previous")));
    }
    all.push((
        "Its Events",
        format!("kubectl --namespace {namespace} get events --field-selector involvedObject.uid={}", pod.uid),
    ));
    all
}
