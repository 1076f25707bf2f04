//! The frame of a detail: its title, and a button that closes it.

use leptos::ev::MouseEvent;
use leptos::prelude::*;
use timeline::Workload;
use timeline::address;

use crate::browser::is_plain;
use crate::rollout::controls::Controls;

/// The frame of every detail: its title, and a button that closes it.
#[component]
pub fn Frame(
    workload: StoredValue<Workload>,
    test_id: &'static str,
    #[prop(into)] title: Signal<String>,
    children: Children,
) -> impl IntoView {
    let controls = Controls::of_page();
    let close = move |event: MouseEvent| {
        if let Some(controls) = controls.filter(|_| is_plain(&event)) {
            event.prevent_default();
            controls.close();
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
