//! Sample of a stretch of a pod's life in the picture.

use leptos::prelude::*;

use crate::score::ink::{Fill, PodLook};

/// A piece of a bar, as the picture draws it, for legends.
#[component]
pub fn Swatch(
    /// Look of the bar.
    look: PodLook,
) -> impl IntoView {
    let ink = look.ink();
    let colour = format!("var({})", ink.colour.token());
    let (fill, opacity) = match ink.roomy {
        Fill::Tint(share) => (colour.clone(), share),
        Fill::Pattern(pattern) => (format!("url(#tile-{})", pattern.name()), 1.0),
    };
    let dashes = ink.edge.and_then(|edge| edge.dashes).map(|(dash, room)| format!("{dash} {room}"));
    let stroke = ink.edge.map(|_| colour);
    view! {
        <svg class="swatch" viewBox="0 0 26 12" aria-hidden="true">
            <rect x="1" y="1" width="24" height="10" fill=fill fill-opacity=opacity stroke=stroke stroke-dasharray=dashes></rect>
        </svg>
    }
}
