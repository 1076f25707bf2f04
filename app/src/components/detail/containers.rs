//! The containers of a pod.

use leptos::prelude::*;

use super::following::numbered;
use crate::detail::PodDetail;
use crate::detail::pod::ContainerDetail;

/// The containers of a pod: state, restarts and how the last run ended.
#[component]
pub fn Containers(
    /// The pod whose containers are shown.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let line = |(_, of): (usize, ContainerDetail)| {
        view! {
            <tr><td>{of.name}</td><td>{of.role.label()}</td><td>{of.state}</td><td>{of.restarts}</td><td>{of.last_end}</td></tr>
        }
    };
    view! {
        <h3>"Containers"</h3>
        <table>
            <thead><tr><th>"Name"</th><th>"Role"</th><th>"State"</th><th>"Restarts"</th><th>"Ended last with"</th></tr></thead>
            <tbody><For each=move || numbered(&pod.read().containers) key=Clone::clone children=line/></tbody>
        </table>
    }
}
