//! The strip.

use leptos::prelude::*;

use crate::playground::Playground;

/// The strip.
#[component]
pub fn Strip(
    /// How the playground was when the document was rendered.
    first: Playground,
) -> impl IntoView {
    let _ = first;
}
