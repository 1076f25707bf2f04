//! Stories: what people do to a Deployment, as data in `end2end/cluster/stories/NAME.toml`, played with kubectl.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{process, setup};

const FOLDER: &str = "end2end/cluster/stories";
/// Timeout of a step that waits.
const WAIT_LIMIT: Duration = Duration::from_secs(240);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    title: String,
    step: Vec<Step>,
    /// Expected timeline document at the end; read by the tests.
    #[serde(default, rename = "expect")]
    _expect: Value,
    #[serde(skip)]
    name: String,
}

/// One step; exactly one of its parts besides `say` is given.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Step {
    say: Option<String>,
    /// Make or change a Deployment.
    deploy: Option<Deploy>,
    /// Apply any manifest.
    apply: Option<Value>,
    /// Add a node that takes only pods which tolerate the taint `story=NAMESPACE`, from its first moment: stories are played side by side.
    node: Option<String>,
    /// Run kubectl in the story's namespace.
    kubectl: Option<String>,
    /// Remember what kubectl prints: name = "get arguments".
    remember: BTreeMap<String, String>,
    /// Wait until `kubectl get ARGUMENTS` prints the given text: [arguments, text].
    until: Option<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deploy {
    name: String,
    image: String,
    replicas: u32,
    /// Merged into the Deployment's spec.
    #[serde(default)]
    spec: serde_json::Map<String, Value>,
    /// Merged into the pod's spec.
    #[serde(default)]
    pod: serde_json::Map<String, Value>,
}

pub fn list() -> Result<()> {
    for name in names()? {
        println!("{name:32} {}", Story::named(&name)?.title);
    }
    Ok(())
}

fn names() -> Result<Vec<String>> {
    let files = process::entries(&process::workspace_path(FOLDER))?;
    Ok(files.iter().filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect())
}

impl Story {
    pub fn named(name: &str) -> Result<Self> {
        let path = process::workspace_path(FOLDER).join(format!("{name}.toml"));
        let known = || format!("there is no story {name:?}; there are: {}", names().unwrap_or_default().join(", "));
        let text = std::fs::read_to_string(&path).with_context(known)?;
        let mut story: Self = toml::from_str(&text).with_context(|| format!("{} is not a story", path.display()))?;
        story.name = name.to_owned();
        Ok(story)
    }

    /// Plays it; step by step waits for a line of standard input before each step.
    pub fn play(&self, kubectl: &Kubectl, namespace: Option<String>, step_by_step: bool) -> Result<()> {
        let namespace = namespace.unwrap_or_else(|| format!("{}-{}", self.name, unique()));
        println!("story {} in namespace {namespace}: {}", self.name, self.title);
        let kubectl = kubectl.with("--namespace", &namespace);
        kubectl.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }))?;
        let mut memory = BTreeMap::from([("namespace".to_owned(), namespace)]);
        let mut lines = std::io::stdin().lock().lines();
        for (index, step) in self.step.iter().enumerate() {
            let number = index + 1;
            println!("step {number} of {}: {}", self.step.len(), step.say.as_deref().unwrap_or("next"));
            if step_by_step && lines.next().is_none() {
                return Ok(());
            }
            step.run(&kubectl, &mut memory).with_context(|| format!("story {}, step {number}", self.name))?;
            println!("done {number}");
        }
        println!("the end of {}", self.name);
        Ok(())
    }
}

impl Step {
    fn run(&self, kubectl: &Kubectl, memory: &mut BTreeMap<String, String>) -> Result<()> {
        if let Some(deploy) = &self.deploy {
            kubectl.apply(&filled_manifest(&deploy.manifest(), memory)?)?;
        }
        if let Some(manifest) = &self.apply {
            kubectl.apply(&filled_manifest(manifest, memory)?)?;
        }
        if let Some(name) = &self.node {
            let mut node = node(&filled(name, memory));
            let taint = json!({ "key": "story", "value": memory.get("namespace"), "effect": "NoSchedule" });
            merge(&mut node, [("spec".to_owned(), json!({ "taints": [taint] }))]);
            kubectl.apply(&node)?;
        }
        for (name, arguments) in &self.remember {
            let text = kubectl.run(&format!("get {}", filled(arguments, memory)))?;
            ensure!(!text.is_empty(), "nothing to remember as {name}");
            memory.insert(name.clone(), text);
        }
        if let Some(line) = &self.kubectl {
            kubectl.run(&filled(line, memory))?;
        }
        if let Some((arguments, text)) = &self.until {
            let arguments = filled(arguments, memory);
            process::poll(WAIT_LIMIT, || {
                let now = kubectl.run(&format!("get {arguments}")).unwrap_or_default();
                ensure!(now == *text, "waited for {text:?} from `get {arguments}`, it says {now:?}");
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Deploy {
    fn manifest(&self) -> Value {
        let labels = json!({ "app": self.name });
        let mut pod = json!({ "containers": [{ "name": self.name, "image": self.image }] });
        let mut spec = json!({ "replicas": self.replicas, "selector": { "matchLabels": labels } });
        merge(&mut pod, self.pod.clone());
        merge(&mut spec, self.spec.clone());
        merge(&mut spec, [("template".to_owned(), json!({ "metadata": { "labels": labels }, "spec": pod }))]);
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": self.name, "labels": labels }, "spec": spec })
    }
}

fn merge(into: &mut Value, from: impl IntoIterator<Item = (String, Value)>) {
    if let Some(object) = into.as_object_mut() {
        object.extend(from);
    }
}

/// Returns a node that holds many pods.
pub fn node(name: &str) -> Value {
    let capacity = json!({ "cpu": "16", "memory": "64Gi", "pods": "250" });
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "status": { "capacity": capacity, "allocatable": capacity },
    })
}

fn filled(text: &str, memory: &BTreeMap<String, String>) -> String {
    memory.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
}

fn filled_manifest(manifest: &Value, memory: &BTreeMap<String, String>) -> Result<Value> {
    Ok(serde_json::from_str(&filled(&manifest.to_string(), memory))?)
}

fn unique() -> String {
    let millis = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    format!("{:x}", millis & 0xff_ffff)
}

/// kubectl, with the options that select its cluster.
#[derive(Clone)]
pub struct Kubectl {
    program: PathBuf,
    /// Arguments before those of each command; if an option is given twice, kubectl uses the last one.
    arguments: Vec<OsString>,
}

impl Kubectl {
    /// Returns the kubectl inside the control plane's binary.
    pub fn new(kubernetes: PathBuf) -> Self {
        Self { program: kubernetes, arguments: vec!["kubectl".into()] }
    }

    /// Returns the kubectl of the control plane's version, or the installed one if it cannot be built.
    pub fn find() -> Result<Self> {
        if process::is_installed("go") {
            return Ok(Self::new(setup::ensure_binaries()?.kubernetes));
        }
        ensure!(process::is_installed("kubectl"), "stories need kubectl, or Go to build it");
        Ok(Self { program: "kubectl".into(), arguments: Vec::new() })
    }

    pub fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut other = self.clone();
        other.arguments.extend([OsString::from(name), value.into()]);
        other
    }

    fn command(&self) -> std::process::Command {
        let mut command = process::command(&self.program, &[]);
        command.args(&self.arguments);
        command
    }

    /// Runs one line, of words as a shell has them.
    pub fn run(&self, line: &str) -> Result<String> {
        let arguments = shlex::split(line).with_context(|| format!("a quotation in {line:?} does not end"))?;
        process::output(self.command().args(arguments))
    }

    pub fn apply(&self, manifest: &Value) -> Result<()> {
        let mut command = self.command();
        command.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]);
        let name = manifest.pointer("/metadata/name").unwrap_or(&Value::Null);
        let applied = process::output_with_input(&mut command, &manifest.to_string());
        applied.map(drop).with_context(|| format!("cannot apply {name}"))
    }
}
