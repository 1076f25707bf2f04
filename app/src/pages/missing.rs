//! The page for an address that leads nowhere: says what is wrong with it, and where to go.

use leptos::prelude::*;

use crate::components::header::{Header, Section};

/// An address leads nowhere: the first sentence of why is the heading.
#[component]
pub fn Missing(
    /// The address that was asked for; empty where it is not what is wrong.
    asked_address: String,
    /// Why there is nothing, in whole sentences.
    why: String,
    /// Where to go instead: (address, words).
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
