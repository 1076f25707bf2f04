//! A heading in the list, and how many lines follow it.

use leptos::either::Either;
use leptos::prelude::*;

use crate::list::line::Heading;

/// The heading.
#[component]
pub fn Head(
    /// What it says.
    heading: ArcRwSignal<Heading>,
) -> impl IntoView {
    let heading: ReadSignal<Heading> = heading.read_only().into();
    let words = move || {
        let Heading { words, address, .. } = heading.get();
        match address {
            Some(address) => Either::Left(view! { <a href=address>{words}</a> }),
            None => Either::Right(words),
        }
    };
    view! {
        <h2 class="group" data-testid="head"><b>{words}</b>" "{move || heading.read().lines}</h2>
    }
}
