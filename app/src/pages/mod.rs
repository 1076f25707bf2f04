//! The pages, one file each.

mod missing;
mod overview;
mod rollout;

use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::payload::Payload;

/// The page that a payload describes: all that is inside the body.
#[component]
pub fn App(
    /// What the page is about.
    payload: Payload,
) -> impl IntoView {
    match payload {
        Payload::Overview { build, clusters } => {
            EitherOf3::A(view! { <overview::Overview page_build=build clusters/> })
        }
        Payload::Deployment(payload) => EitherOf3::B(view! { <rollout::Rollout payload=*payload/> }),
        Payload::NotFound { path, why, instead } => EitherOf3::C(view! { <missing::Missing path why instead/> }),
    }
}
