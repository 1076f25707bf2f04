//! A cluster that says who may see what, and what somebody is answered: for tests of what people see.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use futures::StreamExt;
use futures::channel::mpsc;
use serde_json::{Value, json};
use server::access::cookie::SessionKeys;
use server::access::permissions::{ClusterPermissions, Permissions};
use server::access::proxy::ProxyAuth;
use server::access::share::Shares;
use server::access::subject::SubjectPrefixes;
use server::access::{Auth, Subjects, Viewer};
use server::hub::Handle;
use server::kube::review::{Reviewer, Subject};
use server::kube::{Pace, SourceEvent};
use server::web::client_view::ClientView;
use server::web::session::{StreamRequest, serve_over};
use server::web::state::{Rollcast, Site};
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use timeline::{Retention, Workload};

use crate::common;
use crate::common::fed::feed;
use crate::common::reviewer::answered;
use crate::pages::site::{listed, send, site_of, text_of};

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
    common::reviewer::reviewer(Pace::default(), move |asked| {
        let rules = rules.clone();
        async move {
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
                return (500, Vec::new());
            }
            let is_allowed =
                rules.allowed.contains(&(user.clone(), namespace)) || rules.allowed.contains(&(user, "*".to_owned()));
            answered(&json!({ "allowed": is_allowed }))
        }
    })
}

/// A cluster with two namespaces, "rollover" and "kill-pod": what was recorded of two, put together.
pub(crate) async fn cluster(name: &str, rules: &Shared) -> Handle {
    watched_cluster(name, rules).await.0
}

/// A site whose only cluster is "prod", with the usual rules.
pub(crate) async fn prod(site: Site) -> Arc<Rollcast> {
    site_of(vec![cluster("prod", &rules(&PROD)).await], site)
}

/// The cluster, and the way by which its sources tell how they get on.
pub(crate) async fn watched_cluster(name: &str, rules: &Shared) -> (Handle, tokio::sync::mpsc::Sender<SourceEvent>) {
    let all = common::recordings().into_iter().filter(|(name, _)| ["rollover", "kill-pod"].contains(&name.as_str()));
    let mut lines: Vec<(i64, String)> = all
        .flat_map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.contains("\"LIST_DONE\""))
        .map(|line| (serde_json::from_str::<Value>(&line).unwrap()["observedAtMillis"].as_i64().unwrap(), line))
        .collect();
    lines.sort();
    let text = lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, events) = Handle::start(name, Arc::default(), retention);
    feed(&events, server::feed::recording::Recording::read(&text).observed).await;
    listed(&hub).await;
    (hub.with_reviewer(reviewer(rules)), events)
}

pub(crate) fn proxy() -> Auth {
    Auth::Proxy(ProxyAuth {
        from: vec!["10.0.0.7/32".parse().unwrap()],
        user_header: HeaderName::from_static("x-forwarded-user"),
        groups_header: HeaderName::from_static("x-forwarded-groups"),
        prefixes: SubjectPrefixes::default(),
    })
}

pub(crate) async fn site(rules: &Shared) -> Arc<Rollcast> {
    let hubs = vec![cluster("prod", rules).await, cluster("secret-eu", &self::rules(&[("fully", "*")])).await];
    let shares = Some(Shares::open(SessionKeys::generate(), None).unwrap());
    site_of(hubs, Site { auth: proxy(), shares, ..Site::default() })
}

pub(crate) const PROD: [(&str, &str); 3] = [("partly", "rollover"), ("foreign", "elsewhere"), ("fully", "*")];

/// What an address answers to somebody: status, headers, text.
pub(crate) async fn ask(rollcast: &Arc<Rollcast>, user: Option<&str>, path: &str) -> (StatusCode, Vec<String>, String) {
    let mut request = Request::get(path).header(header::ACCEPT, "text/html");
    if let Some(user) = user {
        request = request.header("x-forwarded-user", user);
    }
    let response = send(rollcast, Some([10, 0, 0, 7]), request, ()).await;
    let status = response.status();
    let mut headers: Vec<String> =
        response.headers().iter().map(|(name, value)| format!("{name}: {}", plain(value.to_str().unwrap()))).collect();
    headers.sort();
    (status, headers, plain(&text_of(response).await))
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

pub(crate) fn viewer(user: &str) -> Viewer {
    let subject = Subject { user: user.to_owned(), ..Subject::default() };
    Viewer::signed_in(user.into(), Subjects::Same(subject))
}

pub(crate) fn namespaces(sight: &Permissions, cluster: &str) -> Option<BTreeSet<String>> {
    match sight.of(cluster)? {
        ClusterPermissions::Namespaces(all) => Some(all.clone()),
        ClusterPermissions::All | ClusterPermissions::AllByLink => Some(BTreeSet::from(["*".to_owned()])),
        ClusterPermissions::Workload { .. } => None,
    }
}

pub(crate) fn only(namespace: &str) -> Option<BTreeSet<String>> {
    Some(BTreeSet::from([namespace.to_owned()]))
}

/// What is said on a stream, and what is heard.
pub(crate) type Said = mpsc::UnboundedSender<Result<Message, axum::Error>>;
pub(crate) type Heard = mpsc::UnboundedReceiver<Message>;

/// A stream that was opened by that request.
pub(crate) fn serve(view: ClientView, request: StreamRequest) -> (Said, Heard) {
    let ((said, inbox), (out, heard)) = (mpsc::unbounded(), mpsc::unbounded());
    tokio::spawn(serve_over(out, inbox, view, request));
    (said, heard)
}

pub(crate) fn say(said: &Said, frame: &ViewerFrame) {
    said.unbounded_send(Ok(Message::Binary(wire::encode(frame).unwrap().into()))).unwrap();
}

pub(crate) fn follow(said: &Said, workload: Workload) {
    say(said, &ViewerFrame::Subscribe { scope: Scope::Workload(workload), since: None });
}

/// The next frame.
pub(crate) async fn hear(heard: &mut Heard) -> ServerFrame {
    loop {
        if let Message::Binary(bytes) = heard.next().await.expect("the stream goes on") {
            return wire::decode(&bytes).unwrap();
        }
    }
}

/// What the proxy sends of somebody.
fn request_of(user: &'static str) -> StreamRequest {
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-forwarded-user"), HeaderValue::from_static(user))]);
    let peer = Some("10.0.0.7".parse().unwrap());
    StreamRequest { headers, peer, from: peer }
}

/// What somebody sees who comes through the proxy.
pub(crate) async fn view_of(rollcast: &Arc<Rollcast>, user: &'static str) -> ClientView {
    view_for(rollcast, &request_of(user)).await
}

async fn view_for(rollcast: &Arc<Rollcast>, request: &StreamRequest) -> ClientView {
    let (viewer, _) = rollcast.authenticate(&request.headers, request.peer, request.from).await.unwrap();
    ClientView::new(rollcast, viewer).await.unwrap()
}

/// A stream that is opened by that request.
pub(crate) async fn open(rollcast: &Arc<Rollcast>, request: StreamRequest) -> (Said, Heard) {
    serve(view_for(rollcast, &request).await, request)
}

/// A stream of somebody who follows `web` in a namespace of `prod`.
pub(crate) async fn stream(rollcast: &Arc<Rollcast>, user: &'static str, namespace: &str) -> (Said, Heard) {
    let (said, heard) = open(rollcast, request_of(user)).await;
    say(&said, &ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() });
    follow(&said, Workload::deployment("prod", namespace, "web"));
    (said, heard)
}

/// Answers pings for as long as the stream goes on, as a browser does.
pub(crate) fn answer_pings(said: Said) {
    tokio::spawn(async move {
        while said.unbounded_send(Ok(Message::Pong(axum::body::Bytes::new()))).is_ok() {
            tokio::time::sleep(Duration::from_secs(20)).await; // in the test's own time
        }
    });
}

/// Waits for a snapshot.
pub(crate) async fn snapshot(heard: &mut Heard) {
    while !matches!(hear(heard).await, ServerFrame::Snapshot(_)) {}
}
