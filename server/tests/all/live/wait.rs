//! `rollcast wait` as scripts run it: the program itself, against a cluster, over a server, and with a document at the end. What
//! it ends with is in one table.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use timeline::wire::ConnectionState;
use tokio::sync::Semaphore;

use crate::common::until::until;
use crate::live::program::{FOLLOWED, Running, kubeconfig, last, serve};
use crate::live::support::{FakeApi, Fault, Verb, Watched, deployment, pod, readable, shop};

/// What there is to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Situation {
    /// Rolled out.
    Complete,
    /// Its deadline has passed.
    Failed,
    /// Paused midway.
    Paused,
    /// The API server answers errors; what was seen before was complete.
    Stale,
    /// The first list does not come.
    Starting,
    Deleted,
    /// Deleted, and there is another one of that name, complete.
    Recreated,
    /// Deployments may not be read.
    Forbidden,
    /// There is none of that name; if there was one, nobody saw it go.
    Missing,
}

/// When it comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before waiting begins.
    Before,
    /// While a rollout that was under way is waited for.
    During,
    /// The deadline passes before anything can be seen.
    Late,
}

/// How it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Cluster,
    Server,
    /// Over a server, with documents.
    Json,
}

/// Exit code, and what the last line says.
type Wanted = (i32, &'static str);

use Situation::{Complete, Deleted, Failed, Forbidden, Missing, Paused, Recreated, Stale, Starting};

const LATE: Wanted = (124, "no data");

/// What is right. Against a cluster and over a server it is the same, except that a cluster that cannot be reached at all is
/// told after ten seconds, while a server is given time to reach it.
#[rustfmt::skip]
const TABLE: [(Situation, Wanted, Wanted, Wanted); 9] = [
    //          before                             during                              late
    (Complete,  (0, "complete after"),             (0, "complete after"),              LATE),
    (Failed,    (1, "failed after"),               (1, "failed after"),                LATE),
    (Paused,    (124, "aused"),                    (124, "aused"),                     LATE),
    (Stale,     (124, "No data from the cluster"), (124, "No data from the cluster"),  LATE),
    (Starting,  (124, "Connecting"),               (124, "timed out after"),           LATE),
    // As `kubectl rollout status`: what is gone has failed, also when another one has its name.
    (Deleted,   (2, "there is no Deployment web"), (1, "failed after"),                LATE),
    (Recreated, (0, "complete after"),             (1, "failed after"),                LATE),
    (Forbidden, (2, "no permission to"),           (2, "no permission to"),            LATE),
    (Missing,   (2, "there is no Deployment web"), (1, "failed after"),                LATE),
];

fn wanted(situation: Situation, moment: Moment, way: Way) -> Wanted {
    if (situation, moment, way) == (Stale, Moment::Before, Way::Cluster) {
        return (2, "cannot watch shop/web");
    }
    let (_, before, during, late) = TABLE.into_iter().find(|(of, ..)| *of == situation).unwrap();
    match moment {
        Moment::Before => before,
        Moment::During => during,
        Moment::Late => late,
    }
}

/// The Deployment `web`: rolling out, so many of 2 replicas are updated.
pub fn web(number: u64, updated: u32) -> Value {
    let mut web = deployment(number, 2);
    web["status"]["updatedReplicas"] = json!(updated);
    web
}

/// Lists and watches of Deployments get this.
fn stand(api: &FakeApi, fault: &Fault) {
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "deployments", Some(fault.clone()));
    }
    api.hang_up();
}

/// Brings it about.
fn strike(api: &FakeApi, situation: Situation) {
    let mut paused = web(1, 1);
    paused["spec"]["paused"] = json!(true);
    let mut failed = web(1, 1);
    failed["status"]["conditions"] =
        json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" }]);
    match situation {
        Complete => api.put(web(1, 2)),
        Failed => api.put(failed),
        Paused => api.put(paused),
        Stale => stand(api, &Fault::Status(500)),
        Starting => {
            api.stand(Verb::List, "deployments", Some(Fault::Hang));
            api.stand(Verb::Watch, "deployments", Some(Fault::Status(410)));
            api.hang_up();
        }
        Deleted => api.delete(&web(1, 1)),
        Recreated => {
            api.delete(&web(1, 1));
            api.put(web(5, 2));
        }
        Forbidden => stand(api, &Fault::Status(403)),
        Missing => {
            api.lose(&web(1, 1));
            api.fault(Verb::Watch, "deployments", Fault::Status(410));
            api.hang_up();
        }
    }
}

/// A cluster, and a server that watches it.
struct World {
    api: FakeApi,
    _watched: Option<Watched>,
    arguments: Vec<String>,
}

impl World {
    async fn new(situation: Situation, moment: Moment, way: Way) -> Self {
        let api = FakeApi::start().await;
        let is_before = moment != Moment::During;
        // What a server cannot have seen before.
        let is_first = is_before && (matches!(situation, Starting | Forbidden | Missing) || way == Way::Cluster);
        if !(is_before && matches!(situation, Missing)) {
            api.put(web(1, if situation == Stale && is_before { 2 } else { 1 }));
        }
        if is_first && situation != Missing {
            strike(&api, situation);
        }
        if way == Way::Cluster {
            let arguments = vec!["--kubeconfig".to_owned(), kubeconfig(&api, "here")];
            return Self { api, _watched: None, arguments };
        }
        let watched = Watched::start(&api, &[], |_| {});
        if situation != Starting || !is_before {
            until("live", async || watched.hub.connection().borrow().state == ConnectionState::Live).await;
        }
        if is_before && !is_first {
            strike(&api, situation);
            until("the server sees it", async || is_seen(&watched, situation).await).await;
        }
        let address = serve(&watched).await;
        Self { api, _watched: Some(watched), arguments: vec!["--server".to_owned(), format!("http://{address}")] }
    }
}

async fn is_seen(watched: &Watched, situation: Situation) -> bool {
    let found = watched.hub.read(|reader| {
        let web = reader.timeline.model().find("shop", "web").unwrap();
        (web.uid.bits() & 0xf, web.deleted_millis.is_some(), timeline::verdict::kubectl(&web.now))
    });
    let (number, is_deleted, verdict) = found.await.unwrap();
    let is_stale = watched.hub.connection().borrow().state.is_stale();
    use timeline::verdict::KubectlVerdict;
    match situation {
        Complete => verdict == KubectlVerdict::Complete,
        Failed => verdict == KubectlVerdict::DeadlineExceeded,
        Stale => is_stale,
        Deleted => is_deleted,
        Recreated => number == 5,
        Paused | Starting | Forbidden | Missing => true,
    }
}

/// Returns whether a document is that of the first Deployment `web`.
fn is_first(document: &str) -> bool {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    document["deployments"][0]["uid"].as_str().is_some_and(|uid| uid.ends_with("01"))
}

async fn case(situation: Situation, moment: Moment, way: Way) -> Result<(), String> {
    let mut world = World::new(situation, moment, way).await;
    let (code, words) = wanted(situation, moment, way);
    let timeout = match (moment, code) {
        (Moment::Late, _) => "0s",
        (Moment::Before, 124) => "5s",
        (_, 124) => "10s",
        _ => "60s",
    };
    world.arguments.extend(["--timeout".to_owned(), timeout.to_owned()]);
    if way == Way::Json {
        world.arguments.extend(["--output".to_owned(), "json".to_owned()]);
    }
    let running = Running::wait(&world.arguments);
    if moment == Moment::During {
        running.until(FOLLOWED).await;
        let api = &world.api;
        let asked = api.requests(Verb::Watch, "deployments");
        strike(api, situation);
        if situation == Stale {
            until("a refused watch", async || api.requests(Verb::Watch, "deployments") > asked).await;
            api.put(web(1, 2)); // nobody hears of it
        }
    }
    let ended = running.ended.await.unwrap();
    // Where nothing was seen there is no document, and what is printed is a document all the same.
    let is_unseen = moment == Moment::Late || (situation, moment) == (Starting, Moment::Before);
    let is_json = match (way, code) {
        (Way::Json, 2) => ended.out.is_empty(),
        (Way::Json, _) => {
            serde_json::from_str::<Value>(&ended.out).is_ok_and(|document| document.is_null() == is_unseen)
        }
        _ => true,
    };
    // Its document is that of the Deployment that was waited for, also when another one has its name.
    let is_recreated = (situation, moment, way) == (Recreated, Moment::During, Way::Json);
    let is_json = is_json && (!is_recreated || is_first(&ended.out));
    let last_line = if way == Way::Json || code == 2 { last(&ended.error) } else { last(&ended.out) };
    let is_right = ended.code == Some(code) && last_line.contains(words) && is_json;
    is_right
        .then_some(())
        .ok_or_else(|| format!("{situation:?} {moment:?} {way:?}: wanted {code} {words:?}: {ended:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_as_the_table_says() {
    let limit = Semaphore::new(24);
    let mut cases = Vec::new();
    for (situation, ..) in TABLE {
        for moment in [Moment::Before, Moment::During, Moment::Late] {
            for way in [Way::Cluster, Way::Server, Way::Json] {
                cases.push((situation, moment, way));
            }
        }
    }
    let cases = cases.into_iter().map(|(situation, moment, way)| {
        let limit = &limit;
        async move {
            let _one_of_some = limit.acquire().await.unwrap();
            case(situation, moment, way).await
        }
    });
    let wrong: Vec<String> = join_all(cases).await.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn however_waiting_ends_the_rollout_is_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for (situation, way) in
        [(Complete, Way::Cluster), (Failed, Way::Cluster), (Failed, Way::Server), (Deleted, Way::Cluster)]
    {
        let world = World::new(situation, Moment::During, way).await;
        let path = folder.path().join("rollout.html");
        let file = path.display().to_string();
        let running =
            Running::wait(&[world.arguments.clone(), vec!["--export".into(), file, "--redact".into()]].concat());
        running.until(FOLLOWED).await;
        strike(&world.api, situation);
        let ended = running.ended.await.unwrap();
        assert_eq!(ended.code, Some(wanted(situation, Moment::During, way).0), "{ended:?}");
        let html =
            std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{situation:?} {way:?}: {why}, {ended:?}"));
        assert!(
            html.starts_with("<!DOCTYPE html>") && html.contains(" / web — Rollcast</title>"),
            "{situation:?} {way:?}"
        );
        assert!(!readable(&html).contains("shop"), "without names: {situation:?} {way:?}");
        std::fs::remove_file(path).unwrap();
    }
    // One that cannot be written is said, and changes nothing of how waiting ended.
    let mut world = World::new(Complete, Moment::Before, Way::Cluster).await;
    world.arguments.extend(["--export".to_owned(), "/no/such/folder/rollout.html".to_owned()]);
    let ended = Running::wait(&world.arguments).ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.error.contains("cannot export the rollout: cannot write /no/such/folder/rollout.html"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn complete_counts_only_after_it_has_lasted_where_that_is_wanted() {
    let api = shop().await;
    let mut arguments = vec!["--kubeconfig".to_owned(), kubeconfig(&api, "settle")];
    arguments.extend(["--settle", "3s", "--timeout", "60s"].map(str::to_owned));
    let running = Running::wait(&arguments);
    running.until("2 of 2 available").await;
    let mut restarted = pod(10, 2, "web-a");
    restarted["status"]["containerStatuses"][0]["restartCount"] = json!(1);
    let at = Instant::now();
    api.put(restarted);
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(at.elapsed() >= Duration::from_secs(3), "the restart began it anew: {:?}", at.elapsed());
    assert!(last(&ended.out).starts_with("complete after"), "{ended:?}");
    // Not long enough before the deadline.
    arguments.extend(["--settle", "50s", "--timeout", "2s"].map(str::to_owned));
    let arguments: Vec<String> =
        arguments.iter().enumerate().filter(|(at, _)| !(2..6).contains(at)).map(|(_, word)| word.clone()).collect();
    let ended = Running::wait(&arguments).ended.await.unwrap();
    assert_eq!(ended.code, Some(124), "{ended:?}");
    assert!(
        last(&ended.out).ends_with("It was not complete for 50 s without an exit, a restart or a lost pod."),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_no_probe_asks_may_end_before_it_counts_where_failures_are_waited_for() {
    let api = shop().await;
    let now = || jiff::Timestamp::now().to_string();
    let new = |restarts: u32| {
        let mut new = pod(10, 2, "web-a");
        new["metadata"]["creationTimestamp"] = json!(now());
        new["status"]["conditions"][0]["lastTransitionTime"] = json!(now());
        let ended =
            json!({ "terminated": { "exitCode": 1, "reason": "Error", "startedAt": now(), "finishedAt": now() } });
        new["status"]["containerStatuses"] = json!([{ "name": "web", "restartCount": restarts, "lastState": if restarts == 0 { json!({}) } else { ended },
            "state": { "running": { "startedAt": now() } } }]);
        new
    };
    let config = kubeconfig(&api, "doubt");
    let arguments = |timeout: &str| ["--kubeconfig", &config, "--fail-fast", "--timeout", timeout].map(str::to_owned);
    api.put(new(0));
    let ended = Running::wait(&arguments("3s")).ended.await.unwrap();
    assert_eq!(ended.code, Some(124), "{ended:?}");
    let why = "it restarted in the last minute, or started in the last 10 s without a readiness or startup probe.";
    assert!(last(&ended.out).ends_with(&format!(" A new pod may still fail: {why}")), "{ended:?}");
    api.put(new(0));
    let arguments = arguments("60s");
    let running = Running::wait(&arguments);
    running.until("2 of 2 available").await;
    (1..=2).for_each(|restarts| api.put(new(restarts)));
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(last(&ended.out).contains("container web crashes with exit code 1"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_response_at_the_start_does_not_end_a_wait() {
    for (resource, fault) in [
        ("deployments", Fault::Status(500)),
        ("replicasets", Fault::Status(503)),
        ("pods", Fault::Status(429)),
        ("events", Fault::EndAtOnce),
    ] {
        let api = shop().await;
        api.fault(Verb::List, resource, fault);
        let arguments = ["--kubeconfig", &kubeconfig(&api, "once"), "--timeout", "60s"].map(str::to_owned);
        let ended = Running::wait(&arguments).ended.await.unwrap();
        assert_eq!(ended.code, Some(0), "{resource}: {ended:?}");
        assert!(api.requests(Verb::List, resource) > 1, "{resource}: the first response was no list");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_first_list_says_how_far_it_is() {
    let api = shop().await;
    (0..50).for_each(|number| api.put(pod(100 + number, 2, &format!("web-{number}"))));
    api.pages(1, Duration::from_millis(60));
    let arguments = ["--kubeconfig", &kubeconfig(&api, "long"), "--timeout", "60s"].map(str::to_owned);
    let running = Running::wait(&arguments);
    running.until("Connecting, listing pods: ").await;
    assert_eq!(running.ended.await.unwrap().code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_names_pods_that_drain_and_what_may_not_be_read() {
    let api = shop().await;
    let mut old = pod(13, 2, "web-old");
    old["metadata"]["deletionTimestamp"] = json!("2026-01-01T10:00:30Z");
    api.put(old);
    api.stand(Verb::List, "events", Some(Fault::Status(403)));
    let arguments = ["--kubeconfig".to_owned(), kubeconfig(&api, "draining"), "--timeout".to_owned(), "60s".to_owned()];
    let ended = Running::wait(&arguments).ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(last(&ended.out).contains(" Still draining: web-old."), "{ended:?}");
    assert!(last(&ended.out).ends_with("Rollcast has no permission to list events there."), "{ended:?}");
    // Without the right to read Deployments nothing is said of whether there is one.
    api.stand(Verb::List, "deployments", Some(Fault::Status(403)));
    let ended = Running::wait(&arguments).ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!ended.out.contains("There is no such Deployment yet"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn complete_is_never_said_with_no_pod_available() {
    let api = shop().await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "replicasets", Some(Fault::Status(403)));
        api.stand(verb, "pods", Some(Fault::Status(403)));
    }
    let arguments = ["--kubeconfig".to_owned(), kubeconfig(&api, "half"), "--timeout".to_owned(), "60s".to_owned()];
    let ended = Running::wait(&arguments).ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!last(&ended.out).contains(" 0 of "), "{ended:?}");
    assert!(last(&ended.out).contains("no permission to list"), "{ended:?}");
}
