//! The budget strip: pods available, on their way and draining over time, against ceiling and floor. Areas come from pods,
//! lines from what the controller may ask for; draining pods count in neither and are drawn on top.

use timeline::Model;
use timeline::model::Deployment;
use timeline::phase::PodState;
use timeline::view::{Hold, View};

use super::{Frame, steps};
use crate::numbers::{fixed, thousandths};
use crate::rows::{Plan, Row, Stamp, escaped};

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

/// Draws the strip: areas and lines, in seconds by pixels; words in the gutter; labels at the now line.
pub(super) fn budget<'m>(model: &Model, deployment: &Deployment, view: &View, frame: Frame) -> [Vec<Plan<'m>>; 3] {
    let steps = steps::steps(&model.counted_pods(deployment.uid), layer, frame);
    let most = steps.iter().map(|(_, counts)| counts.iter().sum::<i32>()).max().unwrap_or(0).max(1);
    let unit = (HEIGHT - TOP) / f64::from(most.max(i32::try_from(view.limits.ceiling).unwrap_or(i32::MAX)).max(1));
    let y = |pods: f64| (HEIGHT - pods * unit).max(0.0);
    let (mut areas, mut limits, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (layer, name) in LAYERS.into_iter().enumerate() {
        areas.push(shape(name, steps::area(&steps, layer, frame, &y)));
    }
    let is_rolling = !view.derived.0.is_empty();
    let lines = [("ceiling", view.limits.ceiling, &view.derived.0), ("floor", view.limits.floor, &view.derived.1)];
    for (name, pods, derived) in lines.into_iter().filter(|_| is_rolling) {
        let at = y(f64::from(pods));
        let since = thousandths(frame.x(view.limits_since_millis));
        areas.push(shape(name, format!("M{since} {}H{}", fixed(at), thousandths(FAR))));
        limits.push(words(name, format!("{name} <b>{pods}</b> = {}", escaped(derived))));
        labels.push(label(name, beside(name, &y, view), pods.to_string()));
    }
    let pill = match view.hold {
        Hold::Free => return [areas, limits, labels],
        Hold::Waits => "waits",
        Hold::Blocked => "blocked",
    };
    let middle = (y(f64::from(view.limits.ceiling)) + y(f64::from(view.limits.floor))) / 2.0;
    labels.push(label(pill, middle.clamp(20.0, HEIGHT - 20.0), pill.to_owned()));
    [areas, limits, labels]
}

/// Where a limit's number is: at its line, but far enough from the other one to be read.
fn beside(name: &str, y: &impl Fn(f64) -> f64, view: &View) -> f64 {
    let (ceiling, floor) = (y(f64::from(view.limits.ceiling)), y(f64::from(view.limits.floor)));
    let floor = floor.clamp(LETTERS * 1.5, HEIGHT - LETTERS / 2.0);
    if name == "floor" { floor } else { ceiling.min(floor - LETTERS).max(LETTERS / 2.0) }
}

fn shape<'m>(name: &str, path: String) -> Plan<'m> {
    plan("area", name, String::new(), format!("<path d=\"{path}\"/>"))
}

fn words<'m>(name: &str, inside: String) -> Plan<'m> {
    plan("limit", name, String::new(), inside)
}

fn label<'m>(name: &str, top: f64, inside: String) -> Plan<'m> {
    plan("label", name, format!("top:{}px", fixed(top)), inside)
}

fn plan<'m>(class: &str, name: &str, style: String, inside: String) -> Plan<'m> {
    let attributes = vec![("class", format!("{class} {name}"))];
    Plan::made(u128::from(Stamp::default().text(name).get()), Row { attributes, style, inside })
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
