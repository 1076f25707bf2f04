//! The budget strip: pods by state over time, with the upper and lower limit. The areas show pods, the lines show the limits of
//! the strategy. Terminating pods count towards neither limit and are drawn on top.

use std::fmt::Write;

use timeline::budget::Limits;
use timeline::model::{Deployment, Pod, PodState};
use timeline::steps::{Counts, Step};
use timeline::view::{Hold, Tone, View};
use timeline::{Millis, Model};

use super::frame::{FAR, Frame};
use super::ink::{Colour, Fill, PodLook};
use crate::numbers::{fixed, thousandths};

/// Height of the strip, in pixels.
pub const HEIGHT: f64 = 76.0;
/// Room above the highest step.
const TOP: f64 = 8.0;
/// Height of a line of small text.
const LETTERS: f64 = 13.0;

/// From this upper limit on, the part in brackets is left out beside the limits.
const THOUSANDS: u32 = 1_000;

/// The layers of the strip, from bottom to top. Each has the look of bars of pods in that state.
pub const LAYERS: [PodState; 7] = [
    PodState::Available,
    PodState::Ready,
    PodState::Unready,
    PodState::Starting,
    PodState::Scheduling,
    PodState::Failing,
    PodState::Terminating,
];

/// Returns the layer to which a pod in that state belongs; `None` for a pod that is gone.
fn layer_of(state: PodState) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == state)
}

/// Returns the colour and filling of a layer: those of bars without room for shapes.
pub const fn fill(layer: PodState) -> (Colour, Fill) {
    let ink = PodLook::In(layer).ink();
    (ink.colour, ink.low)
}

/// Counts the pods of a strip by look at a time. Also returns the limits at that time.
pub fn count_looks(
    model: &Model,
    deployment: &Deployment,
    at_millis: Millis,
) -> (Vec<(PodLook, usize)>, Option<Limits>) {
    let steps = steps(model, deployment, at_millis);
    let counts = steps.first().map(|(_, counts)| *counts).unwrap_or_default();
    let counts = LAYERS.into_iter().zip(counts).filter(|(_, count)| *count > 0);
    let limits = deployment.limits.iter().rev().find(|(since, _)| *since <= at_millis).map(|(_, limits)| *limits);
    (counts.map(|(state, count)| (PodLook::In(state), count.unsigned_abs() as usize)).collect(), limits)
}

/// Returns the class of the mark beside the limits; the mark is hidden while nothing blocks the controller.
pub const fn hold_class(hold: Hold) -> &'static str {
    match hold {
        Hold::Free => "unused",
        Hold::Waits => "label waits",
        Hold::Blocked => "label blocked",
    }
}

/// One of the two limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Largest number of pods that may be desired: `spec.replicas` + `maxSurge`.
    Ceiling,
    /// Smallest number of pods that must be available: replicas − maxUnavailable.
    Floor,
}

impl Limit {
    /// Both limits.
    pub const ALL: [Self; 2] = [Self::Ceiling, Self::Floor];

    /// Returns the name, which is also a class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Floor => "floor",
        }
    }

    /// Returns the number of pods of the limit.
    pub const fn pods(self, limits: Limits) -> u32 {
        match self {
            Self::Ceiling => limits.ceiling,
            Self::Floor => limits.floor,
        }
    }
}

/// The strip as it is drawn: shapes in seconds by pixels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// Outline of each layer.
    pub areas: Vec<(PodState, String)>,
    /// Line of each limit, with its changes.
    pub lines: Vec<(Limit, String)>,
    /// The present limits: each with its number and its derivation in words.
    pub limits: Vec<(Limit, u32, String)>,
    /// Position of the numbers at the now line, in pixels from the top.
    pub labels: Vec<(Limit, u32, f64)>,
    /// Cause that blocks the controller's next step, and the position of its mark.
    pub hold: Option<(Hold, f64)>,
}

/// Returns the strip of the budget: existing pods between the two limits of the strategy.
pub fn strip(model: &Model, deployment: &Deployment, view: &View, frame: Frame) -> Strip {
    let steps = thinned(steps(model, deployment, frame.spare_from_millis()), frame);
    let most = highest(&steps, frame);
    let is_rolling = !view.derived.0.is_empty();
    let past = if is_rolling { past(deployment, view.limits, frame) } else { Vec::new() };
    let highest = past.iter().map(|(_, limits)| limits.ceiling).chain([view.limits.ceiling]).max().unwrap_or(1);
    let unit = (HEIGHT - TOP) / f64::from(most.max(i32::try_from(highest).unwrap_or(i32::MAX)).max(1));
    let y = |pods: f64| (HEIGHT - pods * unit).max(0.0);
    let area = |(index, state): (usize, PodState)| (state, outline(&steps, index, frame, &y));
    let areas = LAYERS.into_iter().enumerate().map(area).collect();
    let [ceiling, floor] = Limit::ALL.map(|limit| y(f64::from(limit.pods(view.limits))));
    let middle = ((ceiling + floor) / 2.0).clamp(20.0, HEIGHT - 20.0);
    let hold = match view.hold {
        // A fault that may still pass does not count as blocked: all parts of a page show the same severity.
        Hold::Blocked if view.verdict.tone != Tone::Bad => Hold::Waits,
        hold => hold,
    };
    let hold = (hold != Hold::Free).then_some((hold, middle));
    if !is_rolling {
        return Strip { areas, hold, ..Strip::default() };
    }
    let derived = |limit| {
        let said = if limit == Limit::Ceiling { &view.derived.0 } else { &view.derived.1 };
        derivation(said, view.limits.ceiling)
    };
    // Far enough from the other number to be readable.
    let low = floor.clamp(LETTERS * 1.5, HEIGHT - LETTERS / 2.0);
    let beside = |limit| if limit == Limit::Floor { low } else { ceiling.min(low - LETTERS).max(LETTERS / 2.0) };
    Strip {
        areas,
        lines: Limit::ALL.into_iter().map(|limit| (limit, line(limit, &past, frame, &y))).collect(),
        limits: Limit::ALL.into_iter().map(|limit| (limit, limit.pods(view.limits), derived(limit))).collect(),
        labels: Limit::ALL.into_iter().map(|limit| (limit, limit.pods(view.limits), beside(limit))).collect(),
        hold,
    }
}

/// Returns the derivation of a limit, shortened if there is little room: the budget's sentence contains all of it.
fn derivation(said: &str, ceiling: u32) -> String {
    let said = match said.split_once(" (") {
        Some((sum, _)) if ceiling >= THOUSANDS => sum,
        _ => said,
    };
    said.replace(" %", "\u{a0}%") // keeps the figure and its sign on one line
}

/// Counts the pods in each layer from each change on.
fn steps(model: &Model, deployment: &Deployment, from_millis: Millis) -> Vec<Step> {
    let layer = |_: &Pod, state| layer_of(state);
    timeline::steps::steps(&model.counted_pods(deployment.uid), layer, from_millis)
}

/// Returns the largest number of pods at the same time in the window; at least 1.
fn highest(steps: &[Step], frame: Frame) -> i32 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Millis::MAX]);
    let in_window = steps.iter().zip(ends).filter(|(_, end)| *end > frame.from_millis());
    in_window.map(|((_, counts), _)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1)
}

/// Merges steps that are narrower than a pixel.
fn thinned(steps: Vec<Step>, frame: Frame) -> Vec<Step> {
    let mut thin: Vec<Step> = Vec::with_capacity(steps.len());
    for (at, counts) in steps {
        match thin.last_mut() {
            Some((last, known)) if frame.width_of(*last, Some(at)) < 1.0 => *known = counts,
            _ => thin.push((at, counts)),
        }
    }
    thin
}

/// Returns the outline of a layer, stacked on the layers below it.
fn outline(steps: &[Step], layer: usize, frame: Frame, y: &dyn Fn(f64) -> f64) -> String {
    let height = |counts: &Counts, layers: usize| y(f64::from(counts.iter().take(layers).sum::<i32>()));
    let xs: Vec<String> = steps.iter().map(|(at, _)| thousandths(frame.x(*at))).chain([thousandths(FAR)]).collect();
    let mut out = String::new();
    let spans = steps.iter().zip(&xs).zip(xs.iter().skip(1));
    for (index, (((_, counts), from), to)) in spans.clone().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let top = fixed(height(counts, layer + 1));
        let _ = write!(out, "{letter}{from} {top}H{to}");
    }
    for (((_, counts), from), to) in spans.rev() {
        let bottom = fixed(height(counts, layer));
        let _ = write!(out, "L{to} {bottom}H{from}");
    }
    out.push('z');
    out
}

/// Returns the limits in the window and in the one before it, each with its start. The last ones are the present limits.
fn past(deployment: &Deployment, now: Limits, frame: Frame) -> Vec<(Millis, Limits)> {
    let from = frame.spare_from_millis();
    let known = deployment.limits.iter().filter(|(at, _)| *at <= frame.now_millis);
    let mut past: Vec<(Millis, Limits)> = known.copied().collect();
    match past.last_mut() {
        Some((_, last)) => *last = now,
        None => past.push((deployment.first_seen_millis, now)),
    }
    let gone = past.iter().skip(1).take_while(|(at, _)| *at <= from).count();
    past.drain(..gone);
    past
}

/// Returns the line of one limit: horizontal, with a vertical step at each change.
fn line(limit: Limit, past: &[(Millis, Limits)], frame: Frame, y: &dyn Fn(f64) -> f64) -> String {
    let (begin, end) = frame.dashed_millis();
    let mut out = String::new();
    for (index, (at, limits)) in past.iter().enumerate() {
        let height = fixed(y(f64::from(limit.pods(*limits))));
        let until = past.get(index + 1).map_or(end, |(next, _)| *next);
        let begin = if index == 0 {
            format!("M{} {height}", thousandths(frame.x((*at).max(begin))))
        } else {
            format!("V{height}")
        };
        let _ = write!(out, "{begin}H{}", thousandths(frame.x(until)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_limits_of_thousands_is_nothing_in_brackets() {
        assert_eq!(derivation("10 + maxSurge 3 (25 % rounded up)", 13), "10 + maxSurge 3 (25\u{a0}% rounded up)");
        assert_eq!(derivation("5,000 + maxSurge 1,250 (25 % rounded up)", 6_250), "5,000 + maxSurge 1,250");
    }

    #[test]
    fn every_state_of_a_pod_that_counts_has_a_layer() {
        for state in PodState::ALL.into_iter().filter(|state| !matches!(state, PodState::Gone | PodState::Finished)) {
            assert!(layer_of(state).is_some(), "the strip leaves out pods that are {state:?}");
        }
    }
}
