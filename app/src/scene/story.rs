//! The story: what the controllers did, newest first in the markup, turned around by the style sheet: the scroll stays at
//! the newest line.

use timeline::story::Line;

use crate::rows::{Row, escaped};
use timeline::words::clock;

/// Lines shown; older ones stay in the timeline document.
const MOST_LINES: usize = 80;

/// The lines.
pub(super) fn rows(lines: &[Line]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(lines.len().min(MOST_LINES));
    for line in lines.iter().rev().take(MOST_LINES) {
        let mut key = format!("{} {}", line.at_millis, line.text);
        while rows.iter().any(|row| row.key == key) {
            key.push('+');
        }
        rows.push(Row {
            key,
            attributes: vec![("class", line.kind.name().to_owned())],
            inside: format!("<time>{}</time><i></i><span>{}</span>", clock(line.at_millis), escaped(&line.text)),
        });
    }
    rows
}
