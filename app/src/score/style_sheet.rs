//! Positions of all elements until the page's program starts: a style sheet, because the content security policy forbids style
//! attributes. Later every element has its own style, which overrides the sheet.

use std::fmt::Write;

use timeline::Millis;

use super::budget::{HEIGHT, Limit, Strip};
use super::frame::Frame;
use super::scene::{BandRow, GapArea, HeadPlace, Scene};
use crate::numbers::{fixed, thousandths};

/// Room between a point and its tip.
const TIP_PX: f64 = 12.0;

/// Returns the times that the style sheet needs: the right edge and the window, in seconds from the base.
pub fn times(frame: Frame) -> String {
    format!("--now:{};--window:{}", thousandths(frame.x(frame.now_millis)), thousandths(frame.window_millis / 1000.0))
}

/// Returns the style of a time on the axis.
pub fn moment_style(at_millis: Millis, base_millis: Millis) -> String {
    format!("--at:{}", thousandths((at_millis - base_millis) as f64 / 1000.0))
}

/// Returns the style of a gap.
pub fn gap(gap: &GapArea) -> String {
    format!("--at:{};--to:{}", thousandths(gap.at), thousandths(gap.to))
}

/// Returns the style of a heading beside a band.
pub fn heading_style(band: &BandRow) -> String {
    format!("transform:translateY({}px);height:{}px", fixed(band.place.top), fixed(band.place.height))
}

/// Returns the style of a label at the now line, for a strip of any height.
pub fn label(top: f64) -> String {
    format!("top:{}%", fixed(top / HEIGHT * 100.0))
}

/// Returns the style of a tip beside a point, towards the middle of the score. Takes the point and the size of the score, in pixels.
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

/// Returns the height of the picture, and its width if it differs from that of its room.
pub fn picture(height: f64, width: Option<i32>) -> String {
    let width = width.map_or_else(String::new, |width| format!(";width:{width}px"));
    format!("height:{}px{width}", fixed(height))
}

/// Returns the whole sheet. Ids are those of the lists on the Deployment's page.
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

/// Returns the positions of the strip's labels in order: one for each limit, shown or not, and one for the cause that blocks the
/// controller.
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
