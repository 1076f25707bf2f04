//! Duration of each step from a pod's creation to its counting.

use leptos::prelude::*;
use timeline::words::duration;

use super::history::SHORTEST_MILLIS;
use super::past_moment::present;
use crate::detail::PodDetail;
use crate::detail::pod::Step;
use crate::zone::Zone;

/// The steps; nothing while none was made.
#[component]
pub fn Start(
    /// The pod whose start is told.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let now_millis = present(Signal::derive(move || pod.read().now_millis));
    let line = move |Step { name, at_millis, after_millis }: Step| {
        let after = if after_millis < SHORTEST_MILLIS {
            "at once".to_owned()
        } else {
            format!("after {}", duration(after_millis))
        };
        view! {
            <tr><td>{name}</td><td>{move || zone.dated(at_millis, now_millis.get())}</td><td>{after}</td></tr>
        }
    };
    view! {
        <Show when=move || !pod.read().start.is_empty()>
            <h3>"Startup: "{move || duration(pod.read().started_in_millis())}</h3>
            <table><tbody><For each=move || pod.read().start.clone() key=Clone::clone children=line/></tbody></table>
        </Show>
    }
}
