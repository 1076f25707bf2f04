//! A page.

use leptos::prelude::*;

/// The page.
#[component]
pub fn RolloutPage() -> impl IntoView {}
