//! Live: how the page keeps up with the server.

#[cfg(feature = "hydrate")]
pub mod client;
pub mod clock;
#[cfg(feature = "hydrate")]
pub(crate) mod hands;
#[cfg(feature = "hydrate")]
mod known;
#[cfg(feature = "hydrate")]
pub(crate) mod lines;
pub mod link;
#[cfg(feature = "hydrate")]
mod paint;
#[cfg(feature = "hydrate")]
mod panel;
#[cfg(feature = "hydrate")]
pub(crate) mod patch;
pub mod question;
#[cfg(feature = "hydrate")]
pub(crate) mod screen;
#[cfg(feature = "hydrate")]
pub(crate) mod search;
#[cfg(feature = "hydrate")]
mod socket;
#[cfg(feature = "hydrate")]
pub(crate) mod wall;

/// The element with that id.
#[cfg(feature = "hydrate")]
pub(crate) fn element(id: &str) -> Option<web_sys::Element> {
    web_sys::window()?.document()?.get_element_by_id(id)
}

/// Gives an element the focus.
#[cfg(feature = "hydrate")]
pub(crate) fn focus(element: &web_sys::Element) -> bool {
    use wasm_bindgen::JsCast;

    // Elements of HTML and of SVG share the method, not a type that has it.
    element.unchecked_ref::<web_sys::HtmlElement>().focus().is_ok()
}

/// Gives the page a title: tabs and windows show how things stand.
#[cfg(feature = "hydrate")]
fn entitle(title: &str) {
    if let Some(document) = web_sys::window().and_then(|window| window.document()) {
        document.set_title(title);
    }
}
