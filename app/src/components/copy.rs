//! A button that copies a text and shows the result.

use leptos::prelude::*;

use crate::browser;

/// The button. If a browser has no clipboard for the page, the viewer can select the text beside it.
#[component]
pub fn CopyButton(
    /// The text to copy, read when the button is used.
    #[prop(into)]
    text: Signal<String>,
    #[prop(default = "Copy")] label: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(None);
    let copy = move |_| browser::copy(&text.read_untracked(), copied);
    view! { <button type="button" aria-live="polite" data-copied=copied on:click=copy>{label}{copy_result(copied)}</button> }
}

/// Renders the result behind the text of the button.
pub fn copy_result(copied: RwSignal<Option<&'static str>>) -> impl IntoView {
    move || copied.get().map(|said| view! { " \u{b7} "<span>{said}</span> })
}
