//! The error page of an address: why nothing is shown, and links to other pages.

use leptos::prelude::*;

use crate::components::header::{Header, Section};

/// The error page. The first sentence of the reason is its heading.
#[component]
pub fn Missing(
    /// The requested address; empty if the address is not the problem.
    asked_address: String,
    /// The reason, in whole sentences.
    why: String,
    /// Other pages: (address, words).
    instead: Vec<(String, String)>,
) -> impl IntoView {
    let (heading, rest) = match why.split_once(". ") {
        Some((first, rest)) => (first.to_owned(), rest.to_owned()),
        None => (why.trim_end_matches('.').to_owned(), String::new()),
    };
    let asked_address = (!asked_address.is_empty()).then(|| view! { <p class="mono">{asked_address}</p> });
    let rest = (!rest.is_empty()).then(|| view! { <p>{rest}</p> });
    view! {
        <Header section=Section::Other/>
        <main class="message">
            <h1>{heading}</h1>
            {asked_address}
            {rest}
            <ul>
                {instead.into_iter().map(|(address, words)| view! { <li><a href=address>{words}</a></li> }).collect_view()}
            </ul>
        </main>
    }
}
