//! The gutter: beside each band its revision, image, hash and counts.

use leptos::prelude::*;

use crate::board::{Board, BandKey};

/// The words beside one band.
pub(super) fn part(board: Board, key: BandKey) -> impl IntoView {
    let row = board.band(key)?;
    let (band, place) = (row.band, row.place);
    let style = move || place.with(|place| format!("transform:translateY({:.1}px);height:{:.1}px", place.top, place.height));
    let class = {
        let band = band.clone();
        move || if band.with(|band| band.is_current) { "beside current" } else { "beside" }
    };
    if key.is_none() {
        return Some(view! {
            <div class=class style=style data-testid="gutter-out">
                <div class="out-title">"Out of rotation"</div>
                <div class="counts">"labels no longer match"</div>
            </div>
        }.into_any());
    }
    let revision = Memo::new({
        let band = band.clone();
        move |_| band.with(|band| band.revision.map_or_else(|| "?".to_owned(), |revision| revision.to_string()))
    });
    let was = {
        let band = band.clone();
        move || band.with(|band| match band.was.as_slice() {
            [] => String::new(),
            was => format!(" was {}", was.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        })
    };
    let (images, counts) = (band.clone(), band.clone());
    let hash = band.with_untracked(|band| band.hash.clone());
    let counts = move || {
        counts.with(|band| {
            if band.is_removed { "deleted".to_owned() } else { format!("{} wanted, {} available", band.wanted, band.available) }
        })
    };
    Some(view! {
        <div class=class style=style data-testid="gutter" data-revision=move || revision.get()>
            <div class="revision">{move || revision.get()}<span class="was">{was}</span></div>
            <div class="image mono">{move || images.with(|band| band.images.clone())}</div>
            <div class="counts mono">{hash}</div>
            <div class="counts" data-testid="counts">{counts}</div>
        </div>
    }.into_any())
}
