//! The wall: rollouts in progress, updated without interaction, readable from a distance.

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::hooks::use_url;
use timeline::address::Parameters;
use timeline::list::{ListCopy, Query};

use crate::browser::{self, WakeLock, bind_style};
use crate::components::banner::Banner;
use crate::components::header::{Header, Section};
use crate::components::preview::preview;
use crate::components::state_marks::{Points, StateMarks, Swatch, usual_states};
use crate::components::title::PageTitle;
use crate::components::wall::footer::WallFooter;
use crate::components::wall::sound::Sound;
use crate::components::wall::tile::Tile;
use crate::connection::next_try;
use crate::context::take_payload;
use crate::list::{self, LiveList};
use crate::live::client::Live;
use crate::payload::Payload;
use crate::rows::set_if_new;
use crate::score::budget::Limit;
use crate::score::ink::PodLook;
use crate::wall;
use crate::wall::board::WallBoard;
use crate::wall::screen::WallScreen;
use crate::wall::settings::Settings;
use crate::zone::Zone;

/// Interval at which the content moves against burn-in.
const SHIFT_EVERY: Duration = Duration::from_secs(600);
/// Positions of the content in turn, in pixels.
const SHIFTS: [u8; 8] = [0, 2, 4, 6, 8, 6, 4, 2];

/// The page. It is created anew for another address; its header has a link to the wall of all Deployments.
#[component]
pub fn WallPage() -> impl IntoView {
    let url = use_url();
    let settings = Memo::new(move |_| Settings::from_parameters(&Parameters::parse(url.read().search())));
    move || view! { <Wall settings=settings.get()/> }
}

#[component]
fn Wall(settings: Settings) -> impl IntoView {
    let payload = take_payload(|payload| if let Payload::Wall(wall) = payload { Some(*wall) } else { None });
    if let Some(payload) = &payload {
        preview(|| payload.wall_preview());
    }
    let copy = payload.map(|payload| payload.copy());
    let rows = copy.as_ref().map(wall::plain).unwrap_or_default();
    let board = WallBoard::new(copy.as_ref(), &settings.query);
    follow(board, settings.clone(), copy);
    let zone = Zone::of_page();
    let live = Live::of_app();
    let Settings { query, columns, has_sound, .. } = settings;
    let of_title = query.clone();
    let title = move || list::words::tab_title(&board.overall.read(), &of_title, board.is_linked.get());
    let stale = move || {
        let stamp = |at_millis| board.dated(zone, at_millis);
        let since_millis = (!board.is_linked.get()).then(|| board.heard_millis.get());
        wall::stale_notice(&board.overall.read(), since_millis, stamp)
    };
    let next = move || {
        if !board.is_linked.get() {
            return next_try(live.retry_seconds.get());
        }
        list::words::next_retry(&board.overall.read(), zone)
    };
    let columns = if columns == 0 { String::new() } else { format!(" columns-{columns}") };
    // The position of the content changes against burn-in.
    let moves = RwSignal::new(0_usize);
    Effect::new(move |_| browser::run_every(SHIFT_EVERY, move || moves.update(|moves| *moves += 1)));
    let shifted = Signal::derive(move || if moves.get() == 0 { String::new() } else { shift(moves.get()) });
    let is_pointed = RwSignal::new(false);
    // While a page loads, a browser may report a resting pointer as one that entered.
    Effect::new(move |_| {
        browser::on_window(leptos::ev::mousemove, move |event| {
            if (event.movement_x(), event.movement_y()) != (0, 0) {
                set_if_new(&is_pointed, true);
            }
        });
    });
    view! {
        <PageTitle text=Signal::derive(title)/>
        <main class=move || if is_pointed.get() { "wall pointed" } else { "wall" } data-testid="wall" data-sound=has_sound.then_some("on") use:bind_style=shifted>
            <Banner test_id="stale" words=stale countdown=next/>
            <h1 class="aside">{list::heading(&query)}</h1>
            <StableLine board query=query.clone()/>
            // The rows as the server knew them, shown without scripts.
            <ul class="plain-rows" data-testid="plain-rows">{rows.into_iter().map(|row| view! { <li>{row}</li> }).collect_view()}</ul>
            <div class=format!("tiles{columns}") id="tiles" data-count=move || board.taken_seats().to_string()>
                {board.seats.map(|seat| view! { <Tile wall=board seat/> }).collect_view()}
            </div>
            <WallLegend is_needed=Signal::derive(move || board.taken_seats() > 0)/>
            <WallFooter board query/>
            {has_sound.then(|| view! { <Sound board/> })}
        </main>
        // Visible only on touch or Tab: on a large screen it would take space from the content.
        <Header section=Section::Wall/>
    }
}

/// Follows the content of the wall until the viewer leaves the page.
fn follow(board: WallBoard, settings: Settings, copy: Option<ListCopy>) {
    let live = Live::of_app();
    let begin = move || {
        let known = copy.map(|copy| LiveList::from_copy(copy, browser::page_millis()));
        WallScreen::new(live, board, settings, known)
    };
    live.show(begin);
    Effect::new(move |_| {
        // Dropped with the page.
        let awake = StoredValue::new_local(WakeLock::default());
        awake.with_value(WakeLock::request);
        browser::on_window(leptos::ev::visibilitychange, move |_| {
            awake.try_with_value(WakeLock::request); // the event bubbles up to the window
        });
    });
}

/// One large line while nothing is in progress; hidden otherwise.
#[component]
fn StableLine(board: WallBoard, query: Query) -> impl IntoView {
    let of_class = query.clone();
    let class = move || {
        let overall = board.known_overall();
        match (board.is_stable.get(), wall::unseen_clusters(&overall, &of_class).next().is_some()) {
            (false, _) => "unused",
            (true, false) => "stable-line",
            (true, true) => "stable-line unseen",
        }
    };
    let words = Memo::new(move |_| {
        if !board.is_stable.get() {
            return String::new();
        }
        wall::stable_line(&board.known_overall(), &query, &board.last.read())
    });
    view! { <p id="stable" class=class title=words data-testid="stable">{words}</p> }
}

/// Legend of the marks in the pictures, readable from a distance. Renders nothing without pictures.
#[component]
fn WallLegend(is_needed: Signal<bool>) -> impl IntoView {
    let class = move || if is_needed.get() { "wall-legend" } else { "unused" };
    let states = usual_states().map(|state| view! { <StateMarks state/> }).collect_view();
    view! {
        <ul class=class aria-label="Legend">
            {states}
            <li><Swatch look=PodLook::Outside/>"out of rotation"</li>
            <li><i class=format!("sample {}", Limit::Ceiling.name())></i>"ceiling (replicas + maxSurge)"</li>
            <li><i class=format!("sample {}", Limit::Floor.name())></i>"floor (replicas − maxUnavailable)"</li>
            <Points/>
        </ul>
    }
}

/// Returns the position of the content after so many moves, as a style.
fn shift(moves: usize) -> String {
    let at = |step: usize| SHIFTS.get(step % SHIFTS.len()).copied().unwrap_or_default();
    format!("transform:translate({}px, {}px)", at(moves), at(moves / SHIFTS.len()))
}

#[cfg(test)]
mod tests {
    use super::shift;

    #[test]
    fn every_place_is_near_and_the_first_one_comes_back() {
        assert_eq!(
            [0, 1, 8, 64].map(shift),
            ["0px, 0px", "2px, 0px", "0px, 2px", "0px, 0px"].map(|at| format!("transform:translate({at})"))
        );
    }
}
