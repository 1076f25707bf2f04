//! Pointer on the picture: shows a tip, drags time, and zooms with the wheel.

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
/// Distance in pixels from which a pressed pointer drags; the second value is for fingers, which are less precise.
const DRAG_PX: f64 = 4.0;
const FINGER_DRAG_PX: f64 = 10.0;
/// Zooming right of this part of the picture keeps the right edge at the present.
const NEAR_NOW: f64 = 0.92;
/// Wheel distance in pixels that doubles or halves the shown time.
const TWICE_PX: f64 = 240.0;
/// Height of a line in pixels, for wheels that turn by lines.
const LINE_PX: f64 = 16.0;

#[derive(Debug, Default)]
pub(super) struct Pointer {
    /// Its position in pixels of the browser's window; `None` while it is outside of the picture.
    at: Option<(f64, f64)>,
    /// The head that has the focus, by its key.
    head: Option<u128>,
    /// During a drag: where the button was pressed, in pixels of the browser's window, and the moment shown then.
    drag: Option<(f64, Millis)>,
    /// The head or bar on which the button was pressed last, and the position, in pixels of the browser's window.
    pressed: Option<(Element, (f64, f64))>,
    /// Whether the last press was by a finger.
    is_finger: bool,
    /// Set once the pointer moved too far for a click: the moment and the time range before the drag.
    before_drag: Option<(Playback, Option<f64>)>,
}

impl Pointer {
    /// Returns how far a pressed pointer may move and still click, in pixels.
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
    /// Returns a tip beside a position.
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

    /// Handles a move over the score. Of several fingers the first one counts.
    pub fn point(&self, event: &PointerEvent) {
        if !event.is_primary() {
            return;
        }
        let at = place(event);
        if event.buttons() == 0 {
            self.release(); // the button was released outside
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
        // A finger selects by touching, and has no hover.
        self.0.state.borrow_mut().pointer.at = Some(at).filter(|_| event.pointer_type() != "touch");
        self.point_again();
    }

    /// Starts a drag: the picture captures the pointer.
    fn begin_drag(&self, pointer_id: i32) {
        if let Some(canvas) = self.0.picture.nodes.canvas.get_untracked() {
            let _ = canvas.set_pointer_capture(pointer_id); // otherwise the drag ends at the edge
        }
        let state = &mut *self.0.state.borrow_mut();
        (state.pointer.at, state.pointer.pressed) = (None, None);
        state.pointer.before_drag = Some((state.playback, state.chosen_millis));
        // The scale of time stays fixed during the drag.
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

    /// Handles a click on the score. If the picture moved between press and release, browsers do not send the click to the pod: the pressed
    /// pod gets it.
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
            // A listener is not called from within itself.
            browser::run_after(Duration::ZERO, move || browser::click(&pressed));
        }
    }

    /// Returns whether the pointer was dragged since the last press. WebKit sends such a click to the bar under the pointer, although the
    /// picture captured the pointer.
    pub fn has_dragged(&self) -> bool {
        self.0.state.borrow().pointer.before_drag.is_some()
    }

    pub fn release(&self) {
        self.0.state.borrow_mut().pointer.drag = None;
    }

    /// Cancels a drag because the browser scrolls or zooms: restores the time before it.
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

    /// Handles a head that got or lost the focus.
    pub fn point_to_head(&self, key: Option<u128>) {
        self.0.state.borrow_mut().pointer.head = key;
        self.point_again();
    }

    /// Hides the tip until the pointer or the focus moves.
    pub fn point_to_nothing(&self) {
        let pointer = &mut self.0.state.borrow_mut().pointer;
        (pointer.at, pointer.head) = (None, None);
        set_if_new(&self.0.picture.tip, None);
    }

    /// Handles the wheel over the score. With Ctrl or Command it zooms around the pointer, sideways or with Shift it changes the moment;
    /// else it scrolls.
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

    /// Zooms in or out. The moment under the pointer stays in place, unless it is near the right edge.
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

    /// Updates the tip for the present position.
    pub(super) fn point_again(&self) {
        let state = &*self.0.state.borrow();
        let Pointer { at, head, .. } = state.pointer;
        // Measures only if needed, because it is expensive.
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

    /// Returns the state of a pod at a time; `None` if it did not exist then or belongs to another Deployment.
    fn pod(&self, state: &State, key: u128, at_millis: Millis) -> Option<TipContent> {
        let head = self.0.picture.heads.row(key)?.get_untracked();
        let pod = state.copy.model.pods.get(&head.uid)?;
        let deployment = state.copy.deployment?;
        let set = pod.last_owner().and_then(|set| state.copy.model.replica_sets.get(&set));
        if set.and_then(|set| taken_over(set, deployment)).is_some_and(|since| at_millis < since) {
            return None;
        }
        // The start of its state does not depend on its ReplicaSet at that time.
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

/// Returns the position of the pointer, in pixels of the browser's window.
fn place(event: &MouseEvent) -> (f64, f64) {
    (f64::from(event.client_x()), f64::from(event.client_y()))
}

impl State {
    fn millis_per_px(&self) -> f64 {
        self.frame.window_millis / self.frame.width
    }
}
