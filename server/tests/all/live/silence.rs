//! A server that stops answering at any byte of any answer, with its connections open and its probes answered: the picture
//! is called stale, and becomes right as soon as the server answers again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use server::hub::Handle;
use server::kube::access::Access;
use server::kube::translate::Object;
use server::kube::{self, Cluster, Counters, Health, Pace, SourceEvent, kubeconfig};
use server::telemetry::clock::Clock;
use timeline::fact::{Kind, Seen};
use timeline::wire::ConnectionState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::common::until::until;
use crate::live::support::{
    Fault, Verb, WATCHED, Watched, impatient, is_stale, pod, quick, shop_of, until_connection, until_live,
};

fn object(number: u8, version: u8) -> String {
    format!(
        r#"{{"metadata":{{"uid":"00000000-0000-4000-8000-{number:012}","name":"{number}","namespace":"a","resourceVersion":"{version}"}}}}"#
    )
}

/// Pods 1 and 2, as of version 2.
fn list() -> String {
    let body = format!(r#"{{"metadata":{{"resourceVersion":"2"}},"items":[{},{}]}}"#, object(1, 1), object(2, 2));
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// What happened after a version: pod 3 came, pod 1 went.
fn stream(after: u8) -> String {
    let events = [(3, "ADDED", object(3, 3)), (4, "DELETED", object(1, 4)), (5, "MODIFIED", object(3, 5))];
    let mut answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for (_, r#type, object) in events.into_iter().filter(|(version, ..)| *version > after) {
        let line = format!(r#"{{"type":"{type}","object":{object}}}"#);
        answer += &format!("{:x}\r\n{line}\n\r\n", line.len() + 1);
    }
    answer
}

/// Bytes of the first list and the first watch that are still sent; `None` once it has fallen silent, which it does once.
type Left = Arc<Mutex<Option<usize>>>;

async fn serve(listener: TcpListener, left: Left) {
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(converse(connection, left.clone()));
    }
}

async fn converse(mut connection: TcpStream, left: Left) -> std::io::Result<()> {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(connection.read_u8().await?);
        }
        let request = String::from_utf8_lossy(&request);
        if request.starts_with("GET /version") {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await?;
            continue;
        }
        if request.contains("sendInitialEvents") {
            connection.write_all(b"HTTP/1.1 422 Unprocessable Entity\r\ncontent-length: 2\r\n\r\n{}").await?;
            continue;
        }
        let is_watch = request.contains("watch=1");
        let after = request.split("resourceVersion=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let answer = if is_watch { stream(after.unwrap_or(0)) } else { list() };
        let sent = {
            let mut left = left.lock().unwrap();
            let sent = left.unwrap_or(answer.len()).min(answer.len());
            *left = left.filter(|left| *left >= answer.len() && !is_watch).map(|left| left - answer.len());
            sent
        };
        connection.write_all(&answer.as_bytes()[..sent]).await?;
        if is_watch || sent < answer.len() {
            std::future::pending::<()>().await;
        }
    }
}

fn cluster(address: std::net::SocketAddr, events: mpsc::Sender<SourceEvent>) -> Cluster {
    let client = kubeconfig::client_for(::kube::Config::new(format!("http://{address}").parse().unwrap())).unwrap();
    let pace = Pace {
        answer: Duration::from_millis(300),
        page: Duration::from_millis(600),
        watch_seconds: 1,
        watch_margin: Duration::from_millis(200),
        ..quick()
    };
    Cluster {
        name: "raw".into(),
        access: Access::fixed(client, pace),
        events,
        counters: Arc::new(Counters::default()),
        hides_messages: false,
        clock: watch::channel(Clock::Real).1,
        relist_requests: watch::channel(0).1,
    }
}

/// Watches a server that falls silent after so many bytes, until it was called stale and is live and right again.
async fn recover_after(bytes: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(listener, Arc::new(Mutex::new(Some(bytes)))));
    let (events, mut inbox) = mpsc::channel(kube::QUEUE);
    kube::start(&cluster(address, events), &[Kind::Pod], &[]);
    let name = |object: &Object| object.uid().unwrap().to_string().pop().unwrap();
    let (mut pods, mut was_stale, mut is_live) = (BTreeSet::new(), false, false);
    while !(was_stale && is_live && pods.iter().eq(&['2', '3'])) {
        let event = tokio::time::timeout(Duration::from_secs(15), inbox.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("byte {bytes}: stale {was_stale}, live {is_live}, pods {pods:?}"));
        match event.unwrap() {
            SourceEvent::Reset { objects, .. } => pods = objects.iter().map(name).collect(),
            SourceEvent::Object { object, seen: Seen::Deleted, .. } => drop(pods.remove(&name(&object))),
            SourceEvent::Object { object, .. } => drop(pods.insert(name(&object))),
            SourceEvent::Health { health, .. } => {
                was_stale |= matches!(health, Health::Stale { .. });
                is_live = health == Health::Live;
            }
            _ => {}
        }
    }
    server.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_falls_silent_at_any_byte_is_called_stale_and_recovered_from() {
    let bytes = list().len() + stream(2).len();
    futures::stream::iter(0..=bytes).for_each_concurrent(300, recover_after).await;
}

#[tokio::test]
async fn what_nobody_saw_begins_with_the_last_word_of_a_watch_that_died() {
    let api = shop_of(2, &["web-a"]).await;
    api.stand(Verb::Watch, "pods", Some(Fault::Stall(String::new())));
    let watched = Watched::start(&api, &[], |pace| {
        pace.watch_seconds = 1;
        // Longer than the other kinds' watches are late on a busy machine: one of them would be called silent as well, and since earlier.
        pace.watch_margin = Duration::from_secs(3);
        // The other kinds' watches end in time, and are no reason to call the cluster stale.
        pace.min_watch_lifetime = Duration::from_millis(100);
    });
    watched.until_pods(&["web-a"]).await;
    let stale = until_connection(&watched.hub, "stale", |now| is_stale(now, "")).await;
    let ConnectionState::Stale { since_millis, why, .. } = stale.state else { unreachable!() };
    assert!(why.contains("did not end in time"), "{why}");
    api.fault(Verb::Watch, "pods", Fault::Status(410));
    api.lose(&pod(10, 2, "web-a"));
    api.stand(Verb::Watch, "pods", None);
    watched.until_pods(&[]).await;
    let gaps: Vec<_> = watched
        .hub
        .read(|reader| reader.timeline.model().deployments.values().flat_map(|d| d.gaps.clone()).collect())
        .await
        .unwrap();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    // Each counts back from its own now to the same last word, in whole milliseconds.
    assert!(gaps[0].from_millis.abs_diff(since_millis) <= 2, "{gaps:?} {since_millis}");
    assert!(gaps[0].to_millis >= since_millis + 1_000, "{gaps:?} {since_millis}");
}

#[tokio::test]
async fn a_quiet_cluster_is_stale_since_it_last_ended_a_watch() {
    let api = shop_of(2, &["web-a"]).await;
    let watched = Watched::start(&api, &[], |pace| pace.watch_seconds = 1);
    until_live(&watched.hub).await;
    let live_millis = server::telemetry::clock::now_millis();
    until("watches that ended in time", async || WATCHED.iter().all(|kind| api.requests(Verb::Watch, kind) >= 2)).await;
    api.stand_all(&[Verb::Watch], Some(Fault::Status(503)));
    let stale = until_connection(&watched.hub, "stale", |now| is_stale(now, "503")).await;
    let ConnectionState::Stale { since_millis, .. } = stale.state else { unreachable!() };
    assert!(since_millis > live_millis, "{since_millis} {live_millis}");
}

#[tokio::test]
async fn a_probe_whose_answer_stops_in_the_middle_is_no_answer() {
    let api = shop_of(2, &["web-a"]).await;
    api.stand(Verb::Version, "version", Some(Fault::Stall("{".into())));
    let watched = Watched::start(&api, &[], impatient);
    let state = || watched.hub.connection().borrow().state.clone();
    until("stale", async || matches!(state(), ConnectionState::Stale { .. })).await;
    api.stand(Verb::Version, "version", None);
    until("live", async || state() == ConnectionState::Live).await;
    watched.until_pods(&["web-a"]).await;
}

#[tokio::test]
async fn a_list_that_never_comes_ends_when_the_cluster_falls_silent_and_begins_anew() {
    let api = shop_of(2, &["web-a"]).await;
    api.fault(Verb::List, "pods", Fault::Hang);
    let watched = Watched::start(&api, &[], impatient);
    until("a list", async || api.requests(Verb::List, "pods") == 1).await;
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    let state = || watched.hub.connection().borrow().state.clone();
    until("stale", async || matches!(state(), ConnectionState::Stale { .. })).await;
    assert_eq!(api.requests(Verb::List, "pods"), 1, "nothing is asked while nothing answers");
    api.stand(Verb::Version, "version", None);
    watched.until_pods(&["web-a"]).await;
}

/// The next complete list: since when changes were missed, and when it came.
async fn next_list(inbox: &mut mpsc::Receiver<SourceEvent>) -> (Option<i64>, i64) {
    let list = async {
        loop {
            if let SourceEvent::Reset { gap_since_millis, at_millis, .. } = inbox.recv().await.unwrap() {
                return (gap_since_millis, at_millis);
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), list).await.expect("a list")
}

/// What the watch after it misses is missed since that list, not since before the loss.
#[tokio::test]
async fn a_list_that_begins_anew_after_a_loss_ends_the_gap() {
    let api = shop_of(2, &["web-a"]).await;
    let mut pace = quick();
    impatient(&mut pace);
    let (events, mut inbox) = mpsc::channel(kube::QUEUE);
    let access = Access::fixed(api.client(), pace);
    kube::start(&Cluster { access, ..cluster(api.address, events) }, &[Kind::Pod], &[]);
    let (_, first_millis) = next_list(&mut inbox).await;
    api.fault(Verb::List, "pods", Fault::Hang);
    let before = api.requests(Verb::List, "pods");
    api.expire("pods");
    until("a list that hangs", async || api.requests(Verb::List, "pods") > before).await;
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    while !matches!(inbox.recv().await.unwrap(), SourceEvent::Answers { silent: Some(_) }) {}
    api.stand(Verb::Version, "version", None);
    let (gap_since_millis, second_millis) = next_list(&mut inbox).await;
    assert_eq!(gap_since_millis, Some(first_millis));
    api.expire("pods");
    assert_eq!(next_list(&mut inbox).await.0, Some(second_millis));
}

#[tokio::test]
async fn a_refusal_whose_text_never_comes_is_a_refusal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            let answer = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 100\r\n\r\n{";
            connection.write_all(answer).await.unwrap();
            open.push(connection);
        }
    });
    let (events, mut inbox) = mpsc::channel(kube::QUEUE);
    kube::start(&cluster(address, events), &[Kind::Pod], &[]);
    let stale = async {
        loop {
            if let SourceEvent::Health { health: Health::Stale { why, .. }, .. } = inbox.recv().await.unwrap() {
                return why;
            }
        }
    };
    let why = tokio::time::timeout(Duration::from_secs(20), stale).await.unwrap();
    assert!(why.contains("503"), "{why}");
}

#[tokio::test]
async fn a_check_of_a_server_that_never_answers_ends() {
    let api = shop_of(2, &["web-a"]).await;
    api.stand(Verb::List, "deployments", Some(Fault::Hang));
    let (hub, _) = Handle::start("fake", Arc::default(), timeline::Retention::default());
    let pace = Pace { answer: Duration::from_millis(100), ..quick() };
    let target = kube::access::Target {
        name: hub.name().to_owned(),
        address: api.address.to_string(),
        access: Access::fixed(api.client(), pace),
        namespace: "shop".into(),
        warnings: Vec::new(),
    };
    let check = kube::check::check(&target, &[]);
    let lines = tokio::time::timeout(Duration::from_secs(20), check).await.unwrap();
    assert!(matches!(&lines[..], [Err(why)] if why.contains("does not respond")), "{lines:?}");

    api.stand(Verb::List, "deployments", None);
    api.stand(Verb::Watch, "pods", Some(Fault::Status(403)));
    let lines = kube::check::check(&target, &[]).await;
    assert_eq!(lines.len(), 2 * Kind::ALL.len(), "{lines:?}");
    let failed: Vec<&String> = lines.iter().filter_map(|line| line.as_ref().err()).collect();
    let is_named = |why: &str| why.contains("no permission to watch pods in all namespaces");
    assert!(matches!(failed[..], [why] if is_named(why)), "{lines:?}");
}
