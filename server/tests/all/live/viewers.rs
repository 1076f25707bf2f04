//! Viewers: snapshot, then deltas; encoded once; no viewer costs the cluster anything; nobody sees secrets.

use futures::StreamExt;
use serde_json::json;
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{self, Scope, ServerFrame};
use timeline::{Model, Workload};
use tokio_tungstenite::tungstenite::Message;

use crate::common::until::until;
use crate::live::program::{Socket, follow, get, serve};
use crate::live::support::{FakeApi, Verb, WATCHED, Watched, pod, shop_of};

struct Site {
    address: std::net::SocketAddr,
    api: FakeApi,
    watched: Watched,
}

async fn site() -> Site {
    let api = shop_of(2, &["web-a"]).await;
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a"]).await;
    until("every watch", async || WATCHED.iter().all(|resource| api.requests(Verb::Watch, resource) == 1)).await;
    Site { address: serve(&watched).await, api, watched }
}

/// A viewer as the page is one: a copy that frames keep right.
struct Viewer {
    socket: Socket,
    copy: DeploymentCopy,
    bytes: Vec<u8>,
    /// Snapshots and changes that came.
    frames: u64,
}

impl Viewer {
    async fn open(address: std::net::SocketAddr) -> Self {
        let socket = follow(address, [Scope::Workload(web())]).await;
        Self { socket, copy: DeploymentCopy::default(), bytes: Vec::new(), frames: 0 }
    }

    /// Takes frames until the copy satisfies a condition.
    async fn until(&mut self, what: &str, condition: impl Fn(&Model) -> bool) {
        self.until_viewer(what, |viewer| condition(&viewer.copy.model)).await;
    }

    async fn until_viewer(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let limit = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
        while !condition(self) {
            let message = tokio::time::timeout_at(limit, self.socket.next())
                .await
                .unwrap_or_else(|_| panic!("never came: {what}"));
            let Message::Binary(bytes) = message.unwrap().unwrap() else {
                continue;
            };
            self.bytes.extend_from_slice(&bytes);
            match wire::decode(&bytes).unwrap() {
                ServerFrame::Snapshot(snapshot) => {
                    self.frames += 1;
                    self.copy.take_snapshot(*snapshot);
                }
                ServerFrame::Delta(delta) => {
                    self.frames += 1;
                    assert_eq!(self.copy.take_delta(delta), Taken::Fits);
                }
                _ => {}
            }
        }
    }
}

fn has(name: &'static str) -> impl Fn(&Model) -> bool {
    move |model| model.pods.values().any(|pod| pod.name == name)
}

/// The Deployment that the tests follow.
pub fn web() -> Workload {
    Workload::deployment("fake", "shop", "web")
}

/// Epoch and number of a copy, without its sentences, which go out a little later than what they are about.
pub fn place(copy: &DeploymentCopy) -> Option<(u64, u64)> {
    copy.position().map(|position| (position.epoch, position.seq))
}

/// A snapshot as viewers get it: without what stays on the server.
fn sent(snapshot: &wire::Snapshot) -> wire::Snapshot {
    wire::decode(&wire::encode(snapshot).unwrap()).unwrap()
}

#[tokio::test]
async fn a_viewers_copy_equals_the_servers_after_snapshot_and_deltas() {
    let site = site().await;
    let mut viewer = Viewer::open(site.address).await;
    viewer.until("snapshot", has("web-a")).await;
    for number in 11..40 {
        site.api.put(pod(number, 2, &format!("web-{number}")));
    }
    site.api.delete(&pod(10, 2, "web-a"));
    viewer
        .until("the last", |model| {
            has("web-39")(model) && model.pods.values().any(|pod| pod.name == "web-a" && pod.gone_millis().is_some())
        })
        .await;
    let ours = DeploymentCopy::from(sent(&site.watched.hub.page(&web()).await.unwrap()));
    assert_eq!(viewer.copy.model, ours.model);
    assert_eq!(place(&viewer.copy), place(&ours));
}

#[tokio::test]
async fn fifty_viewers_add_no_request_to_the_cluster_and_every_frame_is_encoded_once() {
    let site = site().await;
    let before = site.api.all_requests();
    let mut viewers = Vec::new();
    for _ in 0..50 {
        viewers.push(Viewer::open(site.address).await);
    }
    for viewer in &mut viewers {
        viewer.until("snapshot", has("web-a")).await;
    }
    let frames = || site.watched.hub.counters().frames.load(std::sync::atomic::Ordering::Relaxed);
    let encoded = frames();
    let had: Vec<u64> = viewers.iter().map(|viewer| viewer.frames).collect();
    site.api.put(pod(11, 2, "web-b"));
    for viewer in &mut viewers {
        viewer.until("delta", has("web-b")).await;
    }
    assert_eq!(site.api.all_requests(), before, "viewers cost the cluster nothing");
    // However many there were by now (the change, what is said of it, what time alone changes): all were for everybody.
    let encoded = frames() - encoded;
    for (viewer, had) in viewers.iter_mut().zip(had) {
        viewer.until_viewer("every frame that was encoded", |viewer| viewer.frames - had >= encoded).await;
    }
    assert_eq!(site.watched.viewers.count(), 50);
    drop(viewers);
    until("viewers leave", async || site.watched.viewers.count() == 0).await;
}

/// A text that must never leave the API server's answer.
const SECRET: &str = "hunter2-do-not-show";

#[tokio::test]
async fn nothing_of_a_pods_environment_arguments_or_managed_fields_survives() {
    let site = site().await;
    let mut viewer = Viewer::open(site.address).await;
    viewer.until("snapshot", has("web-a")).await;
    let mut loaded = pod(11, 2, "web-b");
    loaded["metadata"]["managedFields"] = json!([{ "manager": SECRET, "fieldsV1": { "f:spec": { SECRET: {} } } }]);
    loaded["metadata"]["annotations"] =
        json!({ "kubectl.kubernetes.io/last-applied-configuration": SECRET, "note": SECRET });
    loaded["metadata"]["labels"] = json!({ "team": SECRET });
    loaded["spec"]["volumes"] = json!([{ "name": "v", "secret": { "secretName": SECRET } }]);
    loaded["spec"]["containers"][0]["env"] = json!([{ "name": "PASSWORD", "value": SECRET }]);
    loaded["spec"]["containers"][0]["envFrom"] = json!([{ "secretRef": { "name": SECRET } }]);
    loaded["spec"]["containers"][0]["args"] = json!(["--token", SECRET]);
    loaded["spec"]["containers"][0]["command"] = json!([SECRET]);
    let object = server::kube::translate::Object::decode(timeline::fact::Kind::Pod, &loaded.to_string()).unwrap();
    let recorded = serde_json::to_string(&object).unwrap();
    assert!(recorded.contains("web-b") && !recorded.contains(SECRET), "recording: {recorded}");
    let fact = format!("{:?}", object.fact(timeline::fact::Seen::Modified).unwrap());
    assert!(!fact.contains(SECRET), "fact: {fact}");
    site.api.put(loaded);
    viewer.until("delta", has("web-b")).await;
    assert!(!String::from_utf8_lossy(&viewer.bytes).contains(SECRET), "frames");
    let address = site.address.to_string();
    until("listed", async || get(&address, "/api/v1/deployments").await.contains("web:v1")).await;
    for path in [
        "/clusters/fake/namespaces/shop/deployments/web",
        "/api/v1/clusters/fake/namespaces/shop/deployments/web/timeline",
        "/api/v1/deployments",
    ] {
        let page = get(&address, path).await;
        assert!(page.contains(" 200 OK") && page.contains("web") && !page.contains(SECRET), "{path}");
    }
}
