//! What people and programs of a cluster write is shown as text, and left out on request.

use serde_json::json;

use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::{FakeApi, deployment, pod, replica_set};

const WRITTEN: [&str; 3] = ["somebody wrote this", "a program said this", "a probe heard this"];

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_shown_or_neither_shown_nor_kept() {
    let api = FakeApi::start().await;
    let mut replica_set = replica_set(2, 1, 1);
    replica_set["metadata"]["annotations"]["kubernetes.io/change-cause"] = WRITTEN[0].into();
    let mut pod = pod(10, 2, "web-a");
    pod["status"]["conditions"][0]["status"] = "False".into();
    pod["status"]["containerStatuses"][0]["state"] =
        json!({ "terminated": { "exitCode": 1, "reason": "Error", "message": WRITTEN[1] } });
    let about = json!({ "kind": "Pod", "namespace": "shop", "name": "web-a", "uid": pod["metadata"]["uid"] });
    let event = json!({
        "kind": "Event", "metadata": { "name": "e", "namespace": "shop", "uid": "00000000-0000-4000-8000-0000000000ff" },
        "involvedObject": about, "type": "Warning", "reason": "Unhealthy", "count": 3,
        "message": format!("Readiness probe failed: {}", WRITTEN[2]), "lastTimestamp": jiff::Timestamp::now().to_string(), // what is older than a day is let go of
    });
    let mut deployment = deployment(1, 1);
    deployment["status"] = json!({ "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1 });
    for object in [deployment, replica_set, pod.clone(), event] {
        api.put(object);
    }
    let kubeconfig = kubeconfig(&api, "here");
    for is_hidden in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().display().to_string();
        let hide = if is_hidden { &["--hide-messages"][..] } else { &[] };
        let serving = Serving::with(&kubeconfig, &[&["--data-dir", &data_dir], hide].concat());
        let page = "/clusters/here/namespaces/shop/deployments/web";
        let pod = format!("{page}/pods/{}", pod["metadata"]["uid"].as_str().unwrap());
        let mut shown = String::new();
        until("everything is there", async || {
            shown.clear();
            for path in [page, &pod, &format!("{page}/revisions/1"), &format!("/api/v1{page}/timeline")] {
                shown.push_str(&get(&serving.address, path).await);
            }
            // kinds are listed one after another: each text may be the last to come
            let is_there = shown.contains("Readiness probe failed") && shown.contains("web-a");
            assert!(!is_hidden || !WRITTEN.iter().any(|text| shown.contains(text)), "{shown}");
            is_there && (is_hidden || WRITTEN.iter().all(|text| shown.contains(text)))
        })
        .await;
        until("it is kept", async || {
            let arguments = ["history", "export", "deployment/web", "--data-dir", &data_dir];
            let kept = std::process::Command::new(env!("CARGO_BIN_EXE_rollcast")).args(arguments).output().unwrap();
            let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
            assert!(!is_hidden || !WRITTEN.iter().any(|text| kept.contains(text)), "{kept}");
            kept.contains("web-a") && (is_hidden || WRITTEN[..2].iter().all(|text| kept.contains(text)))
        })
        .await;
    }
}
