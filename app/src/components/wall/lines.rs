//! Last lines of the story of a tile's Deployment, shown where there is room.

use leptos::prelude::*;
use timeline::story::Line;

use crate::rollout::picture::Picture;
use crate::scoped::ScopedFor;
use crate::zone::Zone;

/// Number of lines that are shown.
const MOST: usize = 4;

/// The last lines of a tile's story, the newest first.
#[component]
pub fn Lines(
    /// The picture whose story has the lines.
    picture: Picture,
) -> impl IntoView {
    let story = picture.story;
    view! {
        <ol class="lately">
            <ScopedFor each=move || story.order().into_iter().rev().take(MOST) key=|key| *key let:key>
                {story.row(key).map(|line| view! { <Told line/> })}
            </ScopedFor>
        </ol>
    }
}

/// One line of the story.
#[component]
fn Told(line: ArcRwSignal<Line>) -> impl IntoView {
    let zone = Zone::of_page();
    let line: ReadSignal<Line> = line.read_only().into();
    let text = move || zone.said(&line.read().text, line.read().at_millis);
    view! {
        <li class=move || line.read().kind.name() title=text>
            <span class="muted">{move || zone.clock(line.read().at_millis)}</span>" "{text}
        </li>
    }
}
