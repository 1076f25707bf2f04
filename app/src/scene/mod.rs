//! The scene: everything on a Deployment's page that is a list, as rows. Pure: the timeline, the time and the size of the
//! picture go in, the same on the server and in the browser.

mod bars;
pub mod budget;
mod gutter;
mod heads;
mod story;
mod table;
pub mod token;

use timeline::frame::Said;
use timeline::{Millis, Model, Uid};

use self::budget::Budget;
use crate::numbers::thousandths;
use crate::rows::{Row, escaped};
use crate::score::lanes::{self, Band, Place};
use crate::score::scale;
use timeline::words::clock;

/// The stretch of time and the room that a scene is drawn for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The right edge.
    pub now_millis: Millis,
    /// How much time is shown.
    pub window_millis: f64,
    /// Times in the picture are counted from here, so that they are small numbers.
    pub base_millis: Millis,
    /// Height that the bands may use, in pixels.
    pub height: f64,
    /// Width of the picture, in pixels.
    pub width: f64,
}

impl Frame {
    /// How wide a stretch of time is, in pixels.
    #[must_use]
    pub fn wide(&self, from_millis: Millis, to_millis: Option<Millis>) -> f64 {
        (to_millis.unwrap_or(self.now_millis) - from_millis) as f64 * self.width / self.window_millis
    }

    /// A time as a place on the axis, in seconds from the base.
    #[must_use]
    pub fn x(&self, at_millis: Millis) -> f64 {
        (at_millis - self.base_millis) as f64 / 1000.0
    }
}

/// The lists of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scene {
    /// Bands and bars, in seconds by pixels.
    pub bars: Vec<Row>,
    /// Pods as they are now.
    pub heads: Vec<Row>,
    /// Words beside the bands.
    pub gutter: Vec<Row>,
    /// Stretches that were not seen or are not kept.
    pub gaps: Vec<Row>,
    /// The table twin.
    pub table: Vec<Row>,
    /// The story, newest first.
    pub story: Vec<Row>,
    /// The budget strip.
    pub budget: Budget,
    /// Height of all bands, in pixels.
    pub height: f64,
}

/// A band and where it is.
struct Placed {
    band: Band,
    place: Place,
}

/// Draws a Deployment.
#[must_use]
pub fn scene(model: &Model, deployment: Option<Uid>, said: &Said, frame: Frame) -> Scene {
    let mut scene = Scene { height: frame.height, story: story::rows(&said.story), ..Scene::default() };
    let Some(deployment) = deployment.and_then(|uid| model.deployments.get(&uid)) else {
        return scene;
    };
    let from = frame.now_millis - frame.window_millis as Millis;
    let bands = lanes::bands(model, deployment, from);
    let places = lanes::places(&bands, frame.height);
    let placed: Vec<Placed> = bands.into_iter().zip(places).map(|(band, place)| Placed { band, place }).collect();
    scene.height = placed.last().map_or(0.0, |last| last.place.top + last.place.height).max(frame.height);
    for one in &placed {
        scene.bars.push(bars::ground(one));
        scene.gutter.push(gutter::row(one));
    }
    for one in &placed {
        let pods = one.band.pods.iter().filter_map(|(uid, slot)| Some((model.pods.get(uid)?, *slot)));
        for (pod, slot) in pods {
            let y = one.place.first + (f64::from(slot) + 0.5) * one.place.row;
            scene.bars.push(bars::row(one, pod, y, frame));
            scene.heads.push(heads::row(one, pod, y, frame.now_millis));
            scene.table.push(table::row(one, pod));
        }
    }
    if let Some(view) = &said.view {
        scene.budget = budget::budget(model, deployment, view, frame);
    }
    scene.gaps = scale::gaps(deployment, from)
        .into_iter()
        .map(|(gap, words)| {
            let style =
                format!("--at:{};--to:{}", thousandths(frame.x(gap.from_millis)), thousandths(frame.x(gap.to_millis)));
            Row {
                key: gap.to_millis.to_string(),
                attributes: vec![("class", "gap".to_owned()), ("style", style), ("data-testid", "gap".to_owned())],
                inside: words.to_owned(),
            }
        })
        .collect();
    scene
}

/// The ticks of the axis.
#[must_use]
pub fn ticks(at: &[Millis], base_millis: Millis) -> Vec<Row> {
    let tick = |at: &Millis| Row {
        key: at.to_string(),
        attributes: vec![
            ("class", "tick".to_owned()),
            ("style", format!("--at:{}", thousandths((at - base_millis) as f64 / 1000.0))),
        ],
        inside: clock(*at),
    };
    at.iter().map(tick).collect()
}

/// A key within a band: a pod may be in its ReplicaSet's band and in "Out of rotation".
fn key(band: &Band, uid: Uid) -> String {
    let where_ = if band.replica_set.is_some() { "" } else { "out-" };
    format!("{where_}{:x}", uid.bits())
}

/// A text element's inside.
fn words(text: &str) -> String {
    escaped(&timeline::words::safe(text))
}
