//! The gutter: beside each band its revision, image, hash and counts.

use super::{Placed, words};
use crate::address;
use crate::numbers::fixed;
use crate::rows::{Plan, Row};

/// Bands lower than this have room for a line, of those out of rotation too, and for three.
const ONE_LINE: f64 = 52.0;
const ONE_LINE_OUT: f64 = 45.0;
const THREE_LINES: f64 = 86.0;

/// The words beside one band.
pub(super) fn plan<'m>(one: &Placed) -> Plan<'m> {
    let band = &one.band;
    let is_out = band.replica_set.is_none();
    let revision = match (is_out, band.revision) {
        (true, _) => "out".to_owned(),
        (_, Some(revision)) => revision.to_string(),
        _ => "?".to_owned(),
    };
    let was = match band.was.as_slice() {
        [] => String::new(),
        was => format!(" was {}", was.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    let counts = match band.replica_set {
        None => "labels no longer match".to_owned(),
        Some(_) if band.is_removed => "deleted".to_owned(),
        Some(_) => format!("{} wanted, {} available", band.wanted, band.available),
    };
    let (class, title) = match (is_out, band.revision) {
        (true, _) => ("out-title", "Out of rotation".to_owned()),
        (false, None) => ("revision", revision.clone()),
        (false, Some(number)) => {
            let open = address::revision(number);
            let label = format!("Revision {number}");
            let link =
                format!("<a data-open=\"{open}\" href=\"{}/{open}\" aria-label=\"{label}\">{number}</a>", one.base);
            ("revision", link)
        }
    };
    let inside = format!(
        "<div class=\"{class}\">{title}<span class=\"was\">{was}</span></div><div class=\"image mono\">{}</div><div class=\"counts hash mono\">{}</div><div class=\"counts\" data-testid=\"counts\">{counts}</div>",
        words(&band.images),
        words(&band.hash),
    );
    let row = Row {
        attributes: vec![
            ("class", class_of(one)),
            ("data-testid", if is_out { "gutter-out" } else { "gutter" }.to_owned()),
            ("data-revision", revision),
        ],
        style: format!("transform:translateY({}px);height:{}px", fixed(one.place.top), fixed(one.place.height)),
        inside,
    };
    Plan::made(super::band_key(band), row)
}

fn class_of(one: &Placed) -> String {
    let current = if one.band.is_current { " current" } else { "" };
    let one_line = if one.band.replica_set.is_some() { ONE_LINE } else { ONE_LINE_OUT };
    let room = match one.place.height {
        height if height < one_line => " low",
        height if height < THREE_LINES => " short",
        _ => "",
    };
    format!("beside{current}{room}")
}
