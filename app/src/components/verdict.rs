//! The verdict: one sentence, why, and three figures.

use leptos::prelude::*;
use timeline::view::View;
use timeline::words::duration;

use crate::board::Board;
use crate::score::scale::clock;

/// The verdict line.
#[component]
pub fn VerdictLine(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let view_of = board.view.clone();
    let with = move |read: fn(&View) -> String| {
        let view = view_of.clone();
        Memo::new(move |_| view.with(|view| view.as_ref().map(read).unwrap_or_default()))
    };
    let badge = with(|view| view.verdict.badge.clone());
    let tone = with(|view| view.verdict.tone.name().to_owned());
    let sentence = with(|view| view.verdict.sentence.clone());
    let why = with(|view| view.verdict.why.clone());
    let new_available = with(|view| format!("{} of {}", view.counts.new_available, view.wanted));
    let available = with(|view| view.counts.available.to_string());
    let (view, second) = (board.view.clone(), board.second.clone());
    let deadline = Memo::new(move |_| {
        let at = view.with(|view| view.as_ref().and_then(|view| view.deadline_millis))?;
        let left = at - second.get() * 1000;
        Some(if left > 0 { duration(left) } else { "passed".to_owned() })
    });
    view! {
        <section class="verdict">
            <div>
                <span class=move || format!("badge {}", tone.get()) data-testid="badge">{move || badge.get()}</span>
                <h1 data-testid="verdict" aria-live="polite">{move || sentence.get()}</h1>
                <p class="why" data-testid="why">{move || why.get()}</p>
            </div>
            <dl class="figures">
                <div><dd data-testid="new-available">{move || new_available.get()}</dd><dt>"new available"</dt></div>
                <div><dd>{move || available.get()}</dd><dt>"available in all"</dt></div>
                <div class:unused=move || deadline.with(Option::is_none)>
                    <dd>{move || deadline.get().unwrap_or_default()}</dd><dt>"until the deadline"</dt>
                </div>
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
    let payload = board.payload.clone();
    let since = board.looking_since_millis.clone();
    let command = format!("kubectl --namespace {} get deployments", payload.namespace);
    view! {
        <main class="message" data-testid="missing">
            <h1>{format!("No Deployment {} in namespace {}", payload.name, payload.namespace)}</h1>
            <p>{move || format!("Looking for it in cluster {} since {} UTC. This page shows it as soon as it appears.", payload.cluster, clock(since.get()))}</p>
            <p>"What there is: " <a href="/">"all Deployments"</a>", or "<code>{command}</code></p>
        </main>
    }
}
