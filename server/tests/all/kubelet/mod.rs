//! What is said of pods that a real kubelet runs: the situations of `end2end/cluster/kubelet.toml`, all at once on the real node.
//!
//! What was said is compared by its tone, and `rollcast wait` by its exit code: words may change.

mod observe;
mod recorded;
mod said;
mod situation;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::Kubeconfig;
use observe::{Observer, now_millis};
use said::Said;
use serde_json::{Value, json};
use situation::{Object, Situation, Version};

use crate::common;
use crate::common::side::client;
use crate::live::program::Serving;

/// From the edit to the end: `rollcast wait` gives up before.
const DURATION: Duration = Duration::from_secs(180);
/// Of a sample.
const SAMPLE: Duration = Duration::from_secs(110);
/// Until revision 1 is rolled out everywhere.
const BEGIN_LIMIT: Duration = Duration::from_secs(180);
/// From an edit to what comes later.
const LATER: Duration = Duration::from_secs(20);
/// Every half second.
const EDITS_AT_ONCE: usize = 1;
const JSON: &str = "application/json";

async fn ask(client: &Client, method: &str, path: &str, media: &str, body: &Value) -> Value {
    let request = http::Request::builder().method(method).uri(path).header("content-type", media);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request(request.body(body).unwrap()).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

async fn apply(client: &Client, objects: &[Object]) {
    for Object { path, body } in objects {
        let path = format!("{path}?fieldManager=situation&force=true");
        ask(client, "PATCH", &path, "application/apply-patch+yaml", body).await;
    }
}

fn deployments(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/deployments")
}

/// Revision 1 of every situation, until all of it is available.
async fn begin(client: &Client, situations: &BTreeMap<String, Situation>, registries: (&str, &str)) {
    for (name, situation) in situations {
        ask(client, "POST", "/api/v1/namespaces", JSON, &json!({ "metadata": { "name": name } })).await;
        apply(client, &situation.before).await;
        ask(client, "POST", &deployments(name), JSON, &situation.manifest(Version::First, registries)).await;
    }
    let deadline = Instant::now() + BEGIN_LIMIT;
    loop {
        let list = ask(client, "GET", "/apis/apps/v1/deployments", JSON, &Value::Null).await;
        let is_available = |item: &Value| item["status"]["availableReplicas"] == item["spec"]["replicas"];
        let is_mine = |item: &Value| situations.contains_key(item["metadata"]["namespace"].as_str().unwrap());
        let waiting = list["items"].as_array().unwrap().iter().filter(|item| is_mine(item) && !is_available(item));
        if waiting.count() == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "revision 1 is not available everywhere");
        tokio::time::sleep(Duration::from_millis(500)).await; // polling with a deadline
    }
}

/// `rollcast wait` beside the rest; its exit code and last line.
async fn wait(kubeconfig: String, namespace: String, limit: Duration) -> (i32, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_rollcast"));
    command.args(["wait", "deployment/web", "--fail-fast", "--kubeconfig", &kubeconfig, "--namespace", &namespace]);
    command.args(["--timeout", &format!("{}s", limit.as_secs())]).env("ROLLCAST_LOG", "off").stderr(Stdio::null());
    let output = command.kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    (output.status.code().unwrap_or(-1), text.lines().last().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with a real node: `cargo xtask cluster kubelet`"]
async fn what_is_said_of_real_pods_is_right() {
    let path = std::env::var("ROLLCAST_TEST_KUBECONFIG").expect("ROLLCAST_TEST_KUBECONFIG names the cluster");
    let registries = std::fs::read_to_string(PathBuf::from(&path).with_file_name("registry")).unwrap();
    let registries = registries.split_once(' ').unwrap();
    let chosen = std::env::var("ROLLCAST_TEST_SITUATIONS").unwrap_or_default();
    let (situations, duration) = situation::chosen(&chosen, common::is_whole());
    let duration = if duration { DURATION } else { SAMPLE };
    let client = client(Kubeconfig::read_from(&path).unwrap()).await;
    let observer = Observer::begin(&client, situations.keys().cloned()).await;
    let program = Serving::with(&path, &["--no-history"]);
    begin(&client, &situations, registries).await;

    let (mut said, mut waits, mut edited) = (Said::default(), Vec::new(), BTreeMap::new());
    let mut left = situations.iter();
    let (limit, mut end) = (duration - Duration::from_secs(10), Instant::now() + duration);
    while Instant::now() < end {
        // A few at a time: how a cluster does that has too much to do is another question.
        for (name, situation) in left.by_ref().take(EDITS_AT_ONCE) {
            observer.edit(name);
            edited.insert(name.clone(), now_millis());
            let (second, web) = (situation.manifest(Version::Second, registries), format!("{}/web", deployments(name)));
            ask(&client, "PATCH", &web, "application/merge-patch+json", &second).await;
            let (client, later) = (client.clone(), situation.later.clone());
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await; // what happens when is the situation
                apply(&client, &later).await;
            });
            waits.push((name, tokio::spawn(wait(path.clone(), name.clone(), limit))));
            end = Instant::now() + duration;
        }
        said.hear(&said::deployments(&program).await, &edited);
        tokio::time::sleep(Duration::from_millis(500)).await; // sampling for a given time, which is what is tested
    }
    let mut failures = Vec::new();
    for (name, wait) in waits {
        let (code, line) = wait.await.unwrap();
        println!("wait {name}: {code} {line}");
        if situations[name].wait.is_some_and(|expected| expected != code) {
            failures.push(format!("{name}: `rollcast wait` ended with {code}: {line}"));
        }
    }
    if let Some(folder) = std::env::var_os("ROLLCAST_RECORDED") {
        observer.write(&PathBuf::from(folder), &PathBuf::from(&path).with_file_name("node/kubelet"));
    }
    said.print(&situations);
    for (name, situation) in &situations {
        let exits = situation.after.as_ref().and_then(|after| observer.exit_millis(name, after.exits));
        failures.extend(said.failures(name, situation, exits.map(|millis| millis - edited[name])));
        ask(&client, "DELETE", &format!("/api/v1/namespaces/{name}"), JSON, &Value::Null).await;
    }
    assert!(failures.is_empty(), "{} of {} situations:\n{}", failures.len(), situations.len(), failures.join("\n"));
}
