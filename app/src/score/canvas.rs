//! Marks as pixels: the picture is painted if it has more pods than a browser can handle as elements. Looks like the elements, in
//! the colours of the style sheet.

use timeline::Millis;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, HtmlCanvasElement};

use super::bars::{BarMark, Painter, paint};
use super::frame::Frame;
use super::ink::{Colour, DOT, Edge, Fill, Pattern, PodLook};
use super::places::Density;
use super::scale;

/// A common period of all patterns, in pixels: a shift by it changes nothing.
const PERIOD: f64 = 1_050.0;

/// A canvas and its marks.
pub struct Canvas {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    marks: Vec<BarMark>,
    /// Whether the marks changed since the last painting.
    is_old: bool,
    /// Parameters of the last painting: now, window, width, height and pixel ratio.
    painted: Option<(f64, f64, f64, f64, f64)>,
    theme: String,
    palette: Palette,
}

/// The colours of the theme, and the patterns in them.
#[derive(Default)]
struct Palette {
    colours: Vec<(Colour, String)>,
    patterns: Vec<(&'static Pattern, Option<CanvasPattern>)>,
}

impl Canvas {
    /// Creates a canvas painter; `None` if the browser does not support painting.
    pub fn new(canvas: HtmlCanvasElement) -> Option<Self> {
        let context = context(&canvas)?;
        let (theme, palette) = ("none".to_owned(), Palette::default());
        Some(Self { canvas, context, marks: Vec::new(), is_old: false, painted: None, theme, palette })
    }

    /// Replaces the marks.
    pub fn show(&mut self, marks: Vec<BarMark>) {
        self.is_old |= !(marks.is_empty() && self.marks.is_empty());
        self.marks = marks;
    }

    /// Repaints if the result differs by at least one pixel of the screen.
    pub fn paint(&mut self, frame: Frame, height: f64) {
        if self.marks.is_empty() && !self.is_old {
            return;
        }
        let ratio = scale::sharpness(leptos::prelude::window().device_pixel_ratio(), frame.width, height);
        let per_milli = frame.width * ratio / frame.window_millis;
        let now = ((frame.now_millis - frame.base_millis) as f64 * per_milli).round();
        let wanted = (now, frame.window_millis, frame.width, height, ratio);
        let is_new_palette = self.update_palette(ratio);
        if self.painted == Some(wanted) && !self.is_old && !is_new_palette {
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
        // Patterns move together with the stretch of time that they fill.
        let period = (PERIOD * ratio).round();
        let shift = (wide - now) - ((wide - now) / period).floor() * period;
        let _ = context.translate(shift, 0.0);
        let mut brush = Brush {
            context,
            palette: &self.palette,
            base_millis: frame.base_millis,
            ratio,
            left: -shift,
            right: wide - shift,
            zero: wide - now - shift,
            per_milli,
            filled: None,
        };
        paint(&self.marks, &mut brush);
    }

    /// Reads the colours of the theme; returns whether they were read again.
    fn update_palette(&mut self, ratio: f64) -> bool {
        let Some(root) = leptos::prelude::document().document_element() else { return false };
        let theme = root.get_attribute("data-theme").unwrap_or_default();
        let is_same_size = self.painted.is_some_and(|(.., known)| known.to_bits() == ratio.to_bits());
        if theme == self.theme && is_same_size {
            return false;
        }
        let Ok(Some(style)) = leptos::prelude::window().get_computed_style(&root) else { return false };
        let value = |colour: Colour| style.get_property_value(colour.token()).unwrap_or_default();
        let tile = |kind: &'static Pattern| (kind, pattern(&self.context, &value(kind.colour), kind, ratio));
        self.palette = Palette {
            colours: PodLook::all().map(|look| look.ink().colour).map(|colour| (colour, value(colour))).collect(),
            patterns: Pattern::ALL.into_iter().map(tile).collect(),
        };
        self.theme = theme;
        true
    }
}

/// Paints marks on a canvas, in device pixels.
struct Brush<'c> {
    context: &'c CanvasRenderingContext2d,
    palette: &'c Palette,
    base_millis: Millis,
    ratio: f64,
    /// Left and right edge of the picture.
    left: f64,
    right: f64,
    /// Position of the base time.
    zero: f64,
    per_milli: f64,
    /// Present colour and filling of the context.
    filled: Option<(Colour, Fill)>,
}

impl Brush<'_> {
    /// Sets the filling of the next shapes.
    fn set_fill(&mut self, colour: Colour, fill: Fill) {
        if self.filled == Some((colour, fill)) {
            return;
        }
        self.filled = Some((colour, fill));
        let pattern = self.palette.patterns.iter().find(|(known, _)| fill == Fill::Pattern(known));
        self.context.set_global_alpha(if let Fill::Tint(share) = fill { share } else { 1.0 });
        match pattern.and_then(|(_, pattern)| pattern.as_ref()) {
            Some(pattern) => self.context.set_fill_style_canvas_pattern(pattern),
            None => {
                let known = self.palette.colours.iter().find(|(known, _)| *known == colour);
                self.context.set_fill_style_str(known.map_or("", |(_, value)| value));
            }
        }
    }

    fn span(&self, mark: BarMark) -> (f64, f64) {
        let x = |at: Millis| self.zero + (at - self.base_millis) as f64 * self.per_milli;
        let from = x(mark.from).max(self.left - self.ratio);
        (from, mark.to.map_or(self.right, x).min(self.right))
    }
}

impl Painter for Brush<'_> {
    fn fill(&mut self, mark: BarMark, fill: Fill) {
        self.set_fill(mark.look.ink().colour, fill);
        let (mut from, mut to) = self.span(mark);
        let (mut upper, mut lower) = (mark.upper() * self.ratio, mark.lower() * self.ratio);
        if mark.density == Density::Tight {
            // Neighbours meet at whole pixels, so that no background is visible between them. The first rounding also covers
            // edges halfway between two pixels whose last digits differ.
            [from, to, upper, lower] = [from, to, upper, lower].map(|edge| ((edge * 256.0).round() / 256.0).round());
        }
        if to > from {
            self.context.fill_rect(from, upper, to - from, lower - upper);
        }
    }

    fn edges(&mut self, mark: BarMark, edge: Edge) {
        self.set_fill(mark.look.ink().colour, Fill::Tint(1.0));
        let (from, to) = self.span(mark);
        let width = edge.width * self.ratio;
        let (dash, room) = edge.dashes.unwrap_or((to - from, 0.0));
        let step = (dash + room) * self.ratio;
        // Dashes keep their position in time.
        let first = if edge.dashes.is_some() { ((from - self.zero) / step).floor() * step + self.zero } else { from };
        for y in mark.edges() {
            let mut at = first;
            while at < to && step > 0.0 {
                let (left, right) = (at.max(from), (at + dash * self.ratio).min(to));
                if right > left {
                    self.context.fill_rect(left, y * self.ratio - width / 2.0, right - left, width);
                }
                at += step;
            }
        }
    }

    fn end(&mut self, mark: BarMark, edge: Edge) {
        self.set_fill(mark.look.ink().colour, Fill::Tint(1.0));
        let ((from, _), width) = (self.span(mark), edge.width * self.ratio);
        let (upper, lower) = (mark.upper() * self.ratio, mark.lower() * self.ratio);
        self.context.fill_rect(from - width / 2.0, upper, width, lower - upper);
    }
}

/// Creates a pattern in a colour.
fn pattern(context: &CanvasRenderingContext2d, colour: &str, kind: &Pattern, ratio: f64) -> Option<CanvasPattern> {
    let drawn: HtmlCanvasElement = leptos::prelude::document().create_element("canvas").ok()?.dyn_into().ok()?;
    let pixels = (kind.side * ratio).round().max(1.0);
    drawn.set_width(pixels as u32);
    drawn.set_height(pixels as u32);
    let ink = self::context(&drawn)?;
    let unit = pixels / kind.side;
    ink.set_fill_style_str(colour);
    ink.set_global_alpha(kind.ground);
    ink.fill_rect(0.0, 0.0, pixels, pixels);
    ink.set_global_alpha(1.0);
    if kind.stripe > 0.0 {
        ink.fill_rect(0.0, 0.0, kind.stripe * unit, pixels);
    } else {
        let middle = pixels / 2.0;
        let _ = ink.arc(middle, middle, DOT * unit, 0.0, std::f64::consts::TAU);
        ink.fill();
    }
    let pattern = context.create_pattern_with_html_canvas_element(&drawn, "repeat").ok()??;
    let (sine, cosine) = f64::from(kind.degrees).to_radians().sin_cos();
    let turn = js_sys::Object::new();
    for (name, value) in [("a", cosine), ("b", sine), ("c", -sine), ("d", cosine), ("e", 0.0), ("f", 0.0)] {
        let _ = js_sys::Reflect::set(&turn, &name.into(), &value.into());
    }
    pattern.set_transform(turn.unchecked_ref()); // browsers accept any object with these six fields
    Some(pattern)
}

fn context(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten().map(JsValue::from)?.dyn_into().ok()
}
