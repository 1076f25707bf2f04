//! The same actions, chosen by chance, done to a real control plane and to the simulated one: after each both come to rest in the same state.
//!
//! Both are used through the same client and the same requests. `docs/faithfulness.md` says what a state is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;
use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use simcluster::api::{self, Cluster};
use simcluster::{Settings, World};

const SEEDS: u64 = 50;
const ACTIONS: usize = 20;
/// How often the state is read, and how long it must stand to be at rest.
const READ: Duration = Duration::from_millis(600);
/// How long coming to rest may take on a machine that does everything at once.
const LIMIT: Duration = Duration::from_secs(120);

/// Something done to both.
#[derive(Debug, Clone)]
enum Action {
    Image(&'static str),
    Kill(usize),
    Unlabel(usize),
    Label,
    DeleteReplicaSet,
    Scale(i64),
    Pause(bool),
    Undo(usize),
    Restart,
    Budget(Value, Value),
    HistoryLimit(i64),
    MinReadySeconds(i64),
}

fn choose(rng: &mut Rng, is_paused: bool) -> Action {
    let amounts = [
        (json!(1), json!(0)),
        (json!("25%"), json!("25%")),
        (json!(0), json!(1)),
        (json!(2), json!(2)),
        (json!("50%"), json!(0)),
        (json!("100%"), json!("40%")),
    ];
    match rng.u8(..24) {
        0..=4 => Action::Image(["", "", "never-", "missing-", "slow-"][rng.usize(..5)]),
        5 | 6 => Action::Kill(rng.usize(..8)),
        7 => Action::Unlabel(rng.usize(..8)),
        8 => Action::Label,
        9 => Action::DeleteReplicaSet,
        10..=13 => Action::Scale(rng.i64(0..=9)),
        14 | 15 => Action::Pause(!is_paused),
        16 | 17 => Action::Undo(rng.usize(..4)),
        18 => Action::Restart,
        19..=21 => {
            let (surge, unavailable) = amounts[rng.usize(..amounts.len())].clone();
            Action::Budget(surge, unavailable)
        }
        22 => Action::HistoryLimit(rng.i64(0..=4)),
        _ => Action::MinReadySeconds(rng.i64(0..=3)),
    }
}

/// One of the two clusters, in one namespace.
#[derive(Clone)]
struct Side {
    client: Client,
    namespace: String,
}

/// What there is.
struct Seen {
    deployment: Value,
    sets: Vec<Value>,
    pods: Vec<Value>,
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, path: &str) -> i64 {
    value.pointer(path).and_then(Value::as_i64).unwrap_or_default()
}

fn annotation(value: &Value, name: &str) -> String {
    value["metadata"]["annotations"][format!("deployment.kubernetes.io/{name}")].as_str().unwrap_or_default().to_owned()
}

fn controller(value: &Value) -> &str {
    let owners = value["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true).map_or("", |owner| text(owner, "/uid"))
}

fn is_deleting(value: &Value) -> bool {
    value["metadata"]["deletionTimestamp"].is_string()
}

fn revision(set: &Value) -> i64 {
    annotation(set, "revision").parse().unwrap_or_default()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|of| of["type"] == "Ready" && of["status"] == "True")
}

/// How a pod stands when nothing happens to it any more.
fn standing(pod: &Value) -> Option<&'static str> {
    let state = &pod["status"]["containerStatuses"][0]["state"];
    match text(state, "/waiting/reason") {
        "ErrImagePull" | "ImagePullBackOff" => Some("cannot be pulled"),
        _ if is_ready(pod) => Some("ready"),
        _ if state["running"].is_object() && text(pod, "/spec/containers/0/image").contains("never") => {
            Some("not ready")
        }
        _ => None,
    }
}

/// Whether the first pods of a revision are progress depends on whether its status was written before they were counted
/// (`progress.go` compares with what was written last); on the real control plane that differs from run to run.
fn reason(condition: &Value) -> &str {
    match text(condition, "/reason") {
        "NewReplicaSetCreated" | "ReplicaSetUpdated" => "under way",
        other => other,
    }
}

impl Seen {
    /// Pods of the newest revision, by name; those first that are its own.
    fn mine(&self) -> Vec<&Value> {
        let newest = self.sets.iter().max_by_key(|set| revision(set)).map_or("", |set| text(set, "/metadata/uid"));
        let mut pods: Vec<&Value> =
            self.pods.iter().filter(|pod| controller(pod) == newest && !is_deleting(pod)).collect();
        pods.sort_by_key(|pod| text(pod, "/metadata/name").to_owned());
        pods
    }

    fn out_of_rotation(&self) -> Option<&Value> {
        self.pods.iter().filter(|pod| controller(pod).is_empty() && !is_deleting(pod)).min_by_key(|pod| {
            // The one that was made first is the same one in both clusters.
            (text(pod, "/metadata/creationTimestamp").to_owned(), text(pod, "/metadata/name").to_owned())
        })
    }

    /// Every ReplicaSet has counted its pods and the Deployment its ReplicaSets: standing still alone is no rest, a busy
    /// controller is only late.
    fn adds_up(&self) -> bool {
        let counted = |set: &Value| {
            let mine = self.pods.iter().filter(|pod| controller(pod) == text(set, "/metadata/uid"));
            let (mut all, mut ready) = (0, 0);
            for pod in mine {
                all += 1;
                ready += i64::from(is_ready(pod));
            }
            all == number(set, "/status/replicas") && ready == number(set, "/status/readyReplicas")
        };
        let summed = ["replicas", "readyReplicas", "availableReplicas", "terminatingReplicas"].iter().all(|name| {
            let path = format!("/status/{name}");
            number(&self.deployment, &path) == self.sets.iter().map(|set| number(set, &path)).sum::<i64>()
        });
        self.sets.iter().all(counted) && summed
    }

    /// Nothing will happen any more; `None` while something does.
    fn rest(&self) -> Option<Value> {
        let (spec, status) = (&self.deployment["spec"], &self.deployment["status"]);
        if number(&self.deployment, "/metadata/generation") != number(status, "/observedGeneration") {
            return None;
        }
        let mut sets = BTreeMap::new();
        let mut owners = BTreeMap::new();
        for set in &self.sets {
            let asked = number(set, "/spec/replicas");
            let is_seen = number(set, "/metadata/generation") == number(set, "/status/observedGeneration");
            // What is ready and does not count yet will.
            let is_counted = number(set, "/status/readyReplicas") == number(set, "/status/availableReplicas");
            if !is_seen || !is_counted || asked != number(set, "/status/replicas") || is_deleting(set) {
                return None;
            }
            owners.insert(text(set, "/metadata/uid"), revision(set).to_string());
            let counts = ["replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"]
                .map(|name| number(set, &format!("/status/{name}")));
            sets.insert(
                revision(set),
                json!([
                    annotation(set, "revision-history"),
                    annotation(set, "desired-replicas"),
                    annotation(set, "max-replicas"),
                    asked,
                    counts,
                    text(set, "/spec/template/spec/containers/0/image"),
                ]),
            );
        }
        if !self.adds_up() {
            return None;
        }
        let mut pods: BTreeMap<String, u32> = BTreeMap::new();
        for pod in &self.pods {
            if is_deleting(pod) {
                return None;
            }
            let owner = owners.get(controller(pod)).map_or("nobody", String::as_str);
            *pods.entry(format!("{owner} {}", standing(pod)?)).or_default() += 1;
        }
        let conditions: BTreeMap<&str, String> = status["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|of| (text(of, "/type"), format!("{} {}", text(of, "/status"), reason(of))))
            .collect();
        let counts = [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
        ]
        .map(|name| number(status, &format!("/{name}")));
        Some(json!({
            "revision": annotation(&self.deployment, "revision"), "asked": spec["replicas"], "paused": spec["paused"] == true,
            "counts": counts, "conditions": conditions, "sets": sets, "pods": pods,
        }))
    }
}

impl Side {
    async fn ask(&self, method: &str, path: &str, media: &str, body: &Value) -> Result<Value, u16> {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        let request = request.body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(status.code),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    fn path(&self, group: &str, resource: &str) -> String {
        format!("/{group}/namespaces/{}/{resource}", self.namespace)
    }

    async fn merge(&self, path: &str, body: Value) -> Result<Value, u16> {
        self.ask("PATCH", path, "application/merge-patch+json", &body).await
    }

    fn web(&self) -> String {
        self.path("apis/apps/v1", "deployments/web")
    }

    async fn seen(&self) -> Seen {
        let list = async |group: &str, resource: &str| {
            let found = self.ask("GET", &self.path(group, resource), "application/json", &Value::Null).await.unwrap();
            found["items"].as_array().unwrap().clone()
        };
        let deployment = self.ask("GET", &self.web(), "application/json", &Value::Null).await.unwrap();
        Seen { deployment, sets: list("apis/apps/v1", "replicasets").await, pods: list("api/v1", "pods").await }
    }

    /// The state in which it comes to rest.
    async fn rest(&self) -> (Value, Seen) {
        let (started, mut last) = (Instant::now(), None);
        loop {
            tokio::time::sleep(READ).await; // polling another process
            let seen = self.seen().await;
            let rest = seen.rest();
            match (&rest, &last) {
                (Some(rest), Some(last)) if rest == last => return (rest.clone(), seen),
                _ => last = rest,
            }
            assert!(
                started.elapsed() < LIMIT,
                "{} does not come to rest: {:#} {:#?}",
                self.namespace,
                seen.deployment["status"],
                seen.pods.iter().map(|pod| &pod["status"]).collect::<Vec<_>>()
            );
        }
    }

    async fn perform(&self, action: &Action, seen: &Seen, step: usize) -> Result<(), u16> {
        let (web, nothing) = (self.web(), Value::Null);
        let pod = |pod: &Value| self.path("api/v1", &format!("pods/{}", text(pod, "/metadata/name")));
        let chosen = |index: &usize| {
            let mine = seen.mine();
            mine.get(index % mine.len().max(1)).map(|value| pod(value))
        };
        let done = match action {
            Action::Image(fate) => {
                let container = json!({ "name": "web", "image": format!("web:{fate}v{step}") });
                self.merge(&web, json!({ "spec": { "template": { "spec": { "containers": [container] } } } })).await
            }
            Action::Kill(index) => match chosen(index) {
                Some(pod) => self.ask("DELETE", &pod, "application/json", &nothing).await,
                None => return Ok(()),
            },
            Action::Unlabel(index) => match chosen(index) {
                Some(pod) => self.merge(&pod, json!({ "metadata": { "labels": { "app": null } } })).await,
                None => return Ok(()),
            },
            Action::Label => match seen.out_of_rotation() {
                Some(value) => self.merge(&pod(value), json!({ "metadata": { "labels": { "app": "web" } } })).await,
                None => return Ok(()),
            },
            Action::DeleteReplicaSet => match seen.sets.iter().max_by_key(|set| revision(set)) {
                Some(set) => {
                    let path = self.path("apis/apps/v1", &format!("replicasets/{}", text(set, "/metadata/name")));
                    self.ask("DELETE", &path, "application/json", &json!({ "propagationPolicy": "Background" })).await
                }
                None => return Ok(()),
            },
            Action::Scale(replicas) => {
                self.merge(&format!("{web}/scale"), json!({ "spec": { "replicas": replicas } })).await
            }
            Action::Pause(is_paused) => self.merge(&web, json!({ "spec": { "paused": is_paused } })).await,
            Action::Undo(index) => {
                let mut sets: Vec<&Value> = seen.sets.iter().collect();
                sets.sort_by_key(|set| revision(set));
                if sets.is_empty() {
                    return Ok(()); // deleted while paused: nobody makes it again
                }
                let mut template = sets[index % sets.len()]["spec"]["template"].clone();
                template["metadata"]["labels"].as_object_mut().unwrap().remove("pod-template-hash");
                let patch = json!([{ "op": "replace", "path": "/spec/template", "value": template }]);
                self.ask("PATCH", &web, "application/json-patch+json", &patch).await
            }
            Action::Restart => {
                let annotations = json!({ "kubectl.kubernetes.io/restartedAt": format!("step {step}") });
                self.merge(&web, json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } }))
                    .await
            }
            Action::Budget(surge, unavailable) => {
                let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
                self.merge(
                    &web,
                    json!({ "spec": { "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling } } }),
                )
                .await
            }
            Action::HistoryLimit(limit) => self.merge(&web, json!({ "spec": { "revisionHistoryLimit": limit } })).await,
            Action::MinReadySeconds(seconds) => {
                self.merge(&web, json!({ "spec": { "minReadySeconds": seconds } })).await
            }
        };
        done.map(drop)
    }

    async fn begin(&self, replicas: i64) {
        let namespace = json!({ "metadata": { "name": self.namespace } });
        self.ask("POST", "/api/v1/namespaces", "application/json", &namespace).await.unwrap();
        let labels = json!({ "app": "web" });
        let deployment = json!({
            "metadata": { "name": "web" },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web:v0" }] } },
            },
        });
        self.ask("POST", &self.path("apis/apps/v1", "deployments"), "application/json", &deployment).await.unwrap();
    }

    async fn end(&self) {
        let _ = self
            .ask("DELETE", &format!("/api/v1/namespaces/{}", self.namespace), "application/json", &Value::Null)
            .await;
    }
}

/// One sequence of actions; what differs, if anything does.
async fn play(seed: u64, real: Side, simulated: Side) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let replicas = rng.i64(1..=6);
    tokio::join!(real.begin(replicas), simulated.begin(replicas));
    let (mut is_paused, mut done) = (false, vec![format!("{replicas} pods")]);
    for step in 1..=ACTIONS {
        let ((a, seen_real), (b, seen_simulated)) = tokio::join!(real.rest(), simulated.rest());
        if a != b {
            return Err(format!("seed {seed} after {}:\nreal      {a}\nsimulated {b}", done.join(", ")));
        }
        let action = choose(&mut rng, is_paused);
        let (a, b) =
            tokio::join!(real.perform(&action, &seen_real, step), simulated.perform(&action, &seen_simulated, step));
        if a != b {
            return Err(format!("seed {seed}, {action:?} after {}: real {a:?}, simulated {b:?}", done.join(", ")));
        }
        if let Action::Pause(now) = action {
            is_paused = now;
        }
        done.push(format!("{action:?}"));
    }
    let ((a, _), (b, _)) = tokio::join!(real.rest(), simulated.rest());
    tokio::join!(real.end(), simulated.end());
    if a == b { Ok(()) } else { Err(format!("seed {seed} after {}:\nreal      {a}\nsimulated {b}", done.join(", "))) }
}

async fn client(kubeconfig: Kubeconfig) -> Client {
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane; `cargo xtask test` starts one"]
async fn fifty_sequences_of_twenty_actions_come_to_rest_alike() {
    let path =
        std::env::var("ROLLCAST_TEST_KUBECONFIG").expect("ROLLCAST_TEST_KUBECONFIG names the real control plane");
    let real = client(Kubeconfig::read_from(path).unwrap()).await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let cluster = Cluster::new(World::new(1, i64::try_from(now).unwrap(), Settings::default()));
    let listener = api::listen(0).await.unwrap();
    let config = api::kubeconfig("simulated", listener.local_addr().unwrap());
    tokio::spawn(cluster.clone().run());
    tokio::spawn(cluster.serve(listener));
    let simulated = client(Kubeconfig::from_yaml(&config).unwrap()).await;
    let seeds = std::env::var("ROLLCAST_TEST_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let all = (1..=seeds).map(|seed| {
        let namespace = format!("seed-{seed}-{}", now % 1_000_000);
        let side = |client: &Client| Side { client: client.clone(), namespace: namespace.clone() };
        tokio::spawn(play(seed, side(&real), side(&simulated)))
    });
    let mut wrong = Vec::new();
    for played in all.collect::<Vec<_>>() {
        wrong.extend(played.await.unwrap().err());
    }
    assert!(wrong.is_empty(), "{} of {seeds} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}
