//! Selects the rows of a list to render: those in view and a few more. Pure, the same on the server and in the browser.

use std::ops::Range;

use timeline::list::Overall;
use timeline::order;

/// Height of a heading, in pixels; the style sheets use the same value.
pub(super) const HEAD_PX: f64 = 44.0;
/// Assumed height of a row until it is measured.
pub const ROW_PX: f64 = 58.0;

/// An item of the list at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListItem {
    Head(usize),
    Row(u32),
}

/// Number of headings and rows that are not rendered, for which space is reserved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    pub heads: u32,
    pub rows: u32,
}

impl Room {
    /// Returns its height in pixels.
    pub(super) fn height_px(self, row_px: f64) -> f64 {
        f64::from(self.heads) * HEAD_PX + f64::from(self.rows) * row_px
    }

    /// Formats its height as a style: the style sheets define the height of a row for each width of the window.
    pub fn style(self) -> String {
        format!("height:calc({}*44px + {}*var(--row))", self.heads, self.rows)
    }
}

/// The rendered part of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VisibleRows {
    /// Its items, in order.
    pub spots: Vec<ListItem>,
    pub before: Room,
    pub after: Room,
}

impl VisibleRows {
    /// Returns the numbers of its first and last row; `None` without rows.
    pub fn rows(&self) -> Option<(u32, u32)> {
        let mut numbers = self.spots.iter().filter_map(|spot| match spot {
            ListItem::Row(number) => Some(*number),
            ListItem::Head(_) => None,
        });
        let first = numbers.next()?;
        Some((first, numbers.next_back().unwrap_or(first)))
    }
}

/// Returns the items of a list between two heights, in pixels from its top.
pub fn rows_between(overall: &Overall, row_px: f64, from_px: f64, to_px: f64) -> VisibleRows {
    let mut part = VisibleRows::default();
    let (mut y, mut number) = (0.0, 0_u32);
    for (index, head) in overall.heads.iter().enumerate() {
        if y + HEAD_PX > from_px && y < to_px {
            part.spots.push(ListItem::Head(index));
        } else if y < from_px {
            part.before.heads += 1;
        } else {
            part.after.heads += 1;
        }
        y += HEAD_PX;
        // Rows of this heading above and below the part.
        let rows = f64::from(head.lines);
        // Not `clamp`: the message of its panic would add the formatting of floating point numbers to the program.
        let before = ((from_px - y) / row_px).floor().min(rows).max(0.0);
        let until = ((to_px - y) / row_px).ceil().min(rows).max(before);
        y += rows * row_px;
        let (before, until) = (before as u32, until as u32);
        part.before.rows += before;
        part.after.rows += head.lines - until;
        part.spots.extend((number + before..number + until).map(ListItem::Row));
        number += head.lines;
    }
    part
}

/// Returns how far the rows in view moved, in pixels; rows by their keys, with their top edges before and now. Returns the median of their
/// moves, because some may have moved past the others.
pub fn moved_px(before: &[(u128, f64)], now: &[(u128, f64)], view: &Range<f64>) -> f64 {
    let in_view = before.iter().filter(|(_, top)| view.contains(top));
    let moves = in_view.filter_map(|(key, top)| {
        let (_, to) = now.iter().find(|(other, _)| other == key)?;
        Some((to - top).round() as i64)
    });
    let moves = order::sort_by(moves.collect(), |px| (*px, 0));
    moves.get(moves.len() / 2).map_or(0.0, |px| *px as f64)
}

/// Returns the part with the first rows, as the server renders it: nothing is left out before it, and space is reserved for the rows after
/// it.
pub fn rows_from(overall: &Overall, from: u32, to: u32) -> VisibleRows {
    let mut part = VisibleRows::default();
    let mut number = 0;
    for (index, head) in overall.heads.iter().enumerate() {
        let (first, last) = (number.max(from), (number + head.lines).min(to));
        if first < last {
            part.spots.push(ListItem::Head(index));
            part.spots.extend((first..last).map(ListItem::Row));
        }
        if number >= to {
            part.after.heads += 1;
        }
        let next = number + head.lines;
        part.after.rows += next.saturating_sub(number.max(to));
        number = next;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::list::{Common, Group, Head};

    fn overall(lines: &[u32]) -> Overall {
        let head = |(&lines, group): (&u32, &Group)| Head { of: Common::Group(*group), lines };
        Overall { heads: lines.iter().zip(&Group::ALL).map(head).collect(), ..Overall::default() }
    }

    #[test]
    fn whatever_is_in_view_the_list_is_as_high() {
        let overall = overall(&[2, 0, 1, 2_000]);
        let height = 4.0 * HEAD_PX + 2_003.0 * ROW_PX;
        for (from, to) in [(0.0, 900.0), (-400.0, 10.0), (130.0, 131.0), (60_000.0, 61_000.0), (1e9, 2e9)] {
            let part = rows_between(&overall, ROW_PX, from, to);
            let spot = |spot: &ListItem| if matches!(spot, ListItem::Head(_)) { HEAD_PX } else { ROW_PX };
            let made: f64 = part.spots.iter().map(spot).sum();
            let rooms = part.before.height_px(ROW_PX) + part.after.height_px(ROW_PX);
            assert!((rooms + made - height).abs() < 0.01, "{from}: {part:?}");
            assert!(part.spots.len() < 30, "{from}");
        }
    }

    #[test]
    fn what_is_in_view_is_in_order_and_touches_the_view() {
        let part = rows_between(&overall(&[2, 3]), 50.0, 100.0, 200.0);
        // Heading 0 to 44, rows to 94 and 144, heading to 188, rows to 238 …
        assert_eq!(part.spots, [ListItem::Row(1), ListItem::Head(1), ListItem::Row(2)]);
        assert_eq!(part.rows(), Some((1, 2)));
        assert_eq!(part.before, Room { heads: 1, rows: 1 });
        let first = rows_from(&overall(&[2, 3, 4]), 1, 4);
        assert_eq!(first.spots[..2], [ListItem::Head(0), ListItem::Row(1)]);
        assert_eq!(first.rows(), Some((1, 3)));
        // The last row of the second heading, and the third.
        assert_eq!(first.after.style(), "height:calc(1*44px + 5*var(--row))");
    }

    #[test]
    fn rows_in_view_move_as_far_as_most_of_them() {
        let rows = |keys: &[u128]| -> Vec<(u128, f64)> {
            keys.iter().zip(0_u32..).map(|(key, place)| (*key, f64::from(place) * 50.0)).collect()
        };
        let before = rows(&[1, 2, 3, 4, 5, 6, 7]);
        let moved = |now: &[u128]| moved_px(&before, &rows(now), &(100.0..300.0));
        assert!(moved(&[1, 2, 3, 4, 5, 6, 7]).abs() < 0.01);
        assert!((moved(&[9, 1, 2, 3, 4, 5, 6, 7]) - 50.0).abs() < 0.01, "one came above them");
        assert!(moved(&[3, 1, 2, 4, 5, 6, 7]).abs() < 0.01, "one of them went up");
        assert!((moved(&[6, 7, 1, 2, 3, 4, 5]) - 100.0).abs() < 0.01);
        assert!(moved(&[1, 2, 8, 9]).abs() < 0.01, "none of them is there any more");
    }
}
