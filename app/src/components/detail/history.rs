//! History of a pod, each line with a link to its moment.

use leptos::prelude::*;
use timeline::Workload;
use timeline::phase::PodState;
use timeline::words::duration;

use super::following::numbered;
use super::moment::Moment;
use crate::detail::PodDetail;
use crate::detail::history::{Span, at_least};
use crate::zone::Zone;

/// Durations are told to a tenth of a second: a shorter one would be none.
pub(super) const SHORTEST_MILLIS: i64 = 100;

/// The history of a pod: each state with its reason and how long it lasted.
#[component]
pub fn History(
    /// The workload that the pod is of, for links to moments.
    workload: StoredValue<Workload>,
    /// The pod whose history is shown.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let deployment = pod.with_untracked(|pod| pod.deployment);
    let line = move |(_, Span { at_millis, text, lasted_millis, is_older }): (usize, Span)| {
        // What is gone stays so, and what another line follows at once has no length.
        let has_length = lasted_millis >= SHORTEST_MILLIS && text != PodState::Gone.label();
        let lasted = has_length.then(|| format!("for {}{}", at_least(is_older), duration(lasted_millis)));
        view! {
            <tr>
                <td><Moment workload deployment at_millis now_millis=Signal::derive(move || pod.read().now_millis)/></td>
                <td>{text}</td>
                <td>{lasted}</td>
            </tr>
        }
    };
    view! {
        <h3>{move || format!("History ({})", zone.name(pod.read().now_millis))}</h3>
        <table class="past"><tbody><For each=move || numbered(&pod.read().history) key=Clone::clone children=line/></tbody></table>
    }
}
