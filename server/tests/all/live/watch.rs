//! The watch loop against a fake API server with faults: whatever the server does, the picture becomes right again, and the
//! server is never hammered.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use server::kube::access::Access;
use server::kube::{self, Health, Pace, SourceEvent};
use server::telemetry::clock::Clock;
use timeline::fact::Kind;
use timeline::wire::{Connection, ConnectionState};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::common::network::Network;
use crate::common::until::until;
use crate::live::program::{Serving, Traced, kubeconfig};
use crate::live::support::{
    FakeApi, Fault, Verb, WATCHED, Watched, impatient, is_stale, pod, shop, until_connection, until_stale, watched_shop,
};

fn quick(_: &mut server::kube::Pace) {}

#[tokio::test]
async fn a_paged_list_and_its_watch_show_every_pod() {
    let api = shop().await;
    api.put(pod(12, 2, "web-c"));
    let watched = Watched::start(&api, &[], quick);
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
    assert!(api.requests(Verb::List, "pods") >= 2, "three pods are two pages");
    api.put(pod(13, 2, "web-d"));
    watched.until_pods(&["web-a", "web-b", "web-c", "web-d"]).await;
    api.delete(&pod(10, 2, "web-a"));
    watched.until_pods(&["web-b", "web-c", "web-d"]).await;
}

#[tokio::test]
async fn an_expired_position_told_as_a_status_lists_again() {
    for code in [410, 400] {
        let (api, watched) = watched_shop(quick).await;
        api.fault(Verb::Watch, "pods", Fault::Status(code));
        api.lose(&pod(10, 2, "web-a"));
        api.hang_up();
        watched.until_pods(&["web-b"]).await;
    }
}

#[tokio::test]
async fn watches_that_end_at_once_do_not_make_us_hammer_the_server() {
    let api = shop().await;
    api.stand(Verb::Watch, "pods", Some(Fault::EndAtOnce));
    let watched = Watched::start(&api, &[], |pace| {
        pace.burst = 8;
        pace.earn = Duration::from_millis(1200);
    });
    watched.until_pods(&["web-a", "web-b"]).await;
    let times = || {
        let mut times = [api.times(Verb::Watch, "pods"), api.times(Verb::List, "pods")].concat();
        times.sort();
        times
    };
    until("requests that had to be earned", async || times().len() >= 8 + 3).await;
    let times = times();
    for (earlier, at) in times.iter().enumerate() {
        for (later, other) in times.iter().enumerate().skip(earlier) {
            let (count, passed) = (later - earlier + 1, other.duration_since(*at));
            // One more: both ends are counted.
            let earned = passed.as_millis() / 1200 + 1;
            assert!(count as u128 <= 8 + earned, "{count} requests within {passed:?}");
        }
    }
    api.stand(Verb::Watch, "pods", None);
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
}

#[tokio::test]
async fn a_truncated_line_loses_nothing() {
    let api = shop().await;
    api.fault(Verb::Watch, "pods", Fault::Say(r#"{"type":"MODIFIED","object":{"metadata":{"na"#.into()));
    let watched = Watched::start(&api, &[], quick);
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
    until("counted", async || watched.counters.failures.load(Ordering::Relaxed) >= 1).await;
}

#[tokio::test]
async fn a_forbidden_kind_is_named_while_the_others_go_on_and_recovers_when_granted() {
    let api = shop().await;
    api.stand(Verb::List, "replicasets", Some(Fault::Status(403)));
    let watched = Watched::start(&api, &["shop"], quick);
    watched.until_pods(&["web-a", "web-b"]).await;
    let connection = || watched.hub.connection().borrow().clone();
    until("forbidden", async || !connection().forbidden.is_empty()).await;
    let missing = &connection().forbidden[0];
    assert_eq!(
        (missing.verb.as_str(), missing.resource.as_str(), missing.namespace.as_deref()),
        ("list", "replicasets.apps", Some("shop"))
    );
    assert_eq!(connection().state, ConnectionState::Live);
    api.stand(Verb::List, "replicasets", None);
    until("granted", async || connection().forbidden.is_empty()).await;
}

#[tokio::test]
async fn a_watch_that_is_forbidden_stays_named_while_lists_are_allowed() {
    let api = shop().await;
    api.stand(Verb::Watch, "pods", Some(Fault::Status(403)));
    let watched = Watched::start(&api, &[], quick);
    watched.until_pods(&["web-a", "web-b"]).await;
    until_connection(&watched.hub, "forbidden", |connection| !connection.forbidden.is_empty()).await;
    let lists = api.requests(Verb::List, "pods");
    until("more lists", async || {
        assert_eq!(watched.hub.connection().borrow().forbidden[0].verb, "watch");
        api.requests(Verb::List, "pods") > lists + 2
    })
    .await;
    api.stand(Verb::Watch, "pods", None);
    until_connection(&watched.hub, "granted", |connection| connection.forbidden.is_empty()).await;
}

#[tokio::test]
async fn refused_credentials_are_said_in_a_sentence() {
    let api = shop().await;
    api.stand(Verb::List, "pods", Some(Fault::Status(401)));
    let watched = Watched::start(&api, &[], quick);
    let words = "the credentials were refused; they may have expired";
    until_stale(&watched, words).await;
    api.stand(Verb::List, "pods", None);
    watched.until_pods(&["web-a", "web-b"]).await;
}

#[tokio::test]
async fn a_namespace_is_all_that_is_asked_for_when_it_is_all_that_is_named() {
    let api = shop().await;
    let mut other = pod(30, 2, "other");
    other["metadata"]["namespace"] = json!("elsewhere");
    api.put(other);
    let watched = Watched::start(&api, &["shop"], quick);
    watched.until_pods(&["web-a", "web-b"]).await;
    assert_eq!(api.requests(Verb::List, "v1/pods"), 0, "no request for all namespaces");
    assert!(api.requests(Verb::List, "namespaces/shop/pods") >= 1);
}

#[tokio::test]
async fn one_malformed_object_costs_only_itself() {
    let api = shop().await;
    let mut odd = pod(12, 2, "web-odd");
    odd["spec"]["containers"] = json!("not a list");
    api.put(odd.clone());
    let watched = Watched::start(&api, &[], quick);
    watched.until_pods(&["web-a", "web-b"]).await;
    let malformed = || watched.counters.kind(Kind::Pod).malformed.load(Ordering::Relaxed);
    until("counted in the list", async || malformed() >= 1).await;
    let before = malformed();
    api.put(odd);
    api.put(pod(13, 2, "web-d"));
    watched.until_pods(&["web-a", "web-b", "web-d"]).await;
    assert!(malformed() > before, "counted in the watch");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_stale_and_then_live_again() {
    let (api, watched) = watched_shop(impatient).await;
    let state = || watched.hub.connection().borrow().state.clone();
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    until("stale", async || matches!(state(), ConnectionState::Stale { .. })).await;
    assert_eq!(watched.pods().await.len(), 2, "the last good picture stays");
    api.stand(Verb::Version, "version", None);
    until("live", async || state() == ConnectionState::Live).await;
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
}

#[tokio::test]
async fn a_try_that_hangs_names_no_time_that_is_past() {
    let api = shop().await;
    api.stand(Verb::List, "pods", Some(Fault::Status(500)));
    let watched = Watched::start(&api, &[], quick);
    let has_time = |connection: &Connection| match &connection.state {
        ConnectionState::Stale { retry_at_millis, .. } => Some(retry_at_millis.is_some()),
        _ => None,
    };
    until_connection(&watched.hub, "a wait", |connection| has_time(connection) == Some(true)).await;
    api.stand(Verb::List, "pods", Some(Fault::Hang));
    until_connection(&watched.hub, "a try", |connection| has_time(connection) == Some(false)).await;
}

/// What is told of a cluster that is asked for nothing but whether it answers.
fn probed(client: ::kube::Client) -> mpsc::Receiver<SourceEvent> {
    told(client, &[], &[])
}

/// What is told of a cluster at the pace of the product.
fn told(client: ::kube::Client, kinds: &[Kind], namespaces: &[String]) -> mpsc::Receiver<SourceEvent> {
    let (events, told) = mpsc::channel(kube::QUEUE);
    let cluster = kube::Cluster {
        name: "fake".into(),
        access: Access::fixed(client, Pace::default()),
        events,
        counters: Arc::default(),
        hides_messages: false,
        clock: watch::channel(Clock::Real).1,
        relist_requests: watch::channel(0).1,
    };
    kube::start(&cluster, kinds, namespaces);
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_is_watched_is_said_before_any_of_it_is_live() {
    let server = tower::service_fn(|_| async {
        let list = r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#;
        Ok::<_, std::convert::Infallible>(http::Response::new(::kube::client::Body::from(list.as_bytes().to_vec())))
    });
    let namespaces: Vec<String> = (0..300).map(|number| format!("shop-{number}")).collect();
    let mut told = told(::kube::Client::new(server, "default"), &Kind::ALL, &namespaces);
    for number in 0..Kind::ALL.len() * namespaces.len() {
        let event = tokio::time::timeout(Duration::from_secs(20), told.recv()).await.expect("a watch").unwrap();
        assert!(matches!(event, SourceEvent::Health { health: Health::Connecting { .. }, .. }), "{number}: {event:?}");
    }
}

/// Waits until this many namespaces are stale.
async fn until_namespaces_stale(told: &mut mpsc::Receiver<SourceEvent>, namespaces: usize) {
    let mut found = BTreeSet::new();
    while found.len() < namespaces {
        let event = told.recv().await.expect("the watches go on");
        if let SourceEvent::Health { namespace, health: Health::Stale { .. }, .. } = event {
            found.insert(namespace);
        }
    }
}

/// So many watches last longer than half a minute each.
#[tokio::test(start_paused = true)]
async fn dead_connections_of_many_watches_are_found_within_half_a_minute() {
    let (network, listener) = Network::new();
    let api = FakeApi::behind(listener);
    api.stand(Verb::Watch, "pods", Some(Fault::Stall(String::new())));
    let namespaces: Vec<String> = (0..60).map(|number| format!("shop-{number}")).collect();
    let mut told = told(network.client(), &[Kind::Pod], &namespaces);
    let stale = until_namespaces_stale(&mut told, namespaces.len());
    tokio::time::timeout(Duration::from_secs(30), stale).await.expect("they are found");
}

/// A proxy's page, or a Status that somebody sends with the code 200.
#[tokio::test]
async fn a_response_that_is_no_list_is_not_taken_for_an_empty_one() {
    for said in ["{}", r#"{"kind":"Status","status":"Failure"}"#, r#"{"type":"ERROR","object":{"code":410}}"#] {
        let (api, watched) = watched_shop(|_| {}).await;
        api.stand(Verb::List, "pods", Some(Fault::Say(said.to_owned())));
        api.expire("pods");
        let before = api.requests(Verb::List, "pods");
        until("some lists that are none", async || api.requests(Verb::List, "pods") >= before + 3).await;
        watched.until_pods(&["web-a", "web-b"]).await;
    }
}

/// Requests for pods at the times and limits of the product, in which a failure comes before what the server has forgotten.
async fn asked_of_forgotten(verb: Verb) -> Vec<(Instant, String)> {
    let (network, listener) = Network::new();
    let api = FakeApi::behind(listener);
    (10..13).for_each(|number| api.put(pod(number, 2, &format!("web-{number}"))));
    let pace = Pace { page_size: 2, ..Pace::default() };
    let watched = Watched::with(Access::fixed(network.client(), pace), &[]);
    let live = async || until_connection(&watched.hub, "live", |connection| connection.state.is_live()).await;
    live().await;
    tokio::time::sleep(Duration::from_secs(2)).await; // in the test's own time: the watches live
    api.fault(verb, "pods", Fault::Status(503));
    match verb {
        Verb::Watch => api.hang_up(),
        _ => api.expire("pods"),
    }
    let failed = |connection: &Connection| is_stale(connection, "503");
    until_connection(&watched.hub, "the failure", failed).await;
    api.expire("pods");
    live().await;
    network.requests().into_iter().filter(|(_, path)| path.contains("/pods")).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_server_forgot_while_a_failure_was_waited_for_is_listed_again_at_once() {
    for (verb, is_forgotten) in [(Verb::Watch, "watch=1&"), (Verb::Next, "continue=")] {
        let asked = asked_of_forgotten(verb).await;
        let last = asked.iter().rposition(|(_, path)| path.contains("limit=") && !path.contains("continue="));
        let [(forgotten, path), (again, _)] = &asked[last.unwrap() - 1..=last.unwrap()] else { panic!("{asked:?}") };
        assert!(path.contains(is_forgotten), "{verb:?}: {asked:?}");
        assert!(*again - *forgotten < Duration::from_millis(5), "{verb:?}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_not_answered_is_no_silence_while_the_next_one_is() {
    let asked = Arc::<AtomicUsize>::default();
    let server = tower::service_fn({
        let asked = asked.clone();
        move |_| {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move {
                if number == 3 {
                    std::future::pending::<()>().await;
                }
                Ok::<_, std::convert::Infallible>(http::Response::new(::kube::client::Body::empty()))
            }
        }
    });
    let mut told = probed(::kube::Client::new(server, "default"));
    let event = tokio::time::timeout(Duration::from_secs(60), told.recv()).await;
    assert!(event.is_err(), "{event:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 20, "every three seconds");
}

/// However long its last answers took, and whenever it falls silent between two probes.
#[tokio::test(start_paused = true)]
async fn silence_is_told_within_ten_seconds_as_shipped() {
    for slowness in [0, 1, 900, 1_100, 1_900, 2_100, 2_999].map(Duration::from_millis) {
        let answered: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let server = tower::service_fn({
            let answered = answered.clone();
            move |_| {
                let answered = answered.clone();
                async move {
                    if answered.lock().unwrap().len() == 5 {
                        std::future::pending::<()>().await;
                    }
                    tokio::time::sleep(slowness).await; // in the test's own time, which passes at once
                    answered.lock().unwrap().push(Instant::now());
                    Ok::<_, std::convert::Infallible>(http::Response::new(::kube::client::Body::empty()))
                }
            }
        });
        let mut told = probed(::kube::Client::new(server, "default"));
        until_silent(&mut told).await;
        let last = *answered.lock().unwrap().last().unwrap();
        let took = last.elapsed();
        assert!(took <= Duration::from_secs(10), "{took:?} after an answer that took {slowness:?}");
    }
}

/// Waits until a source tells that its cluster is silent.
async fn until_silent(told: &mut mpsc::Receiver<SourceEvent>) {
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), told.recv()).await.expect("silence is told");
        if matches!(event, Some(SourceEvent::Answers { silent: Some(_) })) {
            return;
        }
    }
}

/// What comes of a list is a sign of life when it comes, and no later.
#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_of_a_list_is_told_within_ten_seconds_as_shipped() {
    const PIECE: Duration = Duration::from_millis(100);
    let probes = Arc::<AtomicUsize>::default();
    let server = tower::service_fn(move |request: http::Request<::kube::client::Body>| {
        let is_stream = request.uri().query().unwrap_or_default().contains("sendInitialEvents");
        let is_probe = request.uri().path() == "/version";
        let is_dead = is_probe && probes.fetch_add(1, Ordering::Relaxed) > 0;
        async move {
            if is_dead {
                std::future::pending::<()>().await;
            }
            let (status, body) = if is_stream {
                (422_u16, axum::body::Body::empty())
            } else if is_probe {
                (200, axum::body::Body::from("{}"))
            } else {
                let piece = async {
                    tokio::time::sleep(PIECE).await; // in the test's own time: after the first probe
                    Ok::<_, std::convert::Infallible>(bytes::Bytes::from_static(b"{"))
                };
                let pieces = futures::stream::once(piece);
                (200, axum::body::Body::from_stream(pieces.chain(futures::stream::pending())))
            };
            Ok::<_, std::convert::Infallible>(http::Response::builder().status(status).body(body).unwrap())
        }
    });
    let began = Instant::now();
    let mut told = told(::kube::Client::new(server, "default"), &[Kind::Pod], &[]);
    until_silent(&mut told).await;
    assert!(began.elapsed() <= PIECE + Duration::from_secs(10), "{:?}", began.elapsed());
}

/// Requests for Deployments are answered, and what is asked of watches is noted; their connections are dead.
fn dead_watches(asked: Arc<Mutex<Vec<String>>>) -> ::kube::Client {
    let server = tower::service_fn(move |request: http::Request<::kube::client::Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let asked = asked.clone();
        async move {
            let list = r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#;
            if query.contains("sendInitialEvents") {
                let refused = http::Response::builder().status(422).body(axum::body::Body::empty()).unwrap();
                return Ok(refused);
            }
            let body = if query.contains("watch=1") {
                asked.lock().unwrap().push(query);
                let nothing = futures::stream::pending::<Result<bytes::Bytes, std::convert::Infallible>>();
                axum::body::Body::from_stream(nothing)
            } else {
                axum::body::Body::from(list)
            };
            Ok::<_, std::convert::Infallible>(http::Response::new(body))
        }
    });
    ::kube::Client::new(server, "default")
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_died_while_probes_are_answered_is_told_within_25_seconds_as_shipped() {
    let mut told = told(dead_watches(Arc::default()), &Kind::ALL, &[]);
    let began = Instant::now();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(120), told.recv()).await.expect("it is told").unwrap();
        if let SourceEvent::Health { health: Health::Stale { why, .. }, .. } = event {
            assert!(why.contains("its connection is dead"), "{why}");
            break;
        }
    }
    assert!(began.elapsed() <= Duration::from_secs(26), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_watches_of_a_cluster_begin_at_most_one_a_second() {
    for (namespaces, seconds) in [(0, 20), (4, 20), (12, 48), (300, 110)] {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let namespaces: Vec<String> = (0..namespaces).map(|number| format!("shop-{number}")).collect();
        let mut told = told(dead_watches(asked.clone()), &Kind::ALL, &namespaces);
        // One of them is the sentinel, which ends after 20 s.
        while asked.lock().unwrap().len() < 2 {
            told.recv().await.unwrap();
        }
        let (asked, lasting) = (asked.lock().unwrap(), format!("timeoutSeconds={seconds}"));
        assert!(asked.iter().any(|query| query.contains(&lasting)), "{asked:?}");
    }
}

/// Sooner than its watches end by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_was_stopped_opens_its_watches_anew_when_it_goes_on() {
    let api = shop().await;
    let serving = Serving::start(&kubeconfig(&api, "stopped"), "127.0.0.1:0");
    let have_begun = |times: usize| WATCHED.iter().all(|resource| api.requests(Verb::Watch, resource) >= times);
    until("watches", async || have_begun(1)).await;
    let began = Instant::now();
    serving.stop();
    until("a stop that counts", async || began.elapsed() > Duration::from_millis(7_100)).await;
    assert!(!have_begun(2), "it is stopped");
    serving.go_on();
    until("other watches", async || have_begun(2)).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_again_and_again_is_one_warning() {
    let api = shop().await;
    api.stand(Verb::List, "events", Some(Fault::Status(403)));
    api.stand(Verb::List, "pods", Some(Fault::Status(500)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollcast"));
    let kubeconfig = kubeconfig(&api, "refused");
    command.args(["serve", "--kubeconfig", &kubeconfig, "--listen", "127.0.0.1:0", "--no-history"]);
    let serving = Traced::start(&mut command);
    for resource in ["events", "pods"] {
        until("several attempts", async || api.requests(Verb::List, resource) > 3).await;
    }
    let log = serving.end();
    let count = |level: &str, words: &str| {
        log.lines().filter(|line| line.contains(&format!(" {level} ")) && line.contains(words)).count()
    };
    for (first, again) in [("forbidden", "still forbidden"), ("failed; retrying", "failed again; retrying")] {
        assert_eq!(count("WARN", first), 1, "{log}");
        assert!(count("DEBUG", again) > 1, "{log}");
    }
}
