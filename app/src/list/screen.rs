//! Keeps the list right: those rows in view are made and followed, a few more around them are known.

use std::cell::RefCell;
use std::time::Duration;

use leptos::prelude::*;
use timeline::list::{Query, Window};
use timeline::wire::{Scope, ServerFrame};

use super::board::ListBoard;
use super::memory::{SavedList, ScrollView, VIEW_PX};
use super::visible_rows::{VisibleRows, rows_between};
use super::{Ages, LiveList};
use crate::browser;
use crate::keep_focus::keep_focus;
use crate::live::client::{Screen, ScreenRequest};
use crate::live::link::LinkState;
use crate::rows::set_if_new;

/// Made above and below what is in view, in pixels.
const MORE_PX: f64 = 700.0;
/// The part is made anew once this much of that is used up.
const STEP_PX: f64 = 350.0;
/// Rows known above and below the made ones.
const MORE_ROWS: u32 = 30;
/// Sizes are measured, and ages told, this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;

/// Rows that are asked for where nothing says which are in view.
pub const FIRST: Window = Window { from: 0, to: 2 * MORE_ROWS };

pub struct ListScreen {
    board: ListBoard,
    state: RefCell<State>,
}

struct State {
    known: LiveList,
    asked: (Query, Window),
    view: ScrollView,
    /// The page is yet to be scrolled to where it was left.
    is_to_scroll: bool,
    /// Key of the row that is yet to get the focus.
    to_focus: Option<u128>,
    made_at_px: f64,
    looked_at: f64,
    /// The server began to tell of this list.
    is_begun: bool,
    is_dirty: bool,
}

/// The part of a list that is in view, and a little more.
pub fn in_view(known: &LiveList, view: ScrollView) -> VisibleRows {
    let from = view.scrolled_px - view.top_px;
    rows_between(&known.copy.overall, view.row_px, from - MORE_PX, from + view.view_px + MORE_PX)
}

impl ListScreen {
    /// A screen of a list as it is known, or as it was left.
    pub fn new(board: ListBoard, list: SavedList) -> Self {
        let SavedList { known, window, view, row: to_focus } = list;
        let state = State {
            known,
            asked: (board.query.get_untracked(), window),
            view,
            is_to_scroll: view.scrolled_px > 0.0,
            to_focus,
            made_at_px: f64::NEG_INFINITY,
            looked_at: f64::NEG_INFINITY,
            is_begun: false,
            is_dirty: true,
        };
        Self { board, state: RefCell::new(state) }
    }

    pub fn scope(&self) -> Scope {
        let (query, window) = self.state.borrow().asked.clone();
        Scope::List { query, window }
    }

    /// The list as it is left.
    pub fn save(&self) -> (Query, SavedList) {
        let state = self.state.borrow();
        let (query, window) = state.asked.clone();
        (query, SavedList { known: state.known.clone(), window, view: state.view, row: self.board.at.get_value() })
    }
}

impl Screen for ListScreen {
    fn link(&self, link: LinkState, page_millis: f64) {
        let is_linked = !link.is_lost();
        set_if_new(&self.board.is_linked, is_linked);
        self.state.borrow_mut().known.link(is_linked, link.silent_since().unwrap_or(page_millis));
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> ScreenRequest {
        let state = &mut *self.state.borrow_mut();
        if state.known.apply_frames(frames, &mut state.is_begun, page_millis) {
            state.is_dirty = true;
            self.board.hear(&state.known.copy.overall);
        }
        ScreenRequest::Nothing
    }

    fn animate(&self, page_millis: f64) -> ScreenRequest {
        let state = &mut *self.state.borrow_mut();
        if std::mem::take(&mut state.is_to_scroll) {
            browser::scroll_to_px(state.view.scrolled_px);
        }
        state.view.scrolled_px = browser::scrolled_px();
        if page_millis - state.looked_at > LOOK_AGAIN_MILLIS {
            (state.looked_at, state.is_dirty) = (page_millis, true);
            state.measure(self.board);
        }
        let scrolled = state.view.scrolled_px;
        if state.is_dirty || (scrolled - state.made_at_px).abs() > STEP_PX {
            (state.is_dirty, state.made_at_px) = (false, scrolled);
            let ages: Ages = state.known.ages(page_millis);
            keep_focus();
            self.board.show(&state.known.copy, &in_view(&state.known, state.view), &ages);
            if let Some(row) = state.to_focus.take() {
                let links = self.board.links;
                // Once it is made.
                browser::after(Duration::ZERO, move || {
                    if let Some(link) = links.get(row) {
                        browser::focus_in_place(&link);
                    }
                });
            }
        }
        state.ask(self.board)
    }
}

impl State {
    fn measure(&mut self, board: ListBoard) {
        self.view.view_px = browser::window_height_px().unwrap_or(VIEW_PX);
        let Some(element) = board.element.get_untracked() else { return };
        self.view.top_px = element.get_bounding_client_rect().top() + self.view.scrolled_px;
        // On narrow screens rows are higher.
        if let Some(row) = board.first_row() {
            self.view.row_px = row.get_bounding_client_rect().height().max(20.0);
        }
    }

    /// Asks for other rows, or another question, where the ones that are known will not do.
    fn ask(&mut self, board: ListBoard) -> ScreenRequest {
        let query = board.query.with_untracked(|query| (*query != self.asked.0).then(|| query.clone()));
        let wanted = if query.is_some() { Some(FIRST) } else { self.missing_rows() };
        let Some(window) = wanted.filter(|_| board.is_linked.get_untracked()) else { return ScreenRequest::Nothing };
        self.asked.1 = window;
        if let Some(query) = query {
            self.asked.0 = query;
        }
        ScreenRequest::Follow(Box::new(Scope::List { query: self.asked.0.clone(), window }))
    }

    /// Other rows than those that were asked for, where some in view are not among these.
    fn missing_rows(&self) -> Option<Window> {
        let (first, last) = in_view(&self.known, self.view).rows()?;
        let is_known = self.asked.1.from <= first && last < self.asked.1.to;
        let rows = self.known.copy.overall.rows();
        let wanted = Window { from: first.saturating_sub(MORE_ROWS), to: (last + 1 + MORE_ROWS).min(rows) };
        (!is_known).then_some(wanted)
    }
}
