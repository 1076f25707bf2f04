//! The preview: the verdict and the score as one picture of 1200 × 630, for chats that show what a link leads to. A plain
//! SVG with its colours in it, so that it can be turned into pixels without a browser.

use std::fmt::Write;

use timeline::frame::Said;
use timeline::view::Tone;
use timeline::words::safe;
use timeline::{Millis, Model, Uid};

use crate::motion::Motion;
use crate::numbers::fixed;
use crate::rows::escaped;
use crate::scene::bars::Mark;
use crate::scene::{self, Frame};
use crate::score::scale;

/// Size of the picture, in pixels.
pub const WIDTH: u32 = 1200;
/// Its height.
pub const HEIGHT: u32 = 630;
/// Where the score is in it: left, upper edge, width, height.
const SCORE: (f64, f64, f64, f64) = (130.0, 258.0, 1010.0, 332.0);
/// Letters of a line of the sentence, and of the line below it.
const SENTENCE: usize = 46;
const WHY: usize = 92;
/// The dark theme's colours.
const BACKGROUND: &str = "#0f1113";
const TEXT: &str = "#e8eaec";
const QUIET: &str = "#a6adb4";
/// The server draws with the first one; whoever shows the SVG with what there is.
pub const FONTS: &str = "Inter Variable, Inter, Helvetica, Arial, sans-serif";

/// Colour of a state, and how much of it.
fn ink(name: &str) -> (&'static str, &'static str) {
    match name {
        "available" => ("#37b8a3", "1"),
        "finished" => ("#37b8a3", "0.4"),
        "ready" => ("#7fd0c3", "0.6"),
        "unready" => ("#e0a43a", "0.35"),
        "starting" => ("url(#starting)", "1"),
        "scheduling" => ("#8d96a0", "0.35"),
        "failing" => ("#f0765c", "1"),
        "terminating" => ("url(#terminating)", "1"),
        "outside" => ("#e084c6", "0.4"),
        _ => ("#454c53", "1"),
    }
}

/// Draws a Deployment as it is. `place` says where it is, in words.
#[must_use]
pub fn svg(model: &Model, uid: Uid, said: &Said, now_millis: Millis, place: &str) -> String {
    let (left, top, width, height) = SCORE;
    let window_millis = scale::window_millis(model.deployments.get(&uid), now_millis);
    let frame = Frame { now_millis, window_millis, base_millis: now_millis, height, width, is_painted: true };
    let scene = scene::scene(model, Some(uid), said, frame, &Motion::default());
    let shrink = (height / scene.height).min(1.0);
    let mut out = head();
    if let Some(view) = &said.view {
        let (ground, ink) = match view.verdict.tone {
            Tone::Ok => ("#12302b", "#6fd3c1"),
            Tone::Busy => ("#35290f", "#eab45a"),
            Tone::Bad => ("#3a1a13", "#f79079"),
            Tone::Quiet => ("#24292e", QUIET),
        };
        let badge = safe(&view.verdict.badge);
        let _ = write!(
            out,
            "<rect x=\"60\" y=\"46\" width=\"{}\" height=\"36\" rx=\"6\" fill=\"{ground}\"/><text x=\"74\" y=\"71\" font-size=\"20\" font-weight=\"bold\" fill=\"{ink}\">{}</text>",
            badge.chars().count() * 12 + 28,
            escaped(&badge)
        );
        for (index, line) in lines(&view.verdict.sentence, SENTENCE, 2).iter().enumerate() {
            let y = 134 + 50 * index;
            let _ = write!(
                out,
                "<text x=\"60\" y=\"{y}\" font-size=\"42\" font-weight=\"bold\" fill=\"{TEXT}\">{}</text>",
                escaped(line)
            );
        }
        for line in lines(&view.explanation(), WHY, 1) {
            let _ = write!(out, "<text x=\"60\" y=\"226\" font-size=\"22\" fill=\"{QUIET}\">{}</text>", escaped(&line));
        }
    }
    let _ = write!(
        out,
        "<text x=\"1140\" y=\"71\" font-size=\"20\" text-anchor=\"end\" fill=\"{QUIET}\">{}</text>",
        escaped(&safe(place))
    );
    let _ = write!(out, "<g transform=\"translate(0 {}) scale(1 {})\">", fixed(top), fixed(shrink));
    for (revision, y, is_current) in &scene.bands {
        let ink = if *is_current { TEXT } else { QUIET };
        let _ = write!(
            out,
            "<text x=\"60\" y=\"{}\" font-size=\"30\" font-weight=\"bold\" fill=\"{ink}\">{}</text>",
            fixed(y + 34.0),
            escaped(revision)
        );
    }
    let x = |at: Millis| left + (width - (now_millis - at) as f64 * width / window_millis).max(0.0);
    for Mark { name, from, to, y, height, .. } in &scene.marks {
        let (fill, share) = ink(name);
        let (from, to) = (x(*from), to.map_or(left + width, x));
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" fill-opacity=\"{share}\"/>",
            fixed(from),
            fixed(y - height / 2.0),
            fixed((to - from).max(1.0)),
            fixed(*height)
        );
    }
    let _ = write!(
        out,
        "<rect x=\"{}\" y=\"-8\" width=\"2\" height=\"{}\" fill=\"#8ab0ff\"/></g></svg>",
        fixed(left + width),
        fixed(scene.height + 8.0)
    );
    out
}

fn head() -> String {
    let stripes = |name: &str, colour: &str| {
        format!(
            "<pattern id=\"{name}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"{colour}\" fill-opacity=\"0.3\"/><rect width=\"3\" height=\"8\" fill=\"{colour}\"/></pattern>"
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"{FONTS}\"><defs>{}{}</defs><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{BACKGROUND}\"/>",
        stripes("starting", "#8fa3b8"),
        stripes("terminating", "#a797cf")
    )
}

/// A text in lines of at most so many letters; what does not fit ends in an ellipsis.
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
    use super::lines;

    #[test]
    fn long_sentences_are_cut_and_hostile_words_too() {
        assert_eq!(lines("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(lines("one two three", 7, 1), ["one two…"]);
        assert_eq!(lines(&"x".repeat(500), 10, 1), ["xxxxxxxxxx"]);
    }
}
