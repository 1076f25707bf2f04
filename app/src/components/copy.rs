//! A button that copies a text and says so.

use leptos::prelude::*;

use crate::browser;

/// The button. Where a browser has no clipboard for the page, the text can be taken from beside it.
#[component]
pub fn CopyButton(
    /// What is copied.
    #[prop(into)]
    text: String,
    /// What the button says.
    #[prop(default = "Copy")]
    label: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(None);
    let copy = move |_| copied.set(Some(copied_words(browser::copy(&text))));
    view! { <button type="button" data-copied=copied on:click=copy>{label}</button> }
}

/// What a button says after it was used.
#[must_use]
pub const fn copied_words(is_copied: bool) -> &'static str {
    if is_copied { "copied" } else { "not allowed here" }
}
