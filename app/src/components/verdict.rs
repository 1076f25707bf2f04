//! The verdict: one sentence, why, and three figures.

use leptos::prelude::*;
use timeline::view::View;
use timeline::words::{clock, duration};

use super::slots::Slots;
use crate::board::Board;

/// What the verdict line says.
pub fn slots(board: &Board, slots: &mut Slots) {
    let mut with = |id, attribute, read: fn(&View) -> String| {
        let view = board.view.clone();
        slots.attribute(id, attribute, move || view.with(|view| view.as_ref().map(read).unwrap_or_default()));
    };
    with("badge", "class", |view| format!("badge {}", view.verdict.tone.name()));
    with("badge", "", |view| view.verdict.badge.clone());
    with("verdict", "", |view| view.verdict.sentence.clone());
    with("why", "", timeline::view::View::explanation);
    with("new-available", "", |view| format!("{} of {}", view.counts.new_available, view.wanted));
    with("available", "", |view| view.counts.available.to_string());
    let (view, second) = (board.view.clone(), board.second.clone());
    let left = move || {
        let at = view.with(|view| view.as_ref().and_then(|view| view.deadline_millis));
        let left = at.map(|at| at - second.get() * 1000);
        left.map_or_else(String::new, |left| if left > 0 { duration(left) } else { "passed".to_owned() })
    };
    let is_running = left.clone();
    slots.text("deadline", left);
    slots.attribute("figure-deadline", "class", move || if is_running().is_empty() { "unused" } else { "" }.to_owned());
    let since = board.looking_since_millis.clone();
    let cluster = board.place.cluster.clone();
    slots.text("looking", move || {
        format!(
            "Looking for it in cluster {cluster} since {} UTC. This page shows it as soon as it appears.",
            clock(since.get())
        )
    });
}

/// The verdict line.
#[cfg(feature = "ssr")]
pub fn verdict_line(slots: &Slots) -> impl IntoView + use<> {
    view! {
        <section class="verdict">
            <div>
                <span id="badge" class=slots.attribute_now("badge", "class") data-testid="badge">{slots.now("badge")}</span>
                <h1 id="verdict" data-testid="verdict">{slots.now("verdict")}</h1>
                <p id="why" class="why" data-testid="why">{slots.now("why")}</p>
            </div>
            <dl class="figures">
                <div><dd id="new-available" data-testid="new-available">{slots.now("new-available")}</dd><dt>"new available"</dt></div>
                <div><dd id="available" data-testid="available">{slots.now("available")}</dd><dt>"available in all"</dt></div>
                <div id="figure-deadline" class=slots.attribute_now("figure-deadline", "class")>
                    <dd id="deadline">{slots.now("deadline")}</dd>
                    <dt>"until the deadline"</dt>
                </div>
            </dl>
        </section>
    }
}

/// There is no Deployment of that name, or none yet.
#[cfg(feature = "ssr")]
pub fn missing(board: &Board, slots: &Slots) -> impl IntoView + use<> {
    let place = &board.place;
    let command = format!("kubectl --namespace {} get deployments", place.namespace);
    view! {
        <main class="message" data-testid="missing">
            <h1>{format!("No Deployment {} in namespace {}", place.name, place.namespace)}</h1>
            <p id="looking">{slots.now("looking")}</p>
            <p>"What there is: " <a href="/">"all Deployments"</a>", or "<code>{command}</code></p>
        </main>
    }
}
