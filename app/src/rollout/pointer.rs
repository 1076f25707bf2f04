//! Pointer on the picture: it shows a tip, it drags time, and its wheel zooms.

use std::time::Duration;

use leptos::prelude::*;
use timeline::Millis;
use timeline::playback::Playback;
use web_sys::{Element, MouseEvent, PointerEvent, WheelEvent};

use super::picture::{Tip, TipContent};
use super::screen::{RolloutScreen, State};
use crate::browser;
use crate::rows::set_if_new;
use crate::score::bars::{self, Segment};
use crate::score::lanes::{BandHeading, taken_over};
use crate::score::scene::BandRow;
use crate::score::{budget, scale, scene, style_sheet};

/// Elements that open a pod: heads and bars.
const PODS: &str = ".head, .pod:not(.ribbon)";
/// A pointer that moves this far with its button pressed drags, in pixels; a finger, which is less precise, that far.
const DRAG_PX: f64 = 4.0;
const FINGER_DRAG_PX: f64 = 10.0;
/// Right of this part of the picture a wheel leaves the right edge where it is: at the present.
const NEAR_NOW: f64 = 0.92;
/// A wheel that turns so far shows twice as much time, or half of it, in pixels.
const TWICE_PX: f64 = 240.0;
/// Height of a line, for wheels that turn by lines, in pixels.
const LINE_PX: f64 = 16.0;

#[derive(Debug, Default)]
pub(super) struct Pointer {
    /// Where it is, in pixels of the browser's window; `None` while it is not on the picture.
    at: Option<(f64, f64)>,
    /// The head that has the focus, by its key.
    head: Option<u128>,
    /// While time is dragged: where the button was pressed, in pixels of the browser's window, and the moment that was shown then.
    drag: Option<(f64, Millis)>,
    /// The head or bar on which the button was pressed last, and where that was, in pixels of the browser's window.
    pressed: Option<(Element, (f64, f64))>,
    /// What was pressed last was pressed by a finger.
    is_finger: bool,
    /// It moved far enough to be no click since the button was pressed last: the moment and the window that the viewer chose before.
    before_drag: Option<(Playback, Option<f64>)>,
}

impl Pointer {
    /// Returns how far it may move and still click, in pixels.
    const fn click_px(&self) -> f64 {
        if self.is_finger { FINGER_DRAG_PX } else { DRAG_PX }
    }
}

/// Rectangles of the score's parts, in pixels of the browser's window.
struct PartRects {
    score: browser::Rect,
    canvas: browser::Rect,
    scroller: browser::Rect,
    strip: browser::Rect,
}

impl PartRects {
    /// A tip that stands beside a place.
    fn tip(&self, (x, y): (f64, f64), at_millis: Millis, content: TipContent) -> Tip {
        let (left, size) = (self.score.left(), (self.score.width(), self.score.height()));
        let place = style_sheet::tip((x - left, y - self.score.top()), size);
        Tip { place, x: x.min(self.canvas.right()) - left, at_millis, content }
    }
}

impl RolloutScreen {
    fn room(&self) -> Option<PartRects> {
        let nodes = self.0.picture.nodes;
        let canvas = nodes.canvas.get_untracked()?;
        let score = canvas.closest(".score").ok().flatten()?;
        let canvas = canvas.get_bounding_client_rect();
        let scroller = nodes.scroller.get_untracked()?.get_bounding_client_rect();
        let strip = nodes.strip.get_untracked()?.get_bounding_client_rect();
        Some(PartRects { score: score.get_bounding_client_rect(), canvas, scroller, strip })
    }

    /// The pointer moved over the score. Of several fingers the first one counts.
    pub fn point(&self, event: &PointerEvent) {
        if !event.is_primary() {
            return;
        }
        let at = place(event);
        if event.buttons() == 0 {
            self.release(); // it was let go of elsewhere
        }
        let (drag, has_dragged, click_px) = {
            let pointer = &self.0.state.borrow().pointer;
            (pointer.drag, pointer.before_drag.is_some(), pointer.click_px())
        };
        let dragged = drag.filter(|(from_x, _)| has_dragged || (at.0 - from_x).abs() > click_px);
        if let Some((from_x, from_millis)) = dragged {
            if !has_dragged {
                self.begin_drag(event.pointer_id());
            }
            let millis_per_px = self.0.state.borrow().millis_per_px();
            self.glide(from_millis - ((at.0 - from_x) * millis_per_px) as Millis);
            return;
        }
        // A finger that touches chooses.
        self.0.state.borrow_mut().pointer.at = Some(at).filter(|_| event.pointer_type() != "touch");
        self.point_again();
    }

    /// From here on the picture gets all that the pointer does.
    fn begin_drag(&self, pointer_id: i32) {
        if let Some(canvas) = self.0.picture.nodes.canvas.get_untracked() {
            let _ = canvas.set_pointer_capture(pointer_id); // without it the drag ends at the edge
        }
        let state = &mut *self.0.state.borrow_mut();
        (state.pointer.at, state.pointer.pressed) = (None, None);
        state.pointer.before_drag = Some((state.playback, state.chosen_millis));
        // Time passes under the pointer as fast as it moves.
        state.chosen_millis = Some(state.frame.window_millis);
        set_if_new(&self.0.picture.tip, None);
    }

    pub fn press(&self, event: &PointerEvent) {
        if !event.is_primary() {
            return;
        }
        let is_primary = event.button() == 0;
        let pressed = browser::closest(event, PODS).filter(|_| is_primary).map(|pod| (pod, place(event)));
        {
            let pointer = &mut self.0.state.borrow_mut().pointer;
            (pointer.before_drag, pointer.pressed) = (None, pressed);
            pointer.is_finger = event.pointer_type() == "touch";
        }
        let is_control = browser::closest(event, "a, button").is_some();
        let x = f64::from(event.client_x());
        let is_inside = self.room().is_some_and(|room| (room.canvas.left()..room.canvas.right()).contains(&x));
        if !is_primary || is_control || !is_inside {
            return;
        }
        let from_millis = self.shown_millis();
        self.0.state.borrow_mut().pointer.drag = Some((x, from_millis));
    }

    /// The button was clicked somewhere on the score. Where the picture moved between press and release, browsers send the click to no pod:
    /// the one that was pressed gets it.
    pub fn click(&self, event: &MouseEvent) {
        let (pressed, click_px) = {
            let pointer = &mut self.0.state.borrow_mut().pointer;
            (pointer.pressed.take(), pointer.click_px())
        };
        let Some((pressed, from)) = pressed.filter(|_| browser::closest(event, PODS).is_none()) else {
            return;
        };
        let at = place(event);
        let is_moved = (at.0 - from.0).abs().max((at.1 - from.1).abs()) > click_px;
        if !is_moved {
            // A listener is not called while it is.
            browser::run_after(Duration::ZERO, move || browser::click(&pressed));
        }
    }

    /// Returns whether the button was dragged since it was pressed last.
    /// WebKit sends such a click to the bar under the pointer, though the picture captured the pointer.
    pub fn has_dragged(&self) -> bool {
        self.0.state.borrow().pointer.before_drag.is_some()
    }

    pub fn release(&self) {
        self.0.state.borrow_mut().pointer.drag = None;
    }

    /// The browser took the pointer over, to scroll or to zoom: what it moved so far is as it was before.
    pub fn cancel(&self, event: &PointerEvent) {
        if !event.is_primary() {
            return;
        }
        let before = {
            let pointer = &mut self.0.state.borrow_mut().pointer;
            pointer.drag.take().and_then(|_| pointer.before_drag.take())
        };
        if let Some((playback, chosen_millis)) = before {
            self.0.state.borrow_mut().chosen_millis = chosen_millis;
            self.play(&|_, _, _, _| playback);
        }
    }

    pub fn leave(&self) {
        self.0.state.borrow_mut().pointer.at = None;
        self.point_again();
    }

    /// A head got the focus, or lost it.
    pub fn point_to_head(&self, key: Option<u128>) {
        self.0.state.borrow_mut().pointer.head = key;
        self.point_again();
    }

    /// Nothing is told any more until the pointer or the focus moves.
    pub fn point_to_nothing(&self) {
        let pointer = &mut self.0.state.borrow_mut().pointer;
        (pointer.at, pointer.head) = (None, None);
        set_if_new(&self.0.picture.tip, None);
    }

    /// The wheel turned over the score. With Ctrl or the command key it shows more time or less around the pointer, sideways or with
    /// Shift another moment; else it scrolls.
    pub fn turn(&self, event: &WheelEvent) {
        let unit = if event.delta_mode() == 0 { 1.0 } else { LINE_PX };
        let (x, y) = (event.delta_x() * unit, event.delta_y() * unit);
        let is_zoom = event.ctrl_key() || event.meta_key();
        let sideways = if event.shift_key() && x == 0.0 { y } else { x };
        if !is_zoom && sideways.abs() <= y.abs() && !event.shift_key() {
            return;
        }
        event.prevent_default();
        if is_zoom {
            self.zoom_at(
                f64::from(event.client_x()),
                if y < 0.0 { TWICE_PX / (TWICE_PX - y) } else { 1.0 + y / TWICE_PX },
            );
            return;
        }
        let at = self.shown_millis();
        let passed = {
            let state = &mut *self.0.state.borrow_mut();
            state.chosen_millis = Some(state.frame.window_millis);
            sideways * state.millis_per_px()
        };
        self.glide(at + passed as Millis);
    }

    /// Shows more time, or less. The moment under the pointer stays there, unless that is near the right edge.
    fn zoom_at(&self, client_x: f64, factor: f64) {
        let Some(room) = self.room() else { return };
        let share = ((client_x - room.canvas.left()) / room.canvas.width()).clamp(0.0, 1.0);
        let at = self.shown_millis();
        let moved = {
            let state = &mut *self.0.state.borrow_mut();
            let before = state.frame.window_millis;
            let wanted = scale::zoomed(before, factor);
            (state.chosen_millis, state.frame.window_millis, state.is_dirty) = (Some(wanted), wanted, true);
            (wanted - before) * (1.0 - share)
        };
        if share < NEAR_NOW {
            self.glide(at + moved as Millis);
        }
    }

    /// Tells what is pointed at, as it is by now.
    pub(super) fn point_again(&self) {
        let state = &*self.0.state.borrow();
        let Pointer { at, head, .. } = state.pointer;
        // Measuring costs.
        let room = if at.is_some() || head.is_some() { self.room() } else { None };
        let tip = room.and_then(|room| {
            let told = at.and_then(|at| self.tip_at(state, &room, at));
            told.or_else(|| self.tip_of_head(state, &room, head?))
        });
        set_if_new(&self.0.picture.tip, tip);
    }

    fn tip_at(&self, state: &State, room: &PartRects, (x, y): (f64, f64)) -> Option<Tip> {
        let frame = state.frame;
        let ago = (room.canvas.right() - x).max(0.0) * state.millis_per_px();
        let at_millis = frame.now_millis - ago as Millis;
        let is_in = |part: &browser::Rect| (part.top()..part.bottom()).contains(&y);
        let told = if x < room.canvas.left() || x > room.score.right() {
            None
        } else if is_in(&room.strip) {
            let deployment = state.copy.deployment()?;
            let (counts, limits) = budget::count_looks(&state.copy.model, deployment, at_millis);
            Some(TipContent::Counts(counts, limits))
        } else if is_in(&room.scroller) {
            let y = y - room.canvas.top();
            self.pod_at(state, y, at_millis).or_else(|| self.ribbon_at(state, y, at_millis))
        } else {
            None
        };
        told.map(|told| room.tip((x, y), at_millis, told))
    }

    fn tip_of_head(&self, state: &State, room: &PartRects, key: u128) -> Option<Tip> {
        let at_millis = state.frame.now_millis;
        let y = self.0.picture.spots.row(key)?.with_untracked(|spot| spot.y);
        let told = self.pod(state, key, at_millis)?;
        Some(room.tip((room.canvas.right(), room.canvas.top() + y), at_millis, told))
    }

    fn pod_at(&self, state: &State, y: f64, at_millis: Millis) -> Option<TipContent> {
        let spots = self.0.picture.spots;
        let is_there = |key: &u128| {
            spots.row(*key).is_some_and(|spot| spot.with_untracked(|spot| (y - spot.y).abs() <= spot.row / 2.0))
        };
        spots.order_untracked().into_iter().filter(is_there).find_map(|key| self.pod(state, key, at_millis))
    }

    /// Returns the state of a pod at a time; `None` where it was not there, or not this Deployment's.
    fn pod(&self, state: &State, key: u128, at_millis: Millis) -> Option<TipContent> {
        let head = self.0.picture.heads.row(key)?.get_untracked();
        let pod = state.copy.model.pods.get(&head.uid)?;
        let deployment = state.copy.deployment?;
        let set = pod.last_owner().and_then(|set| state.copy.model.replica_sets.get(&set));
        if set.and_then(|set| taken_over(set, deployment)).is_some_and(|since| at_millis < since) {
            return None;
        }
        // Since when it is in a state does not depend on whose ReplicaSet it was in then.
        let band = BandHeading { replica_set: head.replica_set, ..BandHeading::default() };
        let Segment { look, from: since_millis, to } = bars::drawn_at(pod, &band, state.frame, at_millis)?;
        let until_millis = to.filter(|until| *until <= state.frame.now_millis);
        Some(TipContent::Pod {
            name: head.name,
            look,
            since_millis,
            is_older: since_millis == pod.first_seen_millis() && !pod.is_creation_seen(0),
            lasted_millis: until_millis.unwrap_or(state.frame.now_millis) - since_millis,
            until_millis,
            reason: if until_millis.is_none() { head.reason } else { String::new() },
        })
    }

    fn ribbon_at(&self, state: &State, y: f64, at_millis: Millis) -> Option<TipContent> {
        let bands = self.0.picture.bands;
        let heading = |band: &BandRow| {
            let is_there = band.is_ribbon && (band.place.top..band.place.top + band.place.height).contains(&y);
            is_there.then(|| band.heading.clone())
        };
        let band = bands.order_untracked().into_iter().find_map(|key| bands.row(key)?.with_untracked(heading))?;
        let (model, deployment) = (&state.copy.model, state.copy.deployment?);
        Some(TipContent::Counts(scene::count_looks(model, deployment, &band, at_millis, state.frame), None))
    }
}

/// Returns where the pointer is, in pixels of the browser's window.
fn place(event: &MouseEvent) -> (f64, f64) {
    (f64::from(event.client_x()), f64::from(event.client_y()))
}

impl State {
    fn millis_per_px(&self) -> f64 {
        self.frame.window_millis / self.frame.width
    }
}
