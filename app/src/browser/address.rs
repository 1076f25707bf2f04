//! The address of the page, and navigation to pages that the server renders.

use leptos::ev;
use leptos::prelude::*;
use leptos_router::location::Url;
use wasm_bindgen::prelude::*;

use super::{closest, note, on_window};

/// Returns the path of the page's address; empty if the browser does not report it.
pub fn path() -> String {
    window().location().pathname().unwrap_or_default()
}

/// Returns the base path of the server, which the document names; empty at the root of a host.
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

/// Changes the page's address without navigation.
pub fn readdress(address: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(address)); // the page works without it
    }
}

/// Blocks links on a page without a server. Clicks that an earlier listener handled are not affected.
pub fn block_links() {
    on_window(ev::click, |event| {
        if closest(&event, "a[href]:not([href^=http], [href=''])").is_some() {
            event.prevent_default();
        }
    });
}

/// Reloads the page as soon as the server responds; `public/start.js` does this.
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

/// Loads the router's current page from the server. The address bar may not show that address yet.
pub fn load(url: &Url) {
    go_to(&path_with_search(url));
}
