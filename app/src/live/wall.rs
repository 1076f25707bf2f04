//! The wall in the browser: follows the list, directs the stage, and lets every seat follow one Deployment. Seats are there for
//! as long as the page lives and are only aimed anew, so that nothing gathers over days.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::Millis;
use timeline::frame::{self, Position, Scope, ServerFrame, Snapshot, Unreadable};
use timeline::list::{Copy, Entry, Group, Window};
use timeline::words::{clock, safe};

use super::client::{self, Ask, Screen};
use super::entitle;
use super::known::Known;
use super::link::LinkState;
use super::screen::DeploymentScreen;
use crate::board::set_if_new;
use crate::list;
use crate::pages::{PREFIXES, TileBoard, WallBoard};
use crate::payload::WallPayload;
use crate::wall::stage::{self, Key, Seats};
use crate::wall::{self, LINES, Look};

/// The stage is looked at this often.
const LOOK_MILLIS: f64 = 500.0;
/// How many that are done are shown while nothing goes on.
const PAST: usize = 3;

struct Wall {
    board: WallBoard,
    screens: Vec<DeploymentScreen>,
    rotate_millis: f64,
    query: timeline::list::Query,
    state: RefCell<State>,
}

struct State {
    known: Known,
    seats: Seats,
    looked_at: f64,
    is_dirty: bool,
}

/// Starts a wall; it lives as long as the page.
pub(crate) fn start(board: WallBoard, payload: WallPayload) {
    let build = payload.list.build.clone();
    let screen = |(prefix, tile): (&&'static str, &TileBoard)| {
        let screen = DeploymentScreen::new(tile.board.clone(), prefix, nothing(), None);
        client::start(Box::new(screen.clone()), Scope::Nothing, build.clone(), false);
        screen
    };
    let screens = PREFIXES.iter().zip(&board.tiles).map(screen).collect();
    let query = payload.list.query.clone();
    let copy = payload.list.copy();
    let state = State { known: Known::of(copy), seats: Seats::default(), looked_at: f64::NEG_INFINITY, is_dirty: true };
    let rotate_millis = f64::from(payload.rotate_seconds) * 1_000.0;
    set_if_new(&board.heard_millis, now_millis());
    let wall = Wall { board, screens, rotate_millis, query: query.clone(), state: RefCell::new(state) };
    let scope = Scope::List { query, window: Window { from: 0, to: LINES } };
    client::start(Box::new(Rc::new(wall)), scope, payload.list.build, true);
}

/// What a seat shows before anybody sits there.
fn nothing() -> Snapshot {
    Snapshot {
        epoch: 0,
        seq: 0,
        now_millis: now_millis(),
        deployment: None,
        looking_since_millis: 0,
        model: timeline::Model::default(),
        said: timeline::frame::Said::default(),
    }
}

/// The browser's time of day.
fn now_millis() -> Millis {
    js_sys::Date::now() as Millis
}

impl Screen for Rc<Wall> {
    fn decode(&self, bytes: &[u8]) -> Result<Option<ServerFrame>, Unreadable> {
        frame::decode_of_list(bytes)
    }

    fn link(&self, link: LinkState, _: f64) {
        set_if_new(&self.board.is_linked, matches!(link, LinkState::Live { .. } | LinkState::Connecting { .. }));
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Ask {
        let state = &mut *self.state.borrow_mut();
        self.board.heard_millis.set(now_millis());
        for frame in frames {
            if let ServerFrame::List(news) = frame {
                let names = |copy: &Copy| copy.overall.clusters.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
                let before = names(&state.known.copy);
                state.known.hear(*news, page_millis);
                if before != names(&state.known.copy) {
                    state.seats = Seats::default(); // numbers of clusters mean others now
                }
                state.is_dirty = true;
            }
        }
        let overall = &state.known.copy.overall;
        if !self.board.overall.with_untracked(|known| known.is_like(overall)) {
            self.board.overall.set(overall.clone());
            entitle(&list::title(overall, &self.query));
        }
        Ask::Nothing
    }

    fn animate(&self, page_millis: f64) -> Ask {
        let state = &mut *self.state.borrow_mut();
        if state.is_dirty || page_millis - state.looked_at > LOOK_MILLIS {
            (state.is_dirty, state.looked_at) = (false, page_millis);
            self.direct(state, page_millis);
        }
        Ask::Nothing
    }

    fn position(&self) -> Option<Position> {
        None
    }
}

impl Wall {
    fn direct(&self, state: &mut State, page_millis: f64) {
        let active = |group| wall::of_group(&state.known.copy, group).map(move |entry: &Entry| (entry.key(), group));
        let all: Vec<(Key, Group)> = active(Group::Stuck).chain(active(Group::Moving)).collect();
        let on_stage = state.seats.direct(&all, page_millis);
        let is_calm = on_stage.iter().all(Option::is_none);
        let past: Vec<Key> = wall::of_group(&state.known.copy, Group::Finished).map(Entry::key).take(PAST).collect();
        let wanted: Vec<(Option<Key>, Look)> = if is_calm {
            let past = past.into_iter().map(|key| (Some(key), Look::Past));
            past.chain(std::iter::repeat((None, Look::Free))).take(stage::SEATS).collect()
        } else {
            let look = |key: &Option<Key>| if key.is_some() { Look::OnStage } else { Look::Free };
            on_stage.iter().map(|key| (*key, look(key))).collect()
        };
        let seats = wanted.iter().enumerate().zip(&self.board.tiles).zip(&self.screens);
        for (((number, (key, look)), tile), screen) in seats {
            if state.seats.aim(number, *key) {
                seat(screen, tile, &state.known.copy, *key);
            }
            set_if_new(&tile.look, *look);
        }
        let ages = state.known.ages(page_millis);
        let seated: Vec<Key> = wanted.iter().filter_map(|(key, _)| *key).collect();
        let turn = (page_millis / self.rotate_millis) as u64;
        let board = &self.board;
        set_if_new(&board.strip, wall::strip(&state.known.copy, &seated, &ages, turn));
        set_if_new(&board.calm, if is_calm { wall::calm(&state.known.copy, &ages) } else { String::new() });
        let time = clock(now_millis());
        set_if_new(&board.clock, format!("{} UTC", time.get(..5).unwrap_or(&time)));
    }
}

/// Lets a seat follow who sits there now.
fn seat(screen: &DeploymentScreen, tile: &TileBoard, copy: &Copy, key: Option<Key>) {
    let entry = key.and_then(|key| copy.lines().find(|entry| entry.key() == key));
    let cluster = entry.and_then(|entry| copy.overall.clusters.get(usize::from(entry.cluster)));
    let Some((entry, cluster)) = entry.zip(cluster) else {
        screen.aim(Scope::Nothing);
        return;
    };
    let summary = &entry.summary;
    tile.board.view.set(None);
    set_if_new(&tile.name, safe(&summary.name));
    set_if_new(&tile.place, format!("{} / {}", safe(&cluster.name), safe(&summary.namespace)));
    screen.aim(Scope::Deployment {
        cluster: cluster.name.clone(),
        namespace: summary.namespace.clone(),
        name: summary.name.clone(),
        uid: Some(summary.uid),
    });
}
