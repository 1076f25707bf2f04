//! What stands in the columns of the list, and what the colours of the tiny scores mean.

use leptos::prelude::*;
use timeline::view::LAYERS;

use crate::list::tiny::CLASSES;

/// What the layers of the tiny scores are.
const KEY: [&str; LAYERS] = ["available", "available, revision before", "not available yet", "failing", "terminating"];

/// The heads of the columns.
#[component]
pub fn Columns() -> impl IntoView {
    let entry = |(class, words): (&'static str, &'static str)| {
        view! { <li><svg class="tiny" viewBox="0 0 10 10" aria-hidden="true"><rect class=class width="10" height="10"></rect></svg>{words}</li> }
    };
    view! {
        <ul class="key" aria-label="Colours">{CLASSES.into_iter().zip(KEY).map(entry).collect_view()}
            <li><svg class="tiny" viewBox="0 0 10 10" aria-hidden="true"><path class="desired" d="M0 5H10"></path></svg>"desired replicas"</li></ul>
        <div class="columns" aria-hidden="true">
            <span>"Deployment"</span>
            <span>"Pods, last minute"</span>
            <span>"Status"</span>
            <span>"Revision"</span>
            <span>"Since"</span>
        </div>
    }
}
