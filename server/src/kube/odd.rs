//! Odd objects, which no API server should send. Their valid parts are used, and they are counted.

use timeline::Millis;

use crate::kube::decode::{Condition, Meta};
use crate::kube::translate::Object;

/// Clocks may differ by this much before a timestamp counts as being in the future.
const AHEAD_MILLIS: Millis = 3_600_000;

/// Returns whether an object lacks a field that every object has, contradicts itself, or uses an unknown value.
pub fn is_odd(object: &Object, arrived_millis: Millis) -> bool {
    match object {
        Object::Deployment(o) => {
            is_odd_meta(&o.metadata, arrived_millis)
                || is_no_number(&o.metadata)
                || !matches!(o.spec.strategy.r#type.as_str(), "" | "RollingUpdate" | "Recreate")
                || has_odd_condition(&o.status.conditions)
                || [o.spec.replicas, o.status.replicas, o.status.available_replicas, o.status.updated_replicas]
                    .into_iter()
                    .flatten()
                    .any(|number| number < 0)
                || o.status.observed_generation > o.metadata.generation
        }
        Object::ReplicaSet(o) => {
            is_odd_meta(&o.metadata, arrived_millis)
                || is_no_number(&o.metadata)
                || o.spec.replicas.is_some_and(|number| number < 0)
        }
        Object::Pod(o) => {
            is_odd_meta(&o.metadata, arrived_millis)
                || !matches!(o.status.phase.as_str(), "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown")
                || has_odd_condition(&o.status.conditions)
        }
        Object::Event(o) => is_odd_meta(&o.metadata, arrived_millis) || o.involved_object.kind.is_empty(),
    }
}

fn is_odd_meta<L>(meta: &Meta<L>, arrived_millis: Millis) -> bool {
    let time = |text: &Option<String>| text.as_deref().map(|text| text.parse::<jiff::Timestamp>().ok());
    let created = time(&meta.creation_timestamp).flatten();
    let deleted = time(&meta.deletion_timestamp);
    meta.name.is_empty()
        || created.is_none_or(|created| created.as_millisecond() > arrived_millis.saturating_add(AHEAD_MILLIS))
        || deleted.is_some_and(|deleted| deleted.is_none() || deleted < created)
        || meta.owner_references.iter().filter(|owner| owner.controller == Some(true)).count() > 1
}

/// Returns whether the revision annotation is present but no number.
fn is_no_number<L>(meta: &Meta<L>) -> bool {
    meta.annotations.revision.as_ref().is_some_and(|text| text.parse::<u64>().is_err())
}

fn has_odd_condition(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| !matches!(condition.status.as_str(), "True" | "False" | "Unknown"))
}

#[cfg(test)]
mod tests {
    use timeline::fact::Kind;

    use super::*;
    use crate::feed::recording::RawLine;

    const NOW: Millis = 1_795_260_000_000;

    fn odd(kind: Kind, json: &str) -> bool {
        is_odd(&Object::decode(kind, json).unwrap(), NOW)
    }

    #[test]
    fn what_every_api_server_sends_is_not_odd() {
        for line in include_str!("../../tests/traces/node-lost.jsonl").lines() {
            let line = RawLine::parse(line).unwrap();
            let kind = Kind::from_name(&line.kind);
            let is_object = !line.object.get().starts_with("{}") && line.object.get().contains("uid");
            if let Some(kind) = kind.filter(|_| is_object) {
                assert!(!is_odd(&Object::decode(kind, line.object.get()).unwrap(), NOW), "{}", line.object);
            }
        }
    }

    #[test]
    fn what_no_api_server_should_send_is_odd() {
        let meta = r#""name": "web", "creationTimestamp": "2026-11-21T10:00:00Z""#;
        for (kind, json) in [
            (Kind::Pod, r#"{"metadata": {"name": "web"}, "status": {"phase": "Running"}}"#.to_owned()),
            (Kind::Pod, format!(r#"{{"metadata": {{{meta}}}, "status": {{"phase": "Confused"}}}}"#)),
            (Kind::Pod, r#"{"metadata": {"name": "web", "creationTimestamp": "2126-11-21T10:00:00Z"}, "status": {"phase": "Running"}}"#.to_owned()),
            (Kind::Pod, format!(r#"{{"metadata": {{{meta}, "deletionTimestamp": "2026-11-21T09:00:00Z"}}, "status": {{"phase": "Running"}}}}"#)),
            (Kind::Pod, format!(r#"{{"metadata": {{{meta}, "ownerReferences": [{{"controller": true}}, {{"controller": true}}]}}, "status": {{"phase": "Running"}}}}"#)),
            (Kind::ReplicaSet, format!(r#"{{"metadata": {{{meta}, "annotations": {{"deployment.kubernetes.io/revision": "two"}}}}}}"#)),
            (Kind::Deployment, format!(r#"{{"metadata": {{{meta}, "generation": 1}}, "status": {{"observedGeneration": 9}}}}"#)),
            (Kind::Deployment, format!(r#"{{"metadata": {{{meta}}}, "spec": {{"strategy": {{"type": "Hope"}}}}}}"#)),
        ] {
            assert!(odd(kind, &json), "{json}");
        }
    }
}
