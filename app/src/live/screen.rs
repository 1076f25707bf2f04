//! The screen of one Deployment: applies frames to the page's model and shows the present, or the moment that the viewer
//! chose.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::frame::{Delta, Moment, Position, Said, ServerFrame, Snapshot};
use timeline::playback::{self, Playback};
use timeline::{Millis, Model, Uid};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlInputElement};

use super::client::{Ask, Screen, page_millis};
use super::clock::Clock;
use super::element;
use super::link::LinkState;
use super::paint::Paint;
use super::panel::Panel;
use super::patch::{List, place};
use crate::board::{Axis, Board, Shown, Time, first_shown, said_then, set_if_new, times};
use crate::components::score;
use crate::motion::Motion;
use crate::numbers::fixed;
use crate::rows::Tag;
use crate::scene::{self, Frame};
use crate::score::scale;

/// The window of the browser is measured, and bars that left the picture are looked for, this often.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;
/// How much of the way to its new width the window goes in one frame.
const ZOOM_STEP: f64 = 0.12;
/// Room that is left below the bands, in pixels.
const BELOW: f64 = 148.0;
const LEAST_HEIGHT: f64 = 260.0;
/// More bars than this are painted.
const MOST_ELEMENTS: usize = 120;
/// A ribbon is drawn again at most this often.
const RIBBON_MILLIS: f64 = 100.0;
/// What was said at a moment is asked for at most this often; an answer that does not come is given up after that.
const ASK_MILLIS: f64 = 120.0;
const ANSWER_MILLIS: f64 = 2_000.0;
/// Verdicts are announced at most this often.
const ANNOUNCE_MILLIS: f64 = 5_000.0;
/// Steps of the slider.
const SLIDER: f64 = 10_000.0;
/// The slider begins this long before the rollout.
const BEFORE_MILLIS: Millis = 15_000;

/// The page's copy of the timeline and what belongs to it. Clones share it.
#[derive(Clone)]
pub(crate) struct DeploymentScreen(Rc<Inner>);

struct Inner {
    board: Board,
    copy: RefCell<Copy>,
    lists: RefCell<Lists>,
    panel: Panel,
}

/// What of the page is kept right besides its texts.
struct Lists {
    lists: [List; 10],
    ticks: List,
    paint: Option<Paint>,
    /// Whose style holds the times of the axis, and the height.
    timed: Vec<Element>,
    /// What moves with every frame.
    moving: Vec<Option<Element>>,
    picture: Option<Element>,
    slider: Option<HtmlInputElement>,
    announcer: Option<Element>,
}

struct Copy {
    model: Model,
    said: Said,
    deployment: Option<Uid>,
    position: Option<Position>,
    clock: Clock,
    is_linked: bool,
    is_dirty: bool,
    drawn_at: f64,
    measured_at: f64,
    announced: (f64, String),
    /// Too many pods for an element each, and so many that they are a ribbon.
    is_crowded: bool,
    is_ribbon: bool,
    /// Bands on their way, and whether the viewer wants no motion.
    motion: Motion,
    is_calm: bool,
    playback: Playback,
    speed: f64,
    /// Lines of the story when the present was left.
    lines: usize,
    /// What was said at the moment shown, or at the last one that was told.
    then: Option<Moment>,
    /// What was asked for, and when.
    asked: Option<(Millis, f64)>,
    is_waiting: bool,
}

impl DeploymentScreen {
    pub(crate) fn new(board: Board, snapshot: Snapshot, moment: Option<Moment>) -> Self {
        let lists = Lists {
            lists: scene::LISTS.map(|(id, tag)| List::new(id, tag)),
            ticks: List::new("ticks", Tag::Block),
            paint: Paint::new("paint"),
            timed: ["ticks", "gaps", "marks"].into_iter().filter_map(element).collect(),
            moving: Vec::new(),
            picture: element("picture"),
            slider: element("slider").and_then(|slider| slider.dyn_into().ok()),
            announcer: element("announcer"),
        };
        let lists = RefCell::new(adopted(lists, &board, &snapshot, moment.as_ref()));
        let copy = Copy {
            deployment: snapshot.deployment,
            position: Some(Position { epoch: snapshot.epoch, seq: snapshot.seq }),
            clock: Clock::new(snapshot.now_millis, page_millis()),
            is_linked: true,
            is_dirty: true,
            drawn_at: page_millis(),
            measured_at: f64::NEG_INFINITY,
            announced: (f64::NEG_INFINITY, String::new()),
            is_crowded: false,
            is_ribbon: false,
            motion: Motion::default(),
            is_calm: wants_calm(),
            playback: moment.as_ref().map_or(Playback::Live, |moment| Playback::Still { at_millis: moment.at_millis }),
            speed: 1.0,
            lines: snapshot.said.story.len(),
            asked: moment.as_ref().map(|moment| (moment.at_millis, 0.0)),
            then: moment,
            is_waiting: false,
            model: snapshot.model,
            said: snapshot.said,
        };
        let screen = Self(Rc::new(Inner { board, copy: RefCell::new(copy), lists, panel: Panel::default() }));
        screen.set_pace(page_millis());
        screen
    }

    fn set_pace(&self, page_millis: f64) {
        let mut copy = self.0.copy.borrow_mut();
        let is_linked = copy.is_linked;
        let state = self.0.board.connection.with_untracked(|connection| connection.state.clone());
        copy.clock.set_pace(&state, is_linked, page_millis);
    }

    fn snapshot(&self, snapshot: Snapshot, page_millis: f64) {
        let mut copy = self.0.copy.borrow_mut();
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
        set_if_new(&self.0.board.looking_since_millis, snapshot.looking_since_millis);
    }

    fn delta(&self, delta: Delta, page_millis: f64) -> Ask {
        let mut copy = self.0.copy.borrow_mut();
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

    /// Draws everything anew; only what differs is touched.
    fn draw(&self, now_millis: Millis, moment: Option<Millis>, page_millis: f64) {
        let board = &self.0.board;
        let copy = &mut *self.0.copy.borrow_mut();
        (copy.drawn_at, copy.is_dirty) = (page_millis, false);
        let (model, said) = match moment.zip(copy.deployment) {
            None => (Cow::Borrowed(&copy.model), Cow::Borrowed(&copy.said)),
            Some((at, uid)) => {
                let said = match &copy.then {
                    Some(then) => said_then(then.said.as_ref(), &copy.said),
                    None => Cow::Borrowed(&copy.said),
                };
                (Cow::Owned(copy.model.as_of(uid, at)), said)
            }
        };
        set_if_new(&board.view, said.view.clone());
        let axis = board.axis.get_untracked();
        let frame = Frame {
            now_millis,
            window_millis: axis.window_millis,
            base_millis: board.base_millis,
            height: board.height.get_untracked(),
            width: axis.width,
            is_painted: copy.is_crowded,
        };
        let scene = scene::scene(&model, copy.deployment, &said, frame, &copy.motion);
        let mut lists = self.0.lists.borrow_mut();
        if board.total.get_untracked().to_bits() != scene.height.to_bits() {
            board.total.set(scene.height);
            if let Some(picture) = &lists.picture {
                place(picture, &format!("height:{}px", fixed(scene.height)));
            }
        }
        lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.show(plans));
        let pods = scene.lists.get(scene::HEADS).map_or(0, Vec::len);
        if let Some(paint) = &mut lists.paint {
            paint.marks = scene.marks;
        }
        let is_still = copy.is_calm || pods > MOST_ELEMENTS;
        copy.motion.head_for(scene.targets, is_still, page_millis);
        copy.is_crowded = pods > MOST_ELEMENTS;
        copy.is_ribbon = scene.is_ribbon;
        let sentence = said.view.as_ref().map_or("", |view| view.verdict.sentence.as_str());
        if copy.announced.1 != sentence && page_millis - copy.announced.0 > ANNOUNCE_MILLIS {
            if let Some(announcer) = &lists.announcer {
                announcer.set_text_content(Some(sentence));
            }
            copy.announced = (page_millis, sentence.to_owned());
        }
    }

    /// Moves the axis.
    fn time_passes(&self, now_millis: Millis) {
        let axis = self.0.board.axis.get_untracked();
        self.0.lists.borrow_mut().time_passes(now_millis, axis, &self.0.board);
    }

    /// Fits the picture to the window of the browser.
    fn measure(&self) {
        let Some(window) = web_sys::window() else { return };
        let Some(canvas) = element("canvas") else { return };
        let place = canvas.get_bounding_client_rect();
        let board = &self.0.board;
        let axis = board.axis.get_untracked();
        set_if_new(&board.axis, Axis { width: place.width().max(1.0), ..axis });
        let inner = window.inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(900.0);
        let scrolled = window.scroll_y().unwrap_or(0.0);
        set_if_new(&board.height, (inner - place.top() - scrolled - BELOW).max(LEAST_HEIGHT).round());
    }

    /// What the slider reaches: from a little before the last rollout to the present, and farther back if the moment is.
    fn reach(&self, moment: Option<Millis>) -> Millis {
        let copy = self.0.copy.borrow();
        let deployment = copy.deployment.and_then(|uid| copy.model.deployments.get(&uid));
        let Some(deployment) = deployment else { return 0 };
        let first = deployment.kept_since_millis.unwrap_or(deployment.first_seen_millis);
        let began = deployment.rollouts.last().and_then(|rollout| rollout.started_millis);
        let from = began.map_or(first, |began| (began - BEFORE_MILLIS).max(first));
        moment.map_or(from, |moment| from.min(moment - 1_000).max(first))
    }

    fn live_millis(&self) -> Millis {
        self.0.copy.borrow().clock.now_millis(page_millis())
    }

    fn moment(&self) -> Option<Millis> {
        self.0.copy.borrow().playback.moment(page_millis(), self.live_millis())
    }

    fn play(&self, next: impl FnOnce(Playback, f64, Millis, f64) -> Playback) {
        let live_millis = self.live_millis();
        let mut copy = self.0.copy.borrow_mut();
        if copy.playback == Playback::Live {
            copy.lines = copy.said.story.len();
        }
        copy.playback = next(copy.playback, page_millis(), live_millis, copy.speed);
        copy.is_dirty = true;
        drop(copy);
        if !matches!(self.0.copy.borrow().playback, Playback::Playing { .. }) {
            remember(self.moment());
            self.0.panel.look_again(true, page_millis());
        }
    }

    /// The details beside the picture.
    pub(super) fn panel(&self) -> &Panel {
        &self.0.panel
    }

    /// Stops, or goes on.
    pub(super) fn toggle(&self) {
        self.play(|playback, clock, live, speed| playback.toggled(clock, live, speed));
    }

    /// Back to the present.
    pub(super) fn live(&self) {
        self.play(|_, _, _, _| Playback::Live);
    }

    /// To a moment, not before anything is known.
    pub(super) fn seek(&self, to_millis: Millis) {
        let first = {
            let copy = self.0.copy.borrow();
            let deployment = copy.deployment.and_then(|uid| copy.model.deployments.get(&uid));
            deployment.map_or(to_millis, |known| known.kept_since_millis.unwrap_or(known.first_seen_millis))
        };
        self.play(|playback, clock, live, _| playback.sought(to_millis.max(first), clock).settled(clock, live));
    }

    /// By a stretch of time.
    pub(super) fn seek_by(&self, millis: Millis) {
        let at = self.moment().unwrap_or_else(|| self.live_millis());
        self.seek(at + millis);
    }

    /// To the next change of a pod, or the last one.
    pub(super) fn step(&self, is_forward: bool) {
        let at = self.moment().unwrap_or_else(|| self.live_millis());
        let to = {
            let copy = self.0.copy.borrow();
            let pods = copy.model.pods.values().flat_map(|pod| pod.states.iter().map(|(_, at)| *at));
            let sets = copy.model.replica_sets.values().flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
            playback::step(pods.chain(sets), at, is_forward)
        };
        self.arrive(to, is_forward);
    }

    /// To where the next rollout began, or the last one.
    pub(super) fn step_rollout(&self, is_forward: bool) {
        let at = self.moment().unwrap_or_else(|| self.live_millis());
        let to = {
            let copy = self.0.copy.borrow();
            let rollouts = copy.model.deployments.values().flat_map(|known| &known.rollouts);
            playback::step(rollouts.filter_map(|rollout| rollout.started_millis), at, is_forward)
        };
        self.arrive(to, is_forward);
    }

    fn arrive(&self, to: Option<Millis>, is_forward: bool) {
        match to {
            Some(to) => self.seek(to),
            None if is_forward => self.live(),
            None => {}
        }
    }

    /// To where the slider was put.
    pub(super) fn slide(&self, value: f64) {
        let (from, live) = (self.reach(self.moment()), self.live_millis());
        self.seek(from + ((live - from) as f64 * value / SLIDER) as Millis);
    }

    /// At another speed.
    pub(super) fn pace(&self, speed: f64) {
        self.0.copy.borrow_mut().speed = speed;
        self.play(|playback, clock, live, _| playback.paced(clock, live, speed));
    }

    /// Tells the controls of time what is shown.
    fn tell_time(&self, moment: Option<Millis>) {
        let (from, live) = (self.reach(moment), self.live_millis());
        let copy = self.0.copy.borrow();
        let time = Time {
            tenths: moment.map(|at| at.div_euclid(100)),
            is_playing: matches!(copy.playback, Playback::Playing { .. }),
            news: if moment.is_some() { copy.said.story.len().saturating_sub(copy.lines) } else { 0 },
        };
        set_if_new(&self.0.board.time, time);
        if let Some(slider) = &self.0.lists.borrow().slider {
            let share = moment.map_or(1.0, |at| (at - from) as f64 / (live - from).max(1) as f64);
            slider.set_value(&((share * SLIDER) as i64).to_string());
        }
    }

    /// Asks what was said at a moment, one question at a time.
    fn ask(&self, moment: Option<Millis>, page_millis: f64) -> Ask {
        let mut copy = self.0.copy.borrow_mut();
        let (asked, asked_at) = copy.asked.unwrap_or((0, f64::NEG_INFINITY));
        let is_free = page_millis - asked_at > if copy.is_waiting { ANSWER_MILLIS } else { ASK_MILLIS };
        match moment.filter(|at| *at != asked && is_free) {
            None => Ask::Nothing,
            Some(at) => {
                (copy.asked, copy.is_waiting) = (Some((at, page_millis)), true);
                Ask::Moment(at)
            }
        }
    }
}

/// Takes over what the server rendered: the same scene, made again.
fn adopted(mut lists: Lists, board: &Board, snapshot: &Snapshot, moment: Option<&Moment>) -> Lists {
    let Shown { model, said, frame } = first_shown(snapshot, moment);
    let scene = scene::scene(&model, snapshot.deployment, &said, frame, &Motion::default());
    lists.lists.iter_mut().zip(&scene.lists).for_each(|(list, plans)| list.adopt(plans));
    lists.time_passes(frame.now_millis, board.axis.get_untracked(), board);
    if let Some(picture) = &lists.picture {
        place(picture, &format!("height:{}px", fixed(scene.height)));
    }
    if let Some(placed) = element("placed") {
        placed.remove(); // from here on every element has its own style
    }
    lists
}

impl Lists {
    fn time_passes(&mut self, now_millis: Millis, axis: Axis, board: &Board) {
        let ticks = scene::ticks(&scale::ticks(now_millis, axis.window_millis, axis.width), board.base_millis);
        self.ticks.show(&ticks);
        let (now, window) = times(now_millis, axis.window_millis, board.base_millis);
        let style = format!("--now:{now};--window:{window}");
        self.timed.iter().for_each(|element| place(element, &style));
        let axis = Axis { now_millis, ..axis };
        let moving = score::moving(axis, board.base_millis, board.total.get_untracked());
        if self.moving.is_empty() {
            self.moving = moving.iter().map(|(id, ..)| element(id)).collect();
        }
        for (element, (_, attribute, value)) in self.moving.iter().zip(&moving) {
            if let Some(element) = element {
                let _ = element.set_attribute(attribute, value); // names of attributes are ours
            }
        }
        if let Some(paint) = &mut self.paint {
            paint.paint(now_millis, axis.window_millis, axis.width, board.total.get_untracked());
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
        // The first connection is not a loss: what the server rendered is fresh.
        self.0.copy.borrow_mut().is_linked = matches!(state, LinkState::Live { .. } | LinkState::Connecting { .. });
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
                    set_if_new(&self.0.board.connection, connection);
                    self.set_pace(page_millis);
                }
                ServerFrame::Moment(moment) => {
                    let mut copy = self.0.copy.borrow_mut();
                    (copy.then, copy.is_waiting) = (Some(*moment), false);
                }
                ServerFrame::Heartbeat { now_millis } => self.0.copy.borrow_mut().clock.hear(now_millis, page_millis),
                ServerFrame::Hello { .. } | ServerFrame::Overview(_) => {}
            }
        }
        self.0.copy.borrow_mut().is_dirty = true;
        self.0.panel.look_again(true, page_millis);
        ask
    }

    fn animate(&self, page_millis: f64) -> Ask {
        let board = &self.0.board;
        if page_millis - self.0.copy.borrow().measured_at > LOOK_AGAIN_MILLIS {
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
            let wanted = scale::window_millis(deployment, now_millis);
            let is_moving =
                copy.motion.advance(page_millis) || copy.is_dirty || matches!(copy.playback, Playback::Playing { .. });
            let pace = if copy.is_ribbon { RIBBON_MILLIS } else { 0.0 };
            // Bars leave the picture by time alone.
            let pace = if is_moving { pace } else { LOOK_AGAIN_MILLIS };
            (now_millis, moment, wanted, page_millis - copy.drawn_at > pace)
        };
        let axis = board.axis.get_untracked();
        let off = wanted - axis.window_millis;
        let window_millis = if off.abs() < 50.0 { wanted } else { axis.window_millis + off * ZOOM_STEP };
        set_if_new(&board.axis, Axis { now_millis, window_millis, width: axis.width });
        set_if_new(&board.second, now_millis.div_euclid(1000));
        if is_due {
            self.draw(now_millis, moment, page_millis);
        }
        self.time_passes(now_millis);
        self.tell_time(moment);
        self.0.panel.look_again(false, page_millis);
        self.ask(moment, page_millis)
    }

    fn position(&self) -> Option<Position> {
        self.0.copy.borrow().position
    }
}

/// The viewer's system asks for less motion.
fn wants_calm() -> bool {
    let query =
        web_sys::window().and_then(|window| window.match_media("(prefers-reduced-motion: reduce)").ok().flatten());
    query.is_some_and(|query| query.matches())
}

/// The address of the page names the moment that is shown, so that it can be copied from there.
fn remember(moment: Option<Millis>) {
    let Some(window) = web_sys::window() else { return };
    let (Ok(history), Ok(asked)) = (window.history(), window.location().search()) else { return };
    let kept = asked.trim_start_matches('?').split('&').filter(|part| !part.is_empty() && !part.starts_with("at="));
    let query: Vec<String> = kept.map(str::to_owned).chain(moment.map(|at| format!("at={}", iso(at)))).collect();
    let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("?{}", query.join("&"))));
}

/// A moment as people write it.
fn iso(at_millis: Millis) -> String {
    js_sys::Date::new(&JsValue::from_f64(at_millis as f64)).to_iso_string().into()
}

impl DeploymentScreen {
    /// A link to what is shown.
    pub(super) fn link_to_moment(&self) -> String {
        let location = web_sys::window().map(|window| window.location());
        let part = |read: fn(&web_sys::Location) -> Result<String, JsValue>| {
            location.as_ref().and_then(|location| read(location).ok()).unwrap_or_default()
        };
        let at = self.moment().unwrap_or_else(|| self.live_millis());
        format!("{}{}?at={}", part(web_sys::Location::origin), part(web_sys::Location::pathname), iso(at))
    }
}
