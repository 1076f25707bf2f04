//! The story: what the controllers did, newest last.

use leptos::prelude::*;
use timeline::story::Line;

use crate::board::Board;
use crate::score::scale::clock;

/// Lines shown; older ones stay in the timeline document.
const MOST_LINES: usize = 80;

/// The story rail.
#[component]
pub fn Story(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let story = board.story.clone();
    let lines = move || {
        story.with(|lines| {
            let skip = lines.len().saturating_sub(MOST_LINES);
            lines.iter().skip(skip).rev().cloned().collect::<Vec<_>>()
        })
    };
    let key = |line: &Line| (line.at_millis, line.text.clone());
    view! {
        <aside class="rail" aria-label="Story">
            <h2>"What the controllers did"</h2>
            // Newest first in the markup, turned around by the style sheet: the scroll stays at the newest line.
            <ol class="story" tabindex="0" data-testid="story">
                <For each=lines key=key let:line>
                    <li class=line.kind.name()>
                        <time>{clock(line.at_millis)}</time>
                        <i></i>
                        <span>{line.text}</span>
                    </li>
                </For>
            </ol>
        </aside>
    }
}
