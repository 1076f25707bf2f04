//! What a ribbon tells of the place under the pointer: how many pods were in which state then.

use leptos::prelude::*;

use crate::browser::placed;
use crate::numbers::fixed;
use crate::rollout::picture::Picture;
use crate::zone::Zone;

/// The words beside the pointer: how many pods a ribbon has there, by what they look like.
#[component]
pub fn RibbonCounts(
    /// The picture whose ribbons are pointed at.
    picture: Picture,
) -> impl IntoView {
    let zone = Zone::of_page();
    let class = move || if picture.told.read().is_some() { "pointed-at" } else { "unused" };
    let style = Signal::derive(move || {
        picture.told.with(|told| {
            told.as_ref().map(|told| format!("left:{}px;top:{}px", fixed(told.x), fixed(told.y))).unwrap_or_default()
        })
    });
    let words = move || {
        picture.told.with(|told| {
            let told = told.as_ref()?;
            let counts: Vec<String> =
                told.counts.iter().map(|(look, count)| format!("{count} {}", look.label())).collect();
            let counts = if counts.is_empty() { "no pods".to_owned() } else { counts.join(", ") };
            Some(format!("{}: {counts}", zone.clock(told.at_millis)))
        })
    };
    view! { <div class=class data-testid="ribbon-counts" use:placed=style>{words}</div> }
}
