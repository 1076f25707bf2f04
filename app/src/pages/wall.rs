//! A page.

use leptos::prelude::*;

/// The page.
#[component]
pub fn WallPage() -> impl IntoView {}
