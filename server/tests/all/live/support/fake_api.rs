//! A fake API server: real HTTP on loopback, faults by script.
//!
//! It holds objects per kind and answers list and watch requests from them. A test changes objects with `put` and `delete`
//! and lays out faults with `fault`: the next matching request gets that fault instead of a good answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use server::kube;
use tokio::sync::broadcast;

use crate::common::network::NetworkListener;

/// What to do to a request instead of answering it well.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answer this status.
    Status(u16),
    /// Answer 429 and ask to be left alone for so many seconds.
    Busy(u16),
    /// Answer 200 and end at once.
    EndAtOnce,
    /// Watch: send this text, then end.
    Say(String),
    /// Answer 200 with bytes that are compressed, though nobody asked for that.
    Compressed,
    /// Never answer.
    Hang,
    /// Answer 200, say this text, then nothing more on a connection that stays open.
    Stall(String),
    /// Answer 200 and a space every now and then, for ever.
    Trickle,
    /// Watch: say nothing until it ends as asked, as a server that has yet to reach the position.
    Mute,
    /// Stream: tell of objects and of their changes until it ends as asked, and never that every object was sent.
    NoEnd,
}

/// Resources that are watched.
pub const WATCHED: [&str; 4] = ["deployments", "replicasets", "pods", "events"];

/// Which request a fault is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    List,
    /// A page of a list after its first. It is counted as `List`.
    Next,
    /// A list that is streamed. Without a fault it is refused, unless `stream_lists` was called.
    Stream,
    Watch,
    /// The liveness probe.
    Version,
}

#[derive(Default)]
struct World {
    version: u64,
    /// Most objects of a page, and how long the server takes for one.
    page: (usize, Duration),
    streams_lists: bool,
    objects: BTreeMap<(String, String), Value>,
    faults: BTreeMap<(u8, String), VecDeque<Fault>>,
    /// Faults that hit every request until they are lifted.
    standing: BTreeMap<(u8, String), Fault>,
    requests: Vec<(Instant, Verb, String)>,
    /// User and groups that requests were made as, each once.
    impersonated: BTreeSet<Vec<String>>,
    /// The only token that is taken; everything else is answered 401.
    token: Option<String>,
    refusals: usize,
    /// Watch lines with their version, so that a watch goes on where its list ended.
    history: Vec<(u64, String, String)>,
    /// Positions of a kind before this version have expired.
    expired: BTreeMap<String, u64>,
    /// The last list in pages at each path, with its version: all pages of a list are of one moment.
    lists: BTreeMap<String, (u64, Arc<[Value]>)>,
}

/// The line of a watch that says that its position has expired.
pub const EXPIRED: &str = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;

#[derive(Clone)]
pub struct FakeApi {
    world: Arc<Mutex<World>>,
    events: broadcast::Sender<(String, String)>,
    hang_up: broadcast::Sender<()>,
    pub address: std::net::SocketAddr,
}

impl FakeApi {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = Self::new(listener.local_addr().unwrap());
        let router = api.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        api
    }

    /// One that is reached through a network in memory, in the test's own time.
    pub fn behind(listener: NetworkListener) -> Self {
        let api = Self::new(([127, 0, 0, 1], 0).into());
        api.listen(listener);
        api
    }

    /// It is reached there as well.
    pub fn listen<L: axum::serve::Listener<Addr: std::fmt::Debug>>(&self, listener: L) {
        let router = self.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    fn new(address: std::net::SocketAddr) -> Self {
        let world = World { page: (2, Duration::ZERO), ..World::default() }; // so that every longer list is paged
        let (events, hang_up) = (broadcast::channel(1024).0, broadcast::channel(8).0);
        Self { world: Arc::new(Mutex::new(world)), events, hang_up, address }
    }

    fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    pub fn client(&self) -> ::kube::Client {
        kube::kubeconfig::client_for(::kube::Config::new(format!("http://{}", self.address).parse().unwrap())).unwrap()
    }

    /// Creates or changes an object and tells the watches.
    pub fn put(&self, object: Value) {
        let (kind, uid) = key(&object);
        let mut world = self.world.lock().unwrap();
        let event = if world.objects.contains_key(&(kind.clone(), uid.clone())) { "MODIFIED" } else { "ADDED" };
        let object = world.stamp(object);
        world.objects.insert((kind.clone(), uid), object.clone());
        self.tell(&mut world, kind, json!({ "type": event, "object": object }).to_string());
    }

    /// Deletes an object and tells the watches.
    pub fn delete(&self, object: &Value) {
        let (kind, uid) = key(object);
        let mut world = self.world.lock().unwrap();
        let last = world.objects.remove(&(kind.clone(), uid)).expect("deletes what exists");
        let last = world.stamp(last);
        self.tell(&mut world, kind, json!({ "type": "DELETED", "object": last }).to_string());
    }

    fn tell(&self, world: &mut World, kind: String, line: String) {
        world.history.push((world.version, kind.clone(), line.clone()));
        let _ = self.events.send((kind, line));
    }

    /// Removes an object without a word, as if the watch had missed it.
    pub fn lose(&self, object: &Value) {
        self.world.lock().unwrap().objects.remove(&key(object));
    }

    /// Whether an object with that UID exists.
    pub fn has(&self, kind: &str, uid: &str) -> bool {
        self.world.lock().unwrap().objects.contains_key(&(kind.to_owned(), uid.to_owned()))
    }

    /// Sends a line to the watches of a kind as it is.
    pub fn say(&self, kind: &str, line: &str) {
        let _ = self.events.send((kind.to_owned(), line.to_owned()));
    }

    /// Every position of a kind until now expires, and lists of it that have not ended.
    pub fn expire(&self, kind: &str) {
        let mut world = self.world.lock().unwrap();
        world.version += 1;
        let version = world.version;
        world.expired.insert(kind.to_owned(), version);
        let _ = self.events.send((kind.to_owned(), EXPIRED.to_owned()));
    }

    /// The watches of a kind get one of the lines again that they got before, chosen among so many.
    pub fn say_again(&self, kind: &str, choose: impl FnOnce(usize) -> usize) {
        let world = self.world.lock().unwrap();
        let lines: Vec<_> = world.history.iter().filter(|(_, of, _)| of == kind).collect();
        if !lines.is_empty() {
            let _ = self.events.send((kind.to_owned(), lines[choose(lines.len())].2.clone()));
        }
    }

    /// The next request of that verb for that resource gets this.
    pub fn fault(&self, verb: Verb, resource: &str, fault: Fault) {
        self.world.lock().unwrap().faults.entry((verb as u8, resource.to_owned())).or_default().push_back(fault);
    }

    /// Every request of that verb for that resource gets this, until it is lifted.
    pub fn stand(&self, verb: Verb, resource: &str, fault: Option<Fault>) {
        let mut world = self.world.lock().unwrap();
        match fault {
            Some(fault) => world.standing.insert((verb as u8, resource.to_owned()), fault),
            None => world.standing.remove(&(verb as u8, resource.to_owned())),
        };
    }

    /// The same for each resource that is watched.
    pub fn stand_all(&self, verbs: &[Verb], fault: Option<Fault>) {
        for verb in verbs {
            WATCHED.iter().for_each(|resource| self.stand(*verb, resource, fault.clone()));
        }
    }

    /// From now on pages hold so many objects at most, and take that long.
    pub fn pages(&self, most: usize, take: Duration) {
        self.world.lock().unwrap().page = (most, take);
    }

    /// From now on lists are streamed to whoever asks for that.
    pub fn stream_lists(&self) {
        self.world.lock().unwrap().streams_lists = true;
    }

    /// From now on only this token is taken.
    pub fn take_only(&self, token: &str) {
        self.world.lock().unwrap().token = Some(token.to_owned());
    }

    /// Requests with another token so far.
    pub fn refusals(&self) -> usize {
        self.world.lock().unwrap().refusals
    }

    /// When requests of a verb for a resource came.
    pub fn times(&self, verb: Verb, resource: &str) -> Vec<Instant> {
        let world = self.world.lock().unwrap();
        world.requests.iter().filter(|(_, v, r)| *v == verb && r.ends_with(resource)).map(|(at, ..)| *at).collect()
    }

    /// Ends every watch.
    pub fn hang_up(&self) {
        let _ = self.hang_up.send(());
    }

    /// Requests so far of a verb for a resource.
    pub fn requests(&self, verb: Verb, resource: &str) -> usize {
        self.times(verb, resource).len()
    }

    /// What was asked so far: each verb and path once.
    pub fn paths(&self) -> BTreeSet<(Verb, String)> {
        self.world.lock().unwrap().requests.iter().map(|(_, verb, path)| (*verb, path.clone())).collect()
    }

    /// User and groups that requests were made as, each once; nobody is an empty list.
    pub fn impersonated(&self) -> BTreeSet<Vec<String>> {
        self.world.lock().unwrap().impersonated.clone()
    }

    /// All list and watch requests so far.
    pub fn all_requests(&self) -> usize {
        self.world.lock().unwrap().requests.iter().filter(|(_, verb, _)| *verb != Verb::Version).count()
    }
}

impl World {
    fn stamp(&mut self, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object
    }

    fn take_fault(&mut self, verb: Verb, resource: &str) -> Option<Fault> {
        let key = (verb as u8, resource.to_owned());
        self.faults.get_mut(&key).and_then(VecDeque::pop_front).or_else(|| self.standing.get(&key).cloned())
    }
}

fn key(object: &Value) -> (String, String) {
    let resource = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
    (resource, object["metadata"]["uid"].as_str().unwrap().to_owned())
}

async fn answer(State(api): State<FakeApi>, request: Request) -> Response {
    let path = request.uri().path().trim_matches('/').to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
    let verb = if path == "version" {
        Verb::Version
    } else if query.contains("sendInitialEvents=true") {
        Verb::Stream
    } else if query.contains("watch=1") {
        Verb::Watch
    } else {
        Verb::List
    };
    let asked =
        |name: &str| query.split('&').find_map(|part| part.strip_prefix(&format!("{name}="))).map(str::to_owned);
    let shown = request.headers().get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let headers =
        ["impersonate-user", "impersonate-group"].into_iter().flat_map(|name| request.headers().get_all(name));
    let impersonated = headers.map(|value| value.to_str().unwrap().to_owned()).collect();
    let (fault, items, version, past, events, limit, takes, streams_lists) = {
        let mut world = api.world.lock().unwrap();
        world.requests.push((Instant::now(), verb, path.clone()));
        world.impersonated.insert(impersonated);
        if world.token.as_ref().is_some_and(|token| shown != format!("Bearer {token}")) {
            world.refusals += 1;
            return (StatusCode::UNAUTHORIZED, r#"{"kind":"Status","message":"Unauthorized","code":401}"#)
                .into_response();
        }
        let namespace = path.split("namespaces/").nth(1).and_then(|rest| rest.split('/').next());
        let in_scope = |object: &&Value| namespace.is_none_or(|ns| object["metadata"]["namespace"] == ns);
        let is_next = verb == Verb::List && asked("continue").is_some();
        let under_way = is_next.then(|| world.lists.get(&path).cloned()).flatten();
        let mine = world.objects.iter().filter(|((kind, _), _)| *kind == resource).map(|(_, object)| object);
        let all = match verb {
            Verb::List | Verb::Stream if under_way.is_none() => mine.filter(in_scope).cloned().collect(),
            _ => Arc::default(),
        };
        let expired = world.expired.get(&resource).copied().unwrap_or(0);
        let since: u64 = asked("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or(0);
        let later = world.history.iter().filter(|(at, kind, _)| *at > since && *kind == resource);
        let past: Vec<String> = match since < expired {
            true => vec![EXPIRED.to_owned()],
            false => later.map(|(.., line)| line.clone()).collect(),
        };
        let next = is_next.then(|| world.take_fault(Verb::Next, &resource)).flatten();
        let fault = next.or_else(|| world.take_fault(verb, &resource));
        if under_way.as_ref().is_some_and(|(version, _)| *version < expired) {
            return StatusCode::GONE.into_response();
        }
        let (version, items) = under_way.unwrap_or((world.version, all));
        let (most, takes) = world.page;
        let limit = asked("limit").and_then(|text| text.parse().ok()).unwrap_or(usize::MAX).min(most);
        if verb == Verb::List && items.len() > limit {
            world.lists.insert(path, (version, items.clone()));
        }
        (fault, items, version, past, api.events.subscribe(), limit, takes, world.streams_lists)
    };
    let lasts = Duration::from_secs(asked("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(3_600));
    match fault {
        Some(Fault::Status(code)) => {
            let body = json!({ "kind": "Status", "message": format!("fault {code}"), "code": code }).to_string();
            return (StatusCode::from_u16(code).unwrap(), body).into_response();
        }
        Some(Fault::Busy(seconds)) => {
            return (StatusCode::TOO_MANY_REQUESTS, [("Retry-After", seconds.to_string())], "{}").into_response();
        }
        Some(Fault::EndAtOnce) => return StatusCode::OK.into_response(),
        Some(Fault::Say(text)) => return text.into_response(),
        Some(Fault::Compressed) => {
            let empty_object = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";
            return ([("content-encoding", "gzip")], &empty_object[..]).into_response();
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Trickle) => {
            let spaces = futures::stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(50)).await; // so slow is this server
                Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b" ")), ()))
            });
            return Body::from_stream(spaces).into_response();
        }
        Some(Fault::Mute) => return watch(String::new(), Vec::new(), events, api.hang_up.subscribe(), lasts),
        Some(Fault::NoEnd) => {
            let lines = items.iter().map(added).collect();
            return watch(resource, lines, events, api.hang_up.subscribe(), lasts);
        }
        Some(Fault::Stall(text)) => {
            let said = futures::stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(text))]);
            return Body::from_stream(said.chain(futures::stream::pending())).into_response();
        }
        None => {}
    }
    match verb {
        Verb::Version => "{}".into_response(),
        Verb::List | Verb::Next => {
            let text = page(&items, version, asked("continue"), limit).to_string();
            if takes.is_zero() { text.into_response() } else { slowly(text, takes) }
        }
        Verb::Stream if !streams_lists => {
            let message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            let status = json!({ "kind": "Status", "message": message, "reason": "Invalid", "code": 422 });
            (StatusCode::UNPROCESSABLE_ENTITY, status.to_string()).into_response()
        }
        Verb::Stream => {
            let lines = items.iter().map(added).chain([initial_end(version)]).collect();
            watch(resource, lines, events, api.hang_up.subscribe(), Duration::from_secs(60))
        }
        Verb::Watch => watch(resource, past, events, api.hang_up.subscribe(), lasts),
    }
}

/// The line of a watch that says an object is there.
pub fn added(object: &Value) -> String {
    json!({ "type": "ADDED", "object": object }).to_string()
}

/// The bookmark at the end of a list that is streamed.
pub fn initial_end(version: u64) -> String {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    let metadata = json!({ "resourceVersion": version.to_string(), "annotations": annotations });
    json!({ "type": "BOOKMARK", "object": { "metadata": metadata } }).to_string()
}

fn page(items: &[Value], version: u64, after: Option<String>, most: usize) -> Value {
    let from: usize = after.and_then(|token| token.parse().ok()).unwrap_or(0);
    let to = from.saturating_add(most);
    let next = if to < items.len() { to.to_string() } else { String::new() };
    let items: Vec<&Value> = items.iter().skip(from).take(most).collect();
    json!({ "metadata": { "resourceVersion": version.to_string(), "continue": next }, "items": items })
}

/// An answer that comes in six pieces in that time.
fn slowly(text: String, takes: Duration) -> Response {
    let text = Bytes::from(text);
    let step = text.len().div_ceil(6);
    let pieces = futures::stream::unfold(text, move |mut rest| async move {
        tokio::time::sleep(takes / 6).await; // so slow is this server
        let piece = rest.split_to(step.min(rest.len()));
        (!piece.is_empty()).then_some((Ok::<_, std::convert::Infallible>(piece), rest))
    });
    Body::from_stream(pieces).into_response()
}

fn watch(
    resource: String,
    past: Vec<String>,
    events: broadcast::Receiver<(String, String)>,
    hang_up: broadcast::Receiver<()>,
    lasts: Duration,
) -> Response {
    let past = futures::stream::iter(past);
    let live = futures::stream::unfold((resource, events, hang_up), |(resource, mut events, mut hang_up)| async move {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok((kind, line)) if kind == resource => return Some((line, (resource, events, hang_up))),
                    Ok(_) => {}
                    Err(_) => return None,
                },
                _ = hang_up.recv() => return None,
            }
        }
    });
    let over = tokio::time::sleep(lasts); // a watch ends when it was asked to
    let lines =
        past.chain(live).take_until(over).map(|line| Ok::<_, std::convert::Infallible>(Bytes::from(line + "\n")));
    Body::from_stream(lines).into_response()
}
