//! The look of each state in the picture: one table for every painter ([`super::bars::paint`]). CONTRIBUTING.md lists the other
//! places that a new state needs.

use timeline::model::PodState;

/// Look of a stretch of a pod's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodLook {
    /// The pod is in this state and belongs to its ReplicaSet.
    In(PodState),
    /// The pod is out of rotation.
    Outside,
}

/// A colour of the theme, named after the custom property that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Pods that are available.
    Available,
    /// Pods that are ready and not available yet.
    Ready,
    /// Pods whose containers run and are not ready.
    Unready,
    /// Pods whose containers start.
    Starting,
    /// Pods without a node.
    Scheduling,
    /// Pods that fail.
    Failing,
    /// Pods that are being deleted.
    Terminating,
    /// Pods out of rotation.
    Quarantine,
    /// Emphasised lines.
    Line,
}

impl Colour {
    const fn token_and_dark(self) -> (&'static str, &'static str) {
        match self {
            Self::Available => ("--available", "#37b8a3"),
            Self::Ready => ("--ready", "#7fd0c3"),
            Self::Unready => ("--unready", "#e0a43a"),
            Self::Starting => ("--starting", "#8fa3b8"),
            Self::Scheduling => ("--scheduling", "#8d96a0"),
            Self::Failing => ("--failing", "#f0765c"),
            Self::Terminating => ("--terminating", "#a797cf"),
            Self::Quarantine => ("--quarantine", "#e084c6"),
            Self::Line => ("--line-strong", "#454c53"),
        }
    }

    /// Returns the custom property of the style sheet.
    pub const fn token(self) -> &'static str {
        self.token_and_dark().0
    }

    /// Returns the colour of the dark theme, for files without a style sheet.
    pub const fn dark(self) -> &'static str {
        self.token_and_dark().1
    }

    /// Returns the colour as a value of an attribute.
    pub fn var(self) -> String {
        format!("var({})", self.token())
    }
}

/// A pattern with its colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Name of the pattern and of its element.
    pub name: &'static str,
    /// Its colour.
    pub colour: Colour,
    /// Rotation in degrees. Dots look the same with any rotation, but browsers have faults: without rotation Firefox does not
    /// repeat the pattern over the whole of a very wide shape, and with 90 degrees WebKit does not draw it where time is narrow.
    pub degrees: i32,
    /// Side of its square tile, in pixels.
    pub side: f64,
    /// Opacity of the colour in the background of the pattern.
    pub ground: f64,
    /// Width of the stripe; 0 for a dot.
    pub stripe: f64,
}

impl Pattern {
    /// Stripes that rise to the right.
    pub const STRIPES: Self =
        Self { name: "stripes", colour: Colour::Terminating, degrees: 45, side: 6.0, ground: 0.3, stripe: 2.2 };
    /// Hatching that falls to the right.
    pub const HATCH: Self =
        Self { name: "hatch", colour: Colour::Starting, degrees: -45, side: 5.0, ground: 0.2, stripe: 1.6 };
    /// A pattern of dots.
    pub const DOTS: Self =
        Self { name: "dots", colour: Colour::Ready, degrees: 180, side: 5.0, ground: 0.3, stripe: 0.0 };
    /// Every pattern.
    pub const ALL: [&'static Self; 3] = [&Self::STRIPES, &Self::HATCH, &Self::DOTS];
}

/// Radius of a dot, in pixels.
pub const DOT: f64 = 1.0;

/// Filling of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// The colour with this opacity.
    Tint(f64),
    /// A pattern.
    Pattern(&'static Pattern),
}

/// Shape of a mark if there is room for shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A box.
    Bar,
    /// A dashed line through the middle.
    Thread,
    /// A vertical line at the start.
    End,
}

/// The lines along a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Thickness of the lines, in pixels.
    pub width: f64,
    /// Length of dashes and gaps, in pixels; `None` for a solid line.
    pub dashes: Option<(f64, f64)>,
}

/// Drawing of a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ink {
    /// Colour of the look.
    pub colour: Colour,
    /// Shape if there is room for shapes.
    pub form: Form,
    /// Filling if there is room for shapes.
    pub roomy: Fill,
    /// Filling if there is no room for shapes.
    pub low: Fill,
    /// Share of the bar's height if there is room.
    pub share: f64,
    /// Lines along the mark if there is room.
    pub edge: Option<Edge>,
}

impl PodLook {
    /// Returns every look.
    pub fn all() -> impl Iterator<Item = Self> {
        PodState::ALL.into_iter().map(Self::In).chain([Self::Outside])
    }

    /// Returns the name: a class, for tests and style sheets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::In(state) => state.name(),
            Self::Outside => "outside",
        }
    }

    /// Returns the name in sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::In(state) => state.label(),
            Self::Outside => "out of rotation",
        }
    }

    /// Returns the drawing of the look.
    pub const fn ink(self) -> Ink {
        match self {
            Self::In(PodState::Available) => tint(Colour::Available, 1.0),
            Self::In(PodState::Finished) => tint(Colour::Available, 0.4),
            Self::In(PodState::Failing) => tint(Colour::Failing, 1.0),
            Self::In(PodState::Ready) => Ink { low: Fill::Tint(0.6), edge: line(1.0), ..pattern(&Pattern::DOTS) },
            Self::In(PodState::Starting) => Ink { share: 0.64, edge: line(0.8), ..pattern(&Pattern::HATCH) },
            Self::In(PodState::Terminating) => Ink { share: 0.6, ..pattern(&Pattern::STRIPES) },
            Self::In(PodState::Unready) => {
                Ink { low: Fill::Tint(0.55), edge: line(1.5), ..tint(Colour::Unready, 0.12) }
            }
            Self::In(PodState::Scheduling) => Ink {
                form: Form::Thread,
                low: Fill::Tint(0.35),
                edge: Some(Edge { width: 1.5, dashes: Some((2.0, 3.0)) }),
                ..tint(Colour::Scheduling, 1.0)
            },
            Self::In(PodState::Gone) => Ink { form: Form::End, edge: line(1.5), ..tint(Colour::Line, 1.0) },
            Self::Outside => Ink {
                low: Fill::Tint(0.35),
                edge: Some(Edge { width: 1.4, dashes: Some((4.0, 3.0)) }),
                ..tint(Colour::Quarantine, 0.12)
            },
        }
    }
}

const fn tint(colour: Colour, share: f64) -> Ink {
    Ink { colour, form: Form::Bar, roomy: Fill::Tint(share), low: Fill::Tint(share), share: 1.0, edge: None }
}

const fn pattern(pattern: &'static Pattern) -> Ink {
    let fill = Fill::Pattern(pattern);
    Ink { colour: pattern.colour, form: Form::Bar, roomy: fill, low: fill, share: 1.0, edge: None }
}

const fn line(width: f64) -> Option<Edge> {
    Some(Edge { width, dashes: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = include_str!("../../../style/tokens.css");

    #[test]
    fn what_is_drawn_has_a_colour_that_each_theme_has() {
        for colour in PodLook::all().map(|look| look.ink().colour) {
            // The light theme, the dark theme by choice, and the dark theme by the browser's setting.
            assert_eq!(TOKENS.matches(&format!("{}: #", colour.token())).count(), 3, "{colour:?}");
        }
    }
}
