//! Everything that people do to Deployments, one to three of them in a namespace, at random and without waiting for rest, on a real control plane. What comes of it is recorded,
//! as `rollcast record` does it, for the invariants (`invariants.rs`).

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use kube::config::Kubeconfig;
use serde_json::json;

use crate::common::side::{Action, Seen, Side, client, revision, text};
use crate::common::{audit, until};

const SEEDS: u64 = 20;
/// Of each Deployment.
const ACTIONS: usize = 25;
/// Deployments of a namespace, of which a seed takes the first one or more.
const NAMES: [&str; 3] = ["web", "api", "worker"];
/// Of so many pods that ended, who deleted them cannot be told of one.
const MOST_BLURRED: usize = 50;
/// Of so many pods that ended, one was let go by two at once.
const MOST_RACED: usize = 20;
const LAST: &str = "the last thing that was done";

/// A recording of a namespace; ends with its owner.
struct Recorder {
    child: Child,
    file: PathBuf,
}

impl Recorder {
    /// Begins, and waits until all kinds were listed.
    async fn begin(kubeconfig: &str, namespace: &str, file: PathBuf) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(["record", "--kubeconfig", kubeconfig, "--namespace", namespace]);
        let child = command.stdout(std::fs::File::create(&file).unwrap()).stderr(Stdio::inherit());
        let recorder = Self { child: child.env("ROLLCAST_LOG", "error,kube_client=off").spawn().unwrap(), file };
        until::until("the first lists", async || recorder.text().matches("LIST_DONE").count() >= 4).await;
        recorder
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The last line may be half written.
        let text = self.text();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        std::fs::write(&self.file, whole).unwrap();
    }
}

/// Something done to the Deployment; whether it was accepted.
async fn act(side: &Side, rng: &mut Rng, step: usize) -> Result<(), u16> {
    let seen = match side.seen().await {
        Ok(seen) => seen,
        // Deleted: made again, so that it takes over what is left.
        Err(404) => return side.create(rng.i64(1..=8)).await.map(drop),
        Err(other) => return Err(other),
    };
    let is_paused = seen.deployment["spec"]["paused"] == true;
    let shares = [json!(0), json!(1), json!(3), json!("25%"), json!("50%"), json!("100%")];
    let mut share = || shares[rng.usize(..shares.len())].clone();
    let (surge, unavailable) = (share(), share());
    let index = rng.usize(..8);
    let action = match rng.u8(..40) {
        0..=6 => Action::Image(["", "", "", "slow-", "never-", "missing-", "crash-"][rng.usize(..7)]),
        7..=10 => Action::Scale(rng.i64(0..=12)),
        11..=13 => Action::Undo(rng.usize(..4)),
        14 => Action::Restart,
        15 => Action::Pause(true),
        16 | 17 if is_paused => Action::Pause(false),
        16..=18 => Action::Kill(index),
        19 => return force(side, &seen, index).await,
        20 => Action::Unlabel(index),
        21 => Action::Label,
        22 | 23 => Action::DeleteReplicaSet,
        24..=27 => Action::Budget(surge, unavailable),
        28 => Action::MinReadySeconds(rng.i64(0..=3)),
        29 => Action::HistoryLimit(rng.i64(0..=3)),
        30 => {
            let recreate = json!({ "spec": { "strategy": { "type": "Recreate", "rollingUpdate": null } } });
            return side.merge(&side.web(), recreate).await.map(drop);
        }
        31..=33 => Action::Kill(index),
        34..=38 => return at_once(side, &seen, rng, step).await,
        _ => return delete(side, &seen, rng).await,
    };
    side.perform(&action, &seen, step).await
}

/// A pod is deleted, and right behind it what would have let it go anyway: only the cluster's order tells who was first.
async fn at_once(side: &Side, seen: &Seen, rng: &mut Rng, step: usize) -> Result<(), u16> {
    let index = rng.usize(..8);
    let then = if rng.bool() { Action::Scale(rng.i64(0..=2)) } else { Action::DeleteReplicaSet };
    if rng.bool() {
        side.perform(&Action::Kill(index), seen, step).await?;
    } else {
        force(side, seen, index).await?;
    }
    side.perform(&then, seen, step).await
}

/// A pod is deleted without grace.
async fn force(side: &Side, seen: &Seen, index: usize) -> Result<(), u16> {
    let mine = seen.mine();
    let Some(pod) = mine.get(index % mine.len().max(1)) else { return Ok(()) };
    let path = side.path("api/v1", &format!("pods/{}", text(pod, "/metadata/name")));
    side.ask("DELETE", &path, "application/json", &json!({ "gracePeriodSeconds": 0 })).await.map(drop)
}

/// The Deployment or its newest ReplicaSet is deleted, with or without what belongs to it.
async fn delete(side: &Side, seen: &Seen, rng: &mut Rng) -> Result<(), u16> {
    let policy = ["Background", "Foreground", "Orphan"][rng.usize(..3)];
    let options = json!({ "propagationPolicy": policy });
    let newest = seen.sets.iter().max_by_key(|set| revision(set)).filter(|_| rng.bool());
    let path = match newest {
        Some(set) => side.path("apis/apps/v1", &format!("replicasets/{}", text(set, "/metadata/name"))),
        None => side.web(),
    };
    side.ask("DELETE", &path, "application/json", &options).await.map(drop)
}

/// One sequence of actions to one to three Deployments of a namespace; which share of them was accepted.
async fn play(seed: u64, kubeconfig: String, side: Side, file: PathBuf) -> f64 {
    let mut rng = Rng::with_seed(seed);
    let recorder = Recorder::begin(&kubeconfig, &side.namespace, file).await;
    side.begin(rng.i64(1..=6)).await;
    let sides = NAMES.map(|name| Side { name, ..side.clone() });
    let sides = &sides[..1 + seed as usize % NAMES.len()];
    for other in &sides[1..] {
        other.create(rng.i64(1..=6)).await.unwrap();
    }
    let actions = ACTIONS * sides.len();
    let mut accepted = 0;
    for step in 1..=actions {
        // Sometimes at rest, mostly in the middle of what the actions before began: the pace is part of the play.
        let pause = if rng.bool() { rng.u64(10..=400) } else { rng.u64(400..=4_000) };
        tokio::time::sleep(Duration::from_millis(pause / sides.len() as u64)).await;
        // What makes no sense now, or comes too late, is refused.
        accepted += usize::from(act(&sides[rng.usize(..sides.len())], &mut rng, step).await.is_ok());
    }
    // What is done last is known when it is recorded.
    let last = json!({ "metadata": { "annotations": { "kubernetes.io/change-cause": LAST } } });
    until::until("a Deployment to do the last thing to", async || {
        let _ = side.create(1).await; // it is there, mostly
        side.merge(&side.web(), last.clone()).await.is_ok()
    })
    .await;
    until::until("the recording of what was done last", async || recorder.text().contains(LAST)).await;
    drop(recorder);
    side.end().await;
    accepted as f64 / actions as f64
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real control plane; `cargo xtask nightly` starts one"]
async fn chaos_is_recorded() {
    let kubeconfig =
        std::env::var("ROLLCAST_TEST_KUBECONFIG").expect("ROLLCAST_TEST_KUBECONFIG names the real control plane");
    let folder = PathBuf::from(std::env::var("ROLLCAST_RECORDED").expect("ROLLCAST_RECORDED names a folder"));
    std::fs::create_dir_all(&folder).unwrap();
    let real = client(Kubeconfig::read_from(&kubeconfig).unwrap()).await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let all = (1..=SEEDS).map(|seed| {
        let namespace = format!("chaos-{seed}-{}", now % 1_000_000);
        let side = Side { client: real.clone(), namespace, name: NAMES[0] };
        let file = folder.join(format!("chaos-{seed}.jsonl"));
        let namespace = side.namespace.clone();
        let played = play(seed, kubeconfig.clone(), side, file.clone());
        async move { (played.await, namespace, file) }
    });
    let audit = audit::Audit::beside(&kubeconfig);
    if audit.is_none() {
        println!("LEFT OUT: who deleted which pod (there is no audit log beside {kubeconfig})");
    }
    let (mut compared, mut wrong, mut blurred, mut raced) = (0, Vec::new(), Vec::new(), Vec::new());
    for (accepted, namespace, file) in futures::future::join_all(all).await {
        assert!(accepted > 0.5, "{:.0} % of the actions were accepted", accepted * 100.0);
        let Some(audit) = &audit else { continue };
        let ends = audit.compare(&namespace, &std::fs::read_to_string(file).unwrap());
        compared += ends.compared;
        wrong.extend(ends.wrong);
        blurred.extend(ends.blurred);
        raced.extend(ends.raced);
    }
    println!(
        "{compared} pods ended; who deleted them is as the API server's audit log says of all but {}, cannot be told of {}, and of {} the ReplicaSet was scaled down and deleted at once",
        wrong.len(),
        blurred.len(),
        raced.len()
    );
    assert!(compared > 0 || audit.is_none(), "no pod ended");
    assert!(blurred.len() * MOST_BLURRED <= compared + MOST_BLURRED, "{}", blurred.join("\n"));
    assert!(raced.len() * MOST_RACED <= compared + MOST_RACED, "{}", raced.join("\n"));
    assert!(wrong.is_empty(), "who deleted a pod is not so:\n{}", wrong.join("\n"));
}
