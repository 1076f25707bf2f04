//! The document: what of it stands outside of the application, the focus, and styles of elements.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlLinkElement, NodeList};

/// Returns the text of the element with that id; `None` where there is no such element.
pub fn text_of(id: &str) -> Option<String> {
    document().get_element_by_id(id)?.text_content()
}

/// Bytes that stand in the document as base64; `None` where they are something else.
pub fn bytes_of_base64(text: &str) -> Option<Vec<u8>> {
    // The browser decodes it into one character per byte.
    let text = window().atob(text).ok()?;
    Some(text.chars().map(|c| c as u8).collect())
}

/// Returns the icon of the tab, which stands in the document's head; `None` where there is none.
pub fn tab_icon() -> Option<HtmlLinkElement> {
    document().query_selector("link[rel=icon]").ok().flatten()?.dyn_into().ok()
}

/// Sets an attribute of the document's root, for style sheets and tests.
pub fn note(name: &str, value: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute(name, value); // the name is always valid
    }
}

/// Id of the notice that the page's program stopped. `public/start.js` shows it where the program could not start.
pub const STOPPED: &str = "stopped";

/// Shows that the program stopped, instead of leaving a frozen picture. Needs nothing but the document.
pub fn show_stopped() {
    if let Some(notice) = document().get_element_by_id(STOPPED) {
        notice.set_class_name("banner");
    }
    // It may have stopped on the way to another page.
    if let Ok(Some(main)) = document().query_selector("main") {
        let _ = main.remove_attribute("inert"); // the name is always valid
    }
    note("data-live", "false");
}

/// Parts of the page cannot be used while this lives: nothing in them is clicked or has the focus.
pub struct InertPage(Vec<SendWrapper<Element>>);

impl InertPage {
    /// Makes the main part of the shown page inert.
    pub fn start() -> Self {
        Self::of(document().query_selector("main").ok().flatten())
    }

    /// Makes everything around an element inert, except for announcements and bars that hold nothing else.
    pub fn around(element: &Element) -> Self {
        let (mut parts, mut inner) = (Vec::new(), element.clone());
        while let Some(outer) = inner.parent_element().filter(|_| inner.tag_name() != "BODY") {
            let beside =
                all_in(&outer, ":scope > :not([inert], [role=status], [role=alert], :has(> span[role=status]))");
            parts.extend(beside.filter(|part| *part != inner));
            inner = outer;
        }
        Self::of(parts)
    }

    fn of(parts: impl IntoIterator<Item = Element>) -> Self {
        let start = |part: Element| {
            let _ = part.set_attribute("inert", ""); // the name is always valid
            SendWrapper::new(part)
        };
        Self(parts.into_iter().map(start).collect())
    }
}

impl Drop for InertPage {
    fn drop(&mut self) {
        for part in &self.0 {
            let _ = part.remove_attribute("inert");
        }
    }
}

/// Elements of HTML and of SVG share focus and style, not a type that has them.
fn html(element: &Element) -> &web_sys::HtmlElement {
    element.unchecked_ref()
}

/// Gives an element the focus.
pub fn focus(element: &Element) -> bool {
    html(element).focus().is_ok()
}

/// Gives an element the focus without scrolling to it, where whoever looks did nothing.
pub fn focus_in_place(element: &Element) -> bool {
    let options = web_sys::FocusOptions::new();
    options.set_prevent_scroll(true);
    html(element).focus_with_options(&options).is_ok()
}

/// The element that has the focus; `None` while nothing in the page has it.
pub fn focused() -> Option<Element> {
    let is_in_page = |element: &Element| !element.matches("body, .page, main").unwrap_or(false); // the selector is always valid
    document().active_element().filter(is_in_page)
}

/// Gives the page the focus while nothing in it has it. After a link was followed and is gone, browsers take the next Tab to what comes
/// after its place, which may be out of the page.
pub fn focus_page() {
    let page = document().query_selector(".page, main").ok().flatten();
    if let Some(page) = page.filter(|_| focused().is_none()) {
        let _ = page.set_attribute("tabindex", "-1"); // the name is always valid
        focus_in_place(&page);
    }
}

/// The elements in another one that a selector names, in the order of the document.
pub fn all_in(element: &Element, selector: &str) -> impl Iterator<Item = Element> {
    let found = element.query_selector_all(selector).ok(); // selectors in this program are valid
    let count = found.as_ref().map_or(0, NodeList::length);
    (0..count).filter_map(move |index| found.as_ref()?.item(index)?.dyn_into().ok())
}

/// Opens what opens above the page, by its id, or closes it.
pub fn toggle_popup(id: &str) {
    if let Some(popup) = document().get_element_by_id(id) {
        let _ = html(&popup).toggle_popover(); // a browser without popovers always shows it
    }
}

/// Something is open above the page, which the browser closes.
pub fn has_popup() -> bool {
    matches!(document().query_selector(":popover-open"), Ok(Some(_)))
}

/// Sets an element's own style, the one way that a strict content security policy allows.
pub fn style(element: &Element, style: &str) {
    html(element).style().set_css_text(style);
}

/// Keeps an element's own style what a signal says. Until the page is alive the server's style sheet says it
/// ([`crate::score::style_sheet`]), because style attributes are forbidden in its markup. Used as `use:bind_style=style`.
pub fn bind_style(element: Element, says: Signal<String>) {
    Effect::new(move |_| says.with(|says| style(&element, says)));
}
