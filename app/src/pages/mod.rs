//! The pages, one file each.

mod missing;
mod overview;
mod rollout;

use leptos::prelude::*;

use crate::payload::Payload;

/// The page that a payload describes: all that is inside the body.
#[component]
pub fn App(
    /// What the page is about.
    payload: Payload,
) -> impl IntoView {
    match payload {
        Payload::Overview { build, clusters } => view! { <overview::Overview page_build=build clusters/> }.into_any(),
        Payload::Deployment(payload) => view! { <rollout::Rollout payload=*payload/> }.into_any(),
        Payload::NotFound { path, why, instead } => view! { <missing::Missing path why instead/> }.into_any(),
    }
}
