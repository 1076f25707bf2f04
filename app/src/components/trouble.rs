//! The error of a submitted form, on pages that are forms.

use leptos::prelude::*;

/// Shows the error; screen readers announce it first. Its id is `trouble`, to which the invalid input refers.
#[component]
pub fn Trouble(words: String) -> impl IntoView {
    (!words.is_empty()).then(|| view! { <p id="trouble" class="banner" role="alert" data-testid="trouble">{words}</p> })
}
