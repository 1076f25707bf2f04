//! The key that chooses the zone of times, on every page.

use leptos::prelude::*;

use crate::browser;
use crate::zone::Zone;

/// Listens for Z: between the viewer's own zone and UTC. Renders nothing.
#[component]
pub fn ZoneKey() -> impl IntoView {
    let zone = Zone::of_page();
    Effect::new(move |_| {
        browser::on_window(leptos::ev::keydown, move |event| {
            let is_key = matches!(event.key().as_str(), "z" | "Z");
            if is_key && !browser::has_modifier(&event) && !event.default_prevented() && !browser::is_writing(&event) {
                zone.toggle();
                event.prevent_default();
            }
        });
    });
}
