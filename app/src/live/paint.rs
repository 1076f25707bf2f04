//! Paints bars on a canvas: what the picture does with more pods than a browser should have elements for. Looks like the
//! elements do (`style/states.css`), in the colours of the style sheet.

use std::f64::consts::FRAC_1_SQRT_2;

use timeline::Millis;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, HtmlCanvasElement};

use crate::scene::Frame;
use crate::scene::bars::Mark;
use crate::score::places::Density;
use crate::score::scale;

/// How a state is painted.
struct Ink {
    state: &'static str,
    colour: &'static str,
    /// Where there is room for shapes, and where there is not.
    roomy: Fill,
    low: Fill,
    /// Thickness of its edges, in pixels.
    edge: f64,
    edged: Fill,
}

/// What a shape is filled with.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    /// So much of the colour.
    Tint(f64),
    /// A pattern, by its place among the [`TILES`].
    Tile(usize),
}
use Fill::{Tile, Tint};

/// A pattern, in pixels: its side, how much colour there is everywhere, how wide its stripe is (a dot, where it has none), and the sine
/// of how far it is turned.
const TILES: [(f64, f64, f64, f64); 5] = [
    (6.0, 0.3, 2.2, FRAC_1_SQRT_2),  // stripes
    (5.0, 0.2, 1.6, -FRAC_1_SQRT_2), // hatch
    (5.0, 0.3, 0.0, 0.0),            // dots
    (5.0, 0.0, 2.0, 0.0),            // dashes
    (7.0, 0.0, 4.0, 0.0),            // long dashes
];
/// In patterns that are not turned a dot has this radius.
const DOT: f64 = 1.0;
/// Thickness of lines, in pixels.
const LINE: f64 = 1.5;
/// After so many pixels every pattern is where it was.
const PERIOD: f64 = 1_050.0;

const fn ink(state: &'static str, colour: &'static str, roomy: Fill, low: Fill, edge: f64) -> Ink {
    Ink { state, colour, roomy, low, edge, edged: Tint(1.0) }
}

const INKS: [Ink; 10] = [
    ink("available", "--available", Tint(1.0), Tint(1.0), 0.0),
    ink("finished", "--available", Tint(0.4), Tint(0.4), 0.0),
    ink("ready", "--ready", Tile(2), Tint(0.6), 1.0),
    ink("unready", "--unready", Tint(0.12), Tint(0.55), 1.5),
    ink("starting", "--starting", Tile(1), Tile(1), 0.8),
    ink("scheduling", "--scheduling", Tile(3), Tint(0.35), 0.0),
    ink("failing", "--failing", Tint(1.0), Tint(1.0), 0.0),
    ink("terminating", "--terminating", Tile(0), Tile(0), 0.0),
    ink("gone", "--line-strong", Tint(1.0), Tint(1.0), 0.0),
    Ink { state: "outside", colour: "--quarantine", roomy: Tint(0.12), low: Tint(0.35), edge: 1.4, edged: Tile(4) },
];

/// A canvas and what is on it.
pub(super) struct Paint {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    marks: Vec<Mark>,
    /// The marks differ from what is painted.
    is_old: bool,
    /// What is painted: where now is, the window, size and sharpness.
    painted: Option<(f64, f64, f64, f64, f64)>,
    theme: String,
    inks: Vec<Mixed>,
}

/// A colour of the theme, and the patterns in it.
struct Mixed {
    colour: String,
    patterns: Vec<Option<CanvasPattern>>,
}

impl Paint {
    /// The canvas with that id.
    pub(super) fn new(id: &str) -> Option<Self> {
        let canvas: HtmlCanvasElement = super::element(id)?.dyn_into().ok()?;
        let context = context(&canvas)?;
        let theme = "none".to_owned();
        Some(Self { canvas, context, marks: Vec::new(), is_old: false, painted: None, theme, inks: Vec::new() })
    }

    /// What to paint from here on.
    pub(super) fn show(&mut self, marks: Vec<Mark>) {
        self.is_old |= !(marks.is_empty() && self.marks.is_empty());
        self.marks = marks;
    }

    /// Paints everything anew where it differs by a pixel of the screen.
    pub(super) fn paint(&mut self, frame: Frame, height: f64) {
        if self.marks.is_empty() && !self.is_old {
            return;
        }
        let ratio = web_sys::window().map_or(1.0, |window| window.device_pixel_ratio());
        let ratio = scale::sharpness(ratio, frame.width, height);
        let per_milli = frame.width * ratio / frame.window_millis;
        let now = ((frame.now_millis - frame.base_millis) as f64 * per_milli).round();
        let wanted = (now, frame.window_millis, frame.width, height, ratio);
        let is_mixed = self.mix(ratio);
        if self.painted == Some(wanted) && !self.is_old && !is_mixed {
            return;
        }
        (self.painted, self.is_old) = (Some(wanted), false);
        let (wide, high) = ((frame.width * ratio).round(), (height * ratio).round());
        if (self.canvas.width(), self.canvas.height()) != (wide as u32, high as u32) {
            self.canvas.set_width(wide as u32);
            self.canvas.set_height(high as u32);
        }
        let context = &self.context;
        let _ = context.set_transform(1.0, 0.0, 0.0, 1.0, 0.0, 0.0);
        context.clear_rect(0.0, 0.0, wide, high);
        // Patterns move with the time that they fill.
        let period = (PERIOD * ratio).round();
        let shift = (wide - now) - ((wide - now) / period).floor() * period;
        let _ = context.translate(shift, 0.0);
        let brush = Brush { context, ratio, left: -shift, right: wide - shift, zero: wide - now - shift, per_milli };
        for (ink, mixed) in INKS.iter().zip(&self.inks) {
            let mine = |is_roomy: bool| {
                self.marks
                    .iter()
                    .filter(move |mark| mark.name == ink.state && (mark.density == Density::Roomy) == is_roomy)
            };
            for (fill, is_roomy) in [(ink.low, false), (ink.roomy, true)] {
                let mut marks = mine(is_roomy).peekable();
                if marks.peek().is_some() {
                    mixed.dip(context, fill);
                    marks.for_each(|mark| brush.fill(mark, frame.base_millis));
                }
            }
            if ink.edge > 0.0 && mine(true).next().is_some() {
                mixed.dip(context, ink.edged);
                mine(true).for_each(|mark| brush.edges(mark, frame.base_millis, ink.edge));
            }
        }
    }

    /// Takes the colours of the theme; true when they are others.
    fn mix(&mut self, ratio: f64) -> bool {
        let Some(window) = web_sys::window() else { return false };
        let Some(root) = window.document().and_then(|document| document.document_element()) else { return false };
        let theme = root.get_attribute("data-theme").unwrap_or_default();
        let is_same_size = self.painted.is_some_and(|(.., known)| known.to_bits() == ratio.to_bits());
        if theme == self.theme && is_same_size {
            return false;
        }
        let Ok(Some(style)) = window.get_computed_style(&root) else { return false };
        let mixed = |ink: &Ink| {
            let colour = style.get_property_value(ink.colour).unwrap_or_default();
            let used = |tile: usize| [ink.roomy, ink.low, ink.edged].contains(&Tile(tile));
            let tile = |(index, tile)| if used(index) { pattern(&self.context, &colour, tile, ratio) } else { None };
            let patterns = TILES.into_iter().enumerate().map(tile).collect();
            Mixed { colour, patterns }
        };
        self.inks = INKS.iter().map(mixed).collect();
        self.theme = theme;
        true
    }
}

impl Mixed {
    /// What is filled from here on is filled with this.
    fn dip(&self, context: &CanvasRenderingContext2d, fill: Fill) {
        let (alpha, pattern) = match fill {
            Tint(alpha) => (alpha, None),
            Tile(index) => (1.0, self.patterns.get(index).and_then(Option::as_ref)),
        };
        context.set_global_alpha(alpha);
        match pattern {
            Some(pattern) => context.set_fill_style_canvas_pattern(pattern),
            None => context.set_fill_style_str(&self.colour),
        }
    }
}

/// Puts marks on a canvas, in its own pixels.
struct Brush<'c> {
    context: &'c CanvasRenderingContext2d,
    ratio: f64,
    /// The edges of the picture.
    left: f64,
    right: f64,
    /// Where the base of times is.
    zero: f64,
    per_milli: f64,
}

impl Brush<'_> {
    fn span(&self, mark: &Mark, base_millis: Millis) -> (f64, f64) {
        let x = |at: Millis| self.zero + (at - base_millis) as f64 * self.per_milli;
        let from = x(mark.from).max(self.left - self.ratio);
        (from, mark.to.map_or(self.right, x).min(self.right))
    }

    fn fill(&self, mark: &Mark, base_millis: Millis) {
        let ((mut from, mut to), middle) = (self.span(mark, base_millis), mark.y * self.ratio);
        let mut half = mark.height * self.ratio / 2.0;
        match (mark.name, mark.density) {
            ("gone", _) => {
                let line = LINE * self.ratio / 2.0;
                (from, to) = (from - line, from + line);
            }
            ("scheduling", Density::Roomy) => half = LINE * self.ratio / 2.0,
            _ => {}
        }
        let (mut upper, mut lower) = (middle - half, middle + half);
        if mark.density == Density::Tight {
            // Neighbours meet at whole pixels, so that no ground shines through between them.
            [from, to, upper, lower] = [from, to, upper, lower].map(f64::round);
        }
        if to > from {
            self.context.fill_rect(from, upper, to - from, lower - upper);
        }
    }

    fn edges(&self, mark: &Mark, base_millis: Millis, thickness: f64) {
        let (from, to) = self.span(mark, base_millis);
        let thickness = thickness * self.ratio;
        for y in [mark.y - mark.height / 2.0, mark.y + mark.height / 2.0] {
            if to > from {
                self.context.fill_rect(from, y * self.ratio - thickness / 2.0, to - from, thickness);
            }
        }
    }
}

/// A pattern in a colour.
fn pattern(
    context: &CanvasRenderingContext2d,
    colour: &str,
    (side, soft, stripe, sine): (f64, f64, f64, f64),
    ratio: f64,
) -> Option<CanvasPattern> {
    let document = web_sys::window()?.document()?;
    let tile: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
    let pixels = (side * ratio).round().max(1.0);
    tile.set_width(pixels as u32);
    tile.set_height(pixels as u32);
    let drawn = self::context(&tile)?;
    let unit = pixels / side;
    drawn.set_fill_style_str(colour);
    drawn.set_global_alpha(soft);
    drawn.fill_rect(0.0, 0.0, pixels, pixels);
    drawn.set_global_alpha(1.0);
    if stripe > 0.0 {
        drawn.fill_rect(0.0, 0.0, stripe * unit, pixels);
    } else {
        let middle = pixels / 2.0;
        let _ = drawn.arc(middle, middle, DOT * unit, 0.0, std::f64::consts::TAU);
        drawn.fill();
    }
    let pattern = context.create_pattern_with_html_canvas_element(&tile, "repeat").ok()??;
    if sine != 0.0 {
        let cosine = sine.abs(); // by 45 degrees, one way or the other
        let turn = js_sys::Object::new();
        for (name, value) in [("a", cosine), ("b", sine), ("c", -sine), ("d", cosine), ("e", 0.0), ("f", 0.0)] {
            let _ = js_sys::Reflect::set(&turn, &name.into(), &value.into());
        }
        pattern.set_transform(turn.unchecked_ref()); // browsers take any object with these six
    }
    Some(pattern)
}

fn context(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten().map(JsValue::from)?.dyn_into().ok()
}
