//! Keys that work on every page, and the help that lists the keys of a page.

use leptos::prelude::*;

use crate::browser;
use crate::components::popup::Popup;
use crate::zone::Zone;

const LIST: &str = "keys";

/// A key and its effect.
pub type Key = (&'static str, &'static str);

/// The keys of every page.
const EVERYWHERE: [Key; 2] = [("Z", "your time zone, or UTC"), ("?", "these keys")];

/// Listens for Z, which switches between the viewer's zone and UTC, and for ?, which opens the list of keys. Renders nothing.
#[component]
pub fn PageKeys() -> impl IntoView {
    let zone = Zone::of_page();
    Effect::new(move |_| {
        browser::on_key(move |event| {
            match event.key().as_str() {
                "z" | "Z" => zone.toggle(),
                "?" => browser::toggle_popup(LIST),
                _ => return false,
            }
            true
        });
    });
}

/// The list of the keys of a page, and a button that opens it.
#[component]
pub fn KeyHelp(keys: Vec<Key>, #[prop(optional)] class: Option<&'static str>) -> impl IntoView {
    let key = |(key, does): Key| view! { <dt>{key}</dt><dd>{does}</dd> };
    let keys = keys.into_iter().chain(EVERYWHERE).map(key).collect_view();
    view! { <Popup id=LIST label="Shortcuts" title="Keyboard shortcuts (?)" class><dl>{keys}</dl></Popup> }
}
