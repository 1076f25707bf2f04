//! How long the first list of a large cluster takes, beside a reflector of kube-rs that reads the same four kinds:
//! `cargo run --release -p server --example lists -- PATH-OF-ROLLCAST [PODS [ROUNDS]]`.
//!
//! The API server is a program of its own that answers lists in pages, with pods of 4 KB, a hundred to a Deployment. Time is from the
//! start of a program until it has listed everything; CPU is what the program used until then.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{OriginalUri, Query, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube_runtime::{WatchStreamExt, reflector, watcher};
use serde::Deserialize;
use serde_json::{Value, json};

use support::Program;

/// Pods of each Deployment.
const EACH: usize = 100;
/// Stand for twelve digits of an object's own UID and of its owner's.
const OWN: &str = "eeeeeeeeeeee";
const OWNER: &str = "dddddddddddd";

/// What there is: texts of a Deployment, a ReplicaSet and a pod, and how many pods.
struct Api {
    texts: [String; 3],
    pods: usize,
}

#[derive(Deserialize)]
struct Asked {
    limit: Option<usize>,
    r#continue: Option<usize>,
    watch: Option<String>,
}

fn object(owner: Option<&str>, spec: Value, status: Value) -> String {
    let uid = |digits: &str| format!("00000000-0000-4000-8000-{digits}");
    let owners = owner.map(
        |kind| json!([{ "apiVersion": "apps/v1", "controller": true, "kind": kind, "name": "web", "uid": uid(OWNER) }]),
    );
    json!({
        "metadata": {
            "annotations": { "deployment.kubernetes.io/revision": "1" }, "creationTimestamp": "2026-11-21T10:00:00Z", "generation": 1,
            "labels": { "app": "web", "pod-template-hash": "1" }, "name": format!("web-{OWN}"), "namespace": "shop",
            "ownerReferences": owners, "resourceVersion": "7", "uid": uid(OWN),
        },
        "spec": spec, "status": status,
    })
    .to_string()
}

impl Api {
    fn new(pods: usize) -> Self {
        let env: Vec<Value> = (0..40)
            .map(|n| json!({ "name": format!("SETTING_{n}"), "value": format!("a value of some length {n}") }))
            .collect();
        let spec = json!({ "nodeName": "node-1", "containers": [{ "name": "web", "image": "registry.example.com/shop/web:v1", "env": env }] });
        let of_pods = json!({ "replicas": EACH, "selector": { "matchLabels": { "app": "web" } }, "template": { "spec": spec.clone() } });
        let counts = json!({ "observedGeneration": 1, "replicas": EACH, "updatedReplicas": EACH, "readyReplicas": EACH, "availableReplicas": EACH });
        let conditions: Vec<Value> = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
            .map(|name| json!({ "type": name, "status": "True", "lastTransitionTime": "2026-11-21T10:00:01Z" }))
            .into();
        let running = json!({ "name": "web", "image": "web:v1", "imageID": "web@sha256:1", "ready": true, "restartCount": 0,
            "state": { "running": { "startedAt": "2026-11-21T10:00:00Z" } } });
        let status = json!({ "phase": "Running", "conditions": conditions, "containerStatuses": [running] });
        let texts = [
            object(None, of_pods.clone(), counts.clone()),
            object(Some("Deployment"), of_pods, counts),
            object(Some("ReplicaSet"), spec, status),
        ];
        Self { texts, pods }
    }

    /// Objects of a kind from that one on. Deployments have the numbers from 1,000,000 on, ReplicaSets from 2,000,000.
    fn page(&self, resource: &str, from: usize, most: usize) -> String {
        let deployments = self.pods / EACH;
        let (text, all, own, owner): (_, _, usize, fn(usize) -> usize) = match resource {
            "deployments" => (&self.texts[0], deployments, 1_000_000, |_| 0),
            "replicasets" => (&self.texts[1], deployments, 2_000_000, |number| 1_000_000 + number),
            "pods" => (&self.texts[2], self.pods, 3_000_000, |number| 2_000_000 + number / EACH),
            _ => (&self.texts[0], 0, 0, |_| 0),
        };
        let to = all.min(from.saturating_add(most));
        let digits = |number: usize| format!("{number:012x}");
        let items: Vec<String> = (from..to)
            .map(|number| text.replace(OWN, &digits(own + number)).replace(OWNER, &digits(owner(number))))
            .collect();
        let next = if to < all { to.to_string() } else { String::new() };
        let (meta, items) = (json!({ "resourceVersion": "7", "continue": next }), items.join(","));
        format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{meta},"items":[{items}]}}"#)
    }
}

async fn answer(State(api): State<Arc<Api>>, OriginalUri(uri): OriginalUri, Query(asked): Query<Asked>) -> Response {
    let resource = uri.path().rsplit('/').next().unwrap_or_default();
    match asked.watch {
        Some(_) => {
            axum::body::Body::from_stream(futures::stream::pending::<Result<String, std::io::Error>>()).into_response()
        }
        None if resource == "version" => "{}".into_response(),
        None => api.page(resource, asked.r#continue.unwrap_or(0), asked.limit.unwrap_or(usize::MAX)).into_response(),
    }
}

/// The API server; it ends when it is killed.
async fn serve(pods: usize) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(Arc::new(Api::new(pods)));
    axum::serve(listener, router).await.unwrap();
}

fn reflected<K>(client: &kube::Client) -> reflector::Store<K>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let (reader, writer) = reflector::store::<K>();
    let stream = watcher::watcher(kube::Api::<K>::all(client.clone()), watcher::Config::default());
    let reflected = reflector::reflector(writer, stream).default_backoff();
    tokio::spawn(reflected.for_each(|_| std::future::ready(())));
    reader
}

/// A reflector of each kind; says when all of them have listed what there is.
async fn reflect(address: &str) {
    let client = kube::Client::try_from(kube::Config::new(address.parse().unwrap())).unwrap();
    let (deployments, sets, pods, events) = (
        reflected::<Deployment>(&client),
        reflected::<ReplicaSet>(&client),
        reflected::<Pod>(&client),
        reflected::<Event>(&client),
    );
    deployments.wait_until_ready().await.unwrap();
    sets.wait_until_ready().await.unwrap();
    pods.wait_until_ready().await.unwrap();
    events.wait_until_ready().await.unwrap();
    println!("http://{}", pods.len());
    std::future::pending::<()>().await;
}

fn myself(verb: &str, argument: &str) -> Program {
    Program::start(Command::new(std::env::current_exe().unwrap()).args([verb, argument]))
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", pods] => return serve(pods.parse().unwrap()).await,
        ["reflect", address] => return reflect(address).await,
        _ => {}
    }
    let path = arguments.first().expect("the path of rollcast");
    let pods = arguments.get(1).map_or("100000", String::as_str);
    let rounds: usize = arguments.get(2).map_or(3, |rounds| rounds.parse().expect("a number of rounds"));
    let api = myself("serve", pods);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, simcluster::api::kubeconfig("large", api.address.parse().unwrap())).unwrap();
    println!("first list of {pods} pods in Deployments of {EACH}, seconds until it is there and of CPU:");
    let mut times: [Vec<(Duration, Duration)>; 2] = Default::default();
    for _ in 0..rounds {
        let began = Instant::now();
        let reflector = myself("reflect", &format!("http://{}", api.address));
        times[0].push((began.elapsed(), reflector.cpu()));
        drop(reflector);
        let began = Instant::now();
        let serve = ["serve", "--no-history", "--listen", "127.0.0.1:0", "--kubeconfig"];
        let rollcast = Program::start(Command::new(path).args(serve).arg(&kubeconfig));
        rollcast.ready().await;
        times[1].push((began.elapsed(), rollcast.cpu()));
    }
    let best = times.map(|mut times| {
        times.sort();
        times[0]
    });
    for (name, (time, cpu)) in ["reflector", "rollcast"].iter().zip(best) {
        println!("  {name:<10} {:>7.2} s, CPU {:>7.2} s (best of {rounds})", time.as_secs_f64(), cpu.as_secs_f64());
    }
    println!("  ratio      {:>7.2}   (limit 1.5)", best[1].0.as_secs_f64() / best[0].0.as_secs_f64());
}
