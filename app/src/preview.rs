//! The preview: verdict and score as one picture of 1200 × 630, for chat clients that show what a link leads to. A plain SVG with inline
//! colours, so that it can be rasterised without a browser.

use std::fmt::{Display, Write};

use timeline::view::{Tone, View};
use timeline::viewer::DeploymentCopy;
use timeline::words::safe;
use timeline::{Millis, Workload};

use crate::images::{ImageText, with_short_images};
use crate::numbers::fixed;
use crate::score::bars::{BarMark, Painter, paint};
use crate::score::frame::Frame;
use crate::score::ink::{DOT, Edge, Fill, Pattern};
use crate::score::motion::Motion;
use crate::score::{scale, scene};

/// Size of the picture, in pixels.
pub const WIDTH: u32 = 1200;
/// Height of a preview, in pixels.
pub const HEIGHT: u32 = 630;
/// Position of the score: left, top, width, height.
const SCORE: (f64, f64, f64, f64) = (130.0, 272.0, 1010.0, 318.0);
/// Left and right edge of the text, in pixels.
const WORDS: (f64, f64) = (60.0, 1140.0);
/// Font size of the name, and of the texts beside and below it, in pixels.
const NAME_SIZE: f64 = 28.0;
const SMALL_SIZE: f64 = 20.0;
/// Assumed width of a letter relative to the font size: not less than that of most letters.
const LETTER: f64 = 0.62;
/// Maximum number of letters in a line of the sentence, and in the line below it.
const SENTENCE: usize = 46;
const WHY: usize = 92;
/// The dark theme's colours.
const BACKGROUND: &str = "#0f1113";
const TEXT: &str = "#e8eaec";
const QUIET: &str = "#a6adb4";
/// The server rasterises with the first one; other viewers of the SVG use the first available one.
pub const FONTS: &str = "Inter Variable, Inter, Helvetica, Arial, sans-serif";

/// Paints marks into the SVG.
struct Picture {
    now_millis: Millis,
    per_milli: f64,
    out: String,
}

impl Picture {
    fn x(&self, at_millis: Millis) -> f64 {
        let (left, _, width, _) = SCORE;
        left + (width - (self.now_millis - at_millis) as f64 * self.per_milli).max(0.0)
    }

    fn rect(&mut self, (from, to): (f64, f64), (upper, lower): (f64, f64), fill: &str, share: f64) {
        let _ = write!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" fill-opacity=\"{}\"/>",
            fixed(from),
            fixed(upper),
            fixed((to - from).max(1.0)),
            fixed((lower - upper).max(1.0)),
            fixed(share)
        );
    }

    fn span(&self, mark: BarMark) -> (f64, f64) {
        let (left, _, width, _) = SCORE;
        (self.x(mark.from), mark.to.map_or(left + width, |to| self.x(to)))
    }
}

impl Painter for Picture {
    fn fill(&mut self, mark: BarMark, fill: Fill) {
        let (fill, share) = match fill {
            Fill::Tint(share) => (mark.look.ink().colour.dark().to_owned(), share.max(0.35)),
            Fill::Pattern(pattern) => (format!("url(#{})", pattern.name), 1.0),
        };
        self.rect(self.span(mark), (mark.upper(), mark.lower()), &fill, share);
    }

    fn edges(&mut self, mark: BarMark, edge: Edge) {
        let (half, colour) = (edge.width / 2.0, mark.look.ink().colour.dark());
        for y in mark.edges() {
            self.rect(self.span(mark), (y - half, y + half), colour, 1.0);
        }
    }

    fn end(&mut self, mark: BarMark, _: Edge) {
        let from = self.x(mark.from);
        self.rect((from, from), (mark.upper(), mark.lower()), mark.look.ink().colour.dark(), 1.0);
    }
}

/// Draws a Deployment in its present state; `None` if there is none.
pub fn svg(copy: &DeploymentCopy, now_millis: Millis, workload: &Workload) -> Option<String> {
    let DeploymentCopy { model, said, .. } = copy;
    let deployment = copy.deployment()?;
    let (left, top, width, height) = SCORE;
    let window_millis = scale::window_millis(model, Some(deployment), now_millis);
    let unmeasured = Frame::unmeasured(now_millis, window_millis);
    let frame = Frame { height, width, is_painted: true, ..unmeasured };
    let scene = scene::scene(model, copy.deployment, said, frame, &Motion::default());
    let shrink = (height / scene.height).min(1.0);
    let mut out = head();
    let headings = || scene.bands.iter().map(|(_, band)| &band.heading).filter(|heading| !heading.is_out());
    let all: Vec<&str> = headings().map(|heading| heading.images.as_str()).collect();
    let badge_end = match &said.view {
        Some(view) => add_verdict(&mut out, view, |text| with_short_images(text, &all)),
        None => WORDS.0,
    };
    let old = headings().rfind(|heading| !heading.is_current && heading.desired.max(heading.available) > 0);
    let new = headings().rfind(|heading| heading.is_current);
    let [old, new] = [old, new].map(|heading| heading.map_or("", |heading| heading.images.as_str()));
    add_names(&mut out, workload, &ImageText::change(old, new), badge_end);
    let _ = write!(out, "<g transform=\"translate(0 {}) scale(1 {})\">", fixed(top), fixed(shrink));
    for (_, band) in &scene.bands {
        let ink = if band.heading.is_current { TEXT } else { QUIET };
        let revision = band.heading.revision.map(|revision| revision.to_string()).unwrap_or_default();
        add_text(&mut out, 60, fixed(band.place.top + 34.0), &bold(30.0, ink), &revision);
    }
    let mut picture = Picture { now_millis, per_milli: width / window_millis, out };
    paint(&scene.marks, &mut picture);
    let mut out = picture.out;
    let _ = write!(
        out,
        "<rect x=\"{}\" y=\"-8\" width=\"2\" height=\"{}\" fill=\"#8ab0ff\"/></g></svg>",
        fixed(left + width),
        fixed(scene.height + 8.0)
    );
    Some(out)
}

/// Adds the badge, the sentence and the reason of a verdict; returns where the name begins beside the badge.
fn add_verdict(out: &mut String, view: &View, short: impl Fn(&str) -> String) -> f64 {
    let (ground, ink) = match view.verdict.tone {
        Tone::Ok => ("#12302b", "#6fd3c1"),
        Tone::Busy => ("#35290f", "#eab45a"),
        Tone::Bad => ("#3a1a13", "#f79079"),
        Tone::Quiet => ("#24292e", QUIET),
    };
    let badge = safe(&view.verdict.badge);
    let width = badge.chars().count() * 12 + 28;
    let _ = write!(out, "<rect x=\"60\" y=\"46\" width=\"{width}\" height=\"36\" rx=\"6\" fill=\"{ground}\"/>");
    add_text(out, 74, 71, &bold(20.0, ink), &badge);
    for (index, line) in lines(&short(&view.verdict.sentence), SENTENCE, 2).iter().enumerate() {
        add_text(out, 60, 164 + 47 * index, &bold(42.0, TEXT), line);
    }
    for line in lines(&short(&view.explanation()), WHY, 1) {
        add_text(out, 60, 247, &plain(22.0), &line);
    }
    WORDS.0 + width as f64 + 20.0
}

/// Adds the name beside the badge, the namespace in the remaining space, and the image below.
fn add_names(out: &mut String, workload: &Workload, ImageText { name: image, tag, .. }: &ImageText, badge_end: f64) {
    let name = fit_text(&safe(&workload.name), NAME_SIZE, WORDS.1 - badge_end);
    let left_room = WORDS.1 - badge_end - text_width(&name, NAME_SIZE) - 24.0;
    let namespace = fit_text(&safe(&workload.namespace), SMALL_SIZE, left_room);
    let tag = fit_text(tag, SMALL_SIZE, WORDS.1 - WORDS.0 - 60.0);
    let image = fit_text(image, SMALL_SIZE, WORDS.1 - WORDS.0 - text_width(&tag, SMALL_SIZE)) + &tag;
    for (text, x, y, style) in [
        (name, badge_end, 73, bold(NAME_SIZE, TEXT)),
        (namespace, WORDS.1, 73, format!("font-size=\"{SMALL_SIZE}\" text-anchor=\"end\" fill=\"{QUIET}\"")),
        (image, WORDS.0, 107, plain(SMALL_SIZE)),
    ] {
        add_text(out, fixed(x), y, &style, &text);
    }
}

/// Returns the attributes of bold text.
fn bold(size: f64, fill: &str) -> String {
    format!("font-size=\"{size}\" font-weight=\"bold\" fill=\"{fill}\"")
}

/// Returns the attributes of secondary text.
fn plain(size: f64) -> String {
    format!("font-size=\"{size}\" fill=\"{QUIET}\"")
}

fn head() -> String {
    let pattern = |pattern: &Pattern| {
        let Pattern { name, colour, degrees, side, ground, stripe } = *pattern;
        let colour = colour.dark();
        let dot = if stripe > 0.0 {
            String::new()
        } else {
            format!("<circle cx=\"{0}\" cy=\"{0}\" r=\"{DOT}\" fill=\"{colour}\"/>", side / 2.0)
        };
        format!(
            "<pattern id=\"{name}\" width=\"{side}\" height=\"{side}\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({degrees})\"><rect width=\"{side}\" height=\"{side}\" fill=\"{colour}\" fill-opacity=\"{ground}\"/><rect width=\"{stripe}\" height=\"{side}\" fill=\"{colour}\"/>{dot}</pattern>"
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"{FONTS}\"><defs>{}</defs><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{BACKGROUND}\"/>",
        Pattern::ALL.map(pattern).concat()
    )
}

/// Adds a text at a place; `style` are the other attributes of its element.
fn add_text(out: &mut String, x: impl Display, y: impl Display, style: &str, text: &str) {
    let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", escaped(text));
}

/// Escapes a text for markup and attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Returns the maximum width of a text without unusually wide letters.
fn text_width(text: &str, size: f64) -> f64 {
    let is_narrow = |letter: char| letter.is_ascii() && !"WMmw@%".contains(letter);
    text.chars().map(|letter| if is_narrow(letter) { LETTER } else { 1.0 }).sum::<f64>() * size
}

/// Cuts a text to a width in pixels, with an ellipsis; empty if there is no room.
fn fit_text(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        if text_width(&cut, size) + 2.0 * size > room {
            break;
        }
        cut.push(letter);
    }
    if cut.is_empty() { cut } else { cut + "…" }
}

/// Breaks a text into lines of at most so many letters; text beyond the last line is replaced by an ellipsis.
fn lines(text: &str, letters: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in safe(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.chars().take(letters).collect()),
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        lines.iter_mut().last().into_iter().for_each(|line| line.push('…'));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{escaped, fit_text, lines, text_width};

    #[test]
    fn hostile_text_is_text() {
        assert_eq!(escaped("<img src=x onerror='a'>&amp;\""), "&lt;img src=x onerror=&#39;a&#39;&gt;&amp;amp;&quot;");
    }

    #[test]
    fn names_end_where_their_room_does() {
        assert_eq!(fit_text("web", 20.0, 100.0), "web");
        for name in ["x".repeat(63), "W".repeat(63), "x".repeat(253), "界".repeat(63)] {
            let cut = fit_text(&name, 28.0, 500.0);
            assert!(cut.ends_with('…') && text_width(&cut, 28.0) <= 500.0 && text_width(&cut, 28.0) > 400.0, "{cut}");
        }
        assert_eq!(["web", "a-long-name"].map(|name| fit_text(name, 20.0, -5.0)), ["", ""]);
    }

    #[test]
    fn long_sentences_are_cut_and_hostile_words_too() {
        assert_eq!(lines("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(lines("one two three", 7, 1), ["one two…"]);
        assert_eq!(lines(&"x".repeat(500), 10, 1), ["xxxxxxxxxx"]);
    }
}
