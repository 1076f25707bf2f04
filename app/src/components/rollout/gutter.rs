//! Labels beside each band: revision, image, hash and counts.

use leptos::prelude::*;
use timeline::address;
use timeline::words::{grouped, safe};

use crate::browser::{self, bind_style};
use crate::components::detail::link::DetailLink;
use crate::components::image::ImageName;
use crate::images::ImageText;
use crate::rollout::board::Board;
use crate::rollout::picture::Picture;
use crate::rows::parts;
use crate::scoped::ScopedFor;
use crate::score::lanes::revision_name;
use crate::score::scene::BandRow;
use crate::score::style_sheet;

/// Height up to which a band has room for one line of text (also for pods out of rotation); for two lines, and for three.
const ONE_LINE: f64 = 52.0;
const ONE_LINE_OUT: f64 = 36.0;
const TWO_LINES: f64 = 68.0;
const THREE_LINES: f64 = 86.0;

/// The column beside the picture with the label of each band.
#[component]
pub fn Gutter(picture: Picture) -> impl IntoView {
    let label = move |key: u128| picture.bands.row_signal(key).map(|band| view! { <BandLabel band picture/> });
    view! {
        <div class="gutter" id=format!("{}gutter", picture.prefix)>
            <ScopedFor each=move || picture.bands.order() children=label/>
        </div>
    }
}

/// Revision, image, hash and counts of one band.
#[component]
fn BandLabel(band: ReadSignal<BandRow>, picture: Picture) -> impl IntoView {
    let pressed = move |event: web_sys::KeyboardEvent| {
        let is_arrow = matches!(event.key().as_str(), "ArrowUp" | "ArrowDown") && !browser::has_modifier(&event);
        if is_arrow && band.with_untracked(|band| picture.focus_first_of(Some(&band.heading))) {
            event.prevent_default();
        }
    };
    let is_out = band.with_untracked(|band| band.heading.is_out());
    let with = parts(band);
    let style: Signal<String> = with(style_sheet::heading_style).into();
    let (class, revision) = (with(class), with(|band| band_name(band, ["out", "?"])));
    let title = with(|band| band_name(band, ["Out of rotation", "?"]));
    // On a wall there is no page to which the label could link.
    let board = Board::of_page();
    let heading = move || match (board, title.with(|title| title.parse::<u64>())) {
        (Some(board), Ok(number)) => {
            let (workload, label) = (board.workload.get_untracked(), format!("Revision {number}"));
            view! { <DetailLink workload path=address::revision(number) label>{number}</DetailLink> }.into_any()
        }
        _ => title.get().into_any(),
    };
    let was = with(|band| match band.heading.was.as_slice() {
        [] => String::new(),
        was => format!(" earlier {}", was.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    });
    let (test_id, heading_class) = if is_out { ("gutter-out", "out-title") } else { ("gutter", "revision") };
    let (images, hash, counts) =
        (with(|band| band.heading.images.clone()), with(|band| safe(&band.heading.hash)), with(counts));
    let images = Signal::derive(move || ImageText::new(&images.read()));
    view! {
        <div class=class data-testid=test_id data-revision=revision use:bind_style=style on:keydown=pressed>
            <div class=heading_class>{heading}<span class="was">{was}</span></div>
            {(!is_out).then(|| view! {
                <div class="image"><ImageName text=images/></div>
                <div class="counts hash mono">{hash}</div>
            })}
            <div class="counts" title=counts data-testid="counts">{counts}</div>
        </div>
    }
}

fn band_name(band: &BandRow, words: [&str; 2]) -> String {
    revision_name(band.heading.is_out(), band.heading.revision, words)
}

fn class(band: &BandRow) -> String {
    let current = if band.heading.is_current { " current" } else { "" };
    let one_line = if band.heading.is_out() { ONE_LINE_OUT } else { ONE_LINE };
    let room = match band.place.height {
        height if height < one_line => " low",
        height if height < TWO_LINES => " short plain",
        height if height < THREE_LINES => " short",
        _ => "",
    };
    format!("beside{current}{room}")
}

fn counts(band: &BandRow) -> String {
    let number = |pods: u32| grouped(pods.into());
    match (band.heading.is_out(), band.heading.is_removed) {
        (true, true) => "without a ReplicaSet".to_owned(),
        (true, false) => "labels no longer match".to_owned(),
        (false, true) => "deleted".to_owned(),
        (false, false) => {
            format!("{} desired, {} available", number(band.heading.desired), number(band.heading.available))
        }
    }
}
