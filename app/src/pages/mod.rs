//! The pages, one file each: what the server renders, and how the browser takes it over.

mod deployments;
#[cfg(feature = "ssr")]
pub(crate) mod missing;
mod rollout;
mod wall;

#[cfg(feature = "ssr")]
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

/// Takes over the page; a program knows one kind of them.
#[cfg(feature = "hydrate")]
pub(crate) fn take_over() {
    use crate::payload::{Program, from_page};

    #[cfg(feature = "page-list")]
    from_page(Program::List, deployments::take_over);
    #[cfg(feature = "page-rollout")]
    from_page(Program::Rollout, |mut payload: crate::payload::DeploymentPayload| {
        payload.snapshot.model.index();
        rollout::take_over(payload);
    });
    #[cfg(feature = "page-wall")]
    from_page(Program::Wall, wall::take_over);
}
