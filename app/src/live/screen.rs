//! The screen of one Deployment: applies frames to the page's model and shows on the board what they changed.

use std::cell::RefCell;

use leptos::prelude::*;
use timeline::frame::{Delta, Position, Said, ServerFrame, Snapshot};
use timeline::{Millis, Model, Uid};
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::client::{Ask, Screen, page_millis};
use super::clock::Clock;
use super::link::LinkState;
use super::paint::Paint;
use super::patch::{List, place};
use crate::board::{Axis, Board, set_if_new, times};
use crate::numbers::fixed;
use crate::rows::Tag;
use crate::scene::{self, Frame};
use crate::score::scale;

/// The window of the browser is measured, and bars that left the picture are looked for, this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;
/// How much of the way to its new width the window goes in one frame.
const ZOOM_STEP: f64 = 0.12;
/// More bars than this are painted.
const MOST_ELEMENTS: usize = 120;
/// Where the heads are among the lists.
const HEADS: usize = 1;
/// Room that is left below the bands, in pixels.
const BELOW: f64 = 96.0;
const LEAST_HEIGHT: f64 = 260.0;

/// The page's copy of the timeline and what belongs to it.
pub(crate) struct DeploymentScreen {
    board: Board,
    copy: RefCell<Copy>,
    lists: RefCell<Lists>,
}

/// What of the page is kept right besides its texts.
struct Lists {
    lists: [List; 9],
    ticks: List,
    paint: Option<Paint>,
    /// Whose style holds the times of the axis, and the height.
    timed: Vec<Element>,
    picture: Option<Element>,
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
    /// Too many pods for an element each.
    is_crowded: bool,
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
            is_crowded: false,
        };
        let lists = Lists {
            lists: scene::LISTS.map(|(id, tag)| List::new(id, tag)),
            ticks: List::new("ticks", Tag::Block),
            paint: Paint::new("paint"),
            timed: ["ticks", "gaps"].into_iter().filter_map(element).collect(),
            picture: element("picture"),
        };
        let screen = Self { board, copy: RefCell::new(copy), lists: RefCell::new(lists) };
        screen.adopt();
        screen.set_pace(page_millis());
        screen
    }

    /// Takes over what the server rendered: the same scene, made again.
    fn adopt(&self) {
        let (copy, mut lists) = (self.copy.borrow(), self.lists.borrow_mut());
        let scene = scene::scene(&copy.model, copy.deployment, &copy.said, self.board.first_frame);
        lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.adopt(plans));
        drop(lists);
        self.time_passes(self.board.first_frame.now_millis);
        if let Some(placed) = element("placed") {
            placed.remove(); // from here on every element has its own style
        }
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
        let copy = &mut *self.copy.borrow_mut();
        copy.looked_again_at = page_millis;
        set_if_new(&self.board.view, copy.said.view.clone());
        let axis = self.board.axis.get_untracked();
        let frame = Frame {
            now_millis: copy.clock.now_millis(page_millis),
            window_millis: axis.window_millis,
            base_millis: self.board.base_millis,
            height: self.board.height.get_untracked(),
            width: axis.width,
            is_painted: copy.is_crowded,
        };
        let scene = scene::scene(&copy.model, copy.deployment, &copy.said, frame);
        let mut lists = self.lists.borrow_mut();
        if self.board.total.get_untracked() != scene.height {
            self.board.total.set(scene.height);
            if let Some(picture) = &lists.picture {
                place(picture, &format!("height:{}px", fixed(scene.height)));
            }
        }
        lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.show(plans));
        let pods = scene.lists.get(HEADS).map_or(0, Vec::len);
        if let Some(paint) = &mut lists.paint {
            paint.marks = scene.marks;
        }
        copy.is_crowded = pods > MOST_ELEMENTS;
    }

    /// Moves the axis.
    fn time_passes(&self, now_millis: Millis) {
        let axis = self.board.axis.get_untracked();
        let ticks = scene::ticks(&scale::ticks(now_millis, axis.window_millis, axis.width), self.board.base_millis);
        let (now, window) = times(now_millis, axis.window_millis, self.board.base_millis);
        let mut lists = self.lists.borrow_mut();
        lists.ticks.show(&ticks);
        let style = format!("--now:{now};--window:{window}");
        lists.timed.iter().for_each(|element| place(element, &style));
        let height = self.board.total.get_untracked();
        if let Some(paint) = &mut lists.paint {
            paint.paint(now_millis, axis.window_millis, axis.width, height);
        }
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
        self.time_passes(now_millis);
    }

    fn position(&self) -> Option<Position> {
        self.copy.borrow().position
    }
}

/// The element with that id.
pub(super) fn element(id: &str) -> Option<Element> {
    web_sys::window()?.document()?.get_element_by_id(id)
}
