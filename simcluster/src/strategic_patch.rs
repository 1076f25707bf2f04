//! Strategic merge patches: like merge patches, except that lists of objects with a key are merged by that key.

use serde_json::{Map, Value};

/// Lists that are merged, with their merge keys (`patchMergeKey` in Kubernetes' types).
const KEYS: [(&str, &str); 13] = [
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("hostAliases", "ip"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("ports", "containerPort"),
    ("topologySpreadConstraints", "topologyKey"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];
/// Lists of strings that are merged as sets.
const SETS: [&str; 1] = ["finalizers"];

const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

fn key_of(list: &str) -> Option<&'static str> {
    KEYS.iter().find(|(name, _)| *name == list).map(|(_, key)| *key)
}

pub fn apply(target: &mut Value, patch: &Value) {
    let (Some(into), Some(patch)) = (target.as_object_mut(), patch.as_object()) else {
        *target = patch.clone();
        return;
    };
    merge(into, patch);
}

fn merge(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    if patch.get("$patch").and_then(Value::as_str) == Some("replace") {
        into.clone_from(patch);
        into.remove("$patch");
        return;
    }
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        into.retain(|name, _| kept.iter().any(|kept| kept == name));
    }
    for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        match value {
            Value::Null => {
                into.remove(name);
            }
            Value::Object(_) => {
                let known = into.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                if !known.is_object() {
                    *known = Value::Object(Map::new());
                }
                apply(known, value);
            }
            Value::Array(items) if key_of(name).is_some() => {
                let known = into.entry(name.clone()).or_insert_with(|| Value::Array(Vec::new()));
                merge_list(known, items, key_of(name).unwrap_or_default());
            }
            Value::Array(items) if SETS.contains(&name.as_str()) => {
                let known = into.entry(name.clone()).or_insert_with(|| Value::Array(Vec::new()));
                if let Some(known) = known.as_array_mut() {
                    let new: Vec<Value> = items.iter().filter(|item| !known.contains(item)).cloned().collect();
                    known.extend(new);
                }
            }
            other => {
                into.insert(name.clone(), other.clone());
            }
        }
    }
    for (name, value) in patch {
        if let (Some(list), Value::Array(gone)) = (name.strip_prefix(DELETE), value)
            && let Some(known) = into.get_mut(list).and_then(Value::as_array_mut)
        {
            known.retain(|item| !gone.contains(item));
        }
        if let (Some(list), Value::Array(order)) = (name.strip_prefix(ORDER), value) {
            put_in_order(into, list, order);
        }
    }
}

fn merge_list(known: &mut Value, items: &[Value], key: &str) {
    let is_replaced =
        |item: &Value| item.get("$patch").and_then(Value::as_str) == Some("replace") && item.get(key).is_none();
    if items.iter().any(is_replaced) {
        *known = items.iter().filter(|item| !is_replaced(item)).cloned().collect();
        return;
    }
    let Some(known) = known.as_array_mut() else { return };
    for item in items {
        let found = known.iter().position(|one| one.get(key).is_some() && one.get(key) == item.get(key));
        let is_deleted = item.get("$patch").and_then(Value::as_str) == Some("delete");
        match (found, is_deleted) {
            (Some(index), true) => {
                known.remove(index);
            }
            (Some(index), false) => {
                if let Some(one) = known.get_mut(index) {
                    apply(one, item);
                }
            }
            (None, true) => {}
            (None, false) => {
                let mut made = Value::Object(Map::new());
                apply(&mut made, item);
                known.push(made);
            }
        }
    }
}

/// Sorts the named items into the given order; other items follow them.
fn put_in_order(into: &mut Map<String, Value>, list: &str, order: &[Value]) {
    let key = key_of(list);
    let Some(known) = into.get_mut(list).and_then(Value::as_array_mut) else { return };
    let identity = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or_default(),
        None => item.clone(),
    };
    let place = |item: &Value| order.iter().position(|named| identity(named) == identity(item)).unwrap_or(order.len());
    known.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(mut target: Value, patch: Value) -> Value {
        apply(&mut target, &patch);
        target
    }

    #[test]
    fn containers_are_merged_by_name() {
        let before = json!({ "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:1", "env": [{ "name": "X", "value": "1" }] }] });
        let patch = json!({ "containers": [{ "name": "b", "image": "b:2", "env": [{ "name": "Y", "value": "2" }] }] });
        let after = json!({ "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:2", "env": [{ "name": "X", "value": "1" }, { "name": "Y", "value": "2" }] }] });
        assert_eq!(patched(before, patch), after);
    }

    #[test]
    fn directives_delete_order_and_replace() {
        let before = json!({ "env": [{ "name": "A" }, { "name": "B" }, { "name": "C" }], "finalizers": ["x", "y"], "labels": { "a": "1" } });
        let patch = json!({
            "$setElementOrder/env": [{ "name": "C" }, { "name": "A" }],
            "env": [{ "name": "B", "$patch": "delete" }],
            "$deleteFromPrimitiveList/finalizers": ["x"],
            "labels": { "$patch": "replace", "b": "2" },
        });
        let after = json!({ "env": [{ "name": "C" }, { "name": "A" }], "finalizers": ["y"], "labels": { "b": "2" } });
        assert_eq!(patched(before, patch), after);
    }

    #[test]
    fn null_removes_and_other_lists_are_replaced() {
        let before =
            json!({ "tolerations": [1, 2], "paused": true, "metadata": { "annotations": { "a": "1", "b": "2" } } });
        let patch = json!({ "tolerations": [3], "paused": null, "metadata": { "annotations": { "a": null } } });
        assert_eq!(patched(before, patch), json!({ "tolerations": [3], "metadata": { "annotations": { "b": "2" } } }));
    }
}
