//! Updates the wall: follows the list, assigns the seats, and lets every seat follow one Deployment.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::Millis;
use timeline::list::{ClusterState, Group, ListCopy, Row, Window};
use timeline::wire::{ConnectionState, Scope, ServerFrame};

use super::age::Age;
use super::board::{Seat, WallBoard};
use super::settings::Settings;
use super::stage::{Key, Seats};
use super::{ROWS, SeatState, last_finished, of_group, strip, unseated};
use crate::browser::{now_millis, page_millis};
use crate::list::{LiveList, listed_clusters};
use crate::live::client::{Client, Live, Screen, ScreenRequest};
use crate::rollout::board::minute;
use crate::rollout::screen::RolloutScreen;
use crate::rows::set_if_new;

/// Interval at which the stage is updated.
const LOOK_MILLIS: f64 = 500.0;
/// Number of completed Deployments that are shown while nothing is in progress.
const PAST: usize = 3;
/// Interval at which their pictures move.
const PAST_MILLIS: f64 = 100.0;

/// The screen of a wall.
pub struct WallScreen {
    board: WallBoard,
    settings: Settings,
    /// The screen of each seat, with its own connection.
    followed: Vec<(RolloutScreen, Client)>,
    state: RefCell<State>,
}

struct State {
    live_list: LiveList,
    seats: Seats,
    looked_at: f64,
    /// Difference between the server's clock and the browser's clock, which continues while the computer sleeps.
    ahead_millis: Millis,
    /// Whether the server's first data of this list has arrived.
    is_begun: bool,
    is_dirty: bool,
}

impl WallScreen {
    /// Creates a screen of a wall with those rows, or without data. Called from effects.
    pub fn new(live: Live, board: WallBoard, settings: Settings, known: Option<LiveList>) -> Self {
        let follow = |seat: &Seat| {
            let screen = RolloutScreen::new(seat.board, seat.picture, None, Scope::Nothing, None);
            let client = Client::start(live, false);
            client.follow(Rc::new(screen.clone()));
            (screen, client)
        };
        let followed = board.seats.iter().map(follow).collect();
        let is_begun = known.is_some();
        let live_list = known.unwrap_or_default();
        let state = State {
            is_begun,
            live_list,
            seats: Seats::default(),
            looked_at: f64::NEG_INFINITY,
            ahead_millis: 0,
            is_dirty: true,
        };
        set_if_new(&board.heard_millis, state.present_millis(page_millis()));
        Self { board, settings, followed, state: RefCell::new(state) }
    }
}

impl Screen for WallScreen {
    fn scope(&self) -> Scope {
        Scope::List { query: self.settings.query.clone(), window: Window { from: 0, to: ROWS } }
    }

    fn link(&self, is_linked: bool, page_millis: f64) {
        set_if_new(&self.board.is_linked, is_linked);
        self.state.borrow_mut().live_list.link(is_linked, page_millis);
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Option<ScreenRequest> {
        let state = &mut *self.state.borrow_mut();
        for frame in &frames {
            if let ServerFrame::Heartbeat { now_millis: told_millis } = frame {
                state.ahead_millis = told_millis - now_millis();
            }
        }
        let before = names(&state.live_list.copy);
        if state.live_list.apply_frames(frames, &mut state.is_begun, page_millis) {
            if before != names(&state.live_list.copy) {
                state.seats = Seats::default(); // the numbers now stand for other clusters
            }
            state.is_dirty = true;
            self.board.set_overall(&state.live_list.copy.overall, &self.settings.query);
        }
        set_if_new(&self.board.heard_millis, state.present_millis(page_millis));
        None
    }

    fn animate(&self, page_millis: f64) -> Option<ScreenRequest> {
        let state = &mut *self.state.borrow_mut();
        if state.is_begun && (state.is_dirty || page_millis - state.looked_at > LOOK_MILLIS) {
            (state.is_dirty, state.looked_at) = (false, page_millis);
            self.update_seats(state, page_millis);
        }
        None
    }

    /// Closes the connections of the seats, which the wall owns.
    fn end(&self) {
        self.followed.iter().for_each(|(_, client)| client.stop());
    }
}

impl State {
    /// Returns the present by the server's clock, because that of a television may be wrong, or by the cluster's if that is ahead, as a
    /// playground's may be. A cluster's clock that is behind may have stopped while the computer slept.
    fn present_millis(&self, page_millis: f64) -> Millis {
        let server_millis = now_millis() + self.ahead_millis;
        self.live_list.cluster_millis(page_millis).into_iter().fold(server_millis, Millis::max)
    }
}

fn names(copy: &ListCopy) -> Vec<String> {
    copy.overall.clusters.iter().map(|cluster| cluster.name.clone()).collect()
}

impl WallScreen {
    fn update_seats(&self, state: &mut State, page_millis: f64) {
        let copy = &state.live_list.copy;
        let active = |group| of_group(copy, group).map(move |row: &Row| (row.key(), group));
        let all: Vec<(Key, Group)> = active(Group::InTrouble).chain(active(Group::InProgress)).collect();
        let on_stage = state.seats.update(&all, page_millis);
        let mut clusters = listed_clusters(&copy.overall, &self.settings.query);
        if clusters.any(|cluster| cluster.connection.state == ConnectionState::Connecting) {
            state.seats.forget_trouble();
        }
        let is_stable = on_stage.iter().all(Option::is_none);
        // While nothing is in progress, the last completed Deployments have the seats.
        let mut past = of_group(copy, Group::Finished).map(Row::key).take(PAST).fuse();
        let seated = if is_stable { on_stage.map(|_| past.next()) } else { on_stage };
        let taken = if is_stable { SeatState::Past } else { SeatState::OnStage };
        let ages = state.live_list.ages(page_millis);
        let seats = seated.into_iter().enumerate().zip(&self.board.seats).zip(&self.followed);
        for (((number, key), seat), followed) in seats {
            let row = key.and_then(|key| copy.rows().find(|row| row.key() == key));
            let seen = row.and_then(|row| Some((row, copy.overall.clusters.get(usize::from(row.cluster))?)));
            if state.seats.assign_seat(number, key) {
                follow_row(followed, seat, seen);
            }
            seat.has_new_trouble.set_value(state.seats.has_new_trouble(number));
            let look = if key.is_some() { taken } else { SeatState::Free };
            set_if_new(&seat.look, look);
            followed.0.set_pause(match look {
                SeatState::Free => f64::INFINITY,
                SeatState::OnStage => 0.0,
                SeatState::Past => PAST_MILLIS,
            });
            if let Some((row, _)) = seen {
                set_if_new(&seat.revision, (row.summary.replaces, row.summary.revision));
            }
            // Rows outside of the list's window keep their age.
            if !self.board.is_linked.get_untracked() {
                set_if_new(&seat.age, Age::LastSeen(self.board.heard_millis.get_untracked()));
            } else if let Some((row, cluster)) = seen {
                set_if_new(&seat.age, Age::from_row(row, cluster, ages.known_until(row)));
            }
        }
        let seated: Vec<Key> = seated.into_iter().flatten().collect();
        let turn = (page_millis / (f64::from(self.settings.rotate_seconds) * 1_000.0)) as u64;
        let board = &self.board;
        set_if_new(&board.strip, strip(copy, &seated, &ages, turn));
        set_if_new(&board.unseated, unseated(copy, &seated));
        set_if_new(&board.is_stable, is_stable);
        set_if_new(&board.last, last_finished(copy, &ages));
        set_if_new(&board.now_millis, minute(state.present_millis(page_millis)));
    }
}

/// Lets a seat follow its present Deployment.
fn follow_row((screen, client): &(RolloutScreen, Client), seat: &Seat, seen: Option<(&Row, &ClusterState)>) {
    let scope = seen.map_or(Scope::Nothing, |(row, cluster)| {
        let workload = row.summary.workload(&cluster.name);
        seat.board.view.set(None);
        set_if_new(&seat.board.workload, workload.clone());
        Scope::Workload(workload)
    });
    screen.reset(scope);
    client.follow(Rc::new(screen.clone()));
}
