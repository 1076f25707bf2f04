//! The conditions of a pod that are worth a look.

use leptos::prelude::*;
use timeline::fact::ConditionStatus;

use super::following::numbered;
use crate::detail::PodDetail;
use crate::detail::pod::ConditionDetail;

/// The conditions: those that are not true apart from those that are, such as `DisruptionTarget` or a readiness gate that is met.
#[component]
pub fn Conditions(
    /// The pod whose conditions are shown.
    pod: Memo<PodDetail>,
) -> impl IntoView {
    let group = move |heading: &'static str, is_true: bool| {
        let conditions = Memo::new(move |_| {
            let pod = pod.read();
            let of_group = |condition: &&ConditionDetail| (condition.status == ConditionStatus::True) == is_true;
            pod.conditions.iter().filter(of_group).cloned().collect::<Vec<_>>()
        });
        let line = |(_, ConditionDetail { kind, status, why }): (usize, ConditionDetail)| {
            view! { <tr><td>{kind}</td><td>{status.label()}</td><td>{why}</td></tr> }
        };
        view! {
            <Show when=move || !conditions.read().is_empty()>
                <h3>{heading}</h3>
                <table><tbody><For each=move || numbered(&conditions.read()) key=Clone::clone children=line/></tbody></table>
            </Show>
        }
    };
    view! {
        {group("Conditions that are not true", false)}
        {group("Further conditions that are true", true)}
    }
}
