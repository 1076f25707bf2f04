//! A page.

use leptos::prelude::*;

/// The page.
#[component]
pub fn DeploymentsPage() -> impl IntoView {}
