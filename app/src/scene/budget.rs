//! The budget strip: pods available, on their way and draining over time, against ceiling and floor. Areas come from pods,
//! lines from what the controller may ask for; draining pods count in neither and are drawn on top.

use std::fmt::Write;

use timeline::model::{Deployment, Pod};
use timeline::phase::PodState;
use timeline::view::{Hold, View};
use timeline::{Millis, Model, order};

use super::Frame;
use crate::numbers::{fixed, thousandths};
use crate::rows::{Row, escaped};

/// Height of the strip, in pixels.
pub const HEIGHT: f64 = 76.0;
/// Room above the highest step.
const TOP: f64 = 8.0;
/// Height of a line of small letters.
const LETTERS: f64 = 13.0;
/// Lines are drawn this far beyond now, in seconds: the view box cuts them off.
const FAR: f64 = 10_000_000.0;

/// The layers of the strip, the lowest first.
const LAYERS: [&str; 3] = ["available", "not-yet", "terminating"];

/// What the strip shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    /// Areas and lines, in seconds by pixels.
    pub areas: Vec<Row>,
    /// Words in the gutter.
    pub words: Vec<Row>,
    /// Labels at the now line.
    pub labels: Vec<Row>,
}

/// Draws the strip.
pub(super) fn budget(model: &Model, deployment: &Deployment, view: &View, frame: Frame) -> Budget {
    let from = frame.now_millis - frame.window_millis as Millis;
    let steps = steps(&model.pods_of_deployment(deployment.uid), from);
    let most = steps.iter().map(|(_, counts)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1);
    let unit = (HEIGHT - TOP) / f64::from(most.max(i32::try_from(view.limits.ceiling).unwrap_or(i32::MAX)).max(1));
    let y = |pods: f64| (HEIGHT - pods * unit).max(0.0);
    let mut budget = Budget::default();
    for (layer, name) in LAYERS.into_iter().enumerate() {
        budget.areas.push(shape(name, area(&steps, layer, frame, &y)));
    }
    let is_rolling = !view.derived.0.is_empty();
    let limits = [("ceiling", view.limits.ceiling, &view.derived.0), ("floor", view.limits.floor, &view.derived.1)];
    for (name, pods, derived) in limits.into_iter().filter(|_| is_rolling) {
        let at = y(f64::from(pods));
        let since = thousandths(frame.x(view.limits_since_millis));
        budget.areas.push(shape(name, format!("M{since} {}H{}", fixed(at), thousandths(FAR))));
        budget.words.push(words(name, format!("{name} <b>{pods}</b> = {}", escaped(derived))));
        budget.labels.push(label(name, beside(name, &y, view), pods.to_string()));
    }
    let pill = match view.hold {
        Hold::Free => return budget,
        Hold::Waits => "waits",
        Hold::Blocked => "blocked",
    };
    let middle = (y(f64::from(view.limits.ceiling)) + y(f64::from(view.limits.floor))) / 2.0;
    budget.labels.push(label(pill, middle.clamp(20.0, HEIGHT - 20.0), pill.to_owned()));
    budget
}

/// Where a limit's number is: at its line, but far enough from the other one to be read.
fn beside(name: &str, y: &impl Fn(f64) -> f64, view: &View) -> f64 {
    let (ceiling, floor) = (y(f64::from(view.limits.ceiling)), y(f64::from(view.limits.floor)));
    let floor = floor.clamp(LETTERS * 1.5, HEIGHT - LETTERS / 2.0);
    if name == "floor" { floor } else { ceiling.min(floor - LETTERS).max(LETTERS / 2.0) }
}

fn shape(name: &str, path: String) -> Row {
    Row {
        key: name.to_owned(),
        attributes: vec![("class", format!("area {name}"))],
        inside: format!("<path d=\"{path}\"/>"),
    }
}

fn words(name: &str, inside: String) -> Row {
    Row { key: name.to_owned(), attributes: vec![("class", format!("limit {name}"))], inside }
}

fn label(name: &str, top: f64, inside: String) -> Row {
    Row {
        key: name.to_owned(),
        attributes: vec![("class", format!("label {name}")), ("style", format!("top:{}px", fixed(top)))],
        inside,
    }
}

/// Which layer a pod in that state adds to; a pod that is gone adds to none.
const fn layer(state: PodState) -> Option<usize> {
    match state {
        PodState::Available => Some(0),
        PodState::Terminating => Some(2),
        PodState::Gone | PodState::Finished => None,
        _ => Some(1),
    }
}

/// How many pods were in each layer, from each moment on. Begins with how it was at `from`.
fn steps(pods: &[&Pod], from: Millis) -> Vec<(Millis, [i32; 3])> {
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
    let mut steps: Vec<(Millis, [i32; 3])> = vec![(from, [0; 3])];
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
    steps
}

/// The outline of a layer, stacked on the ones below it.
fn area(steps: &[(Millis, [i32; 3])], layer: usize, frame: Frame, y: &impl Fn(f64) -> f64) -> String {
    let height = |counts: &[i32; 3], layers: usize| y(f64::from(counts.iter().take(layers).sum::<i32>()));
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

    #[test]
    fn steps_count_pods_in_each_layer() {
        use PodState::{Available, Gone, Starting, Terminating};
        let old = pod(1, &[(Available, 0), (Terminating, 3_000), (Gone, 5_000)]);
        let new = pod(2, &[(Starting, 1_000), (Available, 3_000)]);
        assert_eq!(
            steps(&[&old, &new], 500),
            [(500, [1, 0, 0]), (1_000, [1, 1, 0]), (3_000, [1, 0, 1]), (5_000, [1, 0, 0])]
        );
    }

    #[test]
    fn a_released_pod_counts_for_nobody_until_it_is_back() {
        let mut pod = pod(1, &[(PodState::Available, 0)]);
        pod.released_millis = Some(1_000);
        pod.adopted_millis = Some(4_000);
        assert_eq!(steps(&[&pod], 0), [(0, [1, 0, 0]), (1_000, [0, 0, 0]), (4_000, [1, 0, 0])]);
    }
}
