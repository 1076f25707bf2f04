//! The clipboard.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// What a button says after it was used.
#[must_use]
pub const fn copied_words(is_copied: bool) -> &'static str {
    if is_copied { "copied" } else { "not allowed here" }
}

/// Copies a text, and then tells whether it is there: browsers have no clipboard for some pages, and may refuse.
pub fn copy(text: &str, then: impl FnOnce(bool) + 'static) {
    let has_clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())
        .is_ok_and(|clipboard| !clipboard.is_undefined());
    if !has_clipboard {
        then(false);
        return;
    }
    let written = window().navigator().clipboard().write_text(text);
    spawn_local(async move { then(JsFuture::from(written).await.is_ok()) });
}
