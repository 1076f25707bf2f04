//! An image name in little room, with its tag always whole.

use leptos::prelude::*;

use crate::images::ImageText;

/// The images of a template, or how they changed. The tooltip has the whole names.
#[component]
pub fn ImageName(#[prop(into)] text: Signal<ImageText>) -> impl IntoView {
    view! {
        <span class="image-name mono" title=move || text.read().whole.clone()>
            <span>{move || text.read().name.clone()}</span><span>{move || text.read().tag.clone()}</span>
        </span>
    }
}
