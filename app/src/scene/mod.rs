//! The scene: everything on a Deployment's page that is a list, as rows. Pure: the timeline, the time and the size of the
//! picture go in, the same on the server and in the browser.

pub mod bars;
pub mod budget;
#[cfg(feature = "ssr")]
pub mod first;
mod gutter;
mod heads;
mod ribbon;
mod steps;
mod story;
mod table;
pub mod token;

use std::rc::Rc;

use timeline::frame::Said;
use timeline::model::{Deployment, Gap, Pod};
use timeline::phase::PodState;
use timeline::view::View;
use timeline::{Millis, Model, Uid};

use self::bars::Mark;
use crate::address;
use crate::motion::Motion;
use crate::numbers::thousandths;
use crate::rows::{Plan, Row, Stamp, Tag, escaped};
use crate::score::lanes::{self, Band};
use crate::score::places::{self, MOST_BARS, Place};
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
    /// Bars are painted instead of being elements.
    pub is_painted: bool,
}

impl Frame {
    /// The left edge.
    #[must_use]
    pub const fn from_millis(&self) -> Millis {
        self.now_millis - self.window_millis as Millis
    }

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

/// Times as the style sheet needs them: the right edge and the window, in seconds from the base.
#[must_use]
pub fn times(frame: Frame) -> String {
    format!("--now:{};--window:{}", thousandths(frame.x(frame.now_millis)), thousandths(frame.window_millis / 1000.0))
}

/// Rows of the table for each band of a ribbon: pods that are not available.
const MOST_ROWS: usize = 100;

/// The lists of a page: where they are, and what they are made of.
pub const LISTS: [(&str, Tag); 10] = [
    ("bars", Tag::Group),
    ("heads", Tag::Group),
    ("gutter", Tag::Block),
    ("gaps", Tag::Block),
    ("table", Tag::TableRow),
    ("story", Tag::Item),
    ("areas", Tag::Group),
    ("limits", Tag::Block),
    ("labels", Tag::Block),
    ("marks", Tag::Button),
];

/// Where the story is among the lists.
const STORY: usize = 5;

/// Everything on a page that is a list.
pub struct Scene<'m> {
    /// The lists, in the order of [`LISTS`].
    pub lists: [Vec<Plan<'m>>; 10],
    /// Bars that are painted instead of being elements: many pods.
    pub marks: Vec<Mark>,
    /// Where the bands belong, once they stop moving.
    pub targets: Vec<(u128, Place)>,
    /// The bands: revision in words, upper edge, whether it is the current one.
    pub bands: Vec<(String, f64, bool)>,
    /// The current band.
    pub current: Option<Place>,
    /// Pods in view.
    pub pods: usize,
    /// So many that they are not shown one by one.
    pub is_ribbon: bool,
    /// Height of all bands, in pixels.
    pub height: f64,
}

/// A band and where it is.
struct Placed {
    band: Band,
    place: Place,
    /// Its pods share rows.
    is_ribbon: bool,
    /// The page of the Deployment, as links beside it see it.
    base: Rc<str>,
}

/// Draws a Deployment.
#[must_use]
pub fn scene<'m>(
    model: &'m Model,
    deployment: Option<Uid>,
    said: &'m Said,
    frame: Frame,
    motion: &Motion,
) -> Scene<'m> {
    let story = story::rows(&said.story);
    let Some(deployment) = deployment.and_then(|uid| model.deployments.get(&uid)) else {
        let mut lists: [Vec<Plan<'m>>; 10] = Default::default();
        if let Some(list) = lists.get_mut(STORY) {
            *list = story;
        }
        return Scene {
            lists,
            marks: Vec::new(),
            targets: Vec::new(),
            bands: Vec::new(),
            current: None,
            pods: 0,
            is_ribbon: false,
            height: frame.height,
        };
    };
    let from = frame.from_millis();
    let mut bands = lanes::bands(model, deployment, from);
    if let Some(view) = &said.view {
        bands.iter_mut().for_each(|band| count(band, view));
    }
    let pods = bands.iter().map(|band| band.pods.len()).sum::<usize>();
    let is_crowd = pods > MOST_BARS;
    let places = places::places(&bands, frame.height);
    let targets = bands.iter().map(band_key).zip(places.iter().copied()).collect();
    let base: Rc<str> = address::segment(&deployment.name).into();
    let placed = bands.into_iter().zip(places).map(|(band, place)| {
        let is_ribbon = places::is_ribbon(place, pods);
        Rc::new(Placed { place: motion.place(band_key(&band), place), band, is_ribbon, base: base.clone() })
    });
    let placed: Vec<Rc<Placed>> = placed.collect();
    let height = placed.last().map_or(0.0, |last| last.place.top + last.place.height).max(frame.height);
    let mut bars: Vec<Plan<'m>> = placed.iter().map(|one| bars::ground(one)).collect();
    let (mut heads, mut table, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    for one in &placed {
        let pods = one.band.pods.iter().filter_map(|(uid, slot)| Some((model.pods.get(uid)?, *slot)));
        let pods: Vec<(&Pod, u32)> = pods.collect();
        if one.is_ribbon {
            let ribbon = ribbon::marks(one, &pods, frame);
            heads.push(heads::column(one, &ribbon));
            if frame.is_painted {
                marks.extend(ribbon);
            } else {
                bars.push(bars::ribbon(one, &ribbon, frame));
            }
        }
        if is_crowd {
            let odd = pods.into_iter().map(|(pod, _)| pod).filter(|pod| pod.state() != PodState::Available);
            table.extend(odd.take(MOST_ROWS).map(|pod| table::plan(key(&one.band, pod.uid), stamp(pod), one, pod)));
            continue;
        }
        for (pod, slot) in pods {
            let y = one.place.first + (f64::from(slot) + 0.5) * one.place.row;
            let stamp = stamp(pod);
            let key = key(&one.band, pod.uid);
            match (one.is_ribbon, frame.is_painted) {
                (true, _) => {}
                (_, true) => bars::paint(&mut marks, one, pod, y, frame),
                _ => bars.push(bars::plan(key, stamp, one, pod, y, frame)),
            }
            heads.push(heads::plan(key, stamp, one, pod, y, frame.now_millis));
            table.push(table::plan(key, stamp, one, pod));
        }
    }
    let [areas, limits, labels] = match &said.view {
        Some(view) => budget::budget(model, deployment, view, frame),
        None => Default::default(),
    };
    let gutter = placed.iter().map(|one| gutter::plan(one)).collect();
    let gaps = gaps(deployment, from, frame);
    let named = |one: &Rc<Placed>| {
        let revision = one.band.revision.map(|revision| revision.to_string()).unwrap_or_default();
        (revision, one.place.top, one.band.is_current)
    };
    let current = placed.iter().find(|one| one.band.is_current).map(|one| one.place);
    let bands = placed.iter().map(named).collect();
    let lines = story::marks(&said.story, frame);
    Scene {
        lists: [bars, heads, gutter, gaps, table, story, areas, limits, labels, lines],
        marks,
        targets,
        bands,
        current,
        pods,
        is_ribbon: is_crowd,
        height,
    }
}

fn gaps<'m>(deployment: &Deployment, from: Millis, frame: Frame) -> Vec<Plan<'m>> {
    let row = |(gap, words): (Gap, &str)| {
        let (at, to) = (thousandths(frame.x(gap.from_millis)), thousandths(frame.x(gap.to_millis)));
        let row = Row {
            attributes: vec![("class", "gap".to_owned()), ("data-testid", "gap".to_owned())],
            style: format!("--at:{at};--to:{to}"),
            inside: words.to_owned(),
        };
        Plan::made(gap.to_millis as u128, row)
    };
    scale::gaps(deployment, from).into_iter().map(row).collect()
}

/// The ticks of the axis.
#[must_use]
pub fn ticks(frame: Frame) -> Vec<Plan<'static>> {
    let base_millis = frame.base_millis;
    let tick = |at: &Millis| {
        let at = *at;
        Plan::new(at as u128, Stamp::default(), move || Row {
            attributes: vec![("class", "tick".to_owned())],
            style: format!("--at:{}", thousandths((at - base_millis) as f64 / 1000.0)),
            inside: clock(at),
        })
    };
    scale::ticks(frame.now_millis, frame.window_millis, frame.width).iter().map(tick).collect()
}

/// What of a pod is shown: when this is the same, so are its rows.
fn stamp(pod: &Pod) -> Stamp {
    let times = [pod.released_millis, pod.adopted_millis];
    let stamp = times.into_iter().fold(Stamp::default(), |stamp, at| stamp.number(at.unwrap_or(-1) as u64));
    stamp.number(pod.states.len() as u64).number(pod.since_millis() as u64).text(&pod.now.reason)
}

/// A key within a band: a pod may be in its ReplicaSet's band and in "Out of rotation".
fn key(band: &Band, uid: Uid) -> u128 {
    if band.replica_set.is_some() { uid.bits() } else { !uid.bits() }
}

/// Gives a band the figures that were said with the verdict: the copy of the model may be a moment ahead of the words.
fn count(band: &mut Band, view: &View) {
    let said = view.sets.iter().find(|set| Some(set.uid) == band.replica_set);
    (band.wanted, band.available) = said.map_or((0, 0), |set| (set.desired, set.available));
}

fn band_key(band: &Band) -> u128 {
    band.replica_set.map_or(1, Uid::bits)
}

/// A text element's inside.
fn words(text: &str) -> String {
    escaped(&timeline::words::safe(text))
}
