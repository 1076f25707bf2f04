//! A heading in the list, and how many rows follow it.

use leptos::either::Either;
use leptos::prelude::*;

use crate::list::row::Heading;

/// A heading between the rows of the list.
#[component]
pub fn Head(
    /// Text of the heading, and the number of rows below it.
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
        <h2 class="group" data-testid="head"><b>{words}</b>" "{move || heading.read().rows}</h2>
    }
}
