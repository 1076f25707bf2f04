//! The visible part of the page.

use leptos::prelude::*;

/// Letters may extend this far below the last line of an element, in pixels.
const LETTERS_BEYOND_PX: i32 = 4;

/// Position and size of an element in the window, in pixels.
pub type Rect = web_sys::DomRect;

/// Returns whether the page is hidden, by another tab or because the screen is off.
pub fn is_hidden() -> bool {
    document().hidden()
}

/// Returns whether a media query holds.
pub fn matches(query: &str) -> bool {
    window().match_media(query).ok().flatten().is_some_and(|query| query.matches())
}

/// Returns the height of the window, in pixels; `None` if the browser does not report it.
pub fn window_height_px() -> Option<f64> {
    window().inner_height().ok().and_then(|height| height.as_f64())
}

/// Returns the font size of an element, in pixels; `None` if the browser does not report it.
pub fn font_size_px(element: &web_sys::Element) -> Option<f64> {
    let style = window().get_computed_style(element).ok().flatten()?;
    style.get_property_value("font-size").ok()?.trim_end_matches("px").parse().ok()
}

/// Returns whether a part of an element's content, such as lines of its text, is cut off below.
pub fn is_cut(element: &web_sys::Element) -> bool {
    element.scroll_height() - element.client_height() > LETTERS_BEYOND_PX
}

/// Returns the scroll position of the page, in pixels.
pub fn scrolled_px() -> f64 {
    window().scroll_y().unwrap_or(0.0)
}

/// Scrolls the page to this position, in pixels.
pub fn scroll_to_px(to: f64) {
    window().scroll_to_with_x_and_y(0.0, to);
}
