//! The table twin of the score: every pod in view as text, for screen readers.

use std::rc::Rc;

use timeline::model::Pod;

use super::{Placed, words};
use crate::address;
use crate::rows::{Plan, Row, Stamp};
use timeline::words::clock;

/// The row of one pod.
pub(super) fn plan<'m>(key: u128, stamp: Stamp, one: &Rc<Placed>, pod: &'m Pod) -> Plan<'m> {
    let one = one.clone();
    let stamp = stamp.number(one.band.revision.unwrap_or_default());
    Plan::new(key, stamp, move || {
        let revision = match (one.band.replica_set, one.band.revision) {
            (None, _) => "out of rotation".to_owned(),
            (_, Some(revision)) => revision.to_string(),
            _ => "unknown".to_owned(),
        };
        let open = address::pod(pod.uid);
        let inside = format!(
            "<td><a data-open=\"{open}\" href=\"{}/{open}\">{}</a></td><td>{revision}</td><td>{}</td><td>{}</td><td>{}</td>",
            one.base,
            words(&pod.name),
            pod.state().label(),
            clock(pod.since_millis()),
            words(&pod.now.reason),
        );
        Row { inside, ..Row::default() }
    })
}
