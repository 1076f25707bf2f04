//! The ribbon: a band with too many pods to show them one by one. Neighbours share a row, which stacks the counts per state. The
//! shared rows have the place, order and colours of the rows of these pods.

use timeline::model::{Pod, PodState};
use timeline::{Millis, order};

use super::bars::{BarMark, Segment, segments};
use super::frame::Frame;
use super::ink::PodLook;
use super::places::{Density, PlacedBand};

/// The states of a row from top to bottom: long-lived pods lie above short-lived ones, as in rows of their own.
const LAYERS: [PodLook; 9] = [
    PodLook::In(PodState::Available),
    PodLook::In(PodState::Finished),
    PodLook::In(PodState::Ready),
    PodLook::In(PodState::Unready),
    PodLook::In(PodState::Failing),
    PodLook::In(PodState::Starting),
    PodLook::In(PodState::Scheduling),
    PodLook::In(PodState::Terminating),
    PodLook::Outside,
];
/// Approximate height of a shared row, in pixels.
const SHARED_ROW: f64 = 16.0;

type Counts = [u32; LAYERS.len()];

/// Upper and lower edge of a layer in its row.
type Span = (f64, f64);

/// Returns the ribbon of one band: pods with their slots.
pub fn marks(one: &PlacedBand, pods: &[(&Pod, u32)], frame: Frame) -> Vec<BarMark> {
    let slots = one.band.slots.max(1);
    let whole = (one.place.row * f64::from(slots)).round().max(1.0);
    let rows = (whole / SHARED_ROW).round().max(1.0) as u32;
    let row_of = |slot: u32| (u64::from(slot) * u64::from(rows) / u64::from(slots)) as usize;
    let first_slot = |row: u64| (row * u64::from(slots)).div_ceil(u64::from(rows)) as f64;
    let mut moves: Vec<Vec<(Millis, usize, bool)>> = vec![Vec::new(); rows as usize];
    let from_millis = frame.spare_from_millis();
    for (pod, slot) in pods {
        let Some(moves) = moves.get_mut(row_of(*slot)) else { continue };
        for Segment { look, from, to } in segments(pod, &one.band.heading, frame) {
            let Some(layer) = LAYERS.iter().position(|known| *known == look) else { continue };
            if to.is_none_or(|to| to > from_millis.max(from)) {
                moves.push((from.max(from_millis), layer, true));
                moves.extend(to.map(|to| (to, layer, false)));
            }
        }
    }
    let mut marks = Vec::new();
    let edge = |row: usize| (row as f64 * whole / f64::from(rows)).round();
    for (row, moves) in moves.into_iter().enumerate() {
        let seats = first_slot(row as u64 + 1) - first_slot(row as u64);
        let (top, height) = (one.place.first + edge(row), edge(row + 1) - edge(row));
        shared_row(&mut marks, moves, seats, (top, height), frame);
    }
    marks
}

/// Adds the marks of one shared row: a mark for each time in which a layer keeps its position.
fn shared_row(
    marks: &mut Vec<BarMark>,
    moves: Vec<(Millis, usize, bool)>,
    seats: f64,
    (top, height): (f64, f64),
    frame: Frame,
) {
    let mut counts = Counts::default();
    let mut open: [Option<(Millis, Span)>; LAYERS.len()] = [None; LAYERS.len()];
    let mut show = |counts: &Counts, at: Option<Millis>| {
        let spans = stacked(counts, seats, height);
        for ((open, span), look) in open.iter_mut().zip(spans).zip(LAYERS) {
            if at.is_some() && open.map(|(_, known)| known) == span {
                continue;
            }
            if let Some((from, (upper, lower))) = *open {
                let y = top + (upper + lower) / 2.0;
                marks.push(BarMark { look, from, to: at, y, height: lower - upper, density: Density::Tight });
            }
            *open = at.zip(span);
        }
    };
    let mut shown: Option<Millis> = None;
    for (at, layer, is_more) in
        order::sort_by(moves, |(at, layer, is_more)| (*at, (*layer * 2 + usize::from(!is_more)) as u128))
    {
        // States shorter than a pixel are not drawn.
        if shown.is_none_or(|since| frame.width_of(since, Some(at)) >= 1.0)
            && let Some(since) = shown.replace(at)
        {
            show(&counts, Some(since));
        }
        if let Some(count) = counts.get_mut(layer) {
            *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
        }
    }
    if let Some(since) = shown {
        show(&counts, Some(since));
        show(&counts, None);
    }
}

/// Returns the position of each layer in a row with so many slots, in whole pixels. Each layer with a pod has at least one pixel.
fn stacked(counts: &Counts, seats: f64, height: f64) -> [Option<Span>; LAYERS.len()] {
    let share = |count: u32| f64::from(count) * height / seats.max(1.0);
    let is_thin = |count: u32| count > 0 && share(count) < 1.0;
    let thin = counts.iter().filter(|count| is_thin(**count)).count() as f64;
    let all: f64 = counts.iter().map(|count| share(*count)).sum();
    let thick: f64 = counts.iter().filter(|count| !is_thin(**count)).map(|count| share(*count)).sum();
    let filled = all.round().min(height);
    let scale = if thick > 0.0 { ((filled - thin) / thick).max(0.0) } else { 0.0 };
    let (mut pixels, mut sum, mut upper) = (0.0, 0.0, 0.0);
    counts.map(|count| {
        if count == 0 {
            return None;
        }
        if is_thin(count) {
            pixels += 1.0;
        } else {
            sum += share(count) * scale;
        }
        let lower = f64::max(pixels + f64::round(sum), upper + 1.0);
        let span = (upper, lower);
        upper = lower;
        Some(span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_pod_that_is_there_has_a_layer() {
        for state in PodState::ALL.into_iter().filter(|state| *state != PodState::Gone) {
            assert!(LAYERS.contains(&PodLook::In(state)), "{state:?} would not be drawn");
        }
    }

    #[test]
    fn what_is_there_can_be_seen_and_nothing_is_taller_than_its_row() {
        let spans = stacked(&[4_990, 0, 1, 0, 1, 8, 0, 0, 0], 5_000.0, 24.0);
        let heights = spans.map(|span| span.map_or(0.0, |(upper, lower)| lower - upper));
        assert_eq!(heights, [21.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        let even = stacked(&[10; 9], 90.0, 18.0).map(|span| span.map_or(0.0, |(upper, lower)| lower - upper));
        assert_eq!(even, [2.0; 9]);
        let half = stacked(&[50, 0, 0, 0, 0, 0, 0, 0, 0], 100.0, 24.0);
        assert_eq!(half.first().copied().flatten(), Some((0.0, 12.0)));
    }
}
