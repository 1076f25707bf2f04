//! A bar that says something; not there while there is nothing to say.

use leptos::prelude::*;

/// A bar across the page; it is not there while there is nothing to say. Screen readers tell its words when they change.
#[component]
pub fn Banner(
    #[prop(into)] words: Signal<String>,
    /// Text that changes while nothing else does, such as a countdown. Screen readers do not announce it.
    #[prop(optional, into)]
    countdown: Signal<String>,
    test_id: &'static str,
    #[prop(optional)] is_quiet: bool,
) -> impl IntoView {
    let class = move || match (words.read().is_empty(), is_quiet) {
        (true, _) => "unused",
        (false, true) => "banner quiet",
        (false, false) => "banner",
    };
    let countdown = move || match countdown.get() {
        words if words.is_empty() => words,
        words => format!(" {words}"),
    };
    view! {
        <div class=class data-testid=test_id><span role="status">{move || words.get()}</span>{countdown}</div>
    }
}
