//! The bars: each pod's history, a mark per state, in the slot it keeps.

use std::fmt::Write;

use timeline::Millis;
use timeline::model::Pod;
use timeline::phase::PodState;

use super::{Frame, Placed};
use crate::address;
use crate::numbers::{fixed, thousandths};
use crate::rows::{Plan, Row, Stamp};
use crate::score::places::{Density, bar_height, density};

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
    /// How much room its shape has.
    pub density: Density,
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
    let row = one.place.row;
    let is_inside = one.band.replica_set.is_some();
    // Only where flicker may be calmed does the zoom matter.
    let is_failing = pod.states.iter().any(|(state, _)| *state == PodState::Failing);
    let zoom = if is_failing { frame.window_millis / frame.width } else { 0.0 };
    let stamp = stamp.number(y.to_bits()).number(row.to_bits()).number(zoom as u64);
    Plan::new(key, stamp, move || {
        // Low bars stand on the ground of all, so that the patterns of neighbours go on in each other.
        let (shift, middle) = if density(row) == Density::Roomy { (y, 0.0) } else { (0.0, y) };
        let mut inside = String::new();
        for mark in drawn(pod, is_inside, row, middle, frame) {
            bar(&mut inside, &mark, frame);
        }
        Row {
            attributes: vec![
                ("class", "pod".to_owned()),
                ("transform", format!("translate(0 {})", fixed(shift))),
                ("data-open", address::pod(pod.uid)),
            ],
            style: String::new(),
            inside,
        }
    })
}

/// The bars of one pod, to be painted.
pub(super) fn paint(marks: &mut Vec<Mark>, one: &Placed, pod: &Pod, y: f64, frame: Frame) {
    // A window more, so that there is something to see while the viewer zooms out.
    let from = frame.from_millis() - frame.window_millis as Millis;
    let drawn = drawn(pod, one.band.replica_set.is_some(), one.place.row, y, frame);
    marks.extend(drawn.filter(|mark| mark.to.is_none_or(|to| to > from)));
}

/// The ribbon of a band: a path per state.
pub(super) fn ribbon<'m>(one: &Placed, marks: &[Mark], frame: Frame) -> Plan<'m> {
    let mut inside = String::new();
    let mut names: Vec<&str> = Vec::new();
    for name in marks.iter().map(|mark| mark.name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let shapes: String =
            marks.iter().filter(|mark| mark.name == name).map(|mark| outline(mark, frame, mark.height / 2.0)).collect();
        let _ = write!(inside, "<path class=\"bar {name} low tight\" d=\"{shapes}\"/>");
    }
    let attributes = vec![("class", "pod ribbon".to_owned()), ("data-testid", "ribbon".to_owned())];
    Plan::made(!super::band_key(&one.band), Row { attributes, style: String::new(), inside })
}

/// What a pod went through, where it is drawn: (state, since, until).
pub(super) fn lived(
    pod: &Pod,
    is_inside: bool,
    frame: Frame,
) -> impl Iterator<Item = (&'static str, Millis, Option<Millis>)> {
    let segments = if is_inside { segments(pod) } else { outside(pod) };
    calmed(segments, frame).into_iter().map(|Segment { name, from, to }| (name, from, to))
}

/// A pod as marks in its row. The end of a pod has none where rows leave no room for it.
fn drawn(pod: &Pod, is_inside: bool, row: f64, y: f64, frame: Frame) -> impl Iterator<Item = Mark> {
    let (whole, density) = (bar_height(row), density(row));
    let mark = move |(name, from, to)| Mark { name, from, to, y, height: whole * share(name, density), density };
    lived(pod, is_inside, frame).map(mark).filter(|mark| mark.density != Density::Tight || mark.name != "gone")
}

/// Which part of a bar's height a state takes.
fn share(name: &str, density: Density) -> f64 {
    match name {
        "terminating" if density == Density::Roomy => 0.6,
        "starting" if density == Density::Roomy => 0.64,
        _ => 1.0,
    }
}

/// A mark as a shape, and its edge where the state has one.
fn bar(out: &mut String, mark: &Mark, frame: Frame) {
    let Mark { name, density, .. } = *mark;
    let half = mark.height / 2.0;
    let (from, to) = ends(mark, frame);
    let (up, down) = (fixed(mark.y - half), fixed(mark.y + half));
    let shape = match (name, density) {
        ("scheduling", Density::Roomy) => format!("M{from} {}H{to}", fixed(mark.y)),
        ("gone", _) => format!("M{from} {up}V{down}"),
        _ => outline(mark, frame, half),
    };
    let room = match density {
        Density::Roomy => "",
        Density::Low => " low",
        Density::Tight => " low tight",
    };
    let _ = write!(out, "<path class=\"bar {name}{room}\" d=\"{shape}\"/>");
    if density == Density::Roomy && matches!(name, "starting" | "unready" | "ready" | "outside") {
        let _ = write!(out, "<path class=\"edge {name}\" d=\"M{from} {up}H{to}M{from} {down}H{to}\"/>");
    }
}

fn outline(mark: &Mark, frame: Frame, half: f64) -> String {
    let (from, to) = ends(mark, frame);
    format!("M{from} {}H{to}V{}H{from}z", fixed(mark.y - half), fixed(mark.y + half))
}

/// Absolute places: relative steps as wide as FAR lose their last digits in a browser's single precision.
fn ends(mark: &Mark, frame: Frame) -> (String, String) {
    let from = frame.x(mark.from);
    (thousandths(from), thousandths(mark.to.map_or(FAR, |to| frame.x(to)).max(from)))
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
