//! The story: what the controllers did, newest first in the markup, turned around by the style sheet: the scroll stays at
//! the newest line.

use timeline::story::Line;

use crate::rows::{Plan, Row, Stamp, escaped};
use timeline::words::clock;

/// Lines shown; older ones stay in the timeline document.
const MOST_LINES: usize = 80;

/// The lines.
pub(super) fn rows(lines: &[Line]) -> Vec<Plan<'_>> {
    let mut rows: Vec<Plan<'_>> = Vec::with_capacity(lines.len().min(MOST_LINES));
    for line in lines.iter().rev().take(MOST_LINES) {
        let stamp = Stamp::default().text(&line.text);
        let mut key = (line.at_millis as u128) << 64 | u128::from(stamp.get());
        while rows.iter().any(|row| row.key == key) {
            key += 1;
        }
        rows.push(Plan::new(key, stamp, move || Row {
            attributes: vec![("class", line.kind.name().to_owned())],
            style: String::new(),
            inside: format!("<time>{}</time><i></i><span>{}</span>", clock(line.at_millis), escaped(&line.text)),
        }));
    }
    rows
}
