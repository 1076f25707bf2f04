//! Text of a list without rows, and links from there.

use leptos::prelude::*;
use timeline::address::at;

use crate::list::board::ListBoard;
use crate::list::words::nothing;

/// Text of a list without rows, with a link to all Deployments.
#[component]
pub fn Nothing(
    /// The state of the list's page, which this follows.
    board: ListBoard,
) -> impl IntoView {
    let said = Memo::new(move |_| {
        if board.is_known.get() { nothing(&board.overall.read(), &board.query.read()) } else { Default::default() }
    });
    let class = move || if said.read().0.is_empty() { "unused" } else { "muted nothing" };
    view! {
        <p class=class>
            {move || with_commands(&said.read().0)}" "<a class=move || if said.read().1 { "" } else { "unused" } href=at("/")>"Show all Deployments"</a>
        </p>
    }
}

/// A text in which what stands between backticks is a command.
fn with_commands(text: &str) -> Vec<AnyView> {
    let piece = |(number, text): (usize, &str)| {
        let text = text.to_owned();
        if number % 2 == 1 { view! { <code>{text}</code> }.into_any() } else { text.into_any() }
    };
    text.split('`').enumerate().map(piece).collect()
}
