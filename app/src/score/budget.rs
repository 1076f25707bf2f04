//! The budget strip: pods available, on their way, failing and draining over time, against ceiling and floor. Areas come from pods,
//! lines from what the controller may ask for; draining pods count in neither and are drawn on top.

use timeline::budget::Limits;
use timeline::model::Deployment;
use timeline::phase::PodState;
use timeline::view::{Hold, Tone, View};
use timeline::{Millis, Model};

use super::frame::Frame;
use super::ink::{Colour, Fill, Look, Pattern};
use super::paint::svg::FAR;
use super::steps;
use crate::numbers::{fixed, thousandths};

/// Height of the strip, in pixels.
pub const HEIGHT: f64 = 76.0;
/// Room above the highest step.
const TOP: f64 = 8.0;
/// Height of a line of small letters.
const LETTERS: f64 = 13.0;

/// The layers of the strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Pods that are available.
    Available,
    /// Pods on their way.
    NotYet,
    /// Pods that fail.
    Failing,
    /// Pods that are being deleted: they count in neither limit.
    Terminating,
}

/// Class of the mark beside the limits; it is not there while nothing holds the controller.
#[must_use]
pub const fn hold_class(hold: Hold) -> &'static str {
    match hold {
        Hold::Free => "unused",
        Hold::Waits => "label waits",
        Hold::Blocked => "label blocked",
    }
}

impl Layer {
    /// All of them, the lowest first.
    pub const ALL: [Self; 4] = [Self::Available, Self::NotYet, Self::Failing, Self::Terminating];

    /// Its name, a class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::NotYet => "not-yet",
            Self::Failing => "failing",
            Self::Terminating => "terminating",
        }
    }

    /// In which colour it is drawn, and how.
    #[must_use]
    pub const fn fill(self) -> (Colour, Fill) {
        let state = match self {
            Self::Available => PodState::Available,
            Self::NotYet => return (Colour::Starting, Fill::Pattern(Pattern::Hatch)),
            Self::Failing => PodState::Failing,
            Self::Terminating => PodState::Terminating,
        };
        let ink = Look::In(state).ink();
        (ink.colour, ink.roomy)
    }

    /// Which one a pod in that state adds to; a pod that is gone adds to none.
    const fn of(state: PodState) -> Option<Self> {
        match state {
            PodState::Available => Some(Self::Available),
            PodState::Failing => Some(Self::Failing),
            PodState::Terminating => Some(Self::Terminating),
            PodState::Gone | PodState::Finished => None,
            PodState::Scheduling | PodState::Starting | PodState::Unready | PodState::Ready => Some(Self::NotYet),
        }
    }
}

/// One of the two limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Most pods that may be desired: `spec.replicas` + `maxSurge`.
    Ceiling,
    /// Least pods that must be available: replicas − maxUnavailable.
    Floor,
}

impl Limit {
    /// Ceiling and floor, in pods.
    pub const ALL: [Self; 2] = [Self::Ceiling, Self::Floor];

    /// Its name, a class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Floor => "floor",
        }
    }

    const fn of(self, limits: Limits) -> u32 {
        match self {
            Self::Ceiling => limits.ceiling,
            Self::Floor => limits.floor,
        }
    }
}

/// The strip as it is drawn: shapes in seconds by pixels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// The outline of each layer.
    pub areas: Vec<(Layer, String)>,
    /// The line of each limit, through its changes.
    pub lines: Vec<(Limit, String)>,
    /// What each limit is now: its number, and where it comes from, in words.
    pub limits: Vec<(Limit, u32, String)>,
    /// Where their numbers stand at the now line, in pixels from the top.
    pub labels: Vec<(Limit, u32, f64)>,
    /// What keeps the controller from its next step, and where that stands.
    pub hold: Option<(Hold, f64)>,
}

/// The strip of the budget: pods that there are, between the most and the least that the strategy allows.
pub fn strip(model: &Model, deployment: &Deployment, view: &View, frame: Frame) -> Strip {
    let layer = |state| Layer::of(state).map(|layer| layer as usize);
    let steps = steps::steps(&model.counted_pods(deployment.uid), layer, frame);
    let most = steps.iter().map(|(_, counts)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1);
    let is_rolling = !view.derived.0.is_empty();
    let past = if is_rolling { past(deployment, view.limits, frame) } else { Vec::new() };
    let highest = past.iter().map(|(_, limits)| limits.ceiling).chain([view.limits.ceiling]).max().unwrap_or(1);
    let unit = (HEIGHT - TOP) / f64::from(most.max(i32::try_from(highest).unwrap_or(i32::MAX)).max(1));
    let y = |pods: u32| (HEIGHT - f64::from(pods) * unit).max(0.0);
    let area =
        |layer: Layer| (layer, steps::area(&steps, layer as usize, frame, &|pods| (HEIGHT - pods * unit).max(0.0)));
    let areas = Layer::ALL.into_iter().map(area).collect();
    let (ceiling, floor) = (y(view.limits.ceiling), y(view.limits.floor));
    let middle = ((ceiling + floor) / 2.0).clamp(20.0, HEIGHT - 20.0);
    let hold = match view.hold {
        // A fault that may still pass is no trouble yet: one severity on all of a page.
        Hold::Blocked if view.verdict.tone != Tone::Bad => Hold::Waits,
        hold => hold,
    };
    let hold = (hold != Hold::Free).then_some((hold, middle));
    if !is_rolling {
        return Strip { areas, hold, ..Strip::default() };
    }
    let derived = |limit| {
        let said = if limit == Limit::Ceiling { &view.derived.0 } else { &view.derived.1 };
        said.replace(" %", "\u{a0}%") // a figure and its sign stay together
    };
    // Far enough from the other one to be read.
    let low = floor.clamp(LETTERS * 1.5, HEIGHT - LETTERS / 2.0);
    let beside = |limit| if limit == Limit::Floor { low } else { ceiling.min(low - LETTERS).max(LETTERS / 2.0) };
    Strip {
        areas,
        lines: Limit::ALL.into_iter().map(|limit| (limit, line(limit, &past, frame, &y))).collect(),
        limits: Limit::ALL.into_iter().map(|limit| (limit, limit.of(view.limits), derived(limit))).collect(),
        labels: Limit::ALL.into_iter().map(|limit| (limit, limit.of(view.limits), beside(limit))).collect(),
        hold,
    }
}

/// The limits that were in force in the window, each with when that began; the last ones are those that are said.
fn past(deployment: &Deployment, now: Limits, frame: Frame) -> Vec<(Millis, Limits)> {
    let from = frame.from_millis() - frame.window_millis as Millis; // a window more, for whoever zooms out
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

/// The line of one limit: level, and upright where it changed.
fn line(limit: Limit, past: &[(Millis, Limits)], frame: Frame, y: &dyn Fn(u32) -> f64) -> String {
    let mut out = String::new();
    for (index, (at, limits)) in past.iter().enumerate() {
        let height = fixed(y(limit.of(*limits)));
        let until = past.get(index + 1).map_or(FAR, |(next, _)| frame.x(*next));
        let begin = if index == 0 { format!("M{} {height}", thousandths(frame.x(*at))) } else { format!("V{height}") };
        out.push_str(&format!("{begin}H{}", thousandths(until)));
    }
    out
}
