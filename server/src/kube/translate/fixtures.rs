//! Objects for tests of modules that use facts.

use serde_json::{Value, json};
use timeline::fact::{Kind, Seen};
use timeline::{Millis, Timeline};

use super::Object;

pub(crate) fn uid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// Returns the object with a number, with an owner as its controller.
pub(crate) fn object(number: u32, owner: Option<(&str, u32)>, of: &Value) -> Value {
    let owners: Vec<Value> =
        owner.iter().map(|(kind, of)| json!({ "kind": kind, "controller": true, "uid": uid(*of) })).collect();
    let (name, annotations) = (format!("web-{number}"), &of["annotations"]);
    let metadata = json!({ "uid": uid(number), "name": name, "annotations": annotations, "ownerReferences": owners });
    json!({ "metadata": metadata, "spec": of["spec"], "status": of["status"] })
}

/// Returns a pod that is ready, with the status of its container.
pub(crate) fn ready_pod(container: &Value) -> Value {
    json!({
        "spec": { "nodeName": "node-1", "containers": [{ "name": "web" }] },
        "status": {
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [container],
        },
    })
}

/// Applies an object to a timeline.
pub(crate) fn tell(timeline: &mut Timeline, at_millis: Millis, kind: Kind, object: &Value) {
    let fact = Object::decode(kind, &object.to_string()).unwrap().fact(Seen::Added).unwrap().unwrap();
    timeline.apply(at_millis, fact);
}
