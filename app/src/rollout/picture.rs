//! The picture as signals: an object for each of its parts, and handles of the elements that move with every frame.

use leptos::html;
use leptos::prelude::*;
use leptos::svg;
use timeline::Millis;
use timeline::budget::Limits;
use timeline::model::PodState;
use timeline::story::Line;

use crate::elements::{Elements, Neighbour, neighbour_key};
use crate::numbers::{fixed, thousandths};
use crate::rows::{Rows, set_if_new};
use crate::scoped::ScopedSignal;
use crate::score::bars::BarMark;
use crate::score::budget::{HEIGHT, Strip};
use crate::score::frame::Frame;
use crate::score::ink::{Pattern, PodLook};
use crate::score::lanes::BandHeading;
use crate::score::order::PodOrder;
use crate::score::scene::{BandRow, Bars, GapArea, HeadPlace, PodHead, Scene};
use crate::score::style_sheet;

/// The picture of a Deployment. Copies are handles of the same one.
#[derive(Clone, Copy, Default)]
pub struct Picture {
    /// Prefix of the ids of its patterns and lists: a wall shows several pictures.
    pub prefix: &'static str,
    /// Base of the times in the picture.
    pub base_millis: ScopedSignal<Millis>,
    /// Start and end of dashed lines.
    pub dashed_millis: ScopedSignal<(Millis, Millis)>,
    /// The bands, from top to bottom.
    pub bands: Rows<BandRow>,
    /// The bars that are elements: those of few pods, and ribbons.
    pub bars: Rows<Bars>,
    /// The pods in their present state, in the order of their rows.
    pub heads: Rows<PodHead>,
    /// Positions of the heads, by the same keys.
    pub spots: Rows<HeadPlace>,
    /// The present states beside each ribbon.
    pub columns: Rows<Vec<BarMark>>,
    /// Stretches of time that were not observed, or are no longer stored.
    pub gaps: Rows<GapArea>,
    /// The pods as rows of a table.
    pub table: Rows<PodHead>,
    /// Order chosen for the table; `None` for that of the picture.
    pub order: RwSignal<Option<PodOrder>>,
    /// Number of pods that are not available and not in the table ([`Scene::unlisted`]).
    pub unlisted: RwSignal<Option<usize>>,
    /// The lines of the story, the oldest first.
    pub story: Rows<Line>,
    /// The lines of the story that are points on the axis.
    pub points: Rows<Line>,
    /// Times of the ticks.
    pub ticks: RwSignal<Vec<Millis>>,
    /// The budget strip: pods over time against the limits.
    pub strip: RwSignal<Strip>,
    /// The height of the picture, in pixels.
    pub height: RwSignal<f64>,
    /// Width of the picture if it differs from that of its room.
    pub width: RwSignal<Option<i32>>,
    /// Whether the picture leaves room in a large window for the pod table.
    pub has_spare: RwSignal<bool>,
    /// Tip of the place under the pointer, or of the focused pod.
    pub tip: RwSignal<Option<Tip>>,
    /// The line of the story to which a point of the axis led.
    pub pointed: ScopedSignal<Option<Millis>>,
    /// Handles of the elements that are measured, moved or focused.
    pub nodes: Nodes,
}

/// Tip of a place of the score.
#[derive(Debug, Clone, PartialEq)]
pub struct Tip {
    /// Position, as a style.
    pub place: String,
    /// Distance of the moment from the left edge of the score, in pixels.
    pub x: f64,
    /// The time of the place.
    pub at_millis: Millis,
    pub content: TipContent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TipContent {
    Pod {
        /// Name of the pod.
        name: String,
        /// Look of its bar at that time.
        look: PodLook,
        /// Start of the state, as far as it was observed.
        since_millis: Millis,
        /// Whether the state began before the observation.
        is_older: bool,
        /// End of the state; `None` while it lasts.
        until_millis: Option<Millis>,
        /// Duration of the state until the shown time.
        lasted_millis: Millis,
        /// Reason why the pod is not well; empty if unknown.
        reason: String,
    },
    /// A ribbon or the strip: number of pods of each look; for the strip also the limits at that time.
    Counts(Vec<(PodLook, usize)>, Option<Limits>),
}

/// Elements of a picture that are measured or move with every frame.
#[derive(Clone, Copy, Default)]
pub struct Nodes {
    /// The room that the picture shares with the pod table; absent on a wall.
    pub room: NodeRef<html::Div>,
    /// The part of the score in which the picture scrolls.
    pub scroller: NodeRef<html::Div>,
    /// The element around all bands.
    pub picture: NodeRef<html::Div>,
    /// The element that contains the bars, as wide as the stretch of time.
    pub canvas: NodeRef<html::Div>,
    /// The canvas on which many bars are painted.
    pub paint: NodeRef<html::Canvas>,
    /// The SVG element that contains the bars that are elements.
    pub bars: NodeRef<svg::Svg>,
    pub strip: NodeRef<svg::Svg>,
    /// The patterns, in the order of [`Pattern::ALL`].
    pub patterns: [NodeRef<svg::Pattern>; 3],
    /// The lists whose style holds the times of the axis: ticks, points, gaps of the strip and of the bands.
    pub timed: [NodeRef<html::Div>; 4],
    /// The heads of the pods, by the keys of [`Picture::heads`].
    pub heads: Elements,
}

impl Picture {
    /// Creates a picture of that scene, for that frame, with these ticks.
    pub fn from_scene(scene: Scene, ticks: Vec<Millis>, frame: Frame) -> Self {
        let picture = Self::default();
        picture.show(scene, frame);
        picture.ticks.set(ticks);
        picture
    }

    /// Returns the revision and the joined images of each band. Follows the bands.
    pub fn images(&self) -> Vec<(Option<u64>, String)> {
        let bands = self.bands.order().into_iter().filter_map(|key| self.bands.row(key));
        bands.map(|band| band.with(|band| (band.heading.revision, band.heading.images.clone()))).collect()
    }

    /// Shows another scene; updates only the differences.
    pub fn show(&self, mut scene: Scene, frame: Frame) {
        self.base_millis.set(frame.base_millis);
        self.dashed_millis.set(frame.dashed_millis());
        set_if_new(&self.height, scene.height);
        self.bands.set(scene.bands);
        self.bars.set(scene.bars);
        self.spots.set(scene.spots);
        self.heads.set(scene.heads);
        self.columns.set(scene.columns);
        self.gaps.set(scene.gaps);
        if let Some(order) = self.order.get_untracked() {
            order.sort(&mut scene.table);
        }
        self.table.set(scene.table);
        set_if_new(&self.unlisted, scene.unlisted);
        self.story.set(scene.story);
        self.points.set(scene.points);
        set_if_new(&self.strip, scene.strip);
    }

    /// Focuses the pod before or after another one; returns false if there is none.
    pub fn focus_beside(&self, head: u128, neighbour: Neighbour) -> bool {
        neighbour_key(&self.heads.order_untracked(), head, neighbour).is_some_and(|head| self.nodes.heads.focus(head))
    }

    /// Focuses the first existing pod of a band, or of all; returns false if there is none.
    pub fn focus_first_of(&self, band: Option<&BandHeading>) -> bool {
        let is_of_band = |head: &PodHead| band.is_none_or(|band| head.replica_set == band.replica_set);
        let is_it = |head: &PodHead| is_of_band(head) && head.state != PodState::Gone;
        let is_first = |key: &u128| self.heads.row(*key).is_some_and(|head| head.with_untracked(is_it));
        self.heads.order_untracked().into_iter().find(is_first).is_some_and(|head| self.nodes.heads.focus(head))
    }

    /// Moves the axis: the only work in every frame, without signals.
    pub fn move_to(&self, frame: Frame, moved: &mut FrameStyles) {
        let wanted = FrameStyles::at(frame, self.height.get_untracked());
        if wanted == *moved {
            return;
        }
        for node in self.nodes.timed.iter().filter_map(NodeRef::get_untracked) {
            crate::browser::style(&node, &wanted.times);
        }
        for (node, view_box) in [(self.nodes.strip, &wanted.strip), (self.nodes.bars, &wanted.bars)] {
            if let Some(node) = node.get_untracked() {
                let _ = node.set_attribute("viewBox", view_box); // the names of the attributes are valid
            }
        }
        for (node, transform) in self.nodes.patterns.iter().zip(&wanted.patterns) {
            if let Some(node) = node.get_untracked() {
                let _ = node.set_attribute("patternTransform", transform);
            }
        }
        *moved = wanted;
    }
}

/// Styles of the picture that change with every frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameStyles {
    /// Custom properties that position the times of the axis, as a style.
    pub times: String,
    /// The view box of the budget strip.
    pub strip: String,
    /// The view box of the bars.
    pub bars: String,
    /// Transforms of the patterns, in the order of [`Pattern::ALL`].
    pub patterns: [String; 3],
}

impl FrameStyles {
    /// Returns the styles at that time. `height` is that of all bands, in pixels.
    pub fn at(frame: Frame, height: f64) -> Self {
        let (now, window) = (frame.x(frame.now_millis), frame.window_millis / 1000.0);
        let view_box = |height| format!("{} 0 {} {}", thousandths(now - window), thousandths(window), fixed(height));
        // The rotated patterns undo the stretch of the view box.
        let turned =
            |pattern: &Pattern| format!("scale({} 1) rotate({})", thousandths(window / frame.width), pattern.degrees);
        Self {
            times: style_sheet::times(frame),
            strip: view_box(HEIGHT),
            bars: view_box(height),
            patterns: Pattern::ALL.map(turned),
        }
    }
}
