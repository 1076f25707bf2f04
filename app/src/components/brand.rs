//! The product's name, which leads to the list.

use leptos::prelude::*;

/// The name of Rollcast, which leads to the list of all Deployments.
#[component]
pub fn Brand() -> impl IntoView {
    view! { <a class="brand" href="/">"Rollcast"</a> }
}
