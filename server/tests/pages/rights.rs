//! Who sees what: every address, for everybody. What may not be seen is answered as what was never there.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::Message;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use futures::StreamExt;
use futures::channel::mpsc;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use server::auth::cookie::Keys;
use server::auth::proxy::Proxy;
use server::auth::share::Shares;
use server::auth::subject::Prefixes;
use server::auth::{Auth, Subjects, Viewer};
use server::connections::Peer;
use server::history::options::{Limits, Location, Options};
use server::http::{addresses, router};
use server::hub::Handle;
use server::session::{Shown, serve_over};
use server::sight::{Seen, Sight};
use server::source::Pace;
use server::source::access::Access;
use server::source::review::{Reviewer, Subject, Way};
use server::state::{Rollcast, Site};
use server::view::View;
use server::viewers::Viewers;
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use timeline::{Retention, Workload};
use tokio::sync::watch;
use tower::{ServiceExt, service_fn};

use crate::addresses::named;
use crate::common;

/// What a cluster says of people: who may see which namespace.
#[derive(Default)]
pub(crate) struct Rules {
    /// User and namespace; "*" for all of them.
    pub(crate) allowed: BTreeSet<(String, String)>,
    pub(crate) is_broken: bool,
    /// Questions stay without an answer.
    pub(crate) is_mute: bool,
    /// An answer takes this long.
    pub(crate) takes: Duration,
    pub(crate) asked: usize,
}

pub(crate) type Shared = Arc<Mutex<Rules>>;

pub(crate) fn rules(allowed: &[(&str, &str)]) -> Shared {
    let allowed = allowed.iter().map(|(user, namespace)| ((*user).to_owned(), (*namespace).to_owned())).collect();
    Arc::new(Mutex::new(Rules { allowed, ..Rules::default() }))
}

pub(crate) fn reviewer(rules: &Shared) -> Reviewer {
    let rules = rules.clone();
    let answer = service_fn(move |request: Request<kube::client::Body>| {
        let rules = rules.clone();
        async move {
            assert_eq!(request.uri().path(), "/apis/authorization.k8s.io/v1/subjectaccessreviews");
            let asked: Value =
                serde_json::from_slice(&request.into_body().collect().await.unwrap().to_bytes()).unwrap();
            let attributes = &asked["spec"]["resourceAttributes"];
            assert_eq!((attributes["verb"].as_str(), attributes["resource"].as_str()), (Some("list"), Some("pods")));
            let namespace = attributes["namespace"].as_str().unwrap_or("*").to_owned();
            let user = asked["spec"]["user"].as_str().unwrap().to_owned();
            if rules.lock().unwrap().is_mute {
                std::future::pending::<()>().await;
            }
            let takes = rules.lock().unwrap().takes;
            tokio::time::sleep(takes).await; // how slow the cluster is
            let mut rules = rules.lock().unwrap();
            rules.asked += 1;
            if rules.is_broken {
                return Ok::<_, std::convert::Infallible>(
                    Response::builder().status(500).body(kube::client::Body::empty()).unwrap(),
                );
            }
            let is_allowed =
                rules.allowed.contains(&(user.clone(), namespace)) || rules.allowed.contains(&(user, "*".to_owned()));
            let told = json!({ "metadata": {}, "spec": asked["spec"], "status": { "allowed": is_allowed } });
            Ok(Response::new(kube::client::Body::from(told.to_string().into_bytes())))
        }
    });
    let way = Way { access: Access::fixed(kube::Client::new(answer, "default")), pace: Arc::new(Pace::default()) };
    Reviewer::new(watch::channel(Some(way)).1)
}

/// A cluster with two namespaces, "rollover" and "kill-pod": what was recorded of two, put together.
pub(crate) async fn cluster(name: &str, rules: &Shared) -> Handle {
    let all = common::recordings().into_iter().filter(|(name, _)| ["rollover", "kill-pod"].contains(&name.as_str()));
    let mut lines: Vec<(i64, String)> = all
        .flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.contains("\"LIST_DONE\""))
        .map(|line| (serde_json::from_str::<Value>(&line).unwrap()["observedAtMillis"].as_i64().unwrap(), line))
        .collect();
    lines.sort();
    let text = lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, _) = Handle::start(name, Arc::default(), retention);
    for observed in server::recording::Recording::read(&text).observed {
        hub.observe(observed.at_millis, observed.fact).await.unwrap();
    }
    let mut list = hub.list();
    list.wait_for(|list| list.len() == 2).await.unwrap();
    hub.with_reviewer(reviewer(rules))
}

pub(crate) fn proxy() -> Auth {
    Auth::Proxy(Proxy {
        from: vec!["10.0.0.7/32".parse().unwrap()],
        user_header: HeaderName::from_static("x-forwarded-user"),
        groups_header: HeaderName::from_static("x-forwarded-groups"),
        prefixes: Prefixes::default(),
    })
}

pub(crate) async fn site(rules: &Shared) -> Arc<Rollcast> {
    let hubs = vec![cluster("prod", rules).await, cluster("secret-eu", &self::rules(&[("fully", "*")])).await];
    let shares = Some(Shares::open(Keys::own(), None).unwrap());
    Rollcast::with(hubs, "build", Viewers::default(), Site { auth: proxy(), shares, ..Site::default() })
}

pub(crate) const PROD: [(&str, &str); 3] = [("partly", "rollover"), ("foreign", "elsewhere"), ("fully", "*")];

/// What an address answers to somebody: status, headers, text.
pub(crate) async fn ask(rollcast: &Arc<Rollcast>, user: Option<&str>, path: &str) -> (StatusCode, Vec<String>, String) {
    let mut request = Request::get(path).header(header::HOST, "localhost:7440").header(header::ACCEPT, "text/html");
    if let Some(user) = user {
        request = request.header("x-forwarded-user", user);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(Peer("10.0.0.7:4000".parse::<SocketAddr>().unwrap()));
    let response = router(rollcast.clone()).oneshot(request).await.unwrap();
    let status = response.status();
    let mut headers: Vec<String> =
        response.headers().iter().map(|(name, value)| format!("{name}: {}", plain(value.to_str().unwrap()))).collect();
    headers.sort();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, headers, plain(&String::from_utf8_lossy(&bytes)))
}

/// Without what differs each time: nonces, times, and the content that the page's program takes, which holds the time.
fn plain(text: &str) -> String {
    let mut plain = text.to_owned();
    for (begin, end) in [
        ("<script id=\"payload\"", "</script>"),
        ("<style id=\"placed\"", "</style>"),
        ("<div id=\"ticks\"", "<div id=\"marks\""),
        ("nonce=\"", "\""),
        ("nonce-", "'"),
    ] {
        let mut parts = plain.split(begin);
        let first = parts.next().unwrap_or_default().to_owned();
        plain = parts.fold(first, |text, part| text + part.split_once(end).map_or("", |(_, after)| after));
    }
    plain
}

/// With every digit as the same sign: times pass.
pub(crate) fn timeless(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// Where two texts begin to differ, with a little around it.
pub(crate) fn difference(a: &str, b: &str) -> Option<(String, String)> {
    let at =
        a.chars().zip(b.chars()).position(|(a, b)| a != b).or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
    let around = |text: &str| text.chars().skip(at.saturating_sub(80)).take(200).collect();
    Some((around(a), around(b)))
}

/// Every pattern of an address that shows something of one workload, with what stands after the workload's own address.
pub(crate) fn of_workloads() -> Vec<String> {
    addresses().into_iter().filter(|address| address.contains("{name}")).collect()
}

#[tokio::test]
async fn a_workload_that_may_not_be_seen_was_never_there() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let mut seen = 0;
    for pattern in of_workloads() {
        for more in ["", "?at=1000", "?revision=1", "?part"] {
            let of = |cluster: &str, namespace: &str| format!("{}{more}", named(&pattern, cluster, namespace));
            let own = ask(&rollcast, Some("partly"), &of("prod", "rollover")).await;
            let all = ask(&rollcast, Some("fully"), &of("prod", "rollover")).await;
            assert_eq!((own.0, &own.1), (all.0, &all.1), "{pattern}{more}: who may see it sees it");
            seen += usize::from(own.0 == StatusCode::OK);
            for (user, cluster, namespace) in [
                ("partly", "prod", "kill-pod"),
                ("partly", "secret-eu", "kill-pod"),
                ("foreign", "prod", "rollover"),
                ("foreign", "secret-eu", "kill-pod"),
            ] {
                let hidden = ask(&rollcast, Some(user), &of(cluster, namespace)).await;
                // A cluster is as little there as what is in it.
                let cluster_too = if user == "partly" && cluster == "prod" { "prod" } else { "never-cluster" };
                let never = ask(&rollcast, Some(user), &of(cluster_too, "never-was")).await;
                let masked = |text: &str| text.replace("never-cluster", cluster).replace("never-was", namespace);
                let length = |headers: &[String]| {
                    headers
                        .iter()
                        .filter(|header| !header.starts_with("content-length"))
                        .map(|header| masked(header))
                        .collect::<Vec<_>>()
                };
                assert_eq!(hidden.0, never.0, "{user} {pattern}{more} {cluster} {namespace}");
                assert_eq!(length(&hidden.1), length(&never.1), "{user} {pattern}{more}");
                assert_eq!(
                    difference(&timeless(&hidden.2), &timeless(&masked(&never.2))),
                    None,
                    "{user} {pattern}{more} {cluster} {namespace}"
                );
            }
            let nobody = ask(&rollcast, None, &of("prod", "rollover")).await;
            assert_eq!(nobody.0, StatusCode::UNAUTHORIZED, "{pattern}{more}");
            assert!(!nobody.2.contains("rollover") && !nobody.2.contains("prod"), "{}", nobody.2);
        }
    }
    assert!(seen > 12, "{seen}");
}

/// What shows something of several workloads, or nothing of any.
const OTHERS: [(&str, &str, Option<bool>); 24] = [
    // Pattern, address, whether it tells of workloads; `None` where everybody may ask.
    ("/", "/", Some(true)),
    ("/wall", "/wall", Some(true)),
    ("/clusters/{cluster}", "/clusters/prod", Some(true)),
    ("/clusters/{cluster}/namespaces/{namespace}", "/clusters/prod/namespaces/rollover", Some(true)),
    ("/api/v1/deployments", "/api/v1/deployments", Some(true)),
    ("/metrics", "/metrics", Some(true)),
    ("/history", "/history", Some(false)),
    ("/api/v1/rollouts", "/api/v1/rollouts", Some(false)),
    ("/deployments/{uid}", "/deployments/00000000-0000-0000-0000-000000000001", Some(false)),
    ("/api/v1/openapi.json", "/api/v1/openapi.json", Some(false)),
    ("/qr.svg", "/qr.svg?path=/", Some(false)),
    ("/api/v1/stream", "/api/v1/stream", Some(false)),
    ("/playground", "/playground", Some(false)),
    ("/playground/events", "/playground/events", Some(false)),
    ("/healthz", "/healthz", None),
    ("/readyz", "/readyz", None),
    ("/sign-in", "/sign-in", None),
    ("/shares", "/shares", Some(false)),
    ("/api/v1/shares", "/api/v1/shares", Some(false)),
    ("/shared", "/shared", None),
    ("/shared/{preview}", "/shared/AAAA", None),
    ("/shared/{preview}/preview.png", "/shared/AAAA/preview.png", None),
    ("/sign-in/start", "/sign-in/start?to=/", None),
    ("/sign-in/callback", "/sign-in/callback?code=a&state=b", None),
];

#[tokio::test]
async fn every_address_tells_each_viewer_of_what_they_may_see() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let known: BTreeSet<String> = OTHERS
        .iter()
        .map(|(pattern, ..)| (*pattern).to_owned())
        .chain(of_workloads())
        .chain(["/sign-out", "/shares/revoke", "/api/v1/shares/revoke"].map(str::to_owned))
        .collect();
    assert_eq!(known, addresses().into_iter().collect(), "every address that is answered is looked at here");
    for (_, path, tells) in OTHERS {
        let nobody = ask(&rollcast, None, path).await;
        match tells {
            None => assert_ne!(nobody.0, StatusCode::UNAUTHORIZED, "{path}"),
            Some(_) => assert_eq!(nobody.0, StatusCode::UNAUTHORIZED, "{path}"),
        }
        let told = async |user| ask(&rollcast, user, path).await.2;
        for (user, text) in [("nobody", nobody.2), ("foreign", told(Some("foreign")).await)] {
            for hidden in ["kill-pod", "secret-eu", "\"rollover\"", ">rollover<", "cluster=\"prod\"", "\"prod\""] {
                if path.contains(hidden.trim_matches(|c: char| !c.is_ascii_alphabetic())) {
                    continue; // that it is not there is said of what was asked for
                }
                assert!(
                    !text.contains(hidden),
                    "{user} {path}: {hidden} {:?}",
                    text.split(hidden).next().map(|before| before
                        .chars()
                        .rev()
                        .take(200)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                        .collect::<String>())
                );
            }
        }
        let (partly, fully) = (told(Some("partly")).await, told(Some("fully")).await);
        assert!(!partly.contains("kill-pod") && !partly.contains("secret-eu"), "{path}");
        if tells == Some(true) {
            assert!(partly.contains("prod"), "{path}");
            assert_ne!(partly, fully, "{path}");
        }
    }
    let counts = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("rollcast_deployments{cluster=\"prod\",state=\"stable\"}"))
            .map(str::to_owned)
    };
    let metrics = async |user| counts(&ask(&rollcast, Some(user), "/metrics").await.2);
    assert_eq!(metrics("partly").await.as_deref(), Some("rollcast_deployments{cluster=\"prod\",state=\"stable\"} 1"));
    assert_eq!(metrics("fully").await.as_deref(), Some("rollcast_deployments{cluster=\"prod\",state=\"stable\"} 2"));
}

pub(crate) fn viewer(user: &str) -> Viewer {
    let subject = Subject { user: user.to_owned(), ..Subject::default() };
    Viewer::known(user.into(), Subjects::Same(subject))
}

pub(crate) fn namespaces(sight: &Sight, cluster: &str) -> Option<BTreeSet<String>> {
    match sight.of(cluster)? {
        Seen::Namespaces(all) => Some(all.clone()),
        Seen::All => Some(BTreeSet::from(["*".to_owned()])),
        Seen::Workload { .. } => None,
    }
}

pub(crate) fn only(namespace: &str) -> Option<BTreeSet<String>> {
    Some(BTreeSet::from([namespace.to_owned()]))
}

#[tokio::test(start_paused = true)]
async fn a_namespace_in_which_nothing_is_yet_is_seen_by_who_may_see_it() {
    let rules = rules(&PROD);
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "empty".to_owned()));
    let rollcast = site(&rules).await;
    let page = |namespace: &str| format!("/clusters/prod/namespaces/{namespace}/deployments/web");
    let mut said = Vec::new();
    for namespace in ["empty", "kill-pod", "never-was"] {
        let (status, _, text) = ask(&rollcast, Some("partly"), &page(namespace)).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        said.push(text.replace(namespace, "…"));
    }
    assert_eq!(difference(&timeless(&said[1]), &timeless(&said[2])), None);
    let view = View::of(&rollcast, viewer("partly")).await.unwrap();
    for (namespace, may_see) in [("empty", true), ("kill-pod", false), ("never-was", false)] {
        let shows = view.clone().naming("prod", namespace).await.shows(&Workload::deployment("prod", namespace, "web"));
        assert_eq!(shows, may_see, "{namespace}");
    }
    // It stays seen without being named again, and somebody without a right in the cluster learns nothing by naming.
    let mut sight = view.changes().await.unwrap();
    let both = Some(BTreeSet::from(["rollover".to_owned(), "empty".to_owned()]));
    sight.wait_for(|sight| namespaces(sight, "prod") == both).await.unwrap();
    let foreign = View::of(&rollcast, viewer("foreign")).await.unwrap().naming("prod", "rollover").await;
    assert!(!foreign.has_cluster("prod"));
}

/// A stream of somebody who follows `web` in a namespace of `prod`: what they say, and what they hear.
pub(crate) async fn stream(
    rollcast: &Arc<Rollcast>,
    user: &'static str,
    namespace: &str,
) -> (mpsc::UnboundedSender<Result<Message, axum::Error>>, mpsc::UnboundedReceiver<Message>) {
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-forwarded-user"), HeaderValue::from_static(user))]);
    let peer = Some("10.0.0.7".parse().unwrap());
    let viewer = rollcast.viewer(&headers, peer).await.unwrap();
    let view = View::of(rollcast, viewer).await.unwrap();
    let ((said, inbox), (out, heard)) = (mpsc::unbounded(), mpsc::unbounded());
    tokio::spawn(serve_over(out, inbox, view, Shown { headers, peer, from: peer }));
    for frame in [
        ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() },
        ViewerFrame::Subscribe { scope: Scope::Workload(Workload::deployment("prod", namespace, "web")), since: None },
    ] {
        said.unbounded_send(Ok(Message::Binary(wire::encode(&frame).unwrap().into()))).unwrap();
    }
    (said, heard)
}

/// Waits for a snapshot.
pub(crate) async fn snapshot(heard: &mut mpsc::UnboundedReceiver<Message>) {
    loop {
        if let Message::Binary(bytes) = heard.next().await.expect("the stream goes on")
            && let ServerFrame::Snapshot(_) = wire::decode(&bytes).unwrap()
        {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_hidden_takes_as_long_and_costs_as_much_as_one_that_is_not_there() {
    let (prod, secret) = (rules(&PROD), rules(&[("fully", "*")]));
    let hubs = vec![cluster("prod", &prod).await, cluster("secret-eu", &secret).await];
    let rollcast = Rollcast::with(hubs, "build", Viewers::default(), Site { auth: proxy(), ..Site::default() });
    let asked = || [&prod, &secret].map(|rules| rules.lock().unwrap().asked);
    prod.lock().unwrap().takes = Duration::from_millis(3);
    secret.lock().unwrap().takes = Duration::from_millis(250);
    let mut looked = 0;
    for like in ["partly", "foreign"] {
        for pattern in of_workloads().into_iter().chain(["/clusters/{cluster}/namespaces/{namespace}".to_owned()]) {
            // Nobody is asked about any more who looked before.
            tokio::time::sleep(Duration::from_secs(200)).await;
            let mut costs = Vec::new();
            for (cluster, namespace) in
                [("secret-eu", "kill-pod"), ("secret-eu", "never-was"), ("never-there", "kill-pod"), ("SECRET-EU", "x")]
            {
                // Somebody new each time, of whom no answer is known.
                let user = format!("{like}-{looked}");
                if like == "partly" {
                    prod.lock().unwrap().allowed.insert((user.clone(), "rollover".to_owned()));
                }
                ask(&rollcast, Some(&user), "/").await;
                let (before, began) = (asked(), tokio::time::Instant::now());
                ask(&rollcast, Some(&user), &named(&pattern, cluster, namespace)).await;
                let after = asked();
                costs.push(([after[0] - before[0], after[1] - before[1]], began.elapsed()));
                looked += 1;
            }
            let hidden = [usize::from(like == "foreign"), 1];
            assert!(costs.iter().all(|cost| *cost == costs[0] && cost.0 == hidden), "{like} {pattern}: {costs:?}");
            assert!(costs[0].1 >= Duration::from_millis(250), "{like} {pattern}: all that are hidden are waited for");
        }
    }
    assert!(looked > 60, "{looked}");
    // Of a cluster of which something is seen that one alone is asked.
    ask(&rollcast, Some("partly"), "/").await;
    let began = tokio::time::Instant::now();
    ask(&rollcast, Some("partly"), "/clusters/prod/namespaces/never-was").await;
    assert!(began.elapsed() < Duration::from_millis(250), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_uid_leads_to_nothing_of_another_namespace() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let list = serde_json::from_str::<Value>(&ask(&rollcast, Some("fully"), "/api/v1/deployments").await.2).unwrap();
    let of = |namespace: &str| {
        let all = list["clusters"][0]["deployments"].as_array().unwrap();
        let found = all.iter().find(|known| known["namespace"] == namespace).unwrap();
        (found["uid"].as_str().unwrap().to_owned(), found["name"].as_str().unwrap().to_owned())
    };
    let ((own, own_name), (hidden, hidden_name)) = (of("rollover"), of("kill-pod"));
    let nobodys = "00000000-0000-0000-0000-000000000001";
    let mut looked = 0;
    for pattern in of_workloads().into_iter().chain(["/deployments/{uid}".to_owned()]) {
        let of = |uid: &str, name: &str| {
            let address = pattern.replace("{uid}", uid).replace("{name}", name);
            let address = named(&address, "prod", "rollover");
            if pattern.starts_with("/deployments/") { address } else { format!("{address}?uid={uid}") }
        };
        for name in [&own_name, &hidden_name] {
            let led = ask(&rollcast, Some("partly"), &of(&hidden, name)).await;
            let nowhere = ask(&rollcast, Some("partly"), &of(nobodys, name)).await;
            assert_eq!(led.0, nowhere.0, "{pattern}");
            let (led, nowhere) = (led.2.replace(&hidden, "…"), nowhere.2.replace(nobodys, "…"));
            assert_eq!(difference(&timeless(&led), &timeless(&nowhere)), None, "{pattern} {name}");
        }
        looked += usize::from(ask(&rollcast, Some("partly"), &of(&own, &own_name)).await.0 != StatusCode::NOT_FOUND);
    }
    assert!(looked > 8, "{looked}");
}

#[tokio::test]
async fn what_is_kept_is_seen_as_far_as_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/history/3.db"), folder.path().join("history.db"))
        .unwrap();
    let limits = Limits::of(Some(Duration::from_secs(3_650 * 86_400)), None);
    let archive = server::history::Archive::start(Options { location: Location::Folder(folder.path().into()), limits });
    let kept = archive.read(|reader| reader.namespaces()).await.unwrap();
    let cluster = kept.first_key_value().unwrap().0;
    let rules = rules(&[("fully", "*"), ("foreign", "elsewhere")]);
    let (hub, _) = Handle::start(cluster, Arc::default(), Retention::default());
    let hubs = vec![hub.with_reviewer(reviewer(&rules))];
    let rollcast = Rollcast::with(
        hubs,
        "build",
        Viewers::default(),
        Site { auth: proxy(), archive: Some(archive.clone()), ..Site::default() },
    );
    let told = async |user: &str, path: &str| ask(&rollcast, Some(user), path).await;
    let (_, _, all) = told("fully", "/api/v1/rollouts").await;
    let rollout = serde_json::from_str::<Value>(&all).unwrap()["rollouts"][0].clone();
    let text = |field: &str| rollout[field].as_str().unwrap().to_owned();
    let namespace = text("namespace");
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), namespace.clone()));
    for path in ["/history", "/api/v1/rollouts"] {
        let ((_, _, fully), (_, _, partly), (_, _, foreign)) =
            (told("fully", path).await, told("partly", path).await, told("foreign", path).await);
        let tells = |text: &str, of: &str| {
            let places = [format!("/namespaces/{of}/"), format!("\"namespace\":\"{of}\"")];
            places.iter().any(|place| text.contains(place))
        };
        assert!(tells(&fully, &namespace) && tells(&partly, &namespace), "{path}");
        for other in &kept[cluster] {
            assert!(!tells(&foreign, other), "{path} {other}");
            assert!(*other == namespace || !tells(&partly, other), "{path} {other}");
        }
    }
    let by_itself = format!("uid={}&rollout={}", text("uid"), rollout["number"]);
    let page = |namespace: &str| format!("/clusters/{cluster}/namespaces/{namespace}/deployments/{}", text("name"));
    for end in
        [format!("?{by_itself}"), format!("/export?format=jsonl&{by_itself}"), format!("/compare?uid={}", text("uid"))]
    {
        let path = format!("{}{end}", page(&text("namespace")));
        assert_eq!(told("fully", &path).await.0, StatusCode::OK, "{path}");
        assert_eq!(told("foreign", &path).await.0, StatusCode::NOT_FOUND, "{path}");
        // By its UID, under the name of a namespace that may be seen.
        let borrowed = format!("{}{end}", page("elsewhere"));
        assert_eq!(told("foreign", &borrowed).await.0, StatusCode::NOT_FOUND, "{borrowed}");
    }
    let path = format!("/api/v1{}/recording?{by_itself}", page(&text("namespace")));
    assert_eq!(told("fully", &path).await.0, StatusCode::OK);
    assert_eq!(told("foreign", &path).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        told("foreign", &format!("/api/v1{}/recording?{by_itself}", page("elsewhere"))).await.0,
        StatusCode::NOT_FOUND
    );
    archive.close().await;
}
