//! A page.

use leptos::prelude::*;

/// The page.
#[component]
pub fn DetailPage() -> impl IntoView {}
