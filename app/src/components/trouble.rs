//! Error about a form that was sent, on the pages that are forms.

use leptos::prelude::*;

/// It says what was wrong, first of all to who listens to the page. Its id is `trouble`, for the input that it is about.
#[component]
pub fn Trouble(words: String) -> impl IntoView {
    (!words.is_empty()).then(|| view! { <p id="trouble" class="banner" role="alert" data-testid="trouble">{words}</p> })
}
