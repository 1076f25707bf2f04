//! The address of the page, and ways to other pages that the server makes.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::location::Url;
use wasm_bindgen::prelude::*;

use super::{closest, note, on_window};

/// The path of the page's address; empty where the browser does not tell it.
pub fn path() -> String {
    window().location().pathname().unwrap_or_default()
}

/// Returns the path below which the server is, which the document says; empty at the root of a host.
pub fn base() -> String {
    let document = document().document_element();
    document.and_then(|element| element.get_attribute("data-base")).unwrap_or_default()
}

/// Returns the query of the page's address, with its question mark; empty where there is none.
pub fn search() -> String {
    window().location().search().unwrap_or_default()
}

/// Returns the origin of the page: "https://rollcast.example.com".
pub fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// Changes the page's address without going anywhere.
pub fn readdress(address: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(address)); // the page works without it
    }
}

/// Keeps the viewer on a page behind which there is no server: links to other pages lead nowhere, unless something else was made
/// of the click before.
pub fn block_links() {
    on_window(ev::click, |event| {
        if closest(&event, "a[href]:not([href^=http], [href=''])").is_some() {
            event.prevent_default();
        }
    });
}

/// Loads the page from the server again, as soon as that responds: `public/start.js` does so.
pub fn reload() {
    note("data-reload", "");
}

/// Loads another page of the server.
pub fn go_to(address: &str) {
    let _ = window().location().set_href(address);
}

/// Returns the address that the router is at, as the address bar has it.
pub fn path_with_search(url: &Url) -> String {
    let search = if url.search().is_empty() { String::new() } else { format!("?{}", url.search()) };
    format!("{}{search}", url.path())
}

/// Loads the page that the router is at from the server: it may not stand in the address bar yet.
pub fn load(url: &Url) {
    go_to(&path_with_search(url));
}
