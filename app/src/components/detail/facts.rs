//! Facts of a pod or a revision, a line each.

use leptos::prelude::*;
use timeline::address;
use timeline::words::safe;
use timeline::{Millis, Workload};

use super::link::DetailLink;
use crate::detail::{DetailFact, Value};
use crate::scoped::ScopedFor;
use crate::zone::Zone;

/// Facts as a list of names and values.
#[component]
pub fn Facts(
    workload: StoredValue<Workload>,
    /// The present, with which times are compared.
    now_millis: Signal<Millis>,
    facts: Signal<Vec<DetailFact>>,
) -> impl IntoView {
    view! {
        <dl class="facts">
            <ScopedFor each=move || facts.get() children=move |DetailFact { name, value }| view! { <dt>{name}</dt><dd>{render_value(workload, value, now_millis)}</dd> }/>
        </dl>
    }
}

fn render_value(workload: StoredValue<Workload>, value: Value, now_millis: Signal<Millis>) -> AnyView {
    match value {
        Value::Text(text) => text.into_any(),
        Value::Time(at_millis) => {
            let zone = Zone::of_page();
            (move || zone.dated(at_millis, now_millis.get())).into_any()
        }
        Value::Revision(revision) => {
            view! { <DetailLink workload=workload.get_value() path=address::revision(revision)>{revision}</DetailLink> }
                .into_any()
        }
        Value::Link(address) => {
            let text = safe(&address);
            view! { <a href=address rel="noopener noreferrer nofollow external" target="_blank">{text}</a> }.into_any()
        }
    }
}
