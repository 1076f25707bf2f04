//! The bars: each pod's history, a mark per state, in the slot it keeps.

use leptos::prelude::*;
use timeline::model::Pod;
use timeline::phase::PodState;
use timeline::{Millis, Uid};

use crate::board::{BandKey, BandRow, Board};
use crate::components::lists::{Bands, Part, Pods};
use crate::components::{fixed, text, thousandths};
use crate::score::lanes;

/// A bar without an end reaches this far, in seconds.
const FAR: f64 = 10_000_000.0;

/// All bars, in a view box of seconds by pixels.
#[component]
pub fn Bars(board: Board) -> impl IntoView {
    let height = super::total_height(&board);
    let (axis, base) = (board.axis.clone(), board.base_millis);
    let view_box = text(move || {
        let axis = axis.get();
        let (now, window) = ((axis.now_millis - base) as f64 / 1000.0, axis.window_millis / 1000.0);
        format!("{} 0 {} {}", thousandths(now - window), thousandths(window), fixed(height.get()))
    });
    // Patterns are drawn in pixels: undo the stretch of the view box.
    let turned = |degrees: i32| {
        let axis = board.axis.clone();
        text(move || {
            let axis = axis.get();
            format!("scale({} 1) rotate({degrees})", thousandths(axis.window_millis / 1000.0 / axis.width))
        })
    };
    view! {
        <svg class="bars" viewBox=view_box preserveAspectRatio="none" aria-hidden="true">
            <defs>
                <pattern id="stripes-terminating" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform=turned(45)>
                    <rect width="6" height="6" class="soft"/><rect width="2.2" height="6"/>
                </pattern>
                <pattern id="hatch-starting" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform=turned(-45)>
                    <rect width="1.6" height="5"/>
                </pattern>
                <pattern id="dots-ready" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform=turned(0)>
                    <rect width="5" height="5" class="soft"/><circle cx="2.5" cy="2.5" r="1"/>
                </pattern>
            </defs>
            <Bands board part=Part::Bars/>
        </svg>
    }
}

/// The bars of one band.
#[component]
pub(in crate::components) fn BandBars(board: Board, key: BandKey) -> impl IntoView {
    let row = board.band(key)?;
    let class = match key {
        None => text(|| "band out".to_owned()),
        Some(_) => {
            let band = row.band.clone();
            text(move || if band.with(|band| band.is_current) { "band current" } else { "band" }.to_owned())
        }
    };
    let place = row.place.clone();
    Some(view! {
        <g class=class transform=super::top_of(&row) data-testid="band">
            <rect class="ground" x="-10000000" width="20000000" y="0" height=text(move || place.with(|place| fixed(place.height)))/>
            <Pods board key part=Part::Bars/>
        </g>
    })
}

/// The bars of one pod.
#[component]
pub(in crate::components) fn PodBars(board: Board, key: BandKey, uid: Uid) -> impl IntoView {
    let (row, pod) = (board.band(key)?, board.row(uid)?.pod);
    let y = slot_y(&row, uid);
    let place = row.place.clone();
    let height = Memo::new(move |_| place.with(|place| lanes::bar_height(place.row)));
    let segments = move || pod.with(|pod| if key.is_some() { segments(pod) } else { outside(pod) });
    let x = move |at: Millis| board.x(at);
    Some(view! {
        <g class="pod" transform=text(move || format!("translate(0 {})", fixed(y.get())))>
            <For each=segments key=|segment| (segment.name, segment.from, segment.to) let:segment>
                <Bar name=segment.name from=x(segment.from) to=segment.to.map(&x) height/>
            </For>
        </g>
    })
}

/// One state of a pod, from its beginning to its end, centred on y = 0: a shape, and its edge where the state has one.
#[component]
fn Bar(name: &'static str, from: f64, to: Option<f64>, height: Memo<f64>) -> impl IntoView {
    // Absolute places: relative steps as wide as FAR lose their last digits in a browser's single precision.
    let (from, to) = (thousandths(from), thousandths(to.unwrap_or(FAR).max(from)));
    let share = match name {
        "terminating" => 0.6,
        "starting" => 0.64,
        _ => 1.0,
    };
    let (edge_from, edge_to) = (from.clone(), to.clone());
    let shape = text(move || {
        let (up, down) = (fixed(-height.get() * share / 2.0), fixed(height.get() * share / 2.0));
        match name {
            "scheduling" => format!("M{from} 0H{to}"),
            "gone" => format!("M{from} {up}V{down}"),
            _ => format!("M{from} {up}H{to}V{down}H{from}z"),
        }
    });
    let edge = text(move || {
        let (up, down) = (fixed(-height.get() * share / 2.0), fixed(height.get() * share / 2.0));
        format!("M{edge_from} {up}H{edge_to}M{edge_from} {down}H{edge_to}")
    });
    view! {
        <path class=format!("bar {name}") d=shape/>
        <path class=format!("edge {name}") d=edge/>
    }
}

/// The middle of a pod's row, in pixels below the band's upper edge.
pub(super) fn slot_y(row: &BandRow, uid: Uid) -> Memo<f64> {
    let (band, place) = (row.band.clone(), row.place.clone());
    Memo::new(move |_| {
        let slot = band.with(|band| band.pods.iter().find(|(known, _)| *known == uid).map_or(0, |(_, slot)| *slot));
        place.with(|place| place.first - place.top + (f64::from(slot) + 0.5) * place.row)
    })
}

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
