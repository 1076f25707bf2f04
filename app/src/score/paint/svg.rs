//! Marks as elements of the page: a path for each look, in seconds by pixels. Time moves by the picture's view box alone.

use std::fmt::Write;

use timeline::Millis;

use super::{Area, Painter};
use crate::numbers::{fixed, thousandths};
use crate::score::ink::{Colour, Edge, Fill, PodLook};
use crate::score::places::Density;

/// A shape without an end reaches this far, in seconds: the view box cuts it off.
pub const FAR: f64 = 10_000_000.0;

/// A path of the picture, with its presentation attributes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// "bar available low": what it shows, for style sheets and tests.
    pub class: String,
    /// Shape of the path, as attribute `d` has it.
    pub d: String,
    /// Filling of the path.
    pub fill: String,
    /// Opacity of the filling.
    pub fill_opacity: Option<f64>,
    /// The colour of its line.
    pub stroke: Option<String>,
    /// Thickness of its line, in pixels.
    pub stroke_width: Option<f64>,
    /// Dashes of its line.
    pub dashes: Option<String>,
}

/// Paints paths. Times are counted from `base_millis`.
pub struct Paths<'p> {
    base_millis: Millis,
    /// Before the ids of this picture's patterns.
    prefix: &'p str,
    paths: Vec<Path>,
}

impl<'p> Paths<'p> {
    /// Nothing yet.
    pub const fn new(base_millis: Millis, prefix: &'p str) -> Self {
        Self { base_millis, prefix, paths: Vec::new() }
    }

    /// Returns the painted paths.
    pub fn done(self) -> Vec<Path> {
        self.paths
    }

    /// The path of that kind, made where there is none; shapes of the same kind share one.
    fn path(&mut self, class: String, make: impl FnOnce() -> Path) -> &mut String {
        let at = self.paths.iter().position(|path| path.class == class).unwrap_or_else(|| {
            self.paths.push(Path { class, ..make() });
            self.paths.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "it was found or made just now")]
        &mut self.paths[at].d
    }

    fn x(&self, at_millis: Millis) -> f64 {
        (at_millis - self.base_millis) as f64 / 1000.0
    }

    /// Absolute places: relative steps as wide as [`FAR`] lose their last digits in a browser's single precision.
    fn ends(&self, area: Area) -> (String, String) {
        let from = self.x(area.from);
        (thousandths(from), thousandths(area.to.map_or(FAR, |to| self.x(to)).max(from)))
    }
}

fn var(colour: Colour) -> String {
    format!("var({})", colour.token())
}

fn lined(edge: Edge, colour: Colour) -> Path {
    Path {
        fill: "none".to_owned(),
        stroke: Some(var(colour)),
        stroke_width: Some(edge.width),
        dashes: edge.dashes.map(|(dash, room)| format!("{dash} {room}")),
        ..Path::default()
    }
}

impl Painter for Paths<'_> {
    fn fill(&mut self, look: PodLook, density: Density, fill: Fill, area: Area) {
        let room = match density {
            Density::Roomy => "",
            Density::Low => " low",
            Density::Tight => " low tight",
        };
        let ((from, to), prefix) = (self.ends(area), self.prefix);
        let d = self.path(format!("bar {}{room}", look.name()), || match fill {
            Fill::Tint(share) => Path {
                fill: var(look.ink().colour),
                fill_opacity: Some(share).filter(|share| *share < 1.0),
                ..Path::default()
            },
            Fill::Pattern(pattern) => Path { fill: format!("url(#{prefix}{})", pattern.name()), ..Path::default() },
        });
        let _ = write!(d, "M{from} {}H{to}V{}H{from}z", fixed(area.upper), fixed(area.lower));
    }

    fn edges(&mut self, look: PodLook, edge: Edge, colour: Colour, area: Area) {
        let (from, to) = self.ends(area);
        // Where there is nothing but the line, it is the bar.
        let kind = if area.upper < area.lower { "edge" } else { "bar" };
        let d = self.path(format!("{kind} {}", look.name()), || lined(edge, colour));
        let _ = write!(d, "M{from} {}H{to}", fixed(area.upper));
        if area.upper < area.lower {
            let _ = write!(d, "M{from} {}H{to}", fixed(area.lower));
        }
    }

    fn end(&mut self, look: PodLook, edge: Edge, colour: Colour, area: Area) {
        let from = thousandths(self.x(area.from));
        let d = self.path(format!("bar {}", look.name()), || lined(edge, colour));
        let _ = write!(d, "M{from} {}V{}", fixed(area.upper), fixed(area.lower));
    }
}
