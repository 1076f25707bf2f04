//! A session: one viewer on one websocket. Snapshot, then deltas; a viewer that cannot keep up is given a fresh snapshot
//! and never waited for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use timeline::Millis;
use timeline::list::{Query, Sent, Window};
use timeline::wire::{
    self, Connection, ConnectionState, HEARTBEAT_SECONDS, PROTOCOL, Position, Scope, ServerFrame, ViewerFrame,
};
use tokio::sync::watch as signal;
use tokio::time::Instant;

use crate::hub::{First, Followed, Update};
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
    close(&mut out).await;
}

/// Says goodbye, to one who may not listen any more: what was sent before has to be taken first.
async fn close(out: &mut (impl Sink<Message> + Unpin)) {
    let _ = tokio::time::timeout(SEND_LIMIT, out.close()).await; // either way the connection is dropped
}

/// What a session listens to besides the viewer.
enum Following {
    Nothing,
    List(Box<FollowedList>),
    Deployment(Box<Followed>),
}

/// A list that is followed.
struct FollowedList {
    query: Query,
    window: Window,
    chosen: signal::Receiver<Arc<Chosen>>,
    sent: Sent,
    /// Nothing goes out before.
    not_before: Instant,
}

impl FollowedList {
    /// What the viewer must hear now, encoded.
    fn delta(&mut self) -> Option<Bytes> {
        let chosen = self.chosen.borrow_and_update().clone();
        let delta = self.sent.delta(&chosen.overall, &chosen.lines, self.window, Chosen::line)?;
        let bytes = Bytes::from(wire::encode(&ServerFrame::List(Box::new(delta))).ok()?);
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
    let mut heartbeat = tokio::time::interval(Duration::from_secs(u64::from(HEARTBEAT_SECONDS)));
    heartbeat.reset();
    loop {
        tokio::select! {
            message = inbox.next() => {
                let message = message.ok_or(End::Left)?.map_err(|_| End::Broken)?;
                match request(message)? {
                    None => {}
                    Some(Request::Follow(scope, since)) => {
                        following = follow(out, rollcast, following, scope, since).await?;
                    }
                    Some(Request::Moment(at_millis)) => moment(out, &following, at_millis).await?,
                }
            }
            told = next(&mut following) => match (told?, &mut following) {
                (Update::Frame(bytes), _) => send(out, bytes).await?,
                (Update::Connection(connection), Following::Deployment(followed)) => {
                    let cluster = followed.hub().name().to_owned();
                    send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
                    // How fast time passes is news of what time it is: until now the viewer may have let it pass at another speed.
                    let now_millis = now(&following);
                    send_frame(out, &ServerFrame::Heartbeat { now_millis }).await?;
                }
                (Update::Missed, Following::Deployment(followed)) => {
                    rollcast.resyncs.fetch_add(1, Ordering::Relaxed);
                    let anew = followed.anew().await.map_err(|_| End::Broken)?;
                    begin(out, anew).await?;
                }
                (Update::Connection(_) | Update::Missed, _) => {}
            },
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
    match wire::decode(&bytes) {
        Ok(ViewerFrame::Hello { protocol, .. }) if protocol == PROTOCOL => Ok(None),
        Ok(ViewerFrame::Subscribe { scope, since }) => Ok(Some(Request::Follow(scope, since))),
        Ok(ViewerFrame::Moment { at_millis }) => Ok(Some(Request::Moment(at_millis))),
        Ok(ViewerFrame::Hello { .. }) | Err(_) => Err(End::Broken),
    }
}

/// Tells what was said at another time.
async fn moment(out: &mut (impl Sink<Message> + Unpin), following: &Following, at_millis: Millis) -> Result<(), End> {
    if let Following::Deployment(followed) = following {
        let moment = followed.hub().moment(followed.workload(), at_millis).await.map_err(|_| End::Broken)?;
        send_frame(out, &ServerFrame::Moment(Box::new(moment))).await?;
    }
    Ok(())
}

async fn follow(
    out: &mut (impl Sink<Message> + Unpin),
    rollcast: &Arc<Rollcast>,
    before: Following,
    scope: Scope,
    since: Option<Position>,
) -> Result<Following, End> {
    match scope {
        Scope::Nothing => Ok(Following::Nothing),
        Scope::List { query, window } => {
            let window = window.limited();
            let mut listed = match before {
                // The same list, other lines: what the viewer knows of it stays known.
                Following::List(listed) if listed.query == query => Box::new(FollowedList { window, ..*listed }),
                _ => {
                    let chosen = rollcast.listings.follow(&query);
                    Box::new(FollowedList { query, window, chosen, sent: Sent::default(), not_before: Instant::now() })
                }
            };
            if let Some(bytes) = listed.delta() {
                send(out, bytes).await?;
            }
            Ok(Following::List(listed))
        }
        Scope::Workload(workload) => {
            let Some(hub) = rollcast.hub(&workload).await else {
                let cluster = workload.cluster;
                let connection = Connection { state: ConnectionState::Unknown, ..Connection::default() };
                send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
                return Ok(Following::Nothing);
            };
            let (first, followed) = hub.follow(workload, since).await.map_err(|_| End::Broken)?;
            begin(out, first).await?;
            Ok(Following::Deployment(Box::new(followed)))
        }
    }
}

/// Brings the viewer to where a Deployment stands. The heartbeat tells the time: a shared snapshot may carry an older one.
async fn begin(out: &mut (impl Sink<Message> + Unpin), first: First) -> Result<(), End> {
    send(out, first.frame).await?;
    send_frame(out, &ServerFrame::Heartbeat { now_millis: first.now_millis }).await
}

/// What to pass on next.
async fn next(following: &mut Following) -> Result<Update, End> {
    match following {
        Following::Nothing => std::future::pending().await,
        Following::List(listed) => loop {
            tokio::time::sleep_until(listed.not_before).await;
            if listed.chosen.changed().await.is_err() {
                return std::future::pending().await; // the program ends
            }
            if let Some(bytes) = listed.delta() {
                return Ok(Update::Frame(bytes));
            }
        },
        Following::Deployment(followed) => followed.next().await.map_err(|_| End::Broken),
    }
}

fn now(following: &Following) -> Millis {
    match following {
        Following::Deployment(followed) => followed.hub().now_millis(),
        _ => crate::clock::now_millis(),
    }
}

async fn send_frame(out: &mut (impl Sink<Message> + Unpin), frame: &ServerFrame) -> Result<(), End> {
    send(out, wire::encode(frame).map_err(|_| End::Broken)?.into()).await
}

async fn send(out: &mut (impl Sink<Message> + Unpin), bytes: Bytes) -> Result<(), End> {
    match tokio::time::timeout(SEND_LIMIT, out.send(Message::Binary(bytes))).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(End::Broken),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;

    /// A viewer whose connection takes nothing any more.
    struct Full;

    impl Sink<Message> for Full {
        type Error = ();

        fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Poll::Pending
        }

        fn start_send(self: Pin<&mut Self>, _: Message) -> Result<(), ()> {
            Err(())
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Poll::Pending
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_viewer_that_takes_nothing_is_let_go_of_in_time() {
        let began = Instant::now();
        assert!(send(&mut Full, Bytes::new()).await.is_err());
        close(&mut Full).await;
        assert!(began.elapsed() < 3 * SEND_LIMIT);
    }
}
