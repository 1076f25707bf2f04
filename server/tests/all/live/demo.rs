//! The playground and recordings keep history where a folder is named, and only there.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::common::until::until;
use crate::live::program::{Serving, get};

/// The UIDs of the Deployment `web` of which rollouts are kept, as the API tells them.
async fn kept(serving: &Serving) -> BTreeSet<String> {
    let answer = get(&serving.address, "/api/v1/rollouts").await;
    let text = answer.split_once("\r\n\r\n").unwrap().1;
    let told: Value = serde_json::from_str(text).unwrap_or_default();
    let rollouts = told["rollouts"].as_array().cloned().unwrap_or_default();
    let web = rollouts.iter().filter(|rollout| rollout["name"] == "web" && rollout["namespace"] == "default");
    web.map(|rollout| rollout["uid"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_playground_keeps_history_where_a_folder_is_named_and_each_start_is_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let options = ["--no-stories", "--seed", "7", "--data-dir", &path];
    let first = Serving::playground(&options);
    until("its first rollout is kept", async || kept(&first).await.len() == 1).await;
    let before = kept(&first).await;
    first.end();
    // The same seed: another cluster all the same, so that what is kept of the first one stays what it was.
    let second = Serving::playground(&options);
    until("that of another cluster is kept as well", async || kept(&second).await.len() == 2).await;
    assert!(kept(&second).await.is_superset(&before));
    let page = get(&second.address, "/clusters/playground/namespaces/default/deployments/web").await;
    assert!(page.starts_with("HTTP/1.0 200") || page.starts_with("HTTP/1.1 200"), "{page}");
    second.end();
    // Without a folder nothing is kept, and what is kept elsewhere is not shown.
    let third = Serving::playground(&["--no-stories", "--seed", "7"]);
    assert!(kept(&third).await.is_empty());
    third.end();
}

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/rollout.jsonl");

/// What an address answers, without headers.
async fn told(serving: &Serving, path: &str) -> String {
    get(&serving.address, path).await.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The rollouts of a cluster that are kept, without its name.
async fn rollouts(serving: &Serving, cluster: &str) -> Vec<Value> {
    let text = told(serving, &format!("/api/v1/rollouts?cluster={cluster}")).await;
    let told: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut rollouts = told["rollouts"].as_array().cloned().unwrap_or_default();
    rollouts.iter_mut().for_each(|rollout| drop(rollout.as_object_mut().unwrap().remove("cluster")));
    rollouts
}

fn ended(rollouts: &[Value]) -> Vec<(u64, &str)> {
    rollouts.iter().map(|of| (of["revision"].as_u64().unwrap(), of["outcome"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_played_is_kept_where_a_folder_is_named_and_each_start_is_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    // So fast that all of it is over between two looks at the clock.
    let options = [RECORDING, "--speed", "1000", "--data-dir", &path];
    let all = [(3, "complete"), (2, "complete"), (1, "complete")];
    let lines = async |serving: &Serving, cluster: &str, rollout: &Value| {
        let [namespace, name, uid] = ["namespace", "name", "uid"].map(|field| rollout[field].as_str().unwrap());
        let place = format!("clusters/{cluster}/namespaces/{namespace}/deployments/{name}");
        told(serving, &format!("/api/v1/{place}/recording?uid={uid}&rollout={}", rollout["number"])).await
    };
    let first = Serving::replay(&options);
    until("its rollouts are kept", async || ended(&rollouts(&first, "rollout").await) == all).await;
    first.end();
    let second = Serving::replay(&options);
    until("they are kept again", async || ended(&rollouts(&second, "rollout-2").await) == all).await;
    let [before, now] = [rollouts(&second, "rollout").await, rollouts(&second, "rollout-2").await];
    assert_eq!(before, now, "the same was played");
    for rollout in &now {
        let of_first = lines(&second, "rollout", rollout).await;
        assert!(of_first.lines().count() > 20, "{of_first}");
        assert_eq!(of_first, lines(&second, "rollout-2", rollout).await, "pod by pod");
    }
    second.end();
    // Without a folder nothing is kept, whatever the environment names for servers of real clusters.
    let third = Serving::replay(&options[..3]);
    assert_eq!(rollouts(&third, "rollout").await, Vec::<Value>::new());
    third.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_played_to_be_kept_and_cannot_be_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let refused = |folder: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        let output = command.args(["replay", RECORDING, "--listen", "127.0.0.1:0", "--data-dir", folder]).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).trim().lines().last().unwrap().to_owned())
    };
    let nowhere = refused("/dev/null/nowhere");
    let says = "rollcast: cannot store the history of the replay: cannot create /dev/null/nowhere: ";
    assert!(nowhere.0 == Some(2) && nowhere.1.starts_with(says), "{nowhere:?}");
    let other = Serving::replay(&[RECORDING, "--data-dir", &path]);
    let taken =
        format!("rollcast: cannot store the history of the replay: another server is using the history in {path}");
    assert_eq!(refused(&path), (Some(2), taken));
    other.end();
}
