//! The bars: each pod's life as marks, one per state, in the pod's slot; and the painting of marks. A painter fills marks and
//! draws lines; it knows nothing of states.
//!
//! ```text
//!   marks (bars, ribbon) ──paint()──► Painter ◄── components' Paths: elements of the page
//!                                             ◄── canvas::Brush: pixels, where there are many pods
//!                                             ◄── preview::Picture: an SVG file
//! ```

use timeline::model::{Pod, PodState};
use timeline::{Millis, Uid};

use super::frame::Frame;
use super::ink::{Edge, Fill, Form, PodLook};
use super::lanes::{BandHeading, each_stay};
use super::places::{Density, bar_height, density};

/// Alternating states in stretches narrower than this, in pixels, are drawn as one.
const FLICKER: f64 = 10.0;
const GONE: PodLook = PodLook::In(PodState::Gone);
const FAILING: PodLook = PodLook::In(PodState::Failing);

/// A drawn state of a pod.
#[derive(Debug, PartialEq)]
pub struct Segment {
    /// Look of the state.
    pub look: PodLook,
    /// Start of the state.
    pub from: Millis,
    /// End of the state; `None` while it lasts.
    pub to: Option<Millis>,
}

/// A part of a bar: a stretch of a pod's life, or of pods that share a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarMark {
    /// Look of the mark.
    pub look: PodLook,
    /// Start of the stretch.
    pub from: Millis,
    /// End of the stretch; `None` while it lasts.
    pub to: Option<Millis>,
    /// Middle of the mark, in pixels.
    pub y: f64,
    /// Height of the mark, in pixels; 0 for a line.
    pub height: f64,
    /// Density of its row.
    pub density: Density,
}

impl BarMark {
    /// Returns the upper edge, in pixels.
    pub fn upper(&self) -> f64 {
        self.y - self.height / 2.0
    }

    /// Returns the lower edge, in pixels.
    pub fn lower(&self) -> f64 {
        self.y + self.height / 2.0
    }

    /// Returns both edges; one if the mark has no height.
    pub fn edges(&self) -> impl Iterator<Item = f64> + use<> {
        [self.upper(), self.lower()].into_iter().take(if self.height > 0.0 { 2 } else { 1 })
    }
}

/// Returns the state of a pod as drawn in a band at a time; `None` if it was not in the band.
pub fn drawn_at(pod: &Pod, band: &BandHeading, frame: Frame, at_millis: Millis) -> Option<Segment> {
    let is_then = |segment: &Segment| segment.from <= at_millis && segment.to.is_none_or(|to| to > at_millis);
    segments(pod, band, frame).into_iter().find(is_then)
}

/// Returns the states of a pod as drawn in a band.
pub fn segments(pod: &Pod, band: &BandHeading, frame: Frame) -> Vec<Segment> {
    let segments = match band.replica_set {
        Some(replica_set) => cut_before(inside_segments(pod, replica_set), band.taken_over_millis),
        None => outside_segments(pod),
    };
    merge_flicker(segments, frame)
}

/// Removes the part of the segments before a time.
fn cut_before(mut segments: Vec<Segment>, since_millis: Option<Millis>) -> Vec<Segment> {
    if let Some(since) = since_millis {
        segments.retain(|segment| segment.to.is_none_or(|to| to > since));
        segments.iter_mut().for_each(|segment| segment.from = segment.from.max(since));
    }
    segments
}

/// Returns the marks of a pod in its row. The end of a pod gets no mark if the row has no room for it.
pub fn bars(pod: &Pod, band: &BandHeading, row: f64, y: f64, frame: Frame) -> impl Iterator<Item = BarMark> + use<> {
    let (whole, density) = (bar_height(row), density(row));
    let share = move |look: PodLook| if density == Density::Roomy { look.ink().share } else { 1.0 };
    let mark = move |Segment { look, from, to }| BarMark { look, from, to, y, height: whole * share(look), density };
    let marks = segments(pod, band, frame).into_iter().map(mark);
    marks.filter(|mark| mark.density != Density::Tight || mark.look != GONE)
}

/// Merges the alternating states of a crash loop into one failing stretch where they would be too narrow to see.
fn merge_flicker(segments: Vec<Segment>, frame: Frame) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        let is_loop = frame.width_of(segment.from, segment.to) < FLICKER
            && matches!(segment.look, PodLook::In(PodState::Failing | PodState::Unready | PodState::Starting));
        let failing = |last: &&mut Segment| last.look == FAILING && last.to == Some(segment.from);
        match merged.last_mut().filter(failing) {
            Some(last) if is_loop => last.to = segment.to,
            _ => merged.push(segment),
        }
    }
    merged
}

/// Returns a pod's states while the ReplicaSet controlled it, with an end at its release.
fn inside_segments(pod: &Pod, replica_set: Uid) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(pod.states.len() + 1);
    for (state, from, to) in pod.spans() {
        if state == PodState::Gone {
            if pod.owner == Some(replica_set) {
                segments.push(Segment { look: GONE, from, to: Some(from) });
            }
            continue;
        }
        each_stay(pod, Some(replica_set), &mut |since, until| {
            let is_later = until.is_some_and(|until| from >= until);
            let is_earlier = from < since && to.is_some_and(|to| to <= since);
            if !is_later && !is_earlier {
                let to = to.map_or(until, |to| Some(until.map_or(to, |until| to.min(until))));
                segments.push(Segment { look: PodLook::In(state), from: from.max(since), to });
            }
        });
    }
    each_stay(pod, Some(replica_set), &mut |_, until| {
        segments.extend(until.map(|out| Segment { look: GONE, from: out, to: Some(out) }));
    });
    segments
}

/// Returns a pod's states in the band "Out of rotation".
fn outside_segments(pod: &Pod) -> Vec<Segment> {
    let mut segments = Vec::new();
    each_stay(pod, None, &mut |from, until| {
        segments.push(Segment { look: PodLook::Outside, from, to: until.or(pod.gone_millis()) });
    });
    segments
}

/// A painter of marks.
pub trait Painter {
    /// Fills a mark.
    fn fill(&mut self, mark: BarMark, fill: Fill);
    /// Draws lines along the upper and the lower edge of a mark; one line if it has no height.
    fn edges(&mut self, mark: BarMark, edge: Edge);
    /// Draws a vertical line at the left edge of a mark.
    fn end(&mut self, mark: BarMark, edge: Edge);
}

/// Paints marks, grouped by look.
pub fn paint(marks: &[BarMark], painter: &mut dyn Painter) {
    let mut looks: Vec<PodLook> = Vec::new();
    for mark in marks {
        if !looks.contains(&mark.look) {
            looks.push(mark.look);
        }
    }
    for look in looks {
        let ink = look.ink();
        for mark in marks.iter().copied().filter(|mark| mark.look == look) {
            let is_roomy = mark.density == Density::Roomy;
            match (ink.form, ink.edge) {
                (Form::End, Some(edge)) => painter.end(mark, edge),
                (Form::Thread, Some(edge)) if is_roomy => painter.edges(BarMark { height: 0.0, ..mark }, edge),
                (_, edge) => {
                    painter.fill(mark, if is_roomy { ink.roomy } else { ink.low });
                    if let Some(edge) = edge.filter(|_| is_roomy) {
                        painter.edges(mark, edge);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use timeline::model::Release;

    use super::*;

    /// One ReplicaSet releases a pod, and another one adopts it: each band shows the pod while its ReplicaSet controls it.
    #[test]
    fn a_pod_is_drawn_in_the_band_in_which_it_is() {
        let [first, second, third] = [1, 2, 3].map(Uid::from_bits);
        let release = |at_millis, adopted| Release { at_millis, adopted };
        let pod = |releases: Vec<Release>, owner| Pod {
            owners: vec![first, second],
            owner,
            states: vec![(PodState::Starting, 0), (PodState::Available, 1_000), (PodState::Gone, 9_000)],
            releases,
            ..Pod::default()
        };
        let drawn = |pod: &Pod, set: Option<Uid>| {
            let segments = set.map_or_else(|| outside_segments(pod), |set| inside_segments(pod, set));
            segments.into_iter().map(|segment| (segment.look.name(), segment.from, segment.to)).collect::<Vec<_>>()
        };
        let (outside, gone) = (PodLook::Outside.name(), GONE.name());
        let moved = pod(vec![release(2_000, Some((4_000, second)))], Some(second));
        let before = [("starting", 0, Some(1_000)), ("available", 1_000, Some(2_000)), (gone, 2_000, Some(2_000))];
        assert_eq!(drawn(&moved, Some(first)), before);
        assert_eq!(drawn(&moved, None), [(outside, 2_000, Some(4_000))]);
        let after = [("available", 4_000, Some(9_000)), (gone, 9_000, Some(9_000))];
        assert_eq!(drawn(&moved, Some(second)), after);
        assert_eq!(drawn(&moved, Some(third)), []);
        let at_once = pod(vec![release(4_000, Some((4_000, second)))], Some(second));
        assert_eq!((drawn(&at_once, None), drawn(&at_once, Some(second))), (Vec::new(), after.to_vec()));
        // A release and an adoption by the same ReplicaSet at the same time leave no trace.
        let same = pod(vec![release(2_000, Some((2_000, first)))], Some(first));
        assert_eq!(drawn(&same, Some(first)).len(), 3, "it was never away");
        let taken = pod(Vec::new(), Some(second));
        assert_eq!((drawn(&taken, Some(first)).len(), drawn(&taken, Some(second)).len()), (0, 3));
        // Released, adopted again, and released again.
        let out = pod(vec![release(2_000, Some((3_000, first))), release(4_000, None)], None);
        assert_eq!(drawn(&out, None), [(outside, 2_000, Some(3_000)), (outside, 4_000, Some(9_000))]);
        let twice = [
            ("starting", 0, Some(1_000)),
            ("available", 1_000, Some(2_000)),
            ("available", 3_000, Some(4_000)),
            (gone, 2_000, Some(2_000)),
            (gone, 4_000, Some(4_000)),
        ];
        assert_eq!(drawn(&out, Some(first)), twice);
    }

    #[test]
    fn of_a_replica_set_that_was_taken_over_nothing_is_drawn_before() {
        let segment = |from, to| Segment { look: PodLook::In(PodState::Available), from, to };
        let lived = || vec![segment(0, Some(1_000)), segment(1_000, Some(3_000)), segment(3_000, None)];
        assert_eq!(cut_before(lived(), Some(2_000)), [segment(2_000, Some(3_000)), segment(3_000, None)]);
        assert_eq!(cut_before(lived(), None), lived());
    }

    #[test]
    fn a_crash_loop_is_one_stretch_where_it_would_flicker() {
        use PodState::{Failing, Terminating, Unready};
        let states = [Unready, Failing, Unready, Failing, Terminating];
        let segments = || {
            let segment = |(index, state): (usize, &PodState)| Segment {
                look: PodLook::In(*state),
                from: index as Millis * 1_000,
                to: Some((index as Millis + 1) * 1_000),
            };
            states.iter().enumerate().map(segment).collect::<Vec<_>>()
        };
        let frame = |width| Frame { width, ..Frame::unmeasured(60_000, 60_000.0) };
        assert_eq!(merge_flicker(segments(), frame(1_200.0)), segments());
        let merged = merge_flicker(segments(), frame(300.0));
        let names: Vec<_> = merged.iter().map(|segment| (segment.look.name(), segment.from, segment.to)).collect();
        assert_eq!(
            names,
            [("unready", 0, Some(1_000)), ("failing", 1_000, Some(4_000)), ("terminating", 4_000, Some(5_000))]
        );
    }
}
