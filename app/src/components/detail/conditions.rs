//! The conditions of a pod that are worth a look.

use leptos::prelude::*;

use super::following::numbered;
use crate::detail::PodDetail;
use crate::detail::pod::Condition;

/// The conditions; nothing while there are none.
#[component]
pub fn Conditions(
    /// The pod whose conditions are shown.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let line = |(_, Condition { kind, status, why }): (usize, Condition)| {
        view! { <tr><td>{kind}</td><td>{status.label()}</td><td>{why}</td></tr> }
    };
    view! {
        <Show when=move || !pod.read().conditions.is_empty()>
            <h3>"Conditions that are not true, and readiness gates"</h3>
            <table><tbody><For each=move || numbered(&pod.read().conditions) key=Clone::clone children=line/></tbody></table>
        </Show>
    }
}
