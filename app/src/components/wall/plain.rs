//! The wall without scripts: pictures are made by the program, so there is a list instead.

use leptos::prelude::*;

/// Rows in trouble or in progress, as the server knew them. Style sheets show them where scripts do not run.
#[component]
pub fn PlainRows(
    /// A line for each Deployment.
    rows: Vec<String>,
) -> impl IntoView {
    view! { <ul class="plain-rows" data-testid="plain-rows">{rows.into_iter().map(|row| view! { <li>{row}</li> }).collect_view()}</ul> }
}
