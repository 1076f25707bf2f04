//! The gutter: beside each band its revision, image, hash and counts.

use leptos::prelude::*;

use crate::board::{BandKey, Board};
use crate::components::{fixed, text};

/// The words beside one band.
#[component]
pub(in crate::components) fn Beside(board: Board, key: BandKey) -> impl IntoView {
    let row = board.band(key)?;
    let (band, place) = (row.band, row.place);
    let style = text(move || {
        place.with(|place| format!("transform:translateY({}px);height:{}px", fixed(place.top), fixed(place.height)))
    });
    let with = |read: fn(&crate::score::lanes::Band) -> String| {
        let band = band.clone();
        text(move || band.with(read))
    };
    let is_out = key.is_none();
    let class = with(|band| if band.is_current { "beside current" } else { "beside" }.to_owned());
    let revision = with(|band| match (band.replica_set, band.revision) {
        (None, _) => "out".to_owned(),
        (_, Some(revision)) => revision.to_string(),
        _ => "?".to_owned(),
    });
    let title = if is_out { text(|| "Out of rotation".to_owned()) } else { revision };
    let was = with(|band| match band.was.as_slice() {
        [] => String::new(),
        was => format!(" was {}", was.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    });
    let counts = with(|band| match band.replica_set {
        None => "labels no longer match".to_owned(),
        Some(_) if band.is_removed => "deleted".to_owned(),
        Some(_) => format!("{} wanted, {} available", band.wanted, band.available),
    });
    Some(view! {
        <div class=class style=style data-testid=if is_out { "gutter-out" } else { "gutter" } data-revision=revision>
            <div class=if is_out { "out-title" } else { "revision" }>{title}<span class="was">{was}</span></div>
            <div class="image mono">{with(|band| band.images.clone())}</div>
            <div class="counts mono">{with(|band| band.hash.clone())}</div>
            <div class="counts" data-testid="counts">{counts}</div>
        </div>
    })
}
