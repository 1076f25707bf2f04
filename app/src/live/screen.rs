//! The screen of one Deployment: applies frames to the page's model and shows the present, or the moment that the viewer
//! chose.

mod lists;
mod scroll;
mod time;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::frame::{Delta, Moment, Position, Said, Scope, ServerFrame, Snapshot};
use timeline::playback::Playback;
use timeline::{Millis, Model, Uid};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use self::lists::{Lists, adopted};
use super::client::{Ask, Screen, page_millis};
use super::clock::Clock;
use super::link::LinkState;
use super::panel::Panel;
use super::question::Question;
use super::{element, entitle};
use crate::board::{Board, said_then, set_if_new};
use crate::motion::Motion;
use crate::payload::title;
use crate::scene::{self, Frame};
use crate::score::places::Place;
use crate::score::scale;

/// Bars that left the picture are looked for this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;
/// The room for the picture is measured this often.
const MEASURE_MILLIS: f64 = 200.0;
/// How much of the way to its new width the window goes in one frame.
const ZOOM_STEP: f64 = 0.12;
/// More bars than this are painted.
const MOST_ELEMENTS: usize = 120;
/// What is painted is drawn again at most this often; meanwhile it moves on.
const CROWD_MILLIS: f64 = 50.0;
/// A ribbon is drawn again at most this often, and takes at most one part of so many of the browser's time.
const RIBBON_MILLIS: f64 = 100.0;
const RIBBON_SHARE: f64 = 4.0;
/// Verdicts are announced at most this often.
const ANNOUNCE_MILLIS: f64 = 5_000.0;

/// The page's copy of the timeline and what belongs to it. Clones share it.
#[derive(Clone)]
pub(crate) struct DeploymentScreen(Rc<Inner>);

struct Inner {
    /// Before the ids of its elements: a wall shows several.
    prefix: &'static str,
    board: Board,
    copy: RefCell<Copy>,
    lists: RefCell<Lists>,
    panel: Panel,
}

struct Copy {
    model: Model,
    said: Said,
    deployment: Option<Uid>,
    position: Option<Position>,
    clock: Clock,
    /// The stretch of time shown, and the room for it.
    frame: Frame,
    is_linked: bool,
    is_dirty: bool,
    drawn_at: f64,
    measured_at: f64,
    announced: (f64, String),
    /// Too many pods for an element each, and so many that they are a ribbon.
    is_crowded: bool,
    is_ribbon: bool,
    /// How long it took to draw it.
    drawing_millis: f64,
    /// Where the current band is.
    current: Option<Place>,
    /// The page is about to be printed, and is shown as paper is.
    is_printing: bool,
    is_on_paper: bool,
    /// Bands on their way, and whether the viewer wants no motion.
    motion: Motion,
    is_calm: bool,
    /// How much wider than fitting the window is wanted.
    zoom: f64,
    playback: Playback,
    speed: f64,
    /// Lines of the story when the present was left.
    lines: usize,
    /// What was said at the moment shown, or at the last one that was told.
    then: Option<Moment>,
    question: Question,
    /// What to follow from here on.
    aim: Option<Scope>,
}

impl DeploymentScreen {
    pub(crate) fn new(board: Board, prefix: &'static str, snapshot: Snapshot, moment: Option<Moment>) -> Self {
        let lists = Lists::of(prefix);
        let (lists, frame) = adopted(lists, &snapshot, moment.as_ref());
        let copy = Copy {
            deployment: snapshot.deployment,
            position: Some(Position { epoch: snapshot.epoch, seq: snapshot.seq }),
            clock: Clock::new(snapshot.now_millis, page_millis()),
            frame,
            is_linked: true,
            is_dirty: true,
            drawn_at: page_millis(),
            measured_at: f64::NEG_INFINITY,
            announced: (f64::NEG_INFINITY, String::new()),
            is_crowded: false,
            is_ribbon: false,
            drawing_millis: 0.0,
            current: None,
            is_printing: false,
            is_on_paper: false,
            motion: Motion::default(),
            is_calm: wants_calm(),
            zoom: 1.0,
            playback: moment.as_ref().map_or(Playback::Live, |moment| Playback::Still { at_millis: moment.at_millis }),
            speed: 1.0,
            lines: snapshot.said.story.len(),
            question: moment.as_ref().map(|moment| Question::known(moment.at_millis)).unwrap_or_default(),
            then: moment,
            aim: None,
            model: snapshot.model,
            said: snapshot.said,
        };
        let screen = Self(Rc::new(Inner {
            prefix,
            board,
            copy: RefCell::new(copy),
            lists: RefCell::new(lists),
            panel: Panel::default(),
        }));
        screen.set_pace(page_millis());
        screen
    }

    /// Follows something else from here on.
    pub(super) fn aim(&self, scope: Scope) {
        let mut copy = self.0.copy.borrow_mut();
        (copy.model, copy.said, copy.deployment, copy.position) = (Model::default(), Said::default(), None, None);
        (copy.motion, copy.is_crowded, copy.is_dirty) = (Motion::default(), false, true);
        copy.aim = Some(scope);
        self.0.lists.borrow_mut().scroll.begin_anew();
    }

    fn set_pace(&self, page_millis: f64) {
        let mut copy = self.0.copy.borrow_mut();
        let is_linked = copy.is_linked;
        self.0.board.connection.with_untracked(|known| copy.clock.set_pace(known, is_linked, page_millis));
    }

    fn snapshot(&self, snapshot: Snapshot, page_millis: f64) {
        let mut copy = self.0.copy.borrow_mut();
        let is_other_life = copy.position.is_none_or(|position| position.epoch != snapshot.epoch);
        if is_other_life {
            copy.question.forget(); // another life tells other words of the same moment
            copy.clock = Clock::new(snapshot.now_millis, page_millis);
        } else {
            copy.clock.hear(snapshot.now_millis, page_millis);
        }
        let is_first = copy.position.is_none();
        copy.position = Some(Position { epoch: snapshot.epoch, seq: snapshot.seq });
        copy.deployment = snapshot.deployment;
        copy.model = snapshot.model;
        copy.said = snapshot.said;
        if is_first {
            let deployment = copy.deployment.and_then(|uid| copy.model.deployments.get(&uid));
            copy.frame.window_millis = scale::window_millis(deployment, snapshot.now_millis);
        }
        set_if_new(&self.0.board.looking_since_millis, snapshot.looking_since_millis);
    }

    fn delta(&self, delta: Delta, page_millis: f64) -> Ask {
        let mut copy = self.0.copy.borrow_mut();
        let Some(position) = copy.position else {
            return Ask::Nothing; // of what was followed before
        };
        if delta.from > position.seq {
            return Ask::Snapshot;
        }
        copy.clock.hear(delta.now_millis, page_millis);
        copy.position = Some(Position { seq: delta.to.max(position.seq), ..position });
        delta.changes.iter().for_each(|change| copy.model.apply_change(change));
        if let Some(news) = delta.news {
            copy.said.hear(news);
        }
        Ask::Nothing
    }

    /// The details beside the picture.
    pub(super) fn panel(&self) -> &Panel {
        &self.0.panel
    }

    /// Tells what is said now, and at the moment shown.
    fn tell_words(&self, now: &Said, shown: &Said) {
        let board = &self.0.board;
        set_if_new(&board.current, now.view.as_ref().and_then(|view| view.revision));
        if set_if_new(&board.view, shown.view.clone()) && self.0.prefix.is_empty() {
            let badge = shown.view.as_ref().map_or("Not found", |view| view.verdict.badge.as_str());
            entitle(&title(badge, &board.place.namespace, &board.place.name));
        }
    }

    /// Draws everything anew; only what differs is touched.
    fn draw(&self, now_millis: Millis, moment: Option<Millis>, page_millis: f64) {
        let copy = &mut *self.0.copy.borrow_mut();
        (copy.drawn_at, copy.is_dirty) = (page_millis, false);
        let (model, said) = match moment.zip(copy.deployment) {
            None => (Cow::Borrowed(&copy.model), Cow::Borrowed(&copy.said)),
            Some((at, uid)) => {
                // While an answer is on its way the last words stay; without a link none will come.
                let said = match &copy.then {
                    Some(then) if copy.is_linked || then.at_millis == at => said_then(then.said.as_ref(), &copy.said),
                    None if copy.is_linked => Cow::Borrowed(&copy.said),
                    _ => said_then(None, &copy.said),
                };
                (Cow::Owned(copy.model.as_of(uid, at)), said)
            }
        };
        self.tell_words(&copy.said, &said);
        // Paper takes shapes: what is painted has the colours and the pixels of the screen.
        let is_painted = copy.is_crowded && !copy.is_printing && !copy.is_on_paper;
        let frame = Frame { now_millis, is_painted, ..copy.frame };
        let scene = scene::scene(&model, copy.deployment, &said, frame, &copy.motion);
        let mut lists = self.0.lists.borrow_mut();
        lists.stretch(scene.height);
        lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.show(plans));
        if let Some(paint) = &mut lists.paint {
            paint.show(scene.marks);
        }
        copy.is_crowded = scene.pods > MOST_ELEMENTS;
        let is_still = copy.is_calm || copy.is_crowded;
        copy.motion.head_for(scene.targets, is_still, page_millis);
        (copy.is_ribbon, copy.current) = (scene.is_ribbon, scene.current);
        let sentence = said.view.as_ref().map_or("", |view| view.verdict.sentence.as_str());
        if copy.announced.1 != sentence && page_millis - copy.announced.0 > ANNOUNCE_MILLIS {
            if let Some(announcer) = &lists.announcer {
                announcer.set_text_content(Some(sentence));
            }
            copy.announced = (page_millis, sentence.to_owned());
        }
        copy.drawing_millis = super::client::page_millis() - page_millis;
    }

    /// Draws for paper, or for the screen again.
    pub(super) fn print(&self, is_printing: bool) {
        let mut copy = self.0.copy.borrow_mut();
        (copy.is_printing, copy.is_dirty, copy.drawn_at) = (is_printing, true, f64::NEG_INFINITY);
        drop(copy);
        self.animate(page_millis());
    }

    /// Fits the picture to its room.
    fn measure(&self) {
        let there = |id: &str| element(&format!("{}{id}", self.0.prefix));
        let Some(canvas) = there("canvas") else { return };
        let above = there("picture").and_then(|picture| picture.dyn_into::<HtmlElement>().ok());
        let above = above.map_or(0.0, |picture| f64::from(picture.offset_top()));
        let copy = &mut *self.0.copy.borrow_mut();
        let lists = &mut *self.0.lists.borrow_mut();
        lists.widen();
        let scroll = &mut lists.scroll;
        scroll.follow(copy.current, above);
        copy.frame.width = canvas.get_bounding_client_rect().width().max(1.0);
        let is_on_paper = matches("print");
        (copy.is_dirty, copy.is_on_paper) = (copy.is_dirty || is_on_paper != copy.is_on_paper, is_on_paper);
        let height = scroll.height().map_or(copy.frame.height, |height| (height - above).max(1.0));
        if !is_on_paper && height.to_bits() != copy.frame.height.to_bits() {
            (copy.frame.height, copy.is_dirty) = (height, true);
        }
    }
}

impl Screen for DeploymentScreen {
    fn link(&self, state: LinkState, page_millis: f64) {
        let board = &self.0.board;
        let known = board.link.get_untracked();
        if std::mem::discriminant(&known) != std::mem::discriminant(&state) || !state.is_live() {
            set_if_new(&board.link, state);
        }
        let mut copy = self.0.copy.borrow_mut();
        // The first connection is not a loss: what the server rendered is fresh.
        copy.is_linked = matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. });
        if !copy.is_linked {
            copy.question.forget(); // no answer comes over a link that broke
        }
        drop(copy);
        self.set_pace(page_millis);
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Ask {
        let mut ask = Ask::Nothing;
        for frame in frames {
            match frame {
                ServerFrame::Snapshot(snapshot) => {
                    ask = Ask::Nothing;
                    self.snapshot(*snapshot, page_millis);
                    self.set_pace(page_millis); // another life has another clock
                }
                ServerFrame::Delta(delta) => {
                    if self.delta(delta, page_millis) == Ask::Snapshot {
                        ask = Ask::Snapshot;
                    }
                }
                ServerFrame::Connection { connection, .. } => {
                    set_if_new(&self.0.board.connection, connection);
                    self.set_pace(page_millis);
                }
                ServerFrame::Moment(moment) => {
                    let mut copy = self.0.copy.borrow_mut();
                    copy.question.answer(moment.at_millis);
                    copy.then = Some(*moment);
                }
                ServerFrame::Heartbeat { now_millis } => self.0.copy.borrow_mut().clock.hear(now_millis, page_millis),
                ServerFrame::Hello { .. } | ServerFrame::List(_) => {}
            }
        }
        let mut copy = self.0.copy.borrow_mut();
        copy.is_dirty = true;
        if copy.playback == Playback::Live {
            // At once, not with the picture: nothing is drawn in a hidden tab, and its title, its icon and what it notifies of
            // are all that is seen of it.
            self.tell_words(&copy.said, &copy.said);
        }
        drop(copy);
        self.0.panel.look_again(true, page_millis);
        ask
    }

    fn animate(&self, page_millis: f64) -> Ask {
        let board = &self.0.board;
        if page_millis - self.0.copy.borrow().measured_at > MEASURE_MILLIS {
            self.0.copy.borrow_mut().measured_at = page_millis;
            self.measure();
        }
        let (now_millis, moment, wanted, is_due) = {
            let copy = &mut *self.0.copy.borrow_mut();
            let live_millis = copy.clock.now_millis(page_millis);
            copy.playback = copy.playback.settled(page_millis, live_millis);
            let moment = copy.playback.moment(page_millis, live_millis);
            let now_millis = moment.unwrap_or(live_millis);
            let deployment = copy.deployment.and_then(|uid| copy.model.deployments.get(&uid));
            let wanted = scale::zoomed(scale::window_millis(deployment, now_millis), copy.zoom);
            let is_moving =
                copy.motion.advance(page_millis) || copy.is_dirty || matches!(copy.playback, Playback::Playing { .. });
            let ribbon = RIBBON_MILLIS.max(copy.drawing_millis * RIBBON_SHARE);
            let pace = match (copy.is_ribbon, copy.is_crowded) {
                (true, _) => ribbon,
                (_, true) => CROWD_MILLIS,
                _ => 0.0,
            };
            // Bars leave the picture by time alone.
            let pace = if is_moving { pace } else { LOOK_AGAIN_MILLIS };
            (now_millis, moment, wanted, page_millis - copy.drawn_at > pace)
        };
        let frame = {
            let frame = &mut self.0.copy.borrow_mut().frame;
            let off = wanted - frame.window_millis;
            frame.window_millis = if off.abs() < 50.0 { wanted } else { frame.window_millis + off * ZOOM_STEP };
            frame.now_millis = now_millis;
            *frame
        };
        set_if_new(&board.second, now_millis.div_euclid(1000));
        if is_due {
            self.draw(now_millis, moment, page_millis);
        }
        self.0.lists.borrow_mut().time_passes(frame);
        self.tell_time(moment);
        self.0.panel.look_again(false, page_millis);
        if let Some(scope) = self.0.copy.borrow_mut().aim.take() {
            return Ask::Follow(Box::new(scope));
        }
        self.ask(moment, page_millis)
    }

    fn position(&self) -> Option<Position> {
        self.0.copy.borrow().position
    }
}

/// The viewer's system asks for less motion.
fn wants_calm() -> bool {
    matches("(prefers-reduced-motion: reduce)")
}

/// A media query holds.
fn matches(query: &str) -> bool {
    let query = web_sys::window().and_then(|window| window.match_media(query).ok().flatten());
    query.is_some_and(|query| query.matches())
}
