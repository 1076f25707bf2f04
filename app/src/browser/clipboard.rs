//! The clipboard.

use leptos::prelude::*;

/// What a button says after it was used.
#[must_use]
pub const fn copied_words(is_copied: bool) -> &'static str {
    if is_copied { "copied" } else { "not allowed here" }
}

/// Copies a text; false where the browser has no clipboard for this page.
#[must_use]
pub fn copy(text: &str) -> bool {
    let has_clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())
        .is_ok_and(|clipboard| !clipboard.is_undefined());
    if has_clipboard {
        let _ = window().navigator().clipboard().write_text(text); // a refusal later is the viewer's
    }
    has_clipboard
}
