//! The product's name, which leads to the list.

use leptos::prelude::*;

/// The name.
#[component]
pub fn Brand() -> impl IntoView {
    view! { <a class="brand" href="/">"Rollcast"</a> }
}
