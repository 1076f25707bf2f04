//! The frame of a detail: a title, and a way back.

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::actions::{Actions, is_plain};
use crate::detail::Home;

/// The frame.
#[component]
pub fn Frame(
    /// Where the detail belongs.
    home: StoredValue<Home>,
    /// How tests find it.
    test_id: &'static str,
    /// Its title.
    #[prop(into)]
    title: Signal<String>,
    /// What it tells.
    children: Children,
) -> impl IntoView {
    let actions = use_context::<Actions>();
    let close = move |event: MouseEvent| {
        if let Some(actions) = actions.filter(|_| is_plain(&event)) {
            event.prevent_default();
            actions.close.run(());
        }
    };
    view! {
        <article class="detail" data-testid=test_id>
            <a class="close" href=home.with_value(Home::page) aria-label="Close" title="Close (Esc)" on:click=close>"\u{d7}"</a>
            <h2>{title}</h2>
            {children()}
        </article>
    }
}
