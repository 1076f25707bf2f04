//! Unknown fields: compares the JSON of a request with the JSON of the decoded object.

use serde_json::Value;

/// Returns the paths of fields that were sent and that the kind does not have.
pub fn fields(sent: &Value, known: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(sent, known, "", &mut found);
    found
}

fn compare(sent: &Value, known: &Value, path: &str, found: &mut Vec<String>) {
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => {
            for (name, value) in sent {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match known.get(name) {
                    Some(known) => compare(value, known, &path, found),
                    None if value.is_null() || path == "metadata.creationTimestamp" => {}
                    None => found.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(known)) => {
            for (index, (sent, known)) in sent.iter().zip(known).enumerate() {
                compare(sent, known, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_what_is_not_known() {
        let sent = json!({ "spec": { "replica": 3, "template": { "spec": { "containers": [{ "name": "a", "imag": "b" }] } } } });
        let known = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "a" }] } } } });
        assert_eq!(fields(&sent, &known), ["spec.replica", "spec.template.spec.containers[0].imag"]);
    }
}
