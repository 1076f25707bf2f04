//! Pods counted over time, in layers: what areas and tiny scores are drawn from.

use crate::Millis;
use crate::model::{Pod, PodState, Release, order};

/// Most layers of a picture.
pub const LAYERS: usize = 8;

/// Pods in each layer.
pub type Counts = [i32; LAYERS];
/// A time and the counts from then on.
pub type Step = (Millis, Counts);

/// Counts the pods in each layer, from each moment on. The first step is at `from`.
pub fn steps(pods: &[&Pod], layer: impl Fn(&Pod, PodState) -> Option<usize>, from: Millis) -> Vec<Step> {
    let mut moves: Vec<(Millis, usize, i32)> = Vec::new();
    for pod in pods {
        let terminal = pod.now.terminal_millis.unwrap_or(Millis::MAX);
        for (state, since, until) in pod.spans() {
            let until = until.unwrap_or(Millis::MAX);
            // A pod that failed as a whole counts for no ReplicaSet, too, until it is seen to go.
            let until = if state.is_ending() { until } else { until.min(terminal) };
            let Some(layer) = layer(pod, state) else { continue };
            // Released pods count for no ReplicaSet until they are adopted again.
            let adopted = |of: &Release| of.adopted.map_or(Millis::MAX, |(at, _)| at);
            let releases = pod.releases.iter().map(|of| (of.at_millis, adopted(of))).filter(|(at, back)| back > at);
            let mut begin = since;
            for (at, back) in releases.chain([(Millis::MAX, Millis::MAX)]) {
                let end = until.min(at);
                if begin < end && end > from {
                    moves.push((begin.max(from), layer, 1));
                    moves.push((end, layer, -1));
                }
                begin = begin.max(back);
            }
        }
    }
    steps_after((from, [0; LAYERS]), moves)
}

/// Counts on from a step: each move of a pod into a layer (1) or out of it (-1), with its time.
pub fn steps_after(first: Step, moves: Vec<(Millis, usize, i32)>) -> Vec<Step> {
    let mut steps = vec![first];
    for (at, layer, by) in order::sort_by(moves, |(at, layer, _)| (*at, *layer as u128)) {
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
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uid;

    fn pod(number: u128, states: &[(PodState, Millis)]) -> Pod {
        Pod {
            uid: Uid::from_bits(number),
            owners: vec![Uid::from_bits(9)],
            owner: Some(Uid::from_bits(9)),
            states: states.to_vec(),
            ..Pod::default()
        }
    }

    fn counted(pods: &[&Pod], from: Millis) -> Vec<(Millis, [i32; 3])> {
        let layer = |state| match state {
            PodState::Available => Some(0),
            PodState::Terminating => Some(2),
            PodState::Gone => None,
            _ => Some(1),
        };
        let first = |(at, counts): Step| (at, [counts[0], counts[1], counts[2]]);
        steps(pods, |_, state| layer(state), from).into_iter().map(first).collect()
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
        let release = |at_millis, back| Release { at_millis, adopted: Some((back, Uid::from_bits(9))) };
        let first = [(0, [1, 0, 0]), (1_000, [0, 0, 0]), (4_000, [1, 0, 0])];
        pod.releases = vec![release(1_000, 4_000)];
        assert_eq!(counted(&[&pod], 0), first);
        // Another ReplicaSet took it over at once, and released it later.
        pod.releases.extend([release(5_000, 5_000), release(6_000, 7_000)]);
        assert_eq!(counted(&[&pod], 0), [&first[..], &[(6_000, [0, 0, 0]), (7_000, [1, 0, 0])]].concat());
    }
}
