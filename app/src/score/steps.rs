//! Pods counted over time, in layers: what areas are drawn from.

use std::fmt::Write;

use timeline::Millis;
use timeline::model::Pod;
use timeline::phase::PodState;
use timeline::steps::{Counts, Step};

use super::frame::{FAR, Frame};
use crate::numbers::{fixed, thousandths};

/// Counts the pods in each layer, from each moment on. Begins left of the left edge.
pub(super) fn steps(pods: &[&Pod], layer: fn(PodState) -> Option<usize>, frame: Frame) -> Vec<Step> {
    thinned(timeline::steps::steps(pods, |_, state| layer(state), frame.spare_from_millis()), frame)
}

/// The largest number of pods at once in the window; at least 1.
pub(super) fn highest(steps: &[Step], frame: Frame) -> i32 {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Millis::MAX]);
    let in_window = steps.iter().zip(ends).filter(|(_, end)| *end > frame.from_millis());
    in_window.map(|((_, counts), _)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1)
}

/// Without steps that are narrower than a pixel.
fn thinned(steps: Vec<Step>, frame: Frame) -> Vec<Step> {
    let mut thin: Vec<Step> = Vec::with_capacity(steps.len());
    for (at, counts) in steps {
        match thin.last_mut() {
            Some((last, known)) if frame.wide(*last, Some(at)) < 1.0 => *known = counts,
            _ => thin.push((at, counts)),
        }
    }
    thin
}

/// The outline of a layer, stacked on the ones below it.
pub(super) fn area(steps: &[Step], layer: usize, frame: Frame, y: &dyn Fn(f64) -> f64) -> String {
    let height = |counts: &Counts, layers: usize| y(f64::from(counts.iter().take(layers).sum::<i32>()));
    let xs: Vec<String> = steps.iter().map(|(at, _)| thousandths(frame.x(*at))).chain([thousandths(FAR)]).collect();
    let mut out = String::new();
    for (index, (_, counts)) in steps.iter().enumerate() {
        let (Some(from), Some(to)) = (xs.get(index), xs.get(index + 1)) else { continue };
        let letter = if index == 0 { 'M' } else { 'L' };
        let top = fixed(height(counts, layer + 1));
        let _ = write!(out, "{letter}{from} {top}H{to}");
    }
    for (index, (_, counts)) in steps.iter().enumerate().rev() {
        let (Some(from), Some(to)) = (xs.get(index), xs.get(index + 1)) else { continue };
        let bottom = fixed(height(counts, layer));
        let _ = write!(out, "L{to} {bottom}H{from}");
    }
    out.push('z');
    out
}
