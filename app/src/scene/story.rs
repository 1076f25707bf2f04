//! The story: what the controllers did, newest first in the markup, turned around by the style sheet: the scroll stays at
//! the newest line.

use timeline::story::Line;

use super::Frame;
use crate::numbers::thousandths;
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
            inside: format!(
                "<button data-at=\"{}\">{}</button><i></i><span>{}</span>",
                line.at_millis,
                clock(line.at_millis),
                escaped(&line.text)
            ),
        }));
    }
    rows
}

/// Marks on the axis, one for each line that stands out.
pub(super) fn marks<'m>(lines: &'m [Line], frame: Frame) -> Vec<Plan<'m>> {
    let from = frame.from_millis();
    let mut marks: Vec<Plan<'m>> = Vec::new();
    for line in lines.iter().filter(|line| line.at_millis > from && line.kind.stands_out()) {
        let key = line.at_millis as u128;
        if marks.last().is_some_and(|last| last.key == key) {
            continue;
        }
        marks.push(Plan::new(key, Stamp::default().text(&line.text), move || Row {
            attributes: vec![
                ("class", format!("mark {}", line.kind.name())),
                ("data-line", line.at_millis.to_string()),
                ("aria-label", format!("{} {}", clock(line.at_millis), line.text)),
                ("title", line.text.clone()),
            ],
            style: format!("--at:{}", thousandths(frame.x(line.at_millis))),
            inside: String::new(),
        }));
    }
    marks
}
