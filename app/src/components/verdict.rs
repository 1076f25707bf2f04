//! The verdict: one sentence, why, and three figures.

use leptos::prelude::*;
use timeline::view::View;
use timeline::words::duration;

use super::text;
use crate::board::Board;
use timeline::words::clock;

/// The verdict line.
#[component]
pub fn VerdictLine(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let with = |read: fn(&View) -> String| {
        let view = board.view.clone();
        text(move || view.with(|view| view.as_ref().map(read).unwrap_or_default()))
    };
    let (view, second) = (board.view.clone(), board.second.clone());
    let deadline = text(move || {
        let Some(at) = view.with(|view| view.as_ref().and_then(|view| view.deadline_millis)) else {
            return String::new();
        };
        let left = at - second.get() * 1000;
        if left > 0 { duration(left) } else { "passed".to_owned() }
    });
    let deadline_class = text(move || if deadline.with(String::is_empty) { "unused" } else { "" }.to_owned());
    view! {
        <section class="verdict">
            <div>
                <span class=with(|view| format!("badge {}", view.verdict.tone.name())) data-testid="badge">{with(|view| view.verdict.badge.clone())}</span>
                <h1 data-testid="verdict">{with(|view| view.verdict.sentence.clone())}</h1>
                <p class="why" data-testid="why">{with(|view| view.verdict.why.clone())}</p>
            </div>
            <dl class="figures">
                <div>
                    <dd data-testid="new-available">{with(|view| format!("{} of {}", view.counts.new_available, view.wanted))}</dd>
                    <dt>"new available"</dt>
                </div>
                <div><dd>{with(|view| view.counts.available.to_string())}</dd><dt>"available in all"</dt></div>
                <div class=deadline_class><dd>{deadline}</dd><dt>"until the deadline"</dt></div>
            </dl>
        </section>
    }
}

/// There is no Deployment of that name, or none yet.
#[component]
pub fn Missing(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let place = board.place.clone();
    let since = board.looking_since_millis.clone();
    let command = format!("kubectl --namespace {} get deployments", place.namespace);
    view! {
        <main class="message" data-testid="missing">
            <h1>{format!("No Deployment {} in namespace {}", place.name, place.namespace)}</h1>
            <p>{text(move || format!("Looking for it in cluster {} since {} UTC. This page shows it as soon as it appears.", place.cluster, clock(since.get())))}</p>
            <p>"What there is: " <a href="/">"all Deployments"</a>", or "<code>{command}</code></p>
        </main>
    }
}
