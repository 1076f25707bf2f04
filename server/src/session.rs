//! A session: one viewer on one websocket. Snapshot, then deltas; a viewer that cannot keep up is given a fresh snapshot
//! and never waited for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use timeline::Millis;
use timeline::frame::{self, HEARTBEAT_SECONDS, PROTOCOL, Position, Scope, ServerFrame, ViewerFrame};
use timeline::list::{Query, Sent, Window};
use tokio::sync::{broadcast, watch as signal};
use tokio::time::Instant;

use crate::hub::{Address, Handle};
use crate::listing::Chosen;
use crate::state::Rollcast;

/// A viewer that takes no frame for this long is gone.
const SEND_LIMIT: Duration = Duration::from_secs(15);

/// Bytes per second that the changes of a list may come to: what would be more is put together and sent later.
const LIST_BYTES_PER_SECOND: f64 = 8_000.0;

/// Why a session ends.
enum End {
    Left,
    Broken,
}

/// Serves one viewer until it leaves.
pub async fn serve(socket: WebSocket, rollcast: Arc<Rollcast>) {
    let _viewer = rollcast.viewers.enter();
    let (mut out, mut inbox) = socket.split();
    let reason = talk(&mut out, &mut inbox, &rollcast).await;
    if let Err(End::Broken) = reason {
        tracing::debug!("a viewer's connection broke");
    }
    let _ = out.close().await;
}

/// What a session listens to besides the viewer.
enum Following {
    Nothing,
    List(Box<Listed>),
    Deployment { hub: Handle, address: Address, frames: broadcast::Receiver<Bytes> },
}

/// A list that is followed.
struct Listed {
    query: Query,
    window: Window,
    chosen: signal::Receiver<Arc<Chosen>>,
    sent: Sent,
    /// Nothing goes out before.
    not_before: Instant,
}

impl Listed {
    /// What the viewer must hear now, encoded.
    fn news(&mut self) -> Option<Bytes> {
        let chosen = self.chosen.borrow_and_update().clone();
        let news = self.sent.news(&chosen.overall, &chosen.lines, self.window, Chosen::line)?;
        let bytes = Bytes::from(frame::encode(&ServerFrame::List(Box::new(news))).ok()?);
        self.not_before = Instant::now() + Duration::from_secs_f64(bytes.len() as f64 / LIST_BYTES_PER_SECOND);
        Some(bytes)
    }
}

async fn talk(
    out: &mut (impl Sink<Message> + Unpin),
    inbox: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    rollcast: &Arc<Rollcast>,
) -> Result<(), End> {
    let hello = ServerFrame::Hello { protocol: PROTOCOL, build: rollcast.build.to_owned() };
    send_frame(out, &hello).await?;
    let mut following = Following::Nothing;
    let mut connection: Connected = None;
    let mut heartbeat = tokio::time::interval(Duration::from_secs(u64::from(HEARTBEAT_SECONDS)));
    heartbeat.reset();
    loop {
        tokio::select! {
            message = inbox.next() => {
                let message = message.ok_or(End::Left)?.map_err(|_| End::Broken)?;
                match request(message)? {
                    None => {}
                    Some(Request::Follow(scope, since)) => {
                        (following, connection) = follow(out, rollcast, following, scope, since).await?;
                    }
                    Some(Request::Moment(at_millis)) => moment(out, &following, at_millis).await?,
                }
            }
            frame = next(&mut following) => match frame {
                Some(bytes) => send(out, bytes).await?,
                None => {
                    rollcast.resyncs.fetch_add(1, Ordering::Relaxed);
                    following = resume(out, following).await?;
                }
            },
            (cluster, connection) = changed(&mut connection) => {
                send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
            }
            _ = heartbeat.tick() => {
                let now_millis = now(&following);
                send_frame(out, &ServerFrame::Heartbeat { now_millis }).await?;
            }
        }
    }
}

/// What a viewer asks for.
enum Request {
    Follow(Scope, Option<Position>),
    Moment(Millis),
}

/// Reads what a viewer asks for; `None` for what needs no answer.
fn request(message: Message) -> Result<Option<Request>, End> {
    let bytes = match message {
        Message::Binary(bytes) => bytes,
        Message::Close(_) => return Err(End::Left),
        _ => return Ok(None),
    };
    match frame::decode_viewer(&bytes) {
        Ok(ViewerFrame::Hello { protocol, .. }) if protocol == PROTOCOL => Ok(None),
        Ok(ViewerFrame::Subscribe { scope, since }) => Ok(Some(Request::Follow(scope, since))),
        Ok(ViewerFrame::Moment { at_millis }) => Ok(Some(Request::Moment(at_millis))),
        Ok(ViewerFrame::Hello { .. }) | Err(_) => Err(End::Broken),
    }
}

/// Tells what was said at another time.
async fn moment(out: &mut (impl Sink<Message> + Unpin), following: &Following, at_millis: Millis) -> Result<(), End> {
    if let Following::Deployment { hub, address, .. } = following {
        let moment = hub.moment(address, at_millis).await.map_err(|_| End::Broken)?;
        send_frame(out, &ServerFrame::Moment(Box::new(moment))).await?;
    }
    Ok(())
}

/// A cluster's name and how the server gets on with it.
type Connected = Option<(String, signal::Receiver<frame::Connection>)>;

type Followed = (Following, Connected);

async fn follow(
    out: &mut (impl Sink<Message> + Unpin),
    rollcast: &Arc<Rollcast>,
    before: Following,
    scope: Scope,
    since: Option<Position>,
) -> Result<Followed, End> {
    match scope {
        Scope::Nothing => Ok((Following::Nothing, None)),
        Scope::List { query, window } => {
            let window = window.limited();
            let mut listed = match before {
                // The same list, other lines: what the viewer knows of it stays known.
                Following::List(listed) if listed.query == query => Box::new(Listed { window, ..*listed }),
                _ => {
                    let chosen = rollcast.listings.follow(&query);
                    Box::new(Listed { query, window, chosen, sent: Sent::default(), not_before: Instant::now() })
                }
            };
            if let Some(bytes) = listed.news() {
                send(out, bytes).await?;
            }
            Ok((Following::List(listed), None))
        }
        Scope::Deployment { cluster, namespace, name, uid } => {
            let Some(hub) = rollcast.clusters.get(&cluster).cloned() else {
                return Ok((Following::Nothing, None));
            };
            let mut connection = hub.connection();
            let now = connection.borrow_and_update().clone();
            send_frame(out, &ServerFrame::Connection { cluster: cluster.clone(), connection: now }).await?;
            let following = listen(out, hub, Address { namespace, name, uid }, since).await?;
            Ok((following, Some((cluster, connection))))
        }
    }
}

/// The viewer lagged: drops what it missed and sends everything anew.
async fn resume(out: &mut (impl Sink<Message> + Unpin), following: Following) -> Result<Following, End> {
    match following {
        Following::Deployment { hub, address, .. } => listen(out, hub, address, None).await,
        other => Ok(other),
    }
}

/// Brings the viewer to where a Deployment stands, and listens for what comes after. The heartbeat tells the time: a shared
/// snapshot may carry an older one.
async fn listen(
    out: &mut (impl Sink<Message> + Unpin),
    hub: Handle,
    address: Address,
    since: Option<Position>,
) -> Result<Following, End> {
    let subscription = hub.subscribe(&address, since).await.map_err(|_| End::Broken)?;
    send(out, subscription.first).await?;
    send_frame(out, &ServerFrame::Heartbeat { now_millis: subscription.now_millis }).await?;
    Ok(Following::Deployment { hub, address, frames: subscription.frames })
}

/// The next frame to pass on; `None` when some were missed.
async fn next(following: &mut Following) -> Option<Bytes> {
    match following {
        Following::Nothing => std::future::pending().await,
        Following::List(listed) => loop {
            tokio::time::sleep_until(listed.not_before).await;
            if listed.chosen.changed().await.is_err() {
                return std::future::pending().await; // the program ends
            }
            if let Some(bytes) = listed.news() {
                return Some(bytes);
            }
        },
        Following::Deployment { frames, .. } => frames.recv().await.ok(),
    }
}

async fn changed(connected: &mut Connected) -> (String, frame::Connection) {
    if let Some((cluster, connection)) = connected
        && connection.changed().await.is_ok()
    {
        return (cluster.clone(), connection.borrow_and_update().clone());
    }
    std::future::pending().await
}

fn now(following: &Following) -> Millis {
    match following {
        Following::Deployment { hub, .. } => hub.now_millis(),
        _ => crate::clock::now_millis(),
    }
}

async fn send_frame(out: &mut (impl Sink<Message> + Unpin), frame: &ServerFrame) -> Result<(), End> {
    send(out, frame::encode(frame).map_err(|_| End::Broken)?.into()).await
}

async fn send(out: &mut (impl Sink<Message> + Unpin), bytes: Bytes) -> Result<(), End> {
    match tokio::time::timeout(SEND_LIMIT, out.send(Message::Binary(bytes))).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(End::Broken),
    }
}
