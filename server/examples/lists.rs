//! Time and memory of the first list of a large cluster, beside a reflector of kube-rs that reads the same four kinds:
//! `cargo run --release -p server --example lists -- PATH-OF-ROLLCAST [PODS [ROUNDS]]`.
//!
//! The API server is a program of its own that answers lists in pages, and streams them where it is asked to and told to; pods are
//! of 4 KB, a hundred to a Deployment. Time is from the start of a program until it has listed everything; CPU is what the program
//! used until then, the peak is the largest memory until then, and the rest is the memory after the list.

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
use serde::Deserialize;
use serde_json::{Value, json};

use support::Program;
use support::reflector::reflect;

/// Pods of each Deployment.
const EACH: usize = 100;
/// Stand for twelve digits of an object's own UID and of its owner's.
const OWN: &str = "eeeeeeeeeeee";
const OWNER: &str = "dddddddddddd";

/// What there is: texts of a Deployment, a ReplicaSet and a pod, and how many pods.
struct Api {
    texts: [String; 3],
    pods: usize,
    streams_lists: bool,
}

#[derive(Deserialize)]
struct Asked {
    limit: Option<usize>,
    r#continue: Option<usize>,
    watch: Option<String>,
    #[serde(rename = "sendInitialEvents")]
    sends_initial: Option<bool>,
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
    fn new(pods: usize, streams_lists: bool) -> Self {
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
        Self { texts, pods, streams_lists }
    }

    /// Objects of a kind from that one on, and how many there are. Deployments have the numbers from 1,000,000 on, ReplicaSets from
    /// 2,000,000.
    fn objects(&self, resource: &str, from: usize, most: usize) -> (Vec<String>, usize) {
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
        (items, all)
    }

    fn page(&self, resource: &str, from: usize, most: usize) -> String {
        let (items, all) = self.objects(resource, from, most);
        let to = from + items.len();
        let next = if to < all { to.to_string() } else { String::new() };
        let (meta, items) = (json!({ "resourceVersion": "7", "continue": next }), items.join(","));
        format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{meta},"items":[{items}]}}"#)
    }
}

/// Every object as a line of a watch, then the bookmark that ends them, then nothing.
fn stream(api: Arc<Api>, resource: String) -> axum::body::Body {
    const LINES: usize = 100;
    let lines = futures::stream::unfold(Some(0), move |from| {
        let (api, resource) = (api.clone(), resource.clone());
        async move {
            let from = from?;
            let (items, all) = api.objects(&resource, from, LINES);
            let next = (from + items.len() < all).then_some(from + items.len());
            let mut text: String =
                items.iter().map(|item| format!("{{\"type\":\"ADDED\",\"object\":{item}}}\n")).collect();
            if next.is_none() {
                let annotations = json!({ "k8s.io/initial-events-end": "true" });
                let bookmark = json!({ "metadata": { "resourceVersion": "7", "annotations": annotations } });
                text += &format!("{{\"type\":\"BOOKMARK\",\"object\":{bookmark}}}\n");
            }
            Some((Ok::<_, std::io::Error>(text), next))
        }
    });
    axum::body::Body::from_stream(lines.chain(futures::stream::pending()))
}

async fn answer(State(api): State<Arc<Api>>, OriginalUri(uri): OriginalUri, Query(asked): Query<Asked>) -> Response {
    let resource = uri.path().rsplit('/').next().unwrap_or_default();
    match asked.watch {
        Some(_) if asked.sends_initial == Some(true) && !api.streams_lists => {
            axum::http::StatusCode::UNPROCESSABLE_ENTITY.into_response()
        }
        Some(_) if asked.sends_initial == Some(true) => stream(api.clone(), resource.to_owned()).into_response(),
        Some(_) => {
            axum::body::Body::from_stream(futures::stream::pending::<Result<String, std::io::Error>>()).into_response()
        }
        None if resource == "version" => "{}".into_response(),
        None => api.page(resource, asked.r#continue.unwrap_or(0), asked.limit.unwrap_or(usize::MAX)).into_response(),
    }
}

/// The API server; it ends when it is killed.
async fn serve(pods: usize, streams_lists: bool) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(Arc::new(Api::new(pods, streams_lists)));
    axum::serve(listener, router).await.unwrap();
}

fn myself(arguments: &[&str]) -> Program {
    Program::start(Command::new(std::env::current_exe().unwrap()).args(arguments))
}

/// Figures of one first list.
#[derive(Clone, Copy)]
struct Figures {
    time: Duration,
    cpu: Duration,
    /// Memory in KB.
    peak: u64,
    rest: u64,
}

impl Figures {
    async fn measure(program: &Program, began: Instant) -> Self {
        let (time, cpu) = (began.elapsed(), program.cpu());
        let rest = program.memory_at_rest().await;
        Self { time, cpu, peak: program.peak_memory(), rest }
    }
}

async fn measure_rollcast(path: &str, api: &Program, folder: &std::path::Path) -> Figures {
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, simcluster::api::kubeconfig("large", api.address.parse().unwrap())).unwrap();
    let began = Instant::now();
    let serve = ["serve", "--no-history", "--listen", "127.0.0.1:0", "--kubeconfig"];
    let rollcast = Program::start(Command::new(path).args(serve).arg(&kubeconfig));
    rollcast.ready().await;
    Figures::measure(&rollcast, began).await
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", pods, lists] => return serve(pods.parse().unwrap(), lists == "stream").await,
        ["reflect", address] => return reflect(address).await,
        _ => {}
    }
    let path = arguments.first().expect("the path of rollcast");
    let pods = arguments.get(1).map_or("100000", String::as_str);
    let rounds: usize = arguments.get(2).map_or(3, |rounds| rounds.parse().expect("a number of rounds"));
    let [in_pages, streamed] = ["pages", "stream"].map(|lists| myself(&["serve", pods, lists]));
    let folder = tempfile::tempdir().unwrap();
    println!("first list of {pods} pods in Deployments of {EACH}, best of {rounds}:");
    let mut all: [Vec<Figures>; 3] = Default::default();
    for _ in 0..rounds {
        let began = Instant::now();
        let reflector = myself(&["reflect", &format!("http://{}", in_pages.address)]);
        all[0].push(Figures::measure(&reflector, began).await);
        drop(reflector);
        all[1].push(measure_rollcast(path, &in_pages, folder.path()).await);
        all[2].push(measure_rollcast(path, &streamed, folder.path()).await);
    }
    let best = all.map(|figures| figures.into_iter().min_by_key(|figures| figures.time).unwrap());
    for (name, Figures { time, cpu, peak, rest }) in
        ["reflector", "rollcast, pages", "rollcast, stream"].iter().zip(best)
    {
        println!(
            "  {name:<17} {:>6.2} s, CPU {:>6.2} s, peak {:>5} MB, rest {:>5} MB, peak / rest {:.2}",
            time.as_secs_f64(),
            cpu.as_secs_f64(),
            peak / 1000,
            rest / 1000,
            peak as f64 / rest as f64
        );
    }
    for (name, figures) in [("pages", best[1]), ("stream", best[2])] {
        let ratio = figures.time.as_secs_f64() / best[0].time.as_secs_f64();
        println!("  {name} / reflector: {ratio:.2} of the time (limit 1.5)");
    }
}
