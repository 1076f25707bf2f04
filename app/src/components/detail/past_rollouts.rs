//! When a revision was rolled out, and how that ended.

use leptos::prelude::*;

use super::following::numbered;
use super::past_moment::present;
use crate::detail::RevisionDetail;
use crate::detail::rollouts::RolloutLine;
use crate::zone::Zone;

/// The rollouts of a revision; nothing where none was seen.
#[component]
pub fn PastRollouts(
    /// The revision whose rollouts are listed.
    revision: Memo<RevisionDetail>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let now_millis = present(Signal::derive(move || revision.read().now_millis));
    let line = move |(_, line): (usize, RolloutLine)| {
        let said = move || {
            let began = line.began(|at| zone.dated(at, now_millis.get()));
            format!("Began {began}: {}. {}", line.ended(), line.extremes())
        };
        view! { <li>{said}</li> }
    };
    view! {
        <Show when=move || !revision.read().rollouts.is_empty()>
            <h3>"Rollouts"</h3>
            <ul class="lines"><For each=move || numbered(&revision.read().rollouts) key=Clone::clone children=line/></ul>
        </Show>
    }
}
