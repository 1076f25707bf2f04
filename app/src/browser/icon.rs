//! The icon of the tab. It stands in the document's head, outside of the application.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use wasm_bindgen::JsCast;
use web_sys::HtmlLinkElement;

/// The icon of the tab; clones are the same one.
#[derive(Clone)]
pub struct TabIcon(SendWrapper<HtmlLinkElement>);

impl TabIcon {
    /// Returns the icon of the document; `None` where it has none.
    pub fn of_document() -> Option<Self> {
        let link = document().query_selector("link[rel=icon]").ok().flatten()?;
        link.dyn_into().ok().map(|link| Self(SendWrapper::new(link)))
    }

    /// The address of its picture.
    pub fn address(&self) -> String {
        self.0.href()
    }

    /// Shows the picture at an address as the icon of the page.
    pub fn show(&self, address: &str) {
        self.0.set_href(address);
    }
}
