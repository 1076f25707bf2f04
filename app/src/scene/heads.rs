//! The heads: right of the now line, each pod as it is now, a token and the end of its name.

use std::fmt::Write;
use std::rc::Rc;

use timeline::Millis;
use timeline::model::Pod;
use timeline::words::safe;

use super::bars::Mark;
use super::{Placed, token, words};
use crate::address;
use crate::numbers::fixed;
use crate::rows::{Plan, Row, Stamp};
use timeline::words::clock;

/// In rows lower than this names are left out, and tokens become squares.
const NAME_ROW: f64 = 14.0;
const TOKEN_ROW: f64 = 12.0;
/// A pod first seen this long ago is not announced as born.
const NEWBORN_MILLIS: Millis = 3_000;

/// The head of one pod.
pub(super) fn plan<'m>(
    key: u128,
    stamp: Stamp,
    one: &Rc<Placed>,
    pod: &'m Pod,
    y: f64,
    now_millis: Millis,
) -> Plan<'m> {
    let is_newborn = now_millis - pod.first_seen_millis() < NEWBORN_MILLIS;
    let revision = one.band.revision.unwrap_or_default();
    let numbers = [y.to_bits(), one.place.row.to_bits(), u64::from(is_newborn), u64::from(one.is_ribbon), revision];
    let stamp = numbers.into_iter().fold(stamp, Stamp::number);
    let one = one.clone();
    Plan::new(key, stamp, move || row(&one, pod, y, is_newborn))
}

/// The heads of a ribbon: a column of what there is now, beside it.
pub(super) fn column<'m>(one: &Placed, marks: &[Mark]) -> Plan<'m> {
    let mut inside = String::new();
    for Mark { name, y, height, .. } in marks.iter().filter(|mark| mark.to.is_none()) {
        let (top, height) = (fixed(y - height / 2.0), fixed(*height));
        let _ = write!(inside, "<rect class=\"{name}\" x=\"4\" y=\"{top}\" width=\"10\" height=\"{height}\"/>");
    }
    let attributes = vec![("class", "column".to_owned()), ("data-testid", "column".to_owned())];
    Plan::made(super::band_key(&one.band), Row { attributes, style: String::new(), inside })
}

fn row(one: &Placed, pod: &Pod, y: f64, is_newborn: bool) -> Row {
    let (height, state) = (one.place.row, pod.state().name());
    let is_out_band = one.band.replica_set.is_none();
    let mut class = format!("head {state}");
    for (holds, word) in [
        (is_newborn, " born"),
        // A pod that was released has its head in the other band.
        (pod.is_out_of_rotation() != is_out_band, " elsewhere"),
        (is_out_band, " out"),
        (height < TOKEN_ROW, " small"),
        (height < NAME_ROW, " nameless"),
        (one.is_ribbon, " shared"),
    ] {
        if holds {
            class.push_str(word);
        }
    }
    let reason = safe(&pod.now.reason);
    let comma = if reason.is_empty() { "" } else { ": " };
    let title =
        format!("{} {}{comma}{reason} since {} UTC", safe(&pod.name), pod.state().label(), clock(pod.since_millis()));
    let revision =
        if is_out_band { "out".to_owned() } else { one.band.revision.map_or_else(String::new, |r| r.to_string()) };
    let scale = fixed((height / 2.0 - 2.0).clamp(3.0, 8.0) / 8.0);
    Row {
        attributes: vec![
            ("class", class),
            ("transform", format!("translate(0 {})", fixed(y))),
            ("data-testid", "pod".to_owned()),
            ("data-pod", pod.name.clone()),
            ("data-state", state.to_owned()),
            ("data-revision", revision),
            ("data-open", address::pod(pod.uid)),
            ("role", "button".to_owned()),
            ("tabindex", "-1".to_owned()),
            ("aria-label", title),
        ],
        style: String::new(),
        inside: format!(
            "<path class=\"square\" d=\"M4 {}h10v{}h-10z\"/><path class=\"hit\" d=\"M0 {}h90v{}h-90z\"/><g class=\"move\"><g transform=\"translate(14 0) scale({scale})\">{}<circle r=\"10.5\" class=\"outer\"/></g></g><text x=\"28\" y=\"4\">{}</text>",
            fixed(-height / 2.0),
            // A little more, so that rounding leaves no line between neighbours.
            fixed(height + 0.03),
            fixed(-height / 2.0),
            fixed(height),
            token::token(pod.state()),
            words(timeline::words::short(&pod.name)),
        ),
    }
}
