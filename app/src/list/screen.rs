//! Updates the list: renders and follows the rows in view, and requests a few more around them.

use std::cell::RefCell;
use std::time::Duration;

use leptos::prelude::*;
use timeline::address;
use timeline::list::{Query, Window};
use timeline::wire::{Scope, ServerFrame};

use super::board::ListBoard;
use super::memory::{ListMemory, SavedList, VIEW_PX};
use super::visible_rows::{VisibleRows, moved_px, rows_between};
use crate::browser;
use crate::keep_focus::keep_focus;
use crate::live::client::{Screen, ScreenRequest};
use crate::rows::set_if_new;

/// Height rendered above and below the view, in pixels.
const MORE_PX: f64 = 700.0;
/// The rendered part is updated once the view came this close to its edge, in pixels.
const STEP_PX: f64 = 350.0;
/// Rows requested above and below the rendered ones.
const MORE_ROWS: u32 = 30;
/// Interval at which sizes are measured and ages are updated.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;

/// Rows that are requested before the view is known.
pub const FIRST: Window = Window { from: 0, to: 2 * MORE_ROWS };

pub struct ListScreen {
    board: ListBoard,
    memory: ListMemory,
    state: RefCell<State>,
}

struct State {
    query: Query,
    /// The list as it would be stored. Its `row` still has to get the focus.
    list: SavedList,
    /// Whether the page still has to be scrolled to its stored position.
    is_to_scroll: bool,
    made_at_px: f64,
    looked_at: f64,
    /// Whether the server's first data of this list has arrived.
    is_begun: bool,
    is_dirty: bool,
}

/// Returns the part of a list that is in view, and a little more.
pub fn in_view(list: &SavedList) -> VisibleRows {
    let from = list.scrolled_px - list.top_px;
    rows_between(&list.live_list.copy.overall, list.row_px, from - MORE_PX, from + list.view_px + MORE_PX)
}

impl ListScreen {
    /// Creates a screen of a list with its present or stored state.
    pub fn new(board: ListBoard, memory: ListMemory, list: SavedList) -> Self {
        let state = State {
            query: board.query.get_untracked(),
            is_to_scroll: list.scrolled_px > 0.0,
            list,
            made_at_px: f64::NEG_INFINITY,
            looked_at: f64::NEG_INFINITY,
            is_begun: false,
            is_dirty: true,
        };
        Self { board, memory, state: RefCell::new(state) }
    }
}

impl Screen for ListScreen {
    fn scope(&self) -> Scope {
        let state = self.state.borrow();
        Scope::List { query: state.query.clone(), window: state.list.window }
    }

    fn link(&self, is_linked: bool, page_millis: f64) {
        set_if_new(&self.board.is_linked, is_linked);
        self.state.borrow_mut().list.live_list.link(is_linked, page_millis);
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Option<ScreenRequest> {
        let state = &mut *self.state.borrow_mut();
        if state.list.live_list.apply_frames(frames, &mut state.is_begun, page_millis) {
            state.is_dirty = true;
            self.board.set_overall(&state.list.live_list.copy.overall);
        }
        None
    }

    fn animate(&self, page_millis: f64) -> Option<ScreenRequest> {
        let state = &mut *self.state.borrow_mut();
        if std::mem::take(&mut state.is_to_scroll) {
            browser::scroll_to_px(state.list.scrolled_px);
        }
        state.list.scrolled_px = browser::scrolled_px();
        if page_millis - state.looked_at > LOOK_AGAIN_MILLIS {
            (state.looked_at, state.is_dirty) = (page_millis, true);
            state.measure(self.board);
        }
        let scrolled = state.list.scrolled_px;
        if state.is_dirty || (scrolled - state.made_at_px).abs() > STEP_PX {
            (state.is_dirty, state.made_at_px) = (false, scrolled);
            let ages = state.list.live_list.ages(page_millis);
            let tops = self.board.row_tops(state.list.row_px);
            keep_focus();
            self.board.show(&state.list.live_list.copy, &in_view(&state.list), &ages);
            // Rows that move above the view must not shift those in view: a click would open another one.
            let top_px = scrolled - state.list.top_px;
            let view = top_px..top_px + state.list.view_px;
            let moved = moved_px(&tops, &self.board.row_tops(state.list.row_px), &view);
            if top_px > 0.0 && moved != 0.0 {
                // Before the list has its new height, the browser would not scroll beyond the old end.
                browser::run_after_effects(move || browser::scroll_to_px(scrolled + moved));
            }
            if let Some(row) = state.list.row.take() {
                let links = self.board.links;
                // Runs after the row is rendered.
                browser::run_after(Duration::ZERO, move || {
                    if let Some(link) = links.get(row) {
                        browser::focus_in_place(&link);
                    }
                });
            }
        }
        state.request_rows(self.board, self.memory)
    }

    fn end(&self) {
        let state = self.state.borrow();
        let left = SavedList { row: self.board.last_row.get_value(), ..state.list.clone() };
        self.memory.keep(address::list(&state.query), left);
    }
}

impl State {
    fn measure(&mut self, board: ListBoard) {
        self.list.view_px = browser::window_height_px().unwrap_or(VIEW_PX);
        let Some(element) = board.element.get_untracked() else { return };
        self.list.top_px = element.get_bounding_client_rect().top() + self.list.scrolled_px;
        // Rows are higher on narrow screens.
        if let Some(row) = board.first_row() {
            self.list.row_px = row.get_bounding_client_rect().height().max(20.0);
        }
    }

    /// Requests other rows or another list if the present data is not sufficient.
    fn request_rows(&mut self, board: ListBoard, memory: ListMemory) -> Option<ScreenRequest> {
        let query = board.query.with_untracked(|query| (*query != self.query).then(|| query.clone()));
        if query.is_some() {
            memory.clear_went_to();
        }
        let wanted = if query.is_some() { Some(FIRST) } else { self.missing_rows() };
        self.list.window = wanted.filter(|_| board.is_linked.get_untracked())?;
        if let Some(query) = query {
            self.query = query;
        }
        Some(ScreenRequest::Snapshot)
    }

    /// Returns the rows to request if some of those in view were not requested.
    fn missing_rows(&self) -> Option<Window> {
        let (first, last) = in_view(&self.list).rows()?;
        let is_known = self.list.window.from <= first && last < self.list.window.to;
        let rows = self.list.live_list.copy.overall.rows();
        let wanted = Window { from: first.saturating_sub(MORE_ROWS), to: (last + 1 + MORE_ROWS).min(rows) };
        (!is_known).then_some(wanted)
    }
}
