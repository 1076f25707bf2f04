//! The situations, and the Deployments that they are made of.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Of the real node: `xtask/src/cluster/node.rs`.
const NODE: &str = "rollcast.dev/real-node";

/// A situation as the file has it; the file says what the fields are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Situation {
    pub title: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    first_args: Vec<String>,
    #[serde(default = "yes")]
    probe: bool,
    #[serde(default)]
    container: Map<String, Value>,
    #[serde(default)]
    pod: Map<String, Value>,
    #[serde(default)]
    spec: Map<String, Value>,
    #[serde(default)]
    pub said: Vec<Expected>,
    pub after: Option<After>,
    #[serde(default)]
    pub before: Vec<Object>,
    #[serde(default)]
    pub later: Vec<Object>,
    pub cause: Option<String>,
    pub wait: Option<i32>,
    #[serde(default)]
    sample: bool,
}

/// An object of any kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub path: String,
    pub body: Value,
}

/// Tones that are right between two seconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub from: i64,
    #[serde(default = "always")]
    pub to: i64,
    pub tone: Vec<String>,
}

/// Tones that are right once a container exited so often.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    pub exits: i64,
    pub tone: Vec<String>,
}

/// Which revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    First,
    Second,
}

fn yes() -> bool {
    true
}

fn always() -> i64 {
    i64::MAX
}

/// Those that are named (separated by commas), else all or a sample; and whether all the time is needed.
pub fn chosen(names: &str, is_whole: bool) -> (BTreeMap<String, Situation>, bool) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../end2end/cluster/kubelet.toml");
    let mut all: BTreeMap<String, Situation> = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    for name in &names {
        assert!(all.contains_key(*name), "there is no situation {name:?}");
    }
    all.retain(|name, situation| match names.is_empty() {
        true => is_whole || situation.sample,
        false => names.contains(&name.as_str()),
    });
    (all, is_whole || !names.is_empty())
}

impl Situation {
    /// Its Deployment; `registries` are the one by HTTP and the secure one.
    pub fn manifest(&self, version: Version, registries: (&str, &str)) -> Value {
        let labels = json!({ "app": "web" });
        let (tag, args) = match version {
            Version::First => ("v1", &self.first_args),
            Version::Second => ("v2", &self.args),
        };
        let mut container = json!({ "name": "web", "image": format!("registry.local/app:{tag}"), "args": args });
        if self.probe {
            container["readinessProbe"] = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 2 });
        }
        let mut pod = json!({
            "nodeSelector": { NODE: "true" }, "tolerations": [{ "key": NODE, "operator": "Exists" }],
            "automountServiceAccountToken": false, "enableServiceLinks": false, "dnsPolicy": "Default",
            "terminationGracePeriodSeconds": 25,
        });
        let mut spec = json!({ "replicas": 2, "selector": { "matchLabels": labels } });
        if version == Version::Second {
            merge(&mut container, &self.container);
            merge(&mut pod, &self.pod);
            merge(&mut spec, &self.spec);
        }
        pod["containers"] = json!([container]);
        spec["template"] = json!({ "metadata": { "labels": labels }, "spec": pod });
        let manifest = json!({ "metadata": { "name": "web", "labels": labels }, "spec": spec });
        let manifest = manifest.to_string().replace("<registry>", registries.0).replace("<secure>", registries.1);
        serde_json::from_str(&manifest).unwrap()
    }
}

fn merge(into: &mut Value, from: &Map<String, Value>) {
    into.as_object_mut().unwrap().extend(from.clone());
}
