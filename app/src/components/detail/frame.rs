//! The frame of a detail: a title, and a way back.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use timeline::Workload;

use crate::address;
use crate::browser::is_plain;
use crate::rollout::controls::Controls;

/// The frame.
#[component]
pub fn Frame(
    /// Where the detail belongs.
    workload: StoredValue<Workload>,
    /// How tests find it.
    test_id: &'static str,
    /// Its title.
    #[prop(into)]
    title: Signal<String>,
    /// What it tells.
    children: Children,
) -> impl IntoView {
    let controls = Controls::of_page();
    let close = move |event: MouseEvent| {
        if let Some(controls) = controls.filter(|_| is_plain(&event)) {
            event.prevent_default();
            controls.panel.close();
        }
    };
    view! {
        <article class="detail" data-testid=test_id>
            <a class="close" href=workload.with_value(address::workload) aria-label="Close" title="Close (Esc)" on:click=close>"\u{d7}"</a>
            <h2>{title}</h2>
            {children()}
        </article>
    }
}
