//! Sources of frames: the hub of a cluster that this program watches, or the websocket of a running Rollcast.

use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use futures::{SinkExt, StreamExt};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, Response, StatusCode};
use timeline::Workload;
use timeline::list::{ListCopy, MOST_ROWS, Query, Window};
use timeline::wire::{self, HEARTBEAT_SECONDS, OPEN_AGAIN, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::origin::{Origin, Source};
use super::server::RemoteServer;
use crate::hub::{Handle, Update};
use crate::kube::backoff::Backoff;

/// A server without a frame for this long is unreachable: a little more than two heartbeats.
const SILENCE_LIMIT: Duration = Duration::from_secs(HEARTBEAT_SECONDS as u64 * 2 + 1);
/// A server must respond, and accept data, within this time.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
const SILENT: &str = "it does not respond";
const CLOSED: &str = "it closed the connection";
const SIGN_IN_ADVICE: &str =
    "it requires sign-in: name a file with a Kubernetes token, or an ID token of its provider, with --token-file";
const REFUSED_TOKEN: &str =
    "it does not accept the token of --token-file, which has expired or belongs to another cluster or provider";
const FIRST_BACKOFF: Duration = Duration::from_millis(300);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// Number of tries after which the server counts as unreachable, if there was never a connection.
const FIRST_TRIES: u32 = 3;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) enum FeedEvent {
    /// A frame.
    Frame(Box<ServerFrame>),
    /// The connection to the server is lost and is being retried.
    Lost(String),
}

/// Number of frames in the queue.
const QUEUE: usize = 64;

pub(super) type Feed = mpsc::Receiver<anyhow::Result<FeedEvent>>;

/// Follows a Deployment in a task that ends with the receiver.
pub(super) fn open(origin: &Origin, name: &str) -> Feed {
    let (out, feed) = mpsc::channel(QUEUE);
    let (source, workload) = (origin.source.clone(), origin.workload(name));
    tokio::spawn(async move {
        let ended = match source {
            Source::Hub(hub) => follow_hub(&hub, workload, &out).await,
            Source::Server(server, _) => follow_server(server, Scope::Workload(workload), &out).await,
        };
        if let Err(error) = ended {
            let _ = out.send(Err(error)).await; // the follower may have ended
        }
    });
    feed
}

type FeedSender = mpsc::Sender<anyhow::Result<FeedEvent>>;

/// Forwards frames until the follower ends.
async fn follow_hub(hub: &Handle, workload: Workload, out: &FeedSender) -> anyhow::Result<()> {
    let (first, mut followed) = hub.follow(workload, None).await?;
    let mut frame = wire::decode(&first.frame)?;
    loop {
        if out.send(Ok(FeedEvent::Frame(Box::new(frame)))).await.is_err() {
            return Ok(());
        }
        let told = tokio::select! {
            told = followed.next() => told?,
            () = out.closed() => return Ok(()),
        };
        frame = match told {
            Update::Frame(bytes) => wire::decode(&bytes)?,
            Update::Connection(connection) => ServerFrame::Connection { cluster: hub.name().to_owned(), connection },
            Update::Missed => wire::decode(&followed.resubscribe().await?.frame)?,
        };
    }
}

/// Forwards frames, over as many connections as necessary, until the follower ends.
async fn follow_server(server: RemoteServer, scope: Scope, out: &FeedSender) -> anyhow::Result<()> {
    let mut backoff = Backoff::default();
    let mut was_open = false;
    while !out.is_closed() {
        let mut lasted = Duration::ZERO;
        let why = match subscribe(&server, scope.clone()).await {
            Ok(mut socket) => {
                was_open = true;
                let opened = Instant::now();
                let why = forward_frames(&mut socket, &server, out).await?;
                lasted = opened.elapsed();
                why
            }
            Err(why) => Some(why),
        };
        if let Some(why) = why {
            if !was_open && backoff.failures() + 1 >= FIRST_TRIES {
                return Err(cannot_follow(&server, &why));
            }
            let _ = out.send(Ok(FeedEvent::Lost(why))).await; // the follower may have ended
        }
        tokio::time::sleep(pause(&mut backoff, lasted, fastrand::f64())).await;
    }
    Ok(())
}

/// Returns the wait before the next connection. Only a connection that lasted longer than the longest pause counts as a success:
/// a server may close each connection at once.
fn pause(backoff: &mut Backoff, lasted: Duration, chance: f64) -> Duration {
    if lasted > MAX_BACKOFF {
        backoff.reset();
    }
    backoff.fail(FIRST_BACKOFF, MAX_BACKOFF, chance)
}

/// Forwards the frames of one connection. Returns why it was lost; `None` if the server requests a new connection, which is no
/// loss because the stream continues, or if the follower has ended.
async fn forward_frames(
    socket: &mut Socket,
    server: &RemoteServer,
    out: &FeedSender,
) -> anyhow::Result<Option<String>> {
    loop {
        let frame = tokio::select! {
            frame = receive(socket) => frame,
            () = out.closed() => return Ok(None),
        };
        match frame {
            Ok(Some(frame)) => {
                check_version(&frame, server)?;
                if out.send(Ok(FeedEvent::Frame(Box::new(frame)))).await.is_err() {
                    return Ok(None);
                }
            }
            Ok(None) => return Ok(None),
            Err(why) => return Ok(Some(why)),
        }
    }
}

/// Returns the cluster to follow on a server, the named one or the only one, and its Deployments by namespace and name, as far as
/// one list contains them.
pub(super) async fn cluster_of(
    server: &RemoteServer,
    wanted: Option<&str>,
) -> anyhow::Result<(String, Vec<(String, String)>)> {
    let silent = |_| Err(cannot_follow(server, SILENT));
    // Heartbeats alone do not extend the time limit.
    let list = tokio::time::timeout(RESPONSE_TIMEOUT, first_list(server, wanted)).await.unwrap_or_else(silent)?;
    let deployments = list.rows().map(|row| (row.summary.namespace.clone(), row.summary.name.clone())).collect();
    let clusters = &list.overall.clusters;
    let known = || clusters.iter().map(|cluster| super::plain(&cluster.name)).collect::<Vec<_>>().join(", ");
    // Permissions that cannot be checked right now hide clusters.
    let is_unchecked = list.overall.is_unchecked;
    match (wanted, clusters.as_slice()) {
        (Some(wanted), clusters) => match clusters.iter().find(|cluster| cluster.name == wanted) {
            Some(found) => Ok((found.name.clone(), deployments)),
            // The cluster may have an allowed namespace without workloads, which only a request with both names can show.
            None if clusters.is_empty() || is_unchecked => Ok((wanted.to_owned(), deployments)),
            None => anyhow::bail!("{server} does not watch a cluster named {wanted:?}. It watches: {}.", known()),
        },
        (None, []) => anyhow::bail!(
            "{server} shows you no cluster: you may not list pods in any namespace with Deployments, or your permissions cannot be checked. Name the cluster with --cluster."
        ),
        (None, [_]) if is_unchecked => {
            anyhow::bail!(
                "{server} cannot check your permissions on a cluster right now; name the cluster with --cluster."
            )
        }
        (None, [only]) => Ok((only.name.clone(), deployments)),
        (None, _) => anyhow::bail!("{server} watches several clusters; choose one with --cluster: {}.", known()),
    }
}

async fn first_list(server: &RemoteServer, wanted: Option<&str>) -> anyhow::Result<ListCopy> {
    let lost = |why: String| cannot_follow(server, &why);
    let query = Query { cluster: wanted.map(str::to_owned), ..Query::default() };
    let scope = Scope::List { query, window: Window { from: 0, to: MOST_ROWS } };
    let mut socket = subscribe(server, scope).await.map_err(lost)?;
    loop {
        let frame = receive(&mut socket).await.map_err(lost)?.ok_or_else(|| cannot_follow(server, CLOSED))?;
        check_version(&frame, server)?;
        if let ServerFrame::List(delta) = frame {
            let mut list = ListCopy::default();
            list.take(*delta);
            return Ok(list);
        }
    }
}

fn cannot_follow(server: &RemoteServer, why: &str) -> anyhow::Error {
    anyhow!("cannot follow {server}: {why}")
}

/// Fails if a frame shows that the server runs another version.
fn check_version(frame: &ServerFrame, server: &RemoteServer) -> anyhow::Result<()> {
    if let ServerFrame::Hello { protocol, .. } = frame {
        ensure!(
            *protocol == PROTOCOL,
            "{server} runs another version of Rollcast (frames {protocol}, here {PROTOCOL}). Use the same version here."
        );
    }
    Ok(())
}

async fn subscribe(server: &RemoteServer, scope: Scope) -> Result<Socket, String> {
    // http becomes ws, and https becomes wss.
    let request = format!("{server}/api/v1/stream").replacen("http", "ws", 1).into_client_request();
    let mut request = request.map_err(|error| error.to_string())?;
    let bearer = server.bearer();
    let has_token = bearer.is_some();
    if let Some(bearer) = bearer {
        request.headers_mut().insert(AUTHORIZATION, bearer);
    }
    let opening = tokio_tungstenite::connect_async(request);
    let opened = tokio::time::timeout(RESPONSE_TIMEOUT, opening).await.map_err(|_| SILENT.to_owned())?;
    let (mut socket, _) = opened.map_err(|error| match error {
        tungstenite::Error::Http(answer) => refusal(&answer, has_token),
        tungstenite::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    })?;
    let hello = ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() };
    for frame in [hello, ViewerFrame::Subscribe { scope, since: None }] {
        send(&mut socket, &frame).await?;
    }
    Ok(socket)
}

/// Returns why a server opens no stream: its own text, if it is plain text that arrived with the head of its response.
fn refusal(answer: &Response<Option<Vec<u8>>>, has_token: bool) -> String {
    if answer.status() == StatusCode::UNAUTHORIZED {
        return if has_token { REFUSED_TOKEN } else { SIGN_IN_ADVICE }.to_owned();
    }
    let header =
        |name: HeaderName| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let body = answer.body().as_deref().unwrap_or_default();
    let is_whole = header(CONTENT_TYPE).starts_with("text/plain") && header(CONTENT_LENGTH).parse() == Ok(body.len());
    match String::from_utf8_lossy(body).lines().next().filter(|_| is_whole) {
        Some(line) => format!("it responded {}: {}", answer.status(), super::plain(line).trim_end_matches('.')),
        None => format!("it responded {}", answer.status()),
    }
}

async fn send(socket: &mut Socket, frame: &ViewerFrame) -> Result<(), String> {
    let bytes = wire::encode(frame).map_err(|error| error.to_string())?;
    let sent = tokio::time::timeout(RESPONSE_TIMEOUT, socket.send(Message::Binary(bytes.into()))).await;
    sent.map_err(|_| SILENT.to_owned())?.map_err(|error| error.to_string())
}

/// Returns the next frame; `None` if the server requests another connection.
async fn receive(socket: &mut Socket) -> Result<Option<ServerFrame>, String> {
    loop {
        let message =
            tokio::time::timeout(SILENCE_LIMIT, socket.next()).await.map_err(|_| "it stopped responding".to_owned())?;
        match message {
            Some(Ok(Message::Binary(bytes))) => {
                return wire::decode(&bytes).map(Some).map_err(|error| error.to_string());
            }
            Some(Ok(Message::Close(Some(frame)))) if u16::from(frame.code) == OPEN_AGAIN => return Ok(None),
            Some(Ok(Message::Close(Some(frame)))) if !frame.reason.is_empty() => {
                return Err(format!("{CLOSED}: {}", super::plain(&frame.reason)));
            }
            Some(Ok(Message::Close(_))) | None => return Err(CLOSED.to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;

    use super::*;

    #[tokio::test]
    async fn a_connection_in_the_place_of_one_that_the_server_ends_is_no_loss() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for code in [OPEN_AGAIN, 1000] {
                let stream = MaybeTlsStream::Plain(listener.accept().await.unwrap().0);
                let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
                let heartbeat = wire::encode(&ServerFrame::Heartbeat { now_millis: 5 }).unwrap();
                socket.send(Message::Binary(heartbeat.into())).await.unwrap();
                socket.close(Some(CloseFrame { code: code.into(), reason: "".into() })).await.unwrap();
                while let Some(Ok(_)) = socket.next().await {} // the test server must read what it receives before it closes
            }
        });
        let server = RemoteServer::new(&address, None).unwrap();
        let (out, mut feed) = mpsc::channel(QUEUE);
        let scope = Scope::Workload(Workload::deployment("c", "shop", "web"));
        tokio::spawn(async move { follow_server(server, scope, &out).await });
        let mut heard = Vec::new();
        while heard.len() < 3 {
            heard.push(match feed.recv().await.unwrap().unwrap() {
                FeedEvent::Frame(_) => "a frame".to_owned(),
                FeedEvent::Lost(why) => why,
            });
        }
        assert_eq!(heard, ["a frame", "a frame", CLOSED]);
    }

    #[test]
    fn a_server_that_closes_connections_at_once_is_asked_less_and_less_often() {
        let mut backoff = Backoff::default();
        let mut after = |seconds| pause(&mut backoff, Duration::from_secs(seconds), 1.0).as_millis();
        assert_eq!([0, 0, 1, 0, 0, 0].map(&mut after), [300, 600, 1_200, 2_400, 4_800, 5_000]);
        assert_eq!([60, 0].map(&mut after), [300, 600], "one that lasted");
    }
}
