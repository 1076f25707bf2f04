//! Where everything is until the page's program takes over: a style sheet, because the content security policy allows no style
//! attributes. Later every element has its own style, which outdoes the sheet.

use std::fmt::Write;

use timeline::Millis;

use super::budget::{HEIGHT, Limit, Strip};
use super::frame::Frame;
use super::scene::{BandRow, GapArea, HeadPlace, Scene};
use crate::numbers::{fixed, thousandths};

/// Room between a place and what is told of it.
const TIP_PX: f64 = 12.0;

/// Times as the style sheet needs them: the right edge and the window, in seconds from the base.
pub fn times(frame: Frame) -> String {
    format!("--now:{};--window:{}", thousandths(frame.x(frame.now_millis)), thousandths(frame.window_millis / 1000.0))
}

/// A moment on the axis.
pub fn moment_style(at_millis: Millis, base_millis: Millis) -> String {
    format!("--at:{}", thousandths((at_millis - base_millis) as f64 / 1000.0))
}

/// A gap.
pub fn gap(gap: &GapArea) -> String {
    format!("--at:{};--to:{}", thousandths(gap.at), thousandths(gap.to))
}

/// Returns the style of a heading beside a band.
pub fn heading_style(band: &BandRow) -> String {
    format!("transform:translateY({}px);height:{}px", fixed(band.place.top), fixed(band.place.height))
}

/// A label at the now line: of a strip of any height.
pub fn label(top: f64) -> String {
    format!("top:{}%", fixed(top / HEIGHT * 100.0))
}

/// Returns the style of a tip beside a place, towards the middle of the score: the place and the size of the score, in pixels.
pub fn tip((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let beside = |at: f64, all: f64, [near, far]: [&str; 2]| {
        let (side, by) = if at < all / 2.0 { (near, at) } else { (far, all - at) };
        format!("{side}:{}px", fixed(by + TIP_PX))
    };
    format!("{};{}", beside(x, width, ["left", "right"]), beside(y, height, ["top", "bottom"]))
}

/// Returns the style with the distance of a head from its former band.
pub fn travels(spot: HeadPlace) -> String {
    spot.came_from.map(|by| format!("--came-from:{}px", fixed(by))).unwrap_or_default()
}

/// Height of the picture, and its width where that is not the width of its room.
pub fn picture(height: f64, width: Option<i32>) -> String {
    let width = width.map_or_else(String::new, |width| format!(";width:{width}px"));
    format!("height:{}px{width}", fixed(height))
}

/// The whole sheet. Ids are those of the lists of the Deployment's page.
pub fn sheet(scene: &Scene, ticks: &[Millis], frame: Frame) -> String {
    let mut out =
        format!("#ticks,#gaps,#strip-gaps,#marks{{{}}}#picture{{{}}}", times(frame), picture(scene.height, None));
    add(&mut out, "gutter", scene.bands.iter().map(|(_, band)| heading_style(band)));
    for list in ["gaps", "strip-gaps"] {
        add(&mut out, list, scene.gaps.iter().map(|(_, area)| gap(area)));
    }
    let moment = |at_millis| moment_style(at_millis, frame.base_millis);
    add(&mut out, "marks", scene.points.iter().map(|(_, line)| moment(line.at_millis)));
    add(&mut out, "ticks", ticks.iter().map(|tick| moment(*tick)));
    add(&mut out, "labels", labels(&scene.strip).map(label));
    out
}

/// The labels of the strip in their order: one of each limit, whether it is told or not, and what holds the controller.
fn labels(strip: &Strip) -> impl Iterator<Item = f64> {
    let top =
        move |limit: Limit| strip.labels.iter().find(|(known, ..)| *known == limit).map_or(0.0, |(_, _, top)| *top);
    Limit::ALL.into_iter().map(top).chain(strip.hold.map(|(_, top)| top))
}

fn add(out: &mut String, id: &str, styles: impl Iterator<Item = String>) {
    for (index, style) in styles.enumerate() {
        let _ = write!(out, "#{id}>:nth-child({}){{{style}}}", index + 1);
    }
}
