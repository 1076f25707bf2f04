//! The pages, one file each: what the server renders, and how the browser takes it over.

mod deployments;
#[cfg(feature = "ssr")]
pub(crate) mod missing;
mod rollout;
mod wall;

use crate::payload::Payload;

#[cfg(feature = "hydrate")]
pub(crate) use deployments::ListBoard;
#[cfg(feature = "hydrate")]
pub(crate) use wall::{PREFIXES, TileBoard, WallBoard};

/// The page that a payload describes: all that is inside the body.
#[cfg(feature = "ssr")]
#[must_use]
pub fn page(payload: Payload) -> leptos::prelude::AnyView {
    use leptos::prelude::IntoAny;

    match payload {
        Payload::List(payload) => deployments::page(&payload).into_any(),
        Payload::Deployment(payload) => rollout::page(&payload).into_any(),
        Payload::Wall(payload) => wall::page(&payload).into_any(),
    }
}

/// Takes over the page that a payload describes.
#[cfg(feature = "hydrate")]
pub(crate) fn take_over(payload: Payload) {
    match payload {
        Payload::List(payload) => deployments::take_over(*payload),
        Payload::Deployment(payload) => rollout::take_over(*payload),
        Payload::Wall(payload) => wall::take_over(*payload),
    }
}
