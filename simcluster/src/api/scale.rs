//! The Scale object of a Deployment or ReplicaSet (`autoscaling/v1` `Scale`).

use serde_json::{Value, json};

use crate::change::Stored;
use crate::object::Object;
use crate::{ApiError, meta};

pub fn of(stored: &Stored) -> Value {
    let meta = stored.object.meta();
    let (asked, there) = match &stored.object {
        Object::Deployment(deployment) => {
            let there = deployment.status.as_ref().and_then(|status| status.replicas);
            (meta::desired(deployment), there.unwrap_or_default())
        }
        Object::ReplicaSet(set) => (meta::replicas_of(set), set.status.as_ref().map_or(0, |status| status.replicas)),
        _ => (0, 0),
    };
    let selector = meta::selector_text(&stored.object);
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": { "name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": meta.resource_version, "creationTimestamp": meta.creation_timestamp },
        "spec": { "replicas": asked }, "status": { "replicas": there, "selector": selector },
    })
}

/// Returns the object with the replicas of a Scale.
pub fn into_object(object: &Object, scale: &Value) -> Result<Object, ApiError> {
    let replicas = scale.pointer("/spec/replicas").map_or(Some(0), Value::as_i64);
    let replicas = replicas.and_then(|number| i32::try_from(number).ok());
    let replicas = replicas.ok_or_else(|| ApiError::bad_request("spec.replicas must be a whole number"))?;
    let mut object = object.clone();
    match &mut object {
        Object::Deployment(deployment) => deployment.spec.get_or_insert_default().replicas = Some(replicas),
        Object::ReplicaSet(set) => set.spec.get_or_insert_default().replicas = Some(replicas),
        _ => {}
    }
    let version = scale.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    object.meta_mut().resource_version = version.map(str::to_owned);
    Ok(object)
}
