//! A button that copies a text and says so.

use leptos::prelude::*;

use crate::browser;

/// The button. Where a browser has no clipboard for the page, the text can be taken from beside it.
#[component]
pub fn CopyButton(
    /// The text that the button copies, as it is when it is used.
    #[prop(into)]
    text: Signal<String>,
    #[prop(default = "Copy")] label: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(None);
    let copy = move |_| browser::copy(&text.read_untracked(), copied);
    view! { <button type="button" aria-live="polite" data-copied=copied on:click=copy>{label}{copy_result(copied)}</button> }
}

/// The result, behind the text of the button.
pub fn copy_result(copied: RwSignal<Option<&'static str>>) -> impl IntoView {
    move || copied.get().map(|said| view! { " \u{b7} "<span>{said}</span> })
}
