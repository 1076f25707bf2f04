//! The rows of the list: those in view and a few more, with placeholders for the others before and after. A row shows the name of
//! a Deployment, its pods and its verdict, and links to its pages.

use leptos::either::{Either, EitherOf3};
use leptos::prelude::*;
use timeline::view::Tone;
use timeline::words::grouped;

use crate::browser::bind_style;
use crate::components::image::ImageName;
use crate::debounce::debounce;
use crate::elements::register_element;
use crate::list::board::{ListBoard, Slot};
use crate::list::keys;
use crate::list::row::{Heading, RowText};
use crate::list::tiny_score::{CLASSES, HIGH, TinyPicture, WIDE};
use crate::scoped::ScopedFor;
use crate::zone::Zone;

/// Renders headings and rows in view between placeholders for the others.
#[component]
pub fn ListRows(board: ListBoard) -> impl IntoView {
    let before = Signal::derive(move || board.before.get().style());
    let after = Signal::derive(move || board.after.get().style());
    let row = move |slot: Slot| match slot {
        Slot::Head(index) => {
            EitherOf3::A(board.heads.row_signal(index as u128).map(|heading| view! { <Head heading/> }))
        }
        Slot::Row(key) => EitherOf3::B(board.rows.row_signal(key).map(|row| view! { <Row board key row/> })),
        Slot::Coming(_) => EitherOf3::C(view! { <div class="line"></div> }),
    };
    view! {
        <div class="rows" id="rows" node_ref=board.element>
            <div class="room" aria-hidden="true" use:bind_style=before></div>
            <ScopedFor each=move || board.slots.get() children=row/>
            <div class="room" aria-hidden="true" use:bind_style=after></div>
        </div>
    }
}

/// Renders a heading between the rows of the list, with the number of rows below it.
#[component]
fn Head(heading: ReadSignal<Heading>) -> impl IntoView {
    let words = move || {
        let Heading { words, address, .. } = heading.get();
        match address {
            Some(address) => Either::Left(view! { <a href=address>{words}</a> }),
            None => Either::Right(words),
        }
    };
    view! {
        <h2 class="group" data-testid="head"><b>{words}</b>" "{move || grouped(heading.read().rows.into())}</h2>
    }
}

/// Renders a row. All of it has the same time, except the age, which keeps counting.
#[component]
fn Row(board: ListBoard, key: u128, row: ReadSignal<RowText>) -> impl IntoView {
    let zone = Zone::of_page();
    let since = move || row.read().since.clone();
    let row = Signal::derive(move || RowText { since: String::new(), ..row.get() });
    let row = debounce(row, Signal::stored(false));
    let text = move |read: fn(&RowText) -> &String| move || read(&row.read()).clone();
    let said =
        move |read: fn(&RowText) -> &String| move || row.with(|row| zone.replace_times(read(row), row.near_millis));
    let class = move || if matches!(row.read().tone, Tone::Bad | Tone::Busy) { "row" } else { "row stable" };
    let rollouts = move || format!("{}/rollouts", row.read().address);
    let images = Signal::derive(move || row.read().images.clone());
    let tiny = Signal::derive(move || row.read().tiny.clone());
    let named = move || row.with(|row| [&*row.name, &row.place].join(", "));
    let all = move || row.with(|row| zone.replace_times(&[&*row.sentence, &row.why].join(" "), row.near_millis));
    view! {
        <div class="line" on:keydown=move |event| keys::handle_row_key(&event, board, key)>
            <a class=class use:register_element=(board.links, key) on:click=move |_| board.last_row.set_value(Some(key)) href=text(|row| &row.address) data-testid="deployment">
                <span class="name" title=named>
                    <b>{text(|row| &row.name)}</b>
                    <span class="muted"><i class=move || format!("accent accent-{}", row.read().accent)></i><bdi>{text(|row| &row.place)}</bdi></span>
                </span>
                <span class="pods"><TinyScore tiny/></span>
                <span class="says" title=all>
                    <span class=move || format!("sentence {}", row.read().tone.name())>{said(|row| &row.sentence)}</span>
                    <span class="muted why">{said(|row| &row.why)}</span>
                </span>
                <span class="image"><b>{text(|row| &row.revision)}</b>" "<ImageName text=images/></span>
                // Changes every second: as a part of the link's name, screen readers would repeat the row each time.
                <span class="muted since" aria-hidden="true">{since}" ago"</span>
            </a>
            <a class="past" href=rollouts aria-label=move || format!("Rollouts of {}", row.read().name)>"Rollouts"</a>
        </div>
    }
}

/// Renders a row's picture of the last minute, with the number of available pods beside it.
#[component]
fn TinyScore(tiny: Signal<TinyPicture>) -> impl IntoView {
    let layer = move |(layer, class): (usize, &'static str)| {
        let path = move || tiny.read().layers.get(layer).cloned().unwrap_or_default();
        view! { <path class=class d=path></path> }
    };
    view! {
        <svg class="tiny" viewBox=format!("0 0 {WIDE} {HIGH}") preserveAspectRatio="none" aria-hidden="true">
            {CLASSES.into_iter().enumerate().map(layer).collect_view()}
            <path class="desired" d=move || tiny.read().desired.clone()></path>
        </svg>
        <span class=move || if tiny.read().is_short { "counted short" } else { "counted" }>
            {move || tiny.read().new_of_desired.clone()}
            <small class=move || if tiny.read().is_new { "" } else { "aside" }>" new"</small>
            <span class="aside">" available"</span>
        </span>
    }
}
