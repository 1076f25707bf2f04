//! Pods counted over time, in layers: what areas are drawn from.

use std::fmt::Write;

use timeline::model::Pod;
use timeline::phase::PodState;
use timeline::{Millis, order};

use super::Frame;
use crate::numbers::{fixed, thousandths};

/// Areas without an end are drawn this far beyond now, in seconds: the view box cuts them off.
const FAR: f64 = 10_000_000.0;
/// Most layers of a picture.
const LAYERS: usize = 8;

/// Pods in each layer.
pub(super) type Counts = [i32; LAYERS];
/// How many there were from a moment on.
pub(super) type Step = (Millis, Counts);

/// How many pods were in each layer, from each moment on. Begins with how it was at `from`.
pub(super) fn steps(pods: &[&Pod], layer: fn(PodState) -> Option<usize>, frame: Frame) -> Vec<Step> {
    let from = frame.from_millis();
    let mut moves: Vec<(Millis, usize, i32)> = Vec::new();
    for pod in pods {
        // Released pods count for nobody until they are adopted again.
        let out = pod.released_millis.unwrap_or(Millis::MAX);
        let back = pod.adopted_millis.filter(|_| !pod.is_out_of_rotation()).unwrap_or(Millis::MAX);
        let ends = pod.states.iter().skip(1).map(|(_, at)| *at).chain([Millis::MAX]);
        for ((state, since), until) in pod.states.iter().zip(ends) {
            let Some(layer) = layer(*state) else { continue };
            for (begin, end) in [(*since, until.min(out)), ((*since).max(back), until)] {
                if begin < end && end > from {
                    moves.push((begin.max(from), layer, 1));
                    moves.push((end, layer, -1));
                }
            }
        }
    }
    let mut steps: Vec<Step> = vec![(from, [0; LAYERS])];
    for (at, layer, by) in order::by(moves, |(at, layer, _)| (*at, *layer as u128)) {
        let Some((last_at, last)) = steps.last().copied() else { continue };
        if at == Millis::MAX {
            break; // they are still there
        }
        if at != last_at {
            steps.push((at, last));
        }
        if let Some(count) = steps.last_mut().and_then(|(_, counts)| counts.get_mut(layer)) {
            *count += by;
        }
    }
    thinned(steps, frame)
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

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::Uid;
    use timeline::model::PodNow;

    fn pod(number: u128, states: &[(PodState, Millis)]) -> Pod {
        Pod {
            uid: Uid::from_bits(number),
            namespace: String::new(),
            name: String::new(),
            created_at_millis: 0,
            owners: vec![Uid::from_bits(9)],
            owner: Some(Uid::from_bits(9)),
            states: states.to_vec(),
            released_millis: None,
            adopted_millis: None,
            end_reason: None,
            now: PodNow::default(),
        }
    }

    fn counted(pods: &[&Pod], from: Millis) -> Vec<(Millis, [i32; 3])> {
        let layer = |state| match state {
            PodState::Available => Some(0),
            PodState::Terminating => Some(2),
            PodState::Gone => None,
            _ => Some(1),
        };
        let frame = Frame {
            now_millis: 6_000,
            window_millis: (6_000 - from) as f64,
            base_millis: 0,
            height: 1.0,
            width: 600.0,
            is_painted: false,
        };
        let first = |(at, counts): Step| (at, [counts[0], counts[1], counts[2]]);
        steps(pods, layer, frame).into_iter().map(first).collect()
    }

    #[test]
    fn steps_count_pods_in_each_layer() {
        use PodState::{Available, Gone, Starting, Terminating};
        let old = pod(1, &[(Available, 0), (Terminating, 3_000), (Gone, 5_000)]);
        let new = pod(2, &[(Starting, 1_000), (Available, 3_000)]);
        assert_eq!(
            counted(&[&old, &new], 500),
            [(500, [1, 0, 0]), (1_000, [1, 1, 0]), (3_000, [1, 0, 1]), (5_000, [1, 0, 0])]
        );
    }

    #[test]
    fn a_released_pod_counts_for_nobody_until_it_is_back() {
        let mut pod = pod(1, &[(PodState::Available, 0)]);
        pod.released_millis = Some(1_000);
        pod.adopted_millis = Some(4_000);
        assert_eq!(counted(&[&pod], 0), [(0, [1, 0, 0]), (1_000, [0, 0, 0]), (4_000, [1, 0, 0])]);
    }
}
