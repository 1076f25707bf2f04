//! Folding: runs of steps that are alike become one line.

use super::{Happening, Moment, Part};

/// Steps told one by one before the rest of a run is folded.
const TOLD: usize = 2;

/// Folds runs of steps that are alike: the first ones are told, the rest becomes one line.
pub(super) fn folded(moments: Vec<Moment>) -> Vec<Moment> {
    let mut out: Vec<Moment> = Vec::with_capacity(moments.len());
    // What each told step of the run so far changed, and the steps after them that are alike.
    let mut told: Vec<Vec<(u64, i64)>> = Vec::new();
    let mut rest: Vec<Moment> = Vec::new();
    for moment in moments {
        let Happening::Rolled { parts, .. } = &moment.2 else {
            fold(&mut rest, &mut out);
            told.clear();
            out.push(moment);
            continue;
        };
        let change: Vec<(u64, i64)> =
            parts.iter().map(|part| (part.revision, i64::from(part.to) - i64::from(part.from))).collect();
        // Alike: as the step before, or, where up and down alternate, as the one before that.
        if told.len() >= TOLD && told.iter().rev().take(2).any(|before| *before == change) {
            rest.push(moment);
            continue;
        }
        fold(&mut rest, &mut out);
        told.push(change);
        out.push(moment);
    }
    fold(&mut rest, &mut out);
    out
}

/// One line for several steps; a single one tells more by itself.
fn fold(rest: &mut Vec<Moment>, out: &mut Vec<Moment>) {
    let steps = rest.len() as u32;
    let Some((at, kind, _)) = rest.last().filter(|_| steps > 1).cloned() else {
        return out.append(rest);
    };
    let mut parts: Vec<Part> = Vec::new();
    for (_, _, what) in rest.drain(..) {
        if let Happening::Rolled { parts: more, .. } = what {
            more.into_iter().for_each(|part| extend(&mut parts, part));
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.revision));
    out.push((at, kind, Happening::AndSoOn { parts, steps }));
}

/// Adds a part; steps of one revision become one.
pub(super) fn extend(parts: &mut Vec<Part>, part: Part) {
    match parts.iter_mut().find(|known| known.revision == part.revision) {
        Some(known) => known.to = part.to,
        None => parts.push(part),
    }
}
