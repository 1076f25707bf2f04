//! The same actions, chosen by chance, done to a real control plane and to the simulated one: after each both come to rest in the same state.
//!
//! Both are used through the same client and the same requests. `docs/faithfulness.md` says what a state is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;
use kube::Client;
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use simcluster::api::{self, Cluster};
use simcluster::{Settings, World};

use crate::common;
use crate::common::side::{Action, Seen, Side, annotation, client, controller, is_deleting, revision, text};

const SEEDS: u64 = 3;
/// By night.
const ALL_SEEDS: u64 = 50;
const ACTIONS: usize = 20;
/// How often the state is read, and how long it must stand to be at rest.
const READ: Duration = Duration::from_millis(600);
/// How long coming to rest may take on a machine that does everything at once.
const LIMIT: Duration = Duration::from_secs(120);

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

fn number(value: &Value, path: &str) -> i64 {
    value.pointer(path).and_then(Value::as_i64).unwrap_or_default()
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
            // A busy controller still counts pods that are gone by now.
            let is_done = is_counted && number(set, "/status/terminatingReplicas") == 0;
            if !is_seen || !is_done || asked != number(set, "/status/replicas") || is_deleting(set) {
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
    /// The state in which it comes to rest.
    async fn rest(&self) -> (Value, Seen) {
        let (started, mut last) = (Instant::now(), None);
        loop {
            tokio::time::sleep(READ).await; // polling another process
            let seen = self.seen().await.unwrap();
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane; `cargo xtask test` starts one"]
async fn sequences_of_twenty_actions_come_to_rest_alike() {
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
    let usual = if common::is_whole() { ALL_SEEDS } else { SEEDS };
    let seeds = std::env::var("ROLLCAST_TEST_SEEDS").map_or(usual, |text| text.parse().unwrap());
    let all = (1..=seeds).map(|seed| {
        let namespace = format!("seed-{seed}-{}", now % 1_000_000);
        let side = |client: &Client| Side { client: client.clone(), namespace: namespace.clone(), name: "web" };
        tokio::spawn(play(seed, side(&real), side(&simulated)))
    });
    let mut wrong = Vec::new();
    for played in all.collect::<Vec<_>>() {
        wrong.extend(played.await.unwrap().err());
    }
    assert!(wrong.is_empty(), "{} of {seeds} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}
