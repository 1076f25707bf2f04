//! The scene: everything that the picture of a Deployment shows, as objects with keys. Pure: computed from the timeline, the time
//! and the size of the picture, with the same result on the server and in the browser.

use std::collections::HashSet;

use timeline::model::{Deployment, Pod, PodState};
use timeline::story::Line;
use timeline::view::View;
use timeline::wire::Said;
use timeline::{Millis, Model, Uid, order};

use super::bars::{self, BarMark};
use super::budget::{self, Strip};
use super::frame::Frame;
use super::ink::PodLook;
use super::lanes::{self, Band, BandHeading};
use super::places::{self, BandPlace, PlacedBand};
use super::ribbon;
use crate::score::motion::Motion;

/// Largest number of table rows for each band with many pods: the most urgent of the pods that are not available.
const MOST_ROWS: usize = 100;
/// Number of shown lines of the story; older ones stay in the timeline document.
const MOST_LINES: usize = 80;
/// Time for which a pod counts as new after it was first seen.
const NEWBORN_MILLIS: Millis = 3_000;
/// Time for which a released or adopted pod moves to its new band.
const TRAVEL_MILLIS: Millis = 1_000;

/// Objects with their keys, in order.
pub type KeyedList<T> = Vec<(u128, T)>;

/// Everything that the picture shows.
#[derive(Default)]
pub struct Scene {
    /// The backgrounds of the bands, and their headings.
    pub bands: KeyedList<BandRow>,
    /// Bars as elements: those of a pod or of a ribbon.
    pub bars: KeyedList<Bars>,
    /// Bars that are painted on a canvas: many pods.
    pub marks: Vec<BarMark>,
    /// The pods in their present state.
    pub heads: KeyedList<PodHead>,
    /// Positions of the heads of these pods.
    pub spots: KeyedList<HeadPlace>,
    /// The present states beside each ribbon.
    pub columns: KeyedList<Vec<BarMark>>,
    /// Stretches of time that were not observed.
    pub gaps: KeyedList<GapArea>,
    /// The pods as a table.
    pub table: KeyedList<PodHead>,
    /// With many pods the table lists those that are not available; this is the number of those left out. `None` if it lists all pods.
    pub unlisted: Option<usize>,
    /// The story, oldest first.
    pub story: KeyedList<Line>,
    /// Important lines of the story, as points on the axis.
    pub points: KeyedList<Line>,
    /// Pods over time against the limits.
    pub strip: Strip,
    /// Final positions of the bands after a move.
    pub targets: Vec<(u128, BandPlace)>,
    /// Number of pods that are in view.
    pub pods: usize,
    /// Height of all bands, in pixels.
    pub bands_height: f64,
    /// Height of the picture, in pixels: at least that of its room.
    pub height: f64,
}

/// A band: one ReplicaSet, or the pods out of rotation.
#[derive(Debug, Clone, PartialEq)]
pub struct BandRow {
    /// Position in the picture.
    pub place: BandPlace,
    /// Whether its pods share rows.
    pub is_ribbon: bool,
    /// Heading of the band.
    pub heading: BandHeading,
}

/// The bars of one pod, or of one ribbon.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// The pod; `None` for a ribbon.
    pub pod: Option<Uid>,
    /// Distance from the top, in pixels: the coordinates of roomy bars are relative to their middle.
    pub shift: f64,
    /// The marks of the bars.
    pub marks: Vec<BarMark>,
}

/// A pod in its present state.
#[derive(Debug, Clone, PartialEq)]
pub struct PodHead {
    /// UID of the pod.
    pub uid: Uid,
    /// Name of the pod.
    pub name: String,
    /// State of the pod.
    pub state: PodState,
    /// Time since which the pod has been in that state.
    pub since_millis: Millis,
    /// Reason why it is not well.
    pub reason: String,
    /// ReplicaSet of its band; `None` for "Out of rotation".
    pub replica_set: Option<Uid>,
    /// Revision of its band; `None` if unknown.
    pub revision: Option<u64>,
    /// Whether the pod was just created.
    pub is_newborn: bool,
    /// Whether the pod is in another band now.
    pub is_elsewhere: bool,
    /// Whether its row is shared with others.
    pub is_shared: bool,
}

impl PodHead {
    /// Returns whether its band is that of the pods out of rotation.
    pub const fn is_out(&self) -> bool {
        self.replica_set.is_none()
    }
}

/// Position of a head, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadPlace {
    /// Middle of the head, from the top of the picture.
    pub y: f64,
    /// Height of its row.
    pub row: f64,
    /// Distance to its position in its former band, for a pod that was just released or adopted.
    pub came_from: Option<f64>,
}

/// A stretch of time that was not observed, or that is no longer stored.
#[derive(Debug, Clone, PartialEq)]
pub struct GapArea {
    /// Start, in seconds from the base.
    pub at: f64,
    /// End, in seconds from the base.
    pub to: f64,
    /// Explanation of the gap.
    pub words: &'static str,
}

/// Counts the pods of a band by look at a moment, the most frequent look first.
pub fn count_looks(
    model: &Model,
    deployment: Uid,
    band: &BandHeading,
    at_millis: Millis,
    frame: Frame,
) -> Vec<(PodLook, usize)> {
    let mut counts: Vec<(PodLook, usize)> = Vec::new();
    let pods: Vec<&Pod> = match band.replica_set {
        Some(replica_set) => model.pods_of(replica_set).collect(),
        None => model.pods_of_deployment(deployment),
    };
    for pod in pods {
        if let Some(bars::Segment { look, .. }) = bars::drawn_at(pod, band, frame, at_millis) {
            match counts.iter_mut().find(|(known, _)| *known == look) {
                Some((_, count)) => *count += 1,
                None => counts.push((look, 1)),
            }
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Computes the scene of a Deployment.
pub fn scene(model: &Model, deployment: Option<Uid>, said: &Said, frame: Frame, motion: &Motion) -> Scene {
    let story = story(&said.story);
    let Some(deployment) = deployment.and_then(|uid| model.deployments.get(&uid)) else {
        return Scene { story, height: frame.height, ..Scene::default() };
    };
    let mut bands = lanes::bands(model, deployment, frame.from_millis());
    if let Some(view) = &said.view {
        bands.iter_mut().for_each(|band| count(band, view));
    }
    let pods = bands.iter().map(|band| band.pods.len()).sum::<usize>();
    let is_crowd = places::is_crowd(pods);
    let places = places::places(&bands, frame.height, frame.scale);
    let targets = bands.iter().map(band_key).zip(places.iter().copied()).collect();
    let placed = bands.into_iter().zip(places).map(|(band, place)| {
        let is_ribbon = places::is_ribbon(place, pods, frame.is_opened);
        PlacedBand { place: motion.place(band_key(&band), place), band, is_ribbon }
    });
    let placed: Vec<PlacedBand> = placed.collect();
    let bands_height = placed.last().map_or(0.0, |last| last.place.top + last.place.height);
    let mut scene = Scene {
        gaps: gaps(deployment, said.view.as_ref().and_then(|view| view.unseen_millis), frame),
        story,
        points: points(&said.story, frame),
        strip: said.view.as_ref().map(|view| budget::strip(model, deployment, view, frame)).unwrap_or_default(),
        targets,
        pods,
        bands_height,
        height: bands_height.max(frame.height),
        unlisted: is_crowd.then_some(0),
        ..Scene::default()
    };
    for one in &placed {
        let pods = one.band.pods.iter().filter_map(|(uid, slot)| Some((model.pods.get(uid)?, *slot)));
        let pods: Vec<(&Pod, u32)> = pods.collect();
        if one.is_ribbon {
            scene.add_ribbon(one, &pods, frame);
        } else if is_crowd {
            pods.iter().for_each(|(pod, slot)| scene.add_painted(one, pod, *slot, frame));
        }
        if let Some(unlisted) = &mut scene.unlisted {
            let is_listed = |pod: &&Pod| pod.state() != PodState::Available && !is_elsewhere(one, pod);
            let odd: Vec<&Pod> = pods.into_iter().map(|(pod, _)| pod).filter(is_listed).collect();
            *unlisted += odd.len().saturating_sub(MOST_ROWS);
            let rows = order::sort_by(odd, |pod: &&Pod| urgency(pod.state())).into_iter().take(MOST_ROWS);
            scene.table.extend(rows.map(|pod| (key(&one.band, pod), head(one, pod, frame.now_millis))));
        } else {
            pods.into_iter().for_each(|(pod, slot)| scene.add_pod(one, pod, slot, frame, &placed));
        }
    }
    let row =
        |PlacedBand { band, place, is_ribbon }| (band_key(&band), BandRow { place, is_ribbon, heading: band.heading });
    scene.bands = placed.into_iter().map(row).collect();
    scene
}

impl Scene {
    fn add_ribbon(&mut self, one: &PlacedBand, pods: &[(&Pod, u32)], frame: Frame) {
        let ribbon = ribbon::marks(one, pods, frame);
        let key = band_key(&one.band);
        self.columns.push((key, ribbon.iter().filter(|mark| mark.to.is_none()).copied().collect()));
        if frame.is_painted {
            self.marks.extend(ribbon);
        } else {
            self.bars.push((!key, Bars { pod: None, shift: 0.0, marks: ribbon }));
        }
    }

    /// Adds a pod among many, which is painted and has no head.
    fn add_painted(&mut self, one: &PlacedBand, pod: &Pod, slot: u32, frame: Frame) {
        let y = middle(one.place, slot);
        let from = frame.spare_from_millis();
        let marks = bars::bars(pod, &one.band.heading, one.place.row, y, frame);
        self.marks.extend(marks.filter(|mark| mark.to.is_none_or(|to| to > from)));
    }

    fn add_pod(&mut self, one: &PlacedBand, pod: &Pod, slot: u32, frame: Frame, all: &[PlacedBand]) {
        let y = middle(one.place, slot);
        let (key, row) = (key(&one.band, pod), one.place.row);
        match (one.is_ribbon, frame.is_painted) {
            (true, _) => {}
            (false, true) => self.add_painted(one, pod, slot, frame),
            (false, false) => {
                // Low bars are positioned relative to the whole picture, so that the patterns of neighbours are continuous.
                let is_roomy = places::density(row) == places::Density::Roomy;
                let (shift, middle) = if is_roomy { (y, 0.0) } else { (0.0, y) };
                let marks = bars::bars(pod, &one.band.heading, row, middle, frame).collect();
                self.bars.push((key, Bars { pod: Some(pod.uid), shift, marks }));
            }
        }
        let (mut came_from, head) = (None, head(one, pod, frame.now_millis));
        if !head.is_elsewhere {
            came_from = place_before(all, pod, frame.now_millis).map(|before| before - y);
            self.table.push((key, head.clone()));
        }
        self.heads.push((key, head));
        self.spots.push((key, HeadPlace { y, row, came_from }));
    }
}

/// Returns the middle of a row, in pixels from the top of the picture.
fn middle(place: BandPlace, slot: u32) -> f64 {
    place.first + (f64::from(slot) + 0.5) * place.row
}

/// Returns the middle of the row from which a pod moves to its band; `None` if it does not move.
fn place_before(all: &[PlacedBand], pod: &Pod, now_millis: Millis) -> Option<f64> {
    let (_, left) = lanes::last_move(pod).filter(|(at, _)| (0..TRAVEL_MILLIS).contains(&(now_millis - at)))?;
    let one = all.iter().find(|one| one.band.heading.replica_set == left)?;
    let (_, slot) = one.band.pods.iter().find(|(uid, _)| *uid == pod.uid)?;
    Some(middle(one.place, *slot))
}

/// Returns whether the pod left this band for another one, where it is drawn and has its table row.
fn is_elsewhere(one: &PlacedBand, pod: &Pod) -> bool {
    pod.owner != one.band.heading.replica_set
}

/// Returns the sort key of unavailable pods among many: failing ones first, then in the order of a pod's life.
fn urgency(state: PodState) -> (i64, u128) {
    (i64::from(state != PodState::Failing), state as u128)
}

fn head(one: &PlacedBand, pod: &Pod, now_millis: Millis) -> PodHead {
    PodHead {
        uid: pod.uid,
        name: pod.name.clone(),
        state: pod.state(),
        since_millis: pod.since_millis(),
        reason: pod.now.reason.clone(),
        replica_set: one.band.heading.replica_set,
        revision: one.band.heading.revision,
        is_newborn: now_millis - pod.first_seen_millis() < NEWBORN_MILLIS,
        is_elsewhere: is_elsewhere(one, pod),
        is_shared: one.is_ribbon,
    }
}

/// Returns the gaps in the window. The last one is open if pods may not be listed since then.
fn gaps(deployment: &Deployment, unseen_millis: Option<Millis>, frame: Frame) -> KeyedList<GapArea> {
    let gap =
        |key, from_millis, to_millis, words| (key, GapArea { at: frame.x(from_millis), to: frame.x(to_millis), words });
    let begin = frame.from_millis();
    let unseen = deployment.gaps.iter().map(|gap| (gap.from_millis, gap.to_millis, "not observed"));
    let unkept = deployment.kept_since_millis.map(|kept| (begin.min(kept), kept, "older history not kept"));
    let ended = unseen.chain(unkept).filter(|(_, to, _)| *to > begin);
    let open = unseen_millis.filter(|since| *since < frame.now_millis);
    let open = open.map(|since| gap(u128::MAX, since, frame.now_millis, "not seen: may not be listed"));
    ended.map(|(from, to, words)| gap(to as u128, from, to, words)).chain(open).collect()
}

/// Returns the last lines, oldest first. Keys of equal lines with the same time are made unique by a number.
fn story(lines: &[Line]) -> KeyedList<Line> {
    let mut seen = HashSet::new();
    let keyed = |line: &Line| {
        let hashed = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let text = line.text.bytes().fold(0xcbf2_9ce4_8422_2325, hashed);
        let mut key = (line.at_millis as u128) << 64 | u128::from(text);
        while !seen.insert(key) {
            key = key.wrapping_add(1);
        }
        (key, line.clone())
    };
    let mut rows: KeyedList<Line> = lines.iter().rev().take(MOST_LINES).map(keyed).collect();
    rows.reverse();
    rows
}

/// Returns the important lines, one for each time.
fn points(lines: &[Line], frame: Frame) -> KeyedList<Line> {
    let (from, mut seen) = (frame.from_millis(), HashSet::new());
    let is_point =
        |line: &&Line| line.at_millis > from && line.kind.stands_out() && seen.insert(line.at_millis as u128);
    lines.iter().filter(is_point).map(|line| (line.at_millis as u128, line.clone())).collect()
}

/// Returns a key within a band: a pod may be in the bands of several ReplicaSets and in "Out of rotation".
fn key(band: &Band, pod: &Pod) -> u128 {
    match band.heading.replica_set {
        None => !pod.uid.bits(),
        set if set == pod.replica_set() => pod.uid.bits(),
        Some(set) => pod.uid.bits() ^ set.bits().rotate_left(64),
    }
}

/// Sets a band's counts to those sent with the verdict, because the model may be slightly newer than the text. The verdict has no
/// counts for a released ReplicaSet, which keeps its own.
fn count(band: &mut Band, view: &View) {
    if band.heading.is_let_go {
        return;
    }
    let said = view.sets.iter().find(|set| Some(set.uid) == band.heading.replica_set);
    (band.heading.desired, band.heading.available) = said.map_or((0, 0), |set| (set.desired, set.available));
}

fn band_key(band: &Band) -> u128 {
    band.heading.replica_set.map_or(1, Uid::bits)
}

#[cfg(test)]
mod tests {
    use timeline::Change;
    use timeline::fact::ReplicaSetCounts;
    use timeline::model::{ReplicaSet, ReplicaSetNow};

    use super::*;

    #[test]
    fn of_many_pods_the_table_has_failing_ones_first_and_drops_the_least_urgent() {
        let [web, set] = [1, 2].map(Uid::from_bits);
        let counts = ReplicaSetCounts { desired: 600, replicas: 600, available: 0 };
        let replica_set = ReplicaSet {
            uid: set,
            owner: Some(web),
            owners: vec![web],
            now: ReplicaSetNow { counts, ..ReplicaSetNow::default() },
            ..ReplicaSet::default()
        };
        let mut model = Model::default();
        model.apply_change(Change::Deployment(Box::new(Deployment { uid: web, ..Deployment::default() })));
        model.apply_change(Change::ReplicaSet(Box::new(replica_set)));
        for number in 0..600 {
            let state = match number {
                0..300 => PodState::Terminating,
                300..540 => PodState::Scheduling,
                _ => PodState::Failing,
            };
            let uid = Uid::from_bits(1_000 + number);
            let pod = Pod { uid, owners: vec![set], owner: Some(set), states: vec![(state, 0)], ..Pod::default() };
            model.apply_change(Change::Pod(Box::new(pod)));
        }
        let frame = Frame::unmeasured(1_000, 60_000.0);
        let scene = scene(&model, Some(web), &Said::default(), frame, &Motion::default());
        let listed: Vec<(u128, PodState)> = scene.table.iter().map(|(_, head)| (head.uid.bits(), head.state)).collect();
        let failing = (1_540..1_600).map(|uid| (uid, PodState::Failing));
        let scheduling = (1_300..1_340).map(|uid| (uid, PodState::Scheduling));
        assert_eq!(listed, failing.chain(scheduling).collect::<Vec<_>>());
        assert_eq!(scene.unlisted, Some(500));
    }

    #[test]
    fn a_pod_has_a_key_in_each_band() {
        let [first, second, third] = [1, 2, 3].map(Uid::from_bits);
        let pod =
            Pod { uid: Uid::from_bits(9), owners: vec![first, second, third], owner: Some(third), ..Pod::default() };
        let key = |replica_set: Option<Uid>| {
            let heading = BandHeading { replica_set, ..BandHeading::default() };
            super::key(&Band { heading, living: 1, slots: 1, pods: Vec::new() }, &pod)
        };
        let keys = [Some(first), Some(second), Some(third), None].map(key);
        let all: HashSet<u128> = keys.into_iter().collect();
        assert_eq!((keys[0], all.len()), (pod.uid.bits(), 4));
    }
}
