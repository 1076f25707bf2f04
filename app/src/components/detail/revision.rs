//! Everything about one revision.

use leptos::prelude::*;
use timeline::address;
use timeline::fact::Image;
use timeline::{Millis, Workload};

use super::commands::Commands;
use super::facts::Facts;
use super::following::lines;
use super::frame::Frame;
use super::link::DetailLink;
use super::moment::present;
use crate::detail::RevisionDetail;
use crate::detail::revision::Difference;
use crate::detail::rollouts::RolloutLine;
use crate::scoped::ScopedFor;
use crate::zone::Zone;

#[component]
pub fn RevisionView(workload: StoredValue<Workload>, revision: Memo<Box<RevisionDetail>>) -> impl IntoView {
    let now_millis = present(move || revision.read().now_millis);
    view! {
        <Frame workload test_id="revision-detail" title=move || format!("Revision {}", revision.read().revision)>
            <p class="state">{move || revision.read().standing.clone()}</p>
            <Facts workload now_millis facts=Signal::derive(move || revision.read().facts.clone())/>
            <Images revision/>
            <Differences workload revision/>
            <PastRollouts revision now_millis/>
            <Commands commands=move || revision.read().commands.clone()/>
        </Frame>
    }
}

/// The images of a revision, one for each container.
#[component]
fn Images(revision: Memo<Box<RevisionDetail>>) -> impl IntoView {
    let line = |Image { container, image }: Image| {
        view! { <tr><td>{container}</td><td class="mono">{image}</td></tr> }
    };
    view! {
        <h3>"Containers"</h3>
        <table><tbody>{lines(move || revision.read().images.clone(), line)}</tbody></table>
    }
}

/// Differences between the revision and earlier ones. Renders nothing if none are known.
#[component]
fn Differences(workload: StoredValue<Workload>, revision: Memo<Box<RevisionDetail>>) -> impl IntoView {
    let each = move || revision.read().differences.clone();
    let told = move |Difference { from, lines }: Difference| {
        view! {
            <h3>"Changes from revision "<DetailLink workload=workload.get_value() path=address::revision(from)>{from}</DetailLink></h3>
            <ul class="lines">{lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}</ul>
        }
    };
    view! { <ScopedFor each children=told/> }
}

/// The rollouts of a revision. Renders nothing if none were observed.
#[component]
fn PastRollouts(revision: Memo<Box<RevisionDetail>>, now_millis: Signal<Millis>) -> impl IntoView {
    let zone = Zone::of_page();
    let line = move |line: RolloutLine| {
        let said = move || line.sentences(|at| zone.dated(at, now_millis.get()));
        view! { <li>{said}</li> }
    };
    view! {
        <Show when=move || !revision.read().rollouts.is_empty()>
            <h3>"Rollouts"</h3>
            <ul class="lines">{lines(move || revision.read().rollouts.clone(), line)}</ul>
        </Show>
    }
}
