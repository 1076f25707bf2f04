//! The lines of a list in the browser: those in view are made and followed, a few more around them are known.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::frame::{self, Position, Scope, ServerFrame, Unreadable};
use timeline::list::{Query, Window};
use web_sys::Element;

use super::client::{self, Ask, Screen};
use super::known::Known;
use super::link::LinkState;
use super::patch::List;
use super::{element, entitle, search};
use crate::address;
use crate::board::set_if_new;
use crate::list::{self, Ages, LINE_PX, Part, Spot};
use crate::pages::ListBoard;
use crate::payload::ListPayload;
use crate::rows::Tag;

/// Made above and below what is in view, in pixels.
const MORE_PX: f64 = 700.0;
/// The part is made anew once this much of that is used up.
const STEP_PX: f64 = 350.0;
/// Lines known above and below the made ones.
const MORE_LINES: u32 = 30;
/// Sizes are measured, and ages told, this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;

#[derive(Clone)]
struct Lines(Rc<Inner>);

struct Inner {
    board: ListBoard,
    state: RefCell<State>,
}

struct State {
    known: Known,
    /// What was asked for last.
    asked: (Query, Window),
    list: List,
    rows: Option<Element>,
    line_px: f64,
    /// Top of the list on the page, and height of the browser's window.
    top_px: f64,
    view_px: f64,
    made_at_px: f64,
    looked_at: f64,
    is_linked: bool,
    is_dirty: bool,
}

/// Brings a list to life; it lives as long as the page.
pub(crate) fn start(board: ListBoard, payload: ListPayload) {
    let copy = payload.copy();
    let mut list = List::new("rows", Tag::Block);
    let part = list::lines_from(&copy.overall, payload.window.from, payload.window.to);
    list.adopt(&list::rows(&copy, &part, &Ages::told(&copy.overall)));
    let state = State {
        known: Known::of(copy),
        asked: (payload.query.clone(), payload.window),
        list,
        rows: element("rows"),
        line_px: LINE_PX,
        top_px: 0.0,
        view_px: 900.0,
        made_at_px: f64::NEG_INFINITY,
        looked_at: f64::NEG_INFINITY,
        is_linked: true,
        is_dirty: true,
    };
    let lines = Lines(Rc::new(Inner { board, state: RefCell::new(state) }));
    let of = lines.clone();
    search::attach(move |text, labels| {
        of.0.board.query.update(|query| (query.text, query.labels) = (text, labels));
        search::note(&address::list(&of.0.board.query.read_untracked()));
    });
    client::start(Box::new(lines), Scope::List { query: payload.query, window: payload.window }, payload.build, true);
}

impl Screen for Lines {
    fn decode(&self, bytes: &[u8]) -> Result<Option<ServerFrame>, Unreadable> {
        frame::decode_of_list(bytes)
    }

    fn link(&self, link: LinkState, _: f64) {
        let is_linked = matches!(link, LinkState::Live { .. } | LinkState::Connecting { .. });
        set_if_new(&self.0.board.is_linked, is_linked);
        self.0.state.borrow_mut().is_linked = is_linked;
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Ask {
        let state = &mut *self.0.state.borrow_mut();
        for frame in frames {
            if let ServerFrame::List(news) = frame {
                state.known.hear(*news, page_millis);
                state.is_dirty = true;
            }
        }
        let (board, overall) = (&self.0.board, &state.known.copy.overall);
        if !board.overall.with_untracked(|known| known.is_like(overall)) {
            board.overall.set(overall.clone());
            entitle(&list::title(overall, &board.query.read_untracked()));
        }
        Ask::Nothing
    }

    fn animate(&self, page_millis: f64) -> Ask {
        let state = &mut *self.0.state.borrow_mut();
        let scrolled = web_sys::window().and_then(|window| window.scroll_y().ok()).unwrap_or(0.0);
        if page_millis - state.looked_at > LOOK_AGAIN_MILLIS {
            (state.looked_at, state.is_dirty) = (page_millis, true);
            state.measure(scrolled);
        }
        if state.is_dirty || (scrolled - state.made_at_px).abs() > STEP_PX {
            (state.is_dirty, state.made_at_px) = (false, scrolled);
            state.show(scrolled, page_millis);
        }
        state.ask(&self.0.board, scrolled)
    }

    fn position(&self) -> Option<Position> {
        None
    }
}

impl State {
    fn measure(&mut self, scrolled: f64) {
        let inner = web_sys::window().and_then(|window| window.inner_height().ok());
        self.view_px = inner.and_then(|height| height.as_f64()).unwrap_or(900.0);
        if let Some(rows) = &self.rows {
            self.top_px = rows.get_bounding_client_rect().top() + scrolled;
        }
        // On narrow screens lines are higher.
        if let Some(line) = super::hands::find_element("#rows .line") {
            self.line_px = line.get_bounding_client_rect().height().max(20.0);
        }
    }

    fn part(&self, scrolled: f64) -> Part {
        let from = scrolled - self.top_px;
        list::part(&self.known.copy.overall, self.line_px, from - MORE_PX, from + self.view_px + MORE_PX)
    }

    fn show(&mut self, scrolled: f64, page_millis: f64) {
        let ages = self.known.ages(page_millis);
        let part = self.part(scrolled);
        self.list.show(&list::rows(&self.known.copy, &part, &ages));
    }

    /// Asks for other lines, or another question, where the ones that are known will not do.
    fn ask(&mut self, board: &ListBoard, scrolled: f64) -> Ask {
        let is_other = board.query.with_untracked(|query| *query != self.asked.0);
        let is_far = || {
            let part = self.part(scrolled);
            let mut numbers = part.spots.iter().filter_map(|spot| match spot {
                Spot::Line(number) => Some(*number),
                Spot::Head(_) => None,
            });
            let first = numbers.next()?;
            let last = numbers.next_back().unwrap_or(first);
            let window = self.asked.1;
            let lines = self.known.copy.overall.lines();
            let is_known = window.from <= first && last < window.to;
            let wanted = Window { from: first.saturating_sub(MORE_LINES), to: (last + 1 + MORE_LINES).min(lines) };
            (!is_known).then_some(wanted)
        };
        let window = if is_other { Some(Window { from: 0, to: 2 * MORE_LINES }) } else { is_far() };
        let Some(window) = window.filter(|_| self.is_linked) else { return Ask::Nothing };
        let query = board.query.get_untracked();
        self.asked = (query.clone(), window);
        Ask::Follow(Box::new(Scope::List { query, window }))
    }
}
