//! The screen of one Deployment: applies frames to the page's model and shows on the board what they changed.

use std::cell::RefCell;

use leptos::prelude::*;
use timeline::frame::{Delta, Position, Said, ServerFrame, Snapshot};
use timeline::{Model, Uid};
use wasm_bindgen::JsCast;

use super::client::{Ask, Screen, page_millis};
use super::clock::Clock;
use super::link::LinkState;
use super::patch::List;
use crate::board::{Axis, Board, set_if_new};
use crate::rows::Tag;
use crate::scene::{self, Frame};
use crate::score::scale;

/// The window of the browser is measured, and bars that left the picture are looked for, this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;
/// How much of the way to its new width the window goes in one frame.
const ZOOM_STEP: f64 = 0.12;
/// Room that is left below the bands, in pixels.
const BELOW: f64 = 96.0;
const LEAST_HEIGHT: f64 = 260.0;

/// The page's copy of the timeline and what belongs to it.
pub(crate) struct DeploymentScreen {
    board: Board,
    copy: RefCell<Copy>,
    lists: RefCell<Lists>,
}

/// The lists of the page.
struct Lists {
    bars: List,
    heads: List,
    gutter: List,
    gaps: List,
    table: List,
    story: List,
    ticks: List,
    areas: List,
    words: List,
    labels: List,
}

impl Lists {
    fn new(board: &Board) -> Self {
        let (scene, ticks) = (&board.first.scene, &board.first.ticks);
        Self {
            bars: List::new("bars", Tag::Group, &scene.bars),
            heads: List::new("heads", Tag::Group, &scene.heads),
            gutter: List::new("gutter", Tag::Block, &scene.gutter),
            gaps: List::new("gaps", Tag::Block, &scene.gaps),
            table: List::new("table", Tag::TableRow, &scene.table),
            story: List::new("story", Tag::Item, &scene.story),
            ticks: List::new("ticks", Tag::Block, ticks),
            areas: List::new("areas", Tag::Group, &scene.budget.areas),
            words: List::new("limits", Tag::Block, &scene.budget.words),
            labels: List::new("labels", Tag::Block, &scene.budget.labels),
        }
    }
}

struct Copy {
    model: Model,
    said: Said,
    deployment: Option<Uid>,
    position: Option<Position>,
    clock: Clock,
    is_linked: bool,
    looked_again_at: f64,
    measured_at: f64,
}

impl DeploymentScreen {
    pub(crate) fn new(board: Board, snapshot: Snapshot) -> Self {
        let copy = Copy {
            model: snapshot.model,
            said: snapshot.said,
            deployment: snapshot.deployment,
            position: Some(Position { epoch: snapshot.epoch, seq: snapshot.seq }),
            clock: Clock::new(snapshot.now_millis, page_millis()),
            is_linked: true,
            looked_again_at: page_millis(),
            measured_at: f64::NEG_INFINITY,
        };
        let lists = RefCell::new(Lists::new(&board));
        let screen = Self { board, copy: RefCell::new(copy), lists };
        screen.set_pace(page_millis());
        screen
    }

    fn set_pace(&self, page_millis: f64) {
        let mut copy = self.copy.borrow_mut();
        let is_linked = copy.is_linked;
        let state = self.board.connection.with_untracked(|connection| connection.state.clone());
        copy.clock.set_pace(&state, is_linked, page_millis);
    }

    fn snapshot(&self, snapshot: Snapshot, page_millis: f64) {
        let mut copy = self.copy.borrow_mut();
        let is_other_life = copy.position.is_none_or(|position| position.epoch != snapshot.epoch);
        if is_other_life {
            copy.clock = Clock::new(snapshot.now_millis, page_millis);
        } else {
            copy.clock.hear(snapshot.now_millis, page_millis);
        }
        copy.position = Some(Position { epoch: snapshot.epoch, seq: snapshot.seq });
        copy.deployment = snapshot.deployment;
        copy.model = snapshot.model;
        copy.said = snapshot.said;
        set_if_new(&self.board.looking_since_millis, snapshot.looking_since_millis);
    }

    fn delta(&self, delta: Delta, page_millis: f64) -> Ask {
        let mut copy = self.copy.borrow_mut();
        let Some(position) = copy.position.filter(|position| delta.from <= position.seq) else {
            return Ask::Snapshot;
        };
        copy.clock.hear(delta.now_millis, page_millis);
        copy.position = Some(Position { seq: delta.to.max(position.seq), ..position });
        delta.changes.iter().for_each(|change| copy.model.apply_change(change));
        if let Some(news) = delta.news {
            copy.said.hear(news);
        }
        Ask::Nothing
    }

    fn derive(&self, page_millis: f64) {
        let mut copy = self.copy.borrow_mut();
        copy.looked_again_at = page_millis;
        set_if_new(&self.board.view, copy.said.view.clone());
        let axis = self.board.axis.get_untracked();
        let frame = Frame {
            now_millis: copy.clock.now_millis(page_millis),
            window_millis: axis.window_millis,
            base_millis: self.board.base_millis,
            height: self.board.height.get_untracked(),
            width: axis.width,
        };
        let scene = scene::scene(&copy.model, copy.deployment, &copy.said, frame);
        set_if_new(&self.board.total, scene.height);
        let mut lists = self.lists.borrow_mut();
        lists.bars.show(scene.bars);
        lists.heads.show(scene.heads);
        lists.gutter.show(scene.gutter);
        lists.gaps.show(scene.gaps);
        lists.table.show(scene.table);
        lists.story.show(scene.story);
        lists.areas.show(scene.budget.areas);
        lists.words.show(scene.budget.words);
        lists.labels.show(scene.budget.labels);
    }

    /// Fits the picture to the window of the browser.
    fn measure(&self) {
        let Some(window) = web_sys::window() else { return };
        let Some(element) = window.document().and_then(|document| document.get_element_by_id("canvas")) else {
            return;
        };
        let Ok(element) = element.dyn_into::<web_sys::HtmlElement>() else {
            return;
        };
        let place = element.get_bounding_client_rect();
        let axis = self.board.axis.get_untracked();
        set_if_new(&self.board.axis, Axis { width: place.width().max(1.0), ..axis });
        let inner = window.inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(900.0);
        let scrolled = window.scroll_y().unwrap_or(0.0);
        set_if_new(&self.board.height, (inner - place.top() - scrolled - BELOW).max(LEAST_HEIGHT).round());
    }
}

impl Screen for DeploymentScreen {
    fn link(&self, state: LinkState, page_millis: f64) {
        let known = self.board.link.get_untracked();
        if std::mem::discriminant(&known) != std::mem::discriminant(&state) || !state.is_live() {
            set_if_new(&self.board.link, state);
        }
        // The first connection is not a loss: what the server rendered is fresh.
        self.copy.borrow_mut().is_linked = matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. });
        self.set_pace(page_millis);
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Ask {
        let mut ask = Ask::Nothing;
        for frame in frames {
            match frame {
                ServerFrame::Snapshot(snapshot) => {
                    ask = Ask::Nothing;
                    self.snapshot(*snapshot, page_millis);
                }
                ServerFrame::Delta(delta) => {
                    if self.delta(delta, page_millis) == Ask::Snapshot {
                        ask = Ask::Snapshot;
                    }
                }
                ServerFrame::Connection { connection, .. } => {
                    set_if_new(&self.board.connection, connection);
                    self.set_pace(page_millis);
                }
                ServerFrame::Heartbeat { now_millis } => self.copy.borrow_mut().clock.hear(now_millis, page_millis),
                ServerFrame::Hello { .. } | ServerFrame::Overview(_) => {}
            }
        }
        self.derive(page_millis);
        ask
    }

    fn animate(&self, page_millis: f64) {
        if page_millis - self.copy.borrow().measured_at > LOOK_AGAIN_MILLIS {
            self.copy.borrow_mut().measured_at = page_millis;
            self.measure();
        }
        if page_millis - self.copy.borrow().looked_again_at > LOOK_AGAIN_MILLIS {
            self.derive(page_millis); // bars that left the picture
        }
        let (now_millis, wanted) = {
            let copy = self.copy.borrow();
            let now_millis = copy.clock.now_millis(page_millis);
            let deployment = copy.deployment.and_then(|uid| copy.model.deployments.get(&uid));
            (now_millis, scale::window_millis(deployment, now_millis))
        };
        let axis = self.board.axis.get_untracked();
        let off = wanted - axis.window_millis;
        let window_millis = if off.abs() < 50.0 { wanted } else { axis.window_millis + off * ZOOM_STEP };
        set_if_new(&self.board.axis, Axis { now_millis, window_millis, width: axis.width });
        set_if_new(&self.board.second, now_millis.div_euclid(1000));
        let ticks = scene::ticks(&scale::ticks(now_millis, window_millis, axis.width), self.board.base_millis);
        self.lists.borrow_mut().ticks.show(ticks);
    }

    fn position(&self) -> Option<Position> {
        self.copy.borrow().position
    }
}
