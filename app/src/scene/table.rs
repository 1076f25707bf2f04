//! The table twin of the score: every pod in view as text, for screen readers.

use timeline::model::Pod;

use super::{Placed, key, words};
use crate::rows::Row;
use timeline::words::clock;

/// The row of one pod.
pub(super) fn row(one: &Placed, pod: &Pod) -> Row {
    let revision = match (one.band.replica_set, one.band.revision) {
        (None, _) => "out of rotation".to_owned(),
        (_, Some(revision)) => revision.to_string(),
        _ => "unknown".to_owned(),
    };
    Row {
        key: key(&one.band, pod.uid),
        attributes: Vec::new(),
        inside: format!(
            "<td>{}</td><td>{revision}</td><td>{}</td><td>{}</td><td>{}</td>",
            words(&pod.name),
            pod.state().label(),
            clock(pod.since_millis()),
            words(&pod.now.reason),
        ),
    }
}
