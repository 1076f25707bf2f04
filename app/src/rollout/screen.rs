//! The screen of one Deployment: applies frames to the page's copy of the timeline and shows the present, or the moment that the
//! viewer chose.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use timeline::playback::Playback;
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{Delta, Moment, Position, Scope, ServerFrame, Snapshot};
use timeline::{Millis, rollout, say};

use super::board::{Board, RenderedPage, model_then, said_then};
use super::panel::PanelState;
use super::picture::{FrameStyles, Picture};
use super::pointer::Pointer;
use super::scroll::Scroll;
use crate::browser::{focus_in_place, font_size_px, matches, page_millis};
use crate::connection::known_until_millis;
use crate::exported::Exported;
use crate::keep_focus::keep_focus;
use crate::live::client::{Screen, ScreenRequest};
use crate::live::clock::Clock;
use crate::live::question::Question;
use crate::rows::set_if_new;
use crate::score::canvas::Canvas;
use crate::score::frame::Frame;
use crate::score::motion::Motion;
use crate::score::places::{self, BandPlace};
use crate::score::scale::{self, EndedRollout};
use crate::score::scene;

/// Interval at which bars outside of the picture are removed.
const LOOK_AGAIN_MILLIS: f64 = 1_000.0;
/// Interval at which the size of the picture is measured.
const MEASURE_MILLIS: f64 = 200.0;
/// From this number of bars on they are painted on a canvas instead of being elements.
const MOST_ELEMENTS: usize = 120;
/// Minimum interval between repaints of the canvas; in between it is moved.
const CROWD_MILLIS: f64 = 50.0;
/// Minimum interval between redraws of a ribbon; drawing takes at most one part in this many of the browser's time.
const RIBBON_MILLIS: f64 = 100.0;
const RIBBON_SHARE: f64 = 4.0;
/// Maximum factor by which zooming in makes ribbons higher, and the maximum height that browsers paint, in pixels.
const MOST_STRETCH: f64 = 32.0;
const MOST_HEIGHT: f64 = 8_000.0;
/// Windows in which the story is beside the picture; in others it is below.
const BESIDE_STORY: &str = "(min-width: 1201px)";
/// Systems whose viewers prefer reduced motion.
const LESS_MOTION: &str = "(prefers-reduced-motion: reduce)";
/// Minimum interval between announcements of verdicts.
const ANNOUNCE_MILLIS: f64 = 5_000.0;
/// Font size of the axis on a page, in pixels. On a wall it grows with the height of rows.
const LETTERS_PX: f64 = 11.0;

/// The page's copy of the timeline and its view of it. Clones share the state.
#[derive(Clone)]
pub struct RolloutScreen(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) board: Board,
    pub(super) picture: Picture,
    pub(super) state: RefCell<State>,
    /// The exported file; `None` if there is a server.
    pub(super) exported: Option<Exported>,
    /// The panel beside the picture; `None` on a wall.
    pub(super) panel: Option<PanelState>,
}

/// State of the screen: its copy of the Deployment, and the view of it.
pub(super) struct State {
    /// The scope that the screen follows.
    scope: Scope,
    pub(super) copy: DeploymentCopy,
    pub(super) clock: Clock,
    /// The ended rollout, if the page is about a single one.
    over: Option<EndedRollout>,
    /// The shown time range, and the size of the picture.
    pub(super) frame: Frame,
    pub(super) is_dirty: bool,
    /// Page times of frames: the last one, the last one that drew, the last one that measured.
    framed_at: f64,
    drawn_at: f64,
    measured_at: f64,
    /// Minimum interval between frames without changes, in milliseconds ([`RolloutScreen::set_pause`]).
    pause_millis: f64,
    announced: (f64, bool, String),
    /// Number of pods in the picture.
    pods: usize,
    /// Duration of the last draw, in milliseconds.
    drawing_millis: f64,
    /// Position of the band of the current revision.
    current: Option<BandPlace>,
    /// Whether the page is about to be printed, and is drawn for paper.
    is_printing: bool,
    is_on_paper: bool,
    /// Whether the picture may leave space to the table of pods: the table is below it, and the story is beside it.
    may_share: bool,
    /// Moving bands, and whether the viewer prefers reduced motion.
    motion: Motion,
    has_less_motion: bool,
    /// Time range that the viewer chose, in milliseconds; `None` for the automatic one.
    pub(super) chosen_millis: Option<f64>,
    pub(super) pointer: Pointer,
    /// When to write the shown moment into the address, in page time; `None` if it is there.
    pub(super) remember_at: Option<f64>,
    /// When the address was written last, in page time.
    pub(super) remembered_at: f64,
    /// When the range of the slider was updated last.
    pub(super) kept_at: f64,
    pub(super) playback: Playback,
    pub(super) speed: f64,
    /// Number of lines in the story when the viewer left the present.
    pub(super) lines: usize,
    /// The verdict and the story of the shown moment, or of the last one that was answered.
    then: Option<Moment>,
    pub(super) question: Question,
    canvas: Option<Canvas>,
    scroll: Scroll,
    /// The last positions of everything that moves with time.
    moving: FrameStyles,
}

impl State {
    pub(super) fn fitting_millis(&self, now_millis: Millis) -> f64 {
        scale::fitting_millis(self.over, &self.copy.model, self.copy.deployment(), now_millis)
    }

    /// Returns the last moment that can be shown: the present, or the end of an ended rollout.
    pub(super) fn live_millis(&self, page_millis: f64) -> Millis {
        let now_millis = self.clock.now_millis(page_millis);
        self.over.map_or(now_millis, |over| now_millis.min(over.until_millis()))
    }

    /// Returns the beginning of the rollout, for replaying it.
    pub(super) fn began_millis(&self) -> Option<Millis> {
        let deployment = self.copy.deployment()?;
        let last = deployment.rollouts.last()?;
        let began = || rollout::began_millis(&self.copy.model, deployment, last);
        self.over.map(|over| over.began_millis).or_else(began)
    }
}

impl RolloutScreen {
    /// Creates a screen from the data of a rendered page; without data after in-page navigation. Called from effects.
    pub fn new(
        board: Board,
        picture: Picture,
        first: Option<RenderedPage>,
        scope: Scope,
        panel: Option<PanelState>,
    ) -> Self {
        let RenderedPage { copy, told_millis: now_millis, moment } = first.unwrap_or_else(RenderedPage::empty);
        let over = board.ended_rollout(&copy);
        let shown_millis = moment.as_ref().map_or(now_millis, |moment| moment.at_millis);
        let window_millis = scale::fitting_millis(over, &copy.model, copy.deployment(), shown_millis);
        let state = State {
            scope,
            clock: Clock::new(now_millis, page_millis()),
            over,
            frame: Frame::unmeasured(shown_millis, window_millis),
            is_dirty: true,
            framed_at: page_millis(),
            drawn_at: page_millis(),
            measured_at: f64::NEG_INFINITY,
            pause_millis: 0.0,
            announced: (f64::NEG_INFINITY, false, String::new()),
            pods: 0,
            drawing_millis: 0.0,
            current: None,
            is_printing: false,
            is_on_paper: false,
            may_share: false,
            motion: Motion::default(),
            has_less_motion: matches(LESS_MOTION),
            chosen_millis: None,
            pointer: Pointer::default(),
            remember_at: None,
            remembered_at: f64::NEG_INFINITY,
            kept_at: f64::NEG_INFINITY,
            playback: moment.as_ref().map_or(Playback::Live, |moment| Playback::Still { at_millis: moment.at_millis }),
            speed: 1.0,
            lines: copy.said.story.len(),
            question: moment.as_ref().map(|moment| Question::answered(moment.at_millis)).unwrap_or_default(),
            then: moment,
            canvas: picture.nodes.paint.get_untracked().and_then(Canvas::new),
            scroll: Scroll::new(picture.nodes.scroller),
            moving: FrameStyles::default(),
            copy,
        };
        let (state, exported) = (RefCell::new(state), Exported::of_app());
        let screen = Self(Rc::new(Inner { board, picture, state, exported, panel }));
        screen.set_pace(page_millis());
        screen
    }

    /// Starts over for another Deployment, or for none.
    pub fn reset(&self, scope: Scope) {
        let mut state = self.0.state.borrow_mut();
        (state.scope, state.copy) = (scope, DeploymentCopy::default());
        (state.motion, state.pods, state.is_dirty) = (Motion::default(), 0, true);
        state.scroll.reset();
    }

    /// Updates the panel because of changes (`is_news`) or because time passed.
    pub(super) fn tell_panel(&self, is_news: bool, page_millis: f64) {
        if let Some(panel) = self.0.panel {
            panel.look_again(is_news, page_millis);
        }
    }

    fn set_pace(&self, page_millis: f64) {
        let state = &mut *self.0.state.borrow_mut();
        let is_linked = self.0.board.is_linked.get_untracked();
        let until_millis = self.0.board.connection.with_untracked(|known| {
            state.clock.set_pace(known, is_linked, page_millis);
            known_until_millis(&state.copy, known)
        });
        let mut heard_millis = state.clock.now_millis(page_millis);
        if let Some(until_millis) = until_millis {
            state.clock.stand_at(until_millis);
            heard_millis = state.clock.running_millis(page_millis); // the server still responds
        }
        if is_linked {
            set_if_new(&self.0.board.heard_millis, heard_millis);
        }
    }

    fn snapshot(&self, snapshot: Snapshot, page_millis: f64) {
        let mut state = self.0.state.borrow_mut();
        let (now_millis, looking_since_millis) = (snapshot.now_millis, snapshot.looking_since_millis);
        let (is_first, before) = (state.copy.position().is_none(), state.copy.deployment);
        let is_other_life = state.copy.take_snapshot(snapshot);
        // The name now belongs to another Deployment, and moments of the former one cannot be drawn.
        if before.is_some() && state.copy.deployment != before && state.playback != Playback::Live {
            (state.playback, state.remember_at) = (Playback::Live, Some(page_millis));
        }
        if is_first || is_other_life {
            state.question.forget(); // after a restart the answers for the same moment differ
            state.clock = Clock::new(now_millis, page_millis);
        } else {
            state.clock.synchronize(now_millis, page_millis);
        }
        state.over = self.0.board.ended_rollout(&state.copy);
        if is_first {
            state.then = None; // an earlier answer belongs to the previous subscription
            state.frame.window_millis = state.fitting_millis(now_millis);
        }
        set_if_new(&self.0.board.looking_since_millis, looking_since_millis);
        set_if_new(&self.0.board.is_known, true);
    }

    /// Applies a delta; true if deltas before it are missing. A delta before the snapshot belongs to the previous subscription.
    fn misses(&self, delta: Delta, page_millis: f64) -> bool {
        let mut state = self.0.state.borrow_mut();
        let now_millis = delta.now_millis;
        let taken = state.copy.take_delta(delta);
        if taken == Taken::Fits {
            state.clock.synchronize(now_millis, page_millis);
        }
        taken == Taken::Missed
    }

    /// Draws everything; only differences are updated.
    fn draw(&self, now_millis: Millis, moment: Option<Millis>, page_millis: f64) {
        let state = &mut *self.0.state.borrow_mut();
        (state.drawn_at, state.is_dirty) = (page_millis, false);
        let is_linked = self.0.board.is_linked.get_untracked();
        let (model, said) = match moment.zip(state.copy.deployment) {
            None => (Cow::Borrowed(&state.copy.model), Cow::Borrowed(&state.copy.said)),
            Some((at, uid)) => {
                // While an answer is pending the last sentences stay; without a connection none will come.
                let said = match &state.then {
                    Some(then) if is_linked || then.at_millis == at => said_then(then.said.as_ref(), &state.copy.said),
                    None if is_linked => Cow::Borrowed(&state.copy.said),
                    _ => said_then(None, &state.copy.said),
                };
                (Cow::Owned(model_then(&state.copy.model, uid, at, state.then.as_ref())), said)
            }
        };
        set_if_new(&self.0.board.view, said.view.clone());
        self.0.board.compare_with(state.clock.running_millis(page_millis), moment.is_some());
        state.frame = Frame { now_millis, ..state.frame }.near_base();
        // Paper needs shapes: a canvas has the colours and the resolution of the screen.
        let is_painted = state.pods > MOST_ELEMENTS && !state.is_printing && !state.is_on_paper;
        let nearness = state.chosen_millis.map_or(1.0, |chosen| state.fitting_millis(now_millis) / chosen);
        let stretch = if places::is_crowd(state.pods) { nearness.clamp(1.0, MOST_STRETCH) } else { 1.0 };
        let height = (state.frame.height * stretch).min(state.frame.height.max(MOST_HEIGHT));
        let frame = Frame { now_millis, is_painted, is_opened: stretch > 1.0, height, ..state.frame };
        let mut scene = scene::scene(&model, state.copy.deployment, &said, frame, &state.motion);
        state.pods = scene.pods;
        let is_still = state.has_less_motion || state.pods > MOST_ELEMENTS;
        state.motion.head_for(std::mem::take(&mut scene.targets), is_still, page_millis);
        state.current = scene.bands.iter().find(|(_, band)| band.heading.is_current).map(|(_, band)| band.place);
        let has_spare = state.may_share && places::has_spare(state.frame.height, scene.bands_height);
        if has_spare {
            scene.height = scene.bands_height;
        }
        set_if_new(&self.0.picture.has_spare, has_spare);
        let sentence = said.view.as_ref().map_or("", |view| view.verdict.sentence.as_str());
        let is_past = moment.is_some() || self.0.board.is_over;
        let (announced_millis, was_past, announced) = &state.announced;
        let is_new = (*was_past, announced.as_str()) != (is_past, sentence);
        if is_new && page_millis - announced_millis > ANNOUNCE_MILLIS {
            self.0.board.announced.set(if is_past { say::past(sentence) } else { sentence.to_owned() });
            state.announced = (page_millis, is_past, sentence.to_owned());
        }
        if let Some(canvas) = &mut state.canvas {
            canvas.show(std::mem::take(&mut scene.marks));
        }
        keep_focus();
        self.0.picture.show(scene, state.frame);
        state.drawing_millis = crate::browser::page_millis() - page_millis;
    }

    /// Handles a key that scrolls the picture.
    pub fn scroll_key(&self, key: &str) {
        self.0.state.borrow_mut().scroll.key(key, page_millis());
    }

    pub fn focus(&self) {
        if let Some(scroller) = self.0.picture.nodes.scroller.get_untracked() {
            focus_in_place(&scroller);
        }
    }

    /// Requests a draw in the next frame.
    pub fn draw_again(&self) {
        self.0.state.borrow_mut().is_dirty = true;
    }

    /// Sets the minimum interval between frames without changes, for pictures that nobody looks at closely.
    pub fn set_pause(&self, millis: f64) {
        self.0.state.borrow_mut().pause_millis = millis;
    }

    fn is_paused(&self, page_millis: f64) -> bool {
        let state = self.0.state.borrow();
        !state.is_dirty && page_millis - state.framed_at < state.pause_millis
    }

    /// Draws for paper, or for the screen again.
    pub fn set_printing(&self, is_printing: bool) {
        let mut state = self.0.state.borrow_mut();
        (state.is_printing, state.is_dirty, state.drawn_at) = (is_printing, true, f64::NEG_INFINITY);
        drop(state);
        self.animate(page_millis());
    }

    /// Measures the available space and fits the picture to it.
    fn measure(&self) {
        let nodes = self.0.picture.nodes;
        let (Some(canvas), Some(picture)) = (nodes.canvas.get_untracked(), nodes.picture.get_untracked()) else {
            return;
        };
        let above = f64::from(picture.offset_top());
        let state = &mut *self.0.state.borrow_mut();
        state.has_less_motion = matches(LESS_MOTION);
        set_if_new(&self.0.picture.width, state.scroll.width());
        state.scroll.follow(state.current, above, page_millis());
        state.frame.width = canvas.get_bounding_client_rect().width().max(1.0);
        let is_on_paper = matches("print");
        (state.is_dirty, state.is_on_paper) = (state.is_dirty || is_on_paper != state.is_on_paper, is_on_paper);
        // Beside the table the picture is as high as its bands, so the space that it could have is measured instead.
        let has_spare = self.0.picture.has_spare.get_untracked();
        let seen = if has_spare { state.scroll.height_in(nodes.room) } else { state.scroll.height() };
        let height = seen.map_or(state.frame.height, |height| (height - above).max(1.0));
        let may_share = nodes.room.get_untracked().is_some() && matches(BESIDE_STORY);
        (state.is_dirty, state.may_share) = (state.is_dirty || may_share != state.may_share, may_share);
        if !is_on_paper && height.to_bits() != state.frame.height.to_bits() {
            (state.frame.height, state.is_dirty) = (height, true);
            let letters = nodes.timed.first().and_then(NodeRef::get_untracked).and_then(|ticks| font_size_px(&ticks));
            let on_wall = letters.filter(|_| !self.0.picture.prefix.is_empty());
            state.frame.scale = on_wall.map_or(1.0, |letters| letters / LETTERS_PX);
        }
    }

    /// Moves the time axis and everything on it to the time of this frame.
    fn time_passes(&self) {
        let (picture, state) = (&self.0.picture, &mut *self.0.state.borrow_mut());
        let frame = state.frame;
        set_if_new(&picture.ticks, scale::ticks(frame.now_millis, frame.window_millis, frame.width / frame.scale));
        picture.move_to(frame, &mut state.moving);
        if let Some(canvas) = &mut state.canvas {
            canvas.paint(frame, picture.height.get_untracked());
        }
    }
}

impl Screen for RolloutScreen {
    fn scope(&self) -> Scope {
        self.0.state.borrow().scope.clone()
    }

    fn link(&self, is_linked: bool, page_millis: f64) {
        set_if_new(&self.0.board.is_linked, is_linked);
        if !is_linked {
            self.0.state.borrow_mut().question.forget(); // a broken connection brings no answer
        }
        self.set_pace(page_millis);
    }

    fn frames(&self, frames: Vec<ServerFrame>, page_millis: f64) -> Option<ScreenRequest> {
        let (board, mut request) = (&self.0.board, None);
        for frame in frames {
            match frame {
                ServerFrame::Snapshot(snapshot) if board.workload.with_untracked(|of| snapshot.is_of(of)) => {
                    request = None;
                    self.snapshot(*snapshot, page_millis);
                    self.set_pace(page_millis); // after a restart the clock may differ
                }
                ServerFrame::Delta(delta) => {
                    if self.misses(delta, page_millis) {
                        request = Some(ScreenRequest::Snapshot);
                    }
                }
                ServerFrame::Connection { cluster, connection } => {
                    if board.workload.with_untracked(|workload| workload.cluster == cluster) {
                        set_if_new(&board.connection, connection);
                        self.set_pace(page_millis);
                    }
                }
                ServerFrame::Moment(moment) => {
                    let mut state = self.0.state.borrow_mut();
                    state.question.answer(moment.at_millis);
                    state.then = Some(*moment);
                }
                ServerFrame::Heartbeat { now_millis } => {
                    self.0.state.borrow_mut().clock.synchronize(now_millis, page_millis);
                }
                // The snapshot belongs to the previous subscription.
                ServerFrame::Snapshot(_) | ServerFrame::Hello { .. } | ServerFrame::List(_) => {}
            }
        }
        let mut state = self.0.state.borrow_mut();
        state.is_dirty = true;
        // Set at once, not while drawing: a hidden tab draws nothing, and shows only its title, icon and notifications.
        set_if_new(&board.now, state.copy.said.view.clone());
        if state.playback == Playback::Live {
            set_if_new(&board.view, state.copy.said.view.clone());
        }
        drop(state);
        self.tell_panel(true, page_millis);
        request
    }

    fn animate(&self, page_millis: f64) -> Option<ScreenRequest> {
        if self.is_paused(page_millis) {
            return None;
        }
        let board = &self.0.board;
        if page_millis - self.0.state.borrow().measured_at > MEASURE_MILLIS {
            self.0.state.borrow_mut().measured_at = page_millis;
            self.measure();
        }
        let (now_millis, moment, is_due) = {
            let state = &mut *self.0.state.borrow_mut();
            let passed_millis = if state.has_less_motion { f64::INFINITY } else { page_millis - state.framed_at };
            state.framed_at = page_millis;
            let live_millis = state.live_millis(page_millis);
            let settled = state.playback.settled(page_millis, live_millis);
            if settled != state.playback {
                // Playback reached the present, so the address must name the present.
                (state.playback, state.remember_at) = (settled, Some(page_millis));
            }
            let moment = state.playback.moment(page_millis, live_millis);
            let now_millis = moment.unwrap_or(live_millis);
            let wanted = state.chosen_millis.unwrap_or_else(|| state.fitting_millis(now_millis));
            let is_moving = state.motion.advance(page_millis)
                || state.is_dirty
                || matches!(state.playback, Playback::Playing { .. });
            let pace = match state.pods {
                pods if places::is_crowd(pods) => RIBBON_MILLIS.max(state.drawing_millis * RIBBON_SHARE),
                pods if pods > MOST_ELEMENTS => CROWD_MILLIS,
                _ => 0.0,
            };
            // Bars leave the picture by time alone.
            let pace = if is_moving { pace } else { LOOK_AGAIN_MILLIS };
            let window_millis = scale::glided(state.frame.window_millis, wanted, passed_millis);
            state.frame = Frame { now_millis, window_millis, ..state.frame };
            (now_millis, moment, page_millis - state.drawn_at > pace)
        };
        set_if_new(&board.second, now_millis.div_euclid(1000));
        if is_due {
            self.draw(now_millis, moment, page_millis);
            self.point_again();
        }
        self.time_passes();
        self.tell_time(moment, page_millis);
        self.tell_panel(false, page_millis);
        self.request_moment(moment, page_millis)
    }

    fn position(&self) -> Option<Position> {
        self.0.state.borrow().copy.position()
    }
}
