//! The pages, one file each.

#[cfg(feature = "ssr")]
pub(crate) mod missing;
mod overview;
mod rollout;

use leptos::either::Either;
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
            Either::Left(view! { <overview::Overview page_build=build clusters/> })
        }
        Payload::Deployment(payload) => Either::Right(view! { <rollout::Rollout payload=*payload/> }),
    }
}
