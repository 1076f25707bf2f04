//! kubeconform, with schemas made from the OpenAPI document in the Kubernetes module that the test control plane is built
//! from: its own source of schemas is on the internet, and has other versions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::process;
use crate::setup::KUBERNETES;

/// Module of the control plane, which names the version of Kubernetes.
const MODULE: &str = "end2end/cluster";
const DEFINITIONS: &str = "definitions.json";

/// Checks a rendering. Kinds that Kubernetes does not have are left to [`super::kinds`].
pub fn validate(kubeconform: &Path, name: &str, rendered: &str) -> Result<()> {
    let folder = ensure_schemas()?;
    let location = format!("{}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", folder.display());
    let mut command = process::command(kubeconform, &["-strict", "-summary", "-schema-location", &location]);
    let said = process::output_with_input(command.args(["-skip", &super::kinds::KINDS.join(",")]), rendered)
        .with_context(|| format!("kubeconform refuses the rendering {name}"))?;
    process::print_note(&format!("{name}: {said}"));
    Ok(())
}

/// Writes a file per kind, unless they are there.
fn ensure_schemas() -> Result<PathBuf> {
    let folder = process::workspace_path("target/tools/schemas").join(KUBERNETES);
    if folder.join(DEFINITIONS).exists() {
        return Ok(folder);
    }
    process::print_note(&format!("making schemas of Kubernetes {KUBERNETES} for kubeconform"));
    let mut go = process::command("go", &["mod", "download", "-json", "k8s.io/kubernetes"]);
    let module: Value = serde_json::from_str(&process::output(go.current_dir(process::workspace_path(MODULE)))?)?;
    let module =
        module.get("Dir").and_then(Value::as_str).context("go does not say where k8s.io/kubernetes is")?.to_owned();
    let document = PathBuf::from(module).join("api/openapi-spec/swagger.json");
    let document = std::fs::read(&document).with_context(|| format!("cannot read {}", document.display()))?;
    let document: Value = serde_json::from_slice(&document)?;
    let definitions = document.get("definitions").and_then(Value::as_object);
    let definitions = definitions.context("the OpenAPI document has no definitions")?;
    std::fs::create_dir_all(&folder)?;
    for (name, definition) in definitions {
        for kind in definition["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
            let schema = json!({ "$ref": format!("{DEFINITIONS}#/definitions/{name}") });
            std::fs::write(folder.join(file_name(kind)), schema.to_string())?;
        }
    }
    let strict: Map<String, Value> =
        definitions.iter().map(|(name, definition)| (name.clone(), strict(name, definition))).collect();
    std::fs::write(folder.join(DEFINITIONS), json!({ "definitions": strict }).to_string())?; // last: it says that all are there
    Ok(folder)
}

/// Returns the file name that kubeconform looks for: kind, first part of the group, version, in lower case.
fn file_name(kind: &Value) -> String {
    let text = |key: &str| kind[key].as_str().unwrap_or_default().to_lowercase();
    let group = text("group").split('.').next().unwrap_or_default().to_owned();
    let parts = [text("kind"), group, text("version")];
    format!("{}.json", parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-"))
}

/// Returns a definition that accepts no unknown property. Quantities and ports may be numbers.
fn strict(name: &str, definition: &Value) -> Value {
    let is_number_too = name.ends_with(".Quantity") || definition["format"] == "int-or-string";
    if is_number_too {
        return json!({ "type": ["string", "number"] });
    }
    match definition {
        Value::Object(fields) => {
            let mut made: Map<String, Value> =
                fields.iter().map(|(key, value)| (key.clone(), strict("", value))).collect();
            if made.get("properties").is_some_and(Value::is_object) && !made.contains_key("additionalProperties") {
                made.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            Value::Object(made)
        }
        Value::Array(all) => all.iter().map(|value| strict("", value)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_takes_no_property_that_is_not_in_it() {
        let definition = json!({ "properties": { "port": { "format": "int-or-string", "type": "string" } } });
        let made = json!({ "properties": { "port": { "type": ["string", "number"] } }, "additionalProperties": false });
        assert_eq!(strict("io.k8s.Port", &definition), made);
        assert_eq!(strict("io.k8s.Quantity", &json!({ "type": "string" })), json!({ "type": ["string", "number"] }));
    }

    #[test]
    fn a_schema_has_the_name_that_kubeconform_looks_for() {
        let kind = json!({ "group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole" });
        assert_eq!(file_name(&kind), "clusterrole-rbac-v1.json");
        assert_eq!(file_name(&json!({ "group": "", "version": "v1", "kind": "Service" })), "service-v1.json");
    }
}
