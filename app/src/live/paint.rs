//! Paints bars on a canvas: what the picture does with more pods than a browser should have elements for. Looks like the
//! elements do, in the colours of the style sheet.

use timeline::Millis;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, HtmlCanvasElement};

use crate::scene::bars::Mark;

/// State, colour, how much of it, and whether as stripes.
const INKS: [(&str, &str, f64, bool); 10] = [
    ("available", "--available", 1.0, false),
    ("finished", "--available", 0.4, false),
    ("ready", "--ready", 0.6, false),
    ("unready", "--unready", 0.4, false),
    ("starting", "--starting", 1.0, true),
    ("scheduling", "--scheduling", 0.35, false),
    ("failing", "--failing", 1.0, false),
    ("terminating", "--terminating", 1.0, true),
    ("gone", "--line-strong", 1.0, false),
    ("outside", "--quarantine", 0.35, false),
];
/// Side of a tile of stripes, in pixels.
const TILE: u32 = 6;

/// A canvas and what is on it.
pub(super) struct Paint {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    /// What to paint.
    pub(super) marks: Vec<Mark>,
    is_blank: bool,
    theme: String,
    colours: Vec<String>,
    stripes: Vec<Option<CanvasPattern>>,
}

impl Paint {
    /// The canvas with that id.
    pub(super) fn new(id: &str) -> Option<Self> {
        let canvas: HtmlCanvasElement = super::element(id)?.dyn_into().ok()?;
        let context = context(&canvas)?;
        Some(Self {
            canvas,
            context,
            marks: Vec::new(),
            is_blank: true,
            theme: "none".to_owned(),
            colours: Vec::new(),
            stripes: Vec::new(),
        })
    }

    /// Paints everything anew.
    pub(super) fn paint(&mut self, now_millis: Millis, window_millis: f64, width: f64, height: f64) {
        if self.marks.is_empty() && self.is_blank {
            return;
        }
        let ratio = web_sys::window().map_or(1.0, |window| window.device_pixel_ratio());
        let (wide, high) = ((width * ratio) as u32, (height * ratio) as u32);
        if (self.canvas.width(), self.canvas.height()) != (wide, high) {
            self.canvas.set_width(wide);
            self.canvas.set_height(high);
        }
        self.mix();
        let context = &self.context;
        let _ = context.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0);
        context.clear_rect(0.0, 0.0, width, height);
        let x = |at: Millis| width - (now_millis - at) as f64 * width / window_millis;
        for (index, (name, _, alpha, _)) in INKS.into_iter().enumerate() {
            let mut marks = self.marks.iter().filter(|mark| mark.name == name).peekable();
            if marks.peek().is_none() {
                continue;
            }
            match (self.stripes.get(index).and_then(Option::as_ref), self.colours.get(index)) {
                (Some(stripes), _) => context.set_fill_style_canvas_pattern(stripes),
                (None, colour) => context.set_fill_style_str(colour.map_or("", String::as_str)),
            }
            context.set_global_alpha(alpha);
            for mark in marks {
                let from = x(mark.from).max(-1.0);
                let to = mark.to.map_or(width, x).max(from + if name == "gone" { 1.0 } else { 0.0 });
                context.fill_rect(from, mark.y - mark.height / 2.0, to - from, mark.height);
            }
        }
        self.is_blank = self.marks.is_empty();
    }

    /// Takes the colours of the theme.
    fn mix(&mut self) {
        let Some(window) = web_sys::window() else { return };
        let Some(root) = window.document().and_then(|document| document.document_element()) else { return };
        let theme = root.get_attribute("data-theme").unwrap_or_default();
        if theme == self.theme {
            return;
        }
        let Ok(Some(style)) = window.get_computed_style(&root) else { return };
        self.colours = INKS.iter().map(|(_, name, ..)| style.get_property_value(name).unwrap_or_default()).collect();
        let striped = |((.., is_striped), colour): (&(&str, &str, f64, bool), &String)| {
            if *is_striped { stripes(&self.context, colour) } else { None }
        };
        self.stripes = INKS.iter().zip(&self.colours).map(striped).collect();
        self.theme = theme;
    }
}

/// A pattern of stripes in a colour.
fn stripes(context: &CanvasRenderingContext2d, colour: &str) -> Option<CanvasPattern> {
    let document = web_sys::window()?.document()?;
    let tile: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
    tile.set_width(TILE);
    tile.set_height(TILE);
    let drawn = self::context(&tile)?;
    let side = f64::from(TILE);
    drawn.set_fill_style_str(colour);
    drawn.set_global_alpha(0.3);
    drawn.fill_rect(0.0, 0.0, side, side);
    drawn.set_global_alpha(1.0);
    drawn.set_stroke_style_str(colour);
    drawn.set_line_width(1.8);
    for shift in [-side, 0.0, side] {
        drawn.begin_path();
        drawn.move_to(shift, side);
        drawn.line_to(shift + side, 0.0);
        drawn.stroke();
    }
    context.create_pattern_with_html_canvas_element(&tile, "repeat").ok()?
}

fn context(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten().map(JsValue::from)?.dyn_into().ok()
}
