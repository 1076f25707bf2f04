//! A notice across the page.

use leptos::prelude::*;

/// Renders a notice across the page; invisible while its text is empty. Screen readers announce changes of the text. The status
/// element is always in the document, because an element that appears together with its text is not announced.
#[component]
pub fn Banner(
    #[prop(into)] words: Signal<String>,
    /// Text that changes often, such as a countdown. Screen readers do not announce it.
    #[prop(optional, into)]
    countdown: Signal<String>,
    /// Test id, also the element's id, to which an input may refer.
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
