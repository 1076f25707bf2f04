//! Everything about one revision.

use leptos::prelude::*;
use timeline::Workload;
use timeline::address;
use timeline::fact::Image;

use super::commands::Commands;
use super::facts::Facts;
use super::following::numbered;
use super::frame::Frame;
use super::link::DetailLink;
use super::moment::present;
use crate::detail::RevisionDetail;
use crate::detail::revision::Difference;
use crate::detail::rollouts::RolloutLine;
use crate::zone::Zone;

#[component]
pub fn RevisionView(workload: StoredValue<Workload>, revision: Memo<RevisionDetail>) -> impl IntoView {
    view! {
        <Frame workload test_id="revision-detail" title=Signal::derive(move || format!("Revision {}", revision.read().revision))>
            <p class="state">{move || revision.read().standing.clone()}</p>
            <Facts workload now_millis=Signal::derive(move || revision.read().now_millis) facts=Signal::derive(move || revision.read().facts.clone())/>
            <Images revision/>
            <Differences workload revision/>
            <PastRollouts revision/>
            <Commands commands=Signal::derive(move || revision.read().commands.clone())/>
        </Frame>
    }
}

/// The images of a revision, one for each container.
#[component]
fn Images(revision: Memo<RevisionDetail>) -> impl IntoView {
    let line = |(_, Image { container, image }): (usize, Image)| {
        view! { <tr><td>{container}</td><td class="mono">{image}</td></tr> }
    };
    view! {
        <h3>"Containers"</h3>
        <table><tbody><For each=move || numbered(&revision.read().images) key=Clone::clone children=line/></tbody></table>
    }
}

/// Differences between the revision and those before; nothing where none is known.
#[component]
fn Differences(workload: StoredValue<Workload>, revision: Memo<RevisionDetail>) -> impl IntoView {
    let each = move || revision.read().differences.clone();
    let told = move |Difference { from, lines }: Difference| {
        view! {
            <h3>"Changes from revision "<DetailLink workload=workload.get_value() path=address::revision(from)>{from}</DetailLink></h3>
            <ul class="lines">{lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}</ul>
        }
    };
    view! { <For each key=Clone::clone children=told/> }
}

/// The rollouts of a revision; nothing where none was seen.
#[component]
fn PastRollouts(revision: Memo<RevisionDetail>) -> impl IntoView {
    let zone = Zone::of_page();
    let now_millis = present(Signal::derive(move || revision.read().now_millis));
    let line = move |(_, line): (usize, RolloutLine)| {
        let said = move || line.sentences(|at| zone.dated(at, now_millis.get()));
        view! { <li>{said}</li> }
    };
    view! {
        <Show when=move || !revision.read().rollouts.is_empty()>
            <h3>"Rollouts"</h3>
            <ul class="lines"><For each=move || numbered(&revision.read().rollouts) key=Clone::clone children=line/></ul>
        </Show>
    }
}
