//! The bars: each pod's history, a mark per state, in the slot it keeps.

use std::fmt::Write;

use timeline::Millis;
use timeline::model::Pod;
use timeline::phase::PodState;

use super::{Frame, Placed};
use crate::address;
use crate::numbers::{fixed, thousandths};
use crate::rows::{Plan, Row, Stamp};
use crate::score::lanes;

/// Stretches narrower than this, in pixels, are flicker.
const FLICKER: f64 = 10.0;
/// A bar without an end reaches this far, in seconds.
const FAR: f64 = 10_000_000.0;

/// A stretch of a pod's history, to be painted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The state.
    pub name: &'static str,
    /// When it began.
    pub from: Millis,
    /// When it ended; `None` while it lasts.
    pub to: Option<Millis>,
    /// Its middle, in pixels.
    pub y: f64,
    /// Its height, in pixels.
    pub height: f64,
}

/// The ground of a band.
pub(super) fn ground<'m>(one: &Placed) -> Plan<'m> {
    let class = match (one.band.replica_set, one.band.is_current) {
        (None, _) => "band out",
        (_, true) => "band current",
        _ => "band",
    };
    let row = Row {
        attributes: vec![("class", class.to_owned()), ("data-testid", "band".to_owned())],
        style: String::new(),
        inside: format!(
            "<rect class=\"ground\" x=\"-10000000\" width=\"20000000\" y=\"{}\" height=\"{}\"/>",
            fixed(one.place.top),
            fixed(one.place.height)
        ),
    };
    Plan::made(super::band_key(&one.band), row)
}

/// The bars of one pod.
pub(super) fn plan<'m>(key: u128, stamp: Stamp, one: &Placed, pod: &'m Pod, y: f64, frame: Frame) -> Plan<'m> {
    let height = lanes::bar_height(one.place.row);
    let is_inside = one.band.replica_set.is_some();
    // Only where flicker may be calmed does the zoom matter.
    let is_failing = pod.states.iter().any(|(state, _)| *state == PodState::Failing);
    let zoom = if is_failing { frame.window_millis / frame.width } else { 0.0 };
    let stamp = stamp.number(y.to_bits()).number(height.to_bits()).number(zoom as u64);
    Plan::new(key, stamp, move || {
        let mut inside = String::new();
        for segment in calmed(of(pod, is_inside), frame) {
            bar(&mut inside, segment.name, frame.x(segment.from), segment.to.map(|to| frame.x(to)), height);
        }
        Row {
            attributes: vec![
                ("class", "pod".to_owned()),
                ("transform", format!("translate(0 {})", fixed(y))),
                ("data-open", address::pod(pod.uid)),
            ],
            style: String::new(),
            inside,
        }
    })
}

/// The bars of one pod, to be painted.
pub(super) fn paint(marks: &mut Vec<Mark>, one: &Placed, pod: &Pod, y: f64, frame: Frame) {
    let whole = lanes::bar_height(one.place.row);
    let from = frame.from_millis();
    for Segment { name, from, to } in calmed(of(pod, one.band.replica_set.is_some()), frame)
        .into_iter()
        .filter(|segment| segment.to.is_none_or(|to| to > from))
    {
        marks.push(Mark { name, from, to, y, height: whole * share(name) });
    }
}

fn of(pod: &Pod, is_inside: bool) -> Vec<Segment> {
    if is_inside { segments(pod) } else { outside(pod) }
}

/// Which part of a bar's height a state takes.
fn share(name: &str) -> f64 {
    match name {
        "terminating" => 0.6,
        "starting" => 0.64,
        _ => 1.0,
    }
}

/// One state of a pod, from its beginning to its end, centred on y = 0: a shape, and its edge where the state has one.
fn bar(out: &mut String, name: &str, from: f64, to: Option<f64>, height: f64) {
    // Absolute places: relative steps as wide as FAR lose their last digits in a browser's single precision.
    let (from, to) = (thousandths(from), thousandths(to.unwrap_or(FAR).max(from)));
    let half = height * share(name) / 2.0;
    let (up, down) = (fixed(-half), fixed(half));
    let shape = match name {
        "scheduling" => format!("M{from} 0H{to}"),
        "gone" => format!("M{from} {up}V{down}"),
        _ => format!("M{from} {up}H{to}V{down}H{from}z"),
    };
    let _ = write!(out, "<path class=\"bar {name}\" d=\"{shape}\"/>");
    if matches!(name, "starting" | "unready" | "ready" | "outside") {
        let _ = write!(out, "<path class=\"edge {name}\" d=\"M{from} {up}H{to}M{from} {down}H{to}\"/>");
    }
}

/// A crash loop alternates between failing and running: where that would be flicker, it is one failing stretch.
fn calmed(segments: Vec<Segment>, frame: Frame) -> Vec<Segment> {
    let mut calm: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        let is_narrow = frame.wide(segment.from, segment.to) < FLICKER;
        match calm.last_mut() {
            Some(last)
                if last.name == "failing"
                    && is_narrow
                    && matches!(segment.name, "failing" | "unready" | "starting")
                    && last.to == Some(segment.from) =>
            {
                last.to = segment.to;
            }
            _ => calm.push(segment),
        }
    }
    calm
}

#[derive(Debug, PartialEq)]
struct Segment {
    name: &'static str,
    from: Millis,
    to: Option<Millis>,
}

/// A pod's bars in its ReplicaSet's band: its states, cut off where it was released.
fn segments(pod: &Pod) -> Vec<Segment> {
    let out_from = pod.released_millis;
    let out_to = pod.adopted_millis.filter(|_| !pod.is_out_of_rotation());
    let ends = pod.states.iter().skip(1).map(|(_, at)| Some(*at)).chain([None]);
    let mut segments = Vec::with_capacity(pod.states.len() + 1);
    for ((state, from), to) in pod.states.iter().zip(ends) {
        if *state == PodState::Gone {
            if !pod.is_out_of_rotation() {
                segments.push(Segment { name: "gone", from: *from, to: Some(*from) });
            }
            continue;
        }
        let name = state.name();
        match out_from {
            None => segments.push(Segment { name, from: *from, to }),
            Some(out) => {
                if *from < out {
                    segments.push(Segment { name, from: *from, to: Some(to.map_or(out, |to| to.min(out))) });
                }
                if let Some(back) = out_to.filter(|back| to.is_none_or(|to| to > *back)) {
                    segments.push(Segment { name, from: (*from).max(back), to });
                }
            }
        }
    }
    if let Some(out) = out_from {
        segments.push(Segment { name: "gone", from: out, to: Some(out) });
    }
    segments
}

/// A pod's bar in the band "Out of rotation".
fn outside(pod: &Pod) -> Vec<Segment> {
    let back = pod.adopted_millis.filter(|_| !pod.is_out_of_rotation());
    let segment = |from| Segment { name: "outside", from, to: back.or(pod.gone_millis()) };
    pod.released_millis.map(segment).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_loop_is_one_stretch_where_it_would_flicker() {
        let states = ["unready", "failing", "unready", "failing", "terminating"];
        let segments = || {
            let segment = |(index, name): (usize, &&'static str)| Segment {
                name,
                from: index as Millis * 1_000,
                to: Some((index as Millis + 1) * 1_000),
            };
            states.iter().enumerate().map(segment).collect::<Vec<_>>()
        };
        let frame = |width| Frame {
            now_millis: 60_000,
            window_millis: 60_000.0,
            base_millis: 0,
            height: 100.0,
            width,
            is_painted: false,
        };
        assert_eq!(calmed(segments(), frame(1_200.0)), segments());
        let calm = calmed(segments(), frame(300.0));
        let names: Vec<_> = calm.iter().map(|segment| (segment.name, segment.from, segment.to)).collect();
        assert_eq!(
            names,
            [("unready", 0, Some(1_000)), ("failing", 1_000, Some(4_000)), ("terminating", 4_000, Some(5_000))]
        );
    }
}
