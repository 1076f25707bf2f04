//! The playground keeps history where a folder is named, and nothing else does.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{Serving, get};
use crate::until::until;

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
