//! What stands in the columns of the list, and what the colours of the tiny scores mean.

use leptos::prelude::*;

/// Colours of the tiny scores: (class, words).
const KEY: [(&str, &str); 5] = [
    ("available", "available"),
    ("old", "available, revision before"),
    ("not-yet", "not available yet"),
    ("failing", "stuck"),
    ("terminating", "terminating"),
];

/// The heads of the columns.
#[component]
pub fn Columns() -> impl IntoView {
    let entry = |(class, words): (&'static str, &'static str)| {
        view! { <li><svg class="tiny" viewBox="0 0 10 10" aria-hidden="true"><rect class=class width="10" height="10"></rect></svg>{words}</li> }
    };
    view! {
        <ul class="key" aria-label="Colours">{KEY.map(entry).collect_view()}</ul>
        <div class="columns" aria-hidden="true">
            <span>"Deployment"</span>
            <span>"Pods, last minute"</span>
            <span>"Status"</span>
            <span>"Revision"</span>
            <span>"Since"</span>
        </div>
    }
}
