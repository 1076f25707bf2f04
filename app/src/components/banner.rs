//! A bar that says something; nothing of it is seen while there is nothing to say.

use leptos::prelude::*;

/// A bar across the page; nothing of it is seen while there is nothing to say. Screen readers announce its words when they change: its
/// status is in the document before them, because one that comes with its words is not announced.
#[component]
pub fn Banner(
    #[prop(into)] words: Signal<String>,
    /// Text that changes while nothing else does, such as a countdown. Screen readers do not announce it.
    #[prop(optional, into)]
    countdown: Signal<String>,
    /// Its id as well, for the input that it is about.
    test_id: &'static str,
    #[prop(optional)] is_quiet: bool,
) -> impl IntoView {
    let class = move || match (words.read().is_empty(), is_quiet) {
        (true, _) => "shown",
        (false, true) => "banner quiet",
        (false, false) => "banner",
    };
    let countdown = move || match countdown.get() {
        words if words.is_empty() => words,
        words => format!(" {words}"),
    };
    view! {
        <div id=test_id class=class data-testid=test_id><span role="status">{move || words.get()}</span>{countdown}</div>
    }
}
