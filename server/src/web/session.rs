//! A session: one viewer on one websocket. Snapshot, then deltas; a viewer that cannot keep up is given a fresh snapshot
//! and never waited for.

mod list;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use axum::http::HeaderMap;
use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use timeline::wire::{
    self, Connection, ConnectionState, HEARTBEAT_SECONDS, PROTOCOL, Position, REFUSED, STRANGER, Scope, ServerFrame,
    ViewerFrame,
};
use timeline::{Millis, Workload};
use tokio::sync::watch as signal;
use tokio::time::Instant;

use self::list::FollowedList;
use crate::access::Stranger;
use crate::access::sight::Sight;
use crate::history::hub_cache::OpenError;
use crate::hub::{First, Followed, Update};
use crate::telemetry::rate::RateLimit;
use crate::web::limits::{Limit, QUESTION_EVERY, QUESTIONS_AT_ONCE};
use crate::web::view::View;

/// A viewer that takes no frame for this long is gone.
const SEND_LIMIT: Duration = Duration::from_secs(15);

/// Whether a viewer is still who they were is asked this often.
const STILL_KNOWN: Duration = Duration::from_secs(10);
/// Whether their link still opens anything is asked this often: one that is revoked closes within five seconds, wherever that is done.
const STILL_OPEN: Duration = Duration::from_secs(3);
/// A namespace that was named stays seen for so long while its cluster does not say whether it still may be: with how often it is
/// asked, and how long that may take, this is under a minute.
const NAMED_FOR: Duration = Duration::from_secs(40);
/// A signed-in viewer comes again after this long, and up to a fifth later: what a proxy says of them is said when a stream begins.
const COME_AGAIN: Duration = Duration::from_secs(15 * 60);

/// What a viewer showed to be let in.
pub struct Shown {
    /// The headers of their request.
    pub headers: HeaderMap,
    /// The other end of its connection.
    pub peer: Option<IpAddr>,
    /// From whom it is: whom a proxy there had it from.
    pub from: Option<IpAddr>,
}

/// Why a session ends.
enum End {
    Left,
    /// They are not known any more.
    Stranger,
    /// They speak another protocol, or send what is no frame. They are told this sentence.
    Refused(String),
    Broken,
}

/// Serves one viewer until it leaves.
pub async fn serve(socket: WebSocket, view: View, shown: Shown) {
    let (out, inbox) = socket.split();
    serve_over(out, inbox, view, shown).await;
}

/// The same, over whatever carries messages.
pub async fn serve_over(
    mut out: impl Sink<Message> + Unpin,
    mut inbox: impl Stream<Item = Result<Message, axum::Error>> + Unpin,
    view: View,
    shown: Shown,
) {
    let _viewer = view.rollcast().viewers.enter();
    let reason = talk(&mut out, &mut inbox, view, &shown).await;
    match reason {
        Err(End::Broken) => tracing::debug!("the connection of a viewer failed"),
        Err(End::Stranger) => return say_stranger(&mut out).await,
        Err(End::Refused(why)) => return close_with(&mut out, REFUSED, why).await,
        Err(End::Left) | Ok(()) => {}
    }
    close(&mut out).await;
}

/// Tells a page that nobody is known to look at it: its viewer has to sign in.
pub async fn turn_away(mut socket: WebSocket) {
    say_stranger(&mut socket).await;
}

async fn say_stranger(out: &mut (impl Sink<Message> + Unpin)) {
    close_with(out, STRANGER, "sign in".to_owned()).await;
}

/// Says why before it closes. A reason may have 123 bytes.
async fn close_with(out: &mut (impl Sink<Message> + Unpin), code: u16, reason: String) {
    let frame = CloseFrame { code, reason: reason.into() };
    let _ = tokio::time::timeout(SEND_LIMIT, out.send(Message::Close(Some(frame)))).await; // who does not listen is gone
    close(out).await;
}

/// Says goodbye, to one who may not listen any more: what was sent before has to be taken first.
async fn close(out: &mut (impl Sink<Message> + Unpin)) {
    let _ = tokio::time::timeout(SEND_LIMIT, out.close()).await; // either way the connection is dropped
}

/// What a session listens to besides the viewer.
enum Following {
    Nothing,
    /// Of a cluster that is not there, or not to be seen.
    Unknown(Workload),
    List(Box<FollowedList>),
    Deployment(Box<Followed>),
}

/// What is seldom done is done in futures of their own: thousands of sessions wait here, and each would hold room for all of it.
async fn talk(
    out: &mut (impl Sink<Message> + Unpin),
    inbox: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    mut view: View,
    shown: &Shown,
) -> Result<(), End> {
    let rollcast = view.rollcast().clone();
    let mut sight = Box::pin(view.changes()).await.map_err(|_| End::Broken)?;
    view = view.with(sight.borrow_and_update().clone());
    let hello = ServerFrame::Hello { protocol: PROTOCOL, build: rollcast.build.to_owned() };
    send_frame(out, &hello).await?;
    let mut following = Following::Nothing;
    let mut heartbeat = tokio::time::interval(Duration::from_secs(u64::from(HEARTBEAT_SECONDS)));
    heartbeat.reset();
    let mut known = tokio::time::interval(if view.viewer().link.is_some() { STILL_OPEN } else { STILL_KNOWN });
    known.reset();
    let end = Instant::now() + COME_AGAIN.mul_f64(1.0 + fastrand::f64() / 5.0);
    let is_signed_in = view.viewer().subjects.is_some();
    let questions = RateLimit::new(QUESTIONS_AT_ONCE, QUESTION_EVERY);
    let mut inbox = pin!(inbox.then(async |message| {
        if questions.ready(&()).await {
            rollcast.limits.met(Limit::Questions);
        }
        message
    }));
    // When the cluster said last that a namespace which was named may be seen.
    let mut said = Instant::now();
    loop {
        tokio::select! {
            biased; // what may not be seen any more comes before what would be shown
            changed = sight.changed() => {
                changed.map_err(|_| End::Broken)?; // nothing tells any more what may be seen
                let before = view.clone();
                view = view.with(sight.borrow_and_update().clone());
                following = Box::pin(look_again(out, &before, &view, following)).await?;
            }
            _ = known.tick() => match Box::pin(rollcast.viewer(&shown.headers, shown.peer, shown.from)).await {
                Ok(viewer) if viewer.is_still(view.viewer()) => {
                    if !Box::pin(is_still_seen(&view, &sight, &following, &mut said)).await {
                        let before = view.clone();
                        view = view.with(sight.borrow().clone());
                        following = Box::pin(look_again(out, &before, &view, following)).await?;
                    }
                    if let Following::List(listed) = &mut following && listed.is_turned_away() {
                        Box::pin(listed.follow_anew(&view)).await;
                    }
                }
                // Somebody else to a cluster, or nobody says at present: they may come again.
                Ok(_) | Err(Stranger::Unknown | Stranger::Unchecked | Stranger::TooMany) => return Err(End::Broken),
                Err(Stranger::SignIn | Stranger::NoProxy) => return Err(End::Stranger),
            },
            () = tokio::time::sleep_until(end), if is_signed_in => return Err(End::Left),
            _ = heartbeat.tick() => {
                let now_millis = now(&following);
                send_frame(out, &ServerFrame::Heartbeat { now_millis }).await?;
            }
            message = inbox.next() => {
                let message = message.ok_or(End::Left)?.map_err(|_| End::Broken)?;
                match request(message)? {
                    None => {}
                    Some(Request::Follow(scope, since)) => {
                        note(&view, &scope, shown.from, "followed");
                        // What was named before is seen as far as everything else.
                        view = view.with(sight.borrow().clone());
                        said = Instant::now();
                        if let Scope::Workload(Workload { cluster, namespace, .. }) = &scope {
                            view = Box::pin(view.naming(cluster, namespace)).await;
                        }
                        following = Box::pin(follow(out, &view, following, (scope, since))).await?;
                    }
                    Some(Request::Moment(at_millis)) => {
                        if let Following::Deployment(followed) = &following {
                            note(&view, &Scope::Workload(followed.workload().clone()), shown.from, "looked at a moment");
                        }
                        Box::pin(moment(out, &following, at_millis, &sight)).await?;
                    }
                }
            }
            told = next(&mut following) => match (told?, &mut following) {
                (Update::Frame(bytes), _) => send(out, bytes).await?,
                (Update::Connection(_), Following::Deployment(followed)) => {
                    let (cluster, connection) = (followed.hub().name().to_owned(), view.connection(followed.hub()));
                    send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
                    // How fast time passes is news of what time it is: until now the viewer may have let it pass at another speed.
                    let now_millis = now(&following);
                    send_frame(out, &ServerFrame::Heartbeat { now_millis }).await?;
                }
                (Update::Missed, Following::Deployment(followed)) => {
                    rollcast.resyncs.fetch_add(1, Ordering::Relaxed);
                    let anew = followed.anew().await.map_err(|_| End::Broken)?;
                    begin(out, &view, anew).await?;
                }
                (Update::Connection(_) | Update::Missed, _) => {}
            },
        }
    }
}

/// Whether what is followed may still be seen, where that is not in what is told of the viewer's rights but was asked for when its
/// namespace was named: its cluster is asked again. One that does not say is believed for a while.
async fn is_still_seen(
    view: &View,
    sight: &signal::Receiver<Arc<Sight>>,
    following: &Following,
    said: &mut Instant,
) -> bool {
    let Following::Deployment(followed) = following else { return true };
    let workload = followed.workload();
    let shared = view.clone().with(sight.borrow().clone());
    if !view.shows(workload) || shared.shows(workload) {
        *said = Instant::now();
        return true;
    }
    match view.says(&workload.cluster, &workload.namespace).await {
        Some(true) => {
            *said = Instant::now();
            true
        }
        Some(false) => false,
        None => said.elapsed() < NAMED_FOR,
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
        Ok(ViewerFrame::Hello { protocol, .. }) => Err(End::Refused(format!(
            "this server speaks protocol {PROTOCOL}, not {protocol}; use the same version of Rollcast"
        ))),
        Err(_) => {
            Err(End::Refused(format!("this is not a frame of protocol {PROTOCOL}; use the same version of Rollcast")))
        }
    }
}

/// Tells what was said at another time; not where that may not be seen any more by when it is known.
async fn moment(
    out: &mut (impl Sink<Message> + Unpin),
    following: &Following,
    at_millis: Millis,
    sight: &signal::Receiver<Arc<Sight>>,
) -> Result<(), End> {
    if let Following::Deployment(followed) = following {
        let moment = followed.hub().moment_frame(followed.workload(), at_millis).await.map_err(|_| End::Broken)?;
        if sight.has_changed().unwrap_or(true) {
            return Ok(()); // what may be seen is looked at first; the page asks again
        }
        send(out, moment.ok_or(End::Broken)?).await?;
    }
    Ok(())
}

/// The viewer may see something else now: what they follow is followed as far as they may see it.
async fn look_again(
    out: &mut (impl Sink<Message> + Unpin),
    before: &View,
    view: &View,
    following: Following,
) -> Result<Following, End> {
    match following {
        Following::List(mut listed) => {
            listed.follow_anew(view).await;
            Ok(Following::List(listed))
        }
        Following::Deployment(followed) => {
            let workload = followed.workload().clone();
            let has = |view: &View| view.shows(&workload);
            if has(before) == has(view) {
                return Ok(Following::Deployment(followed));
            }
            follow(out, view, Following::Nothing, (Scope::Workload(workload), None)).await
        }
        Following::Unknown(workload) if view.has_cluster(&workload.cluster) => {
            follow(out, view, Following::Nothing, (Scope::Workload(workload), None)).await
        }
        following => Ok(following),
    }
}

/// Writes down what somebody looks at, where that is wanted.
fn note(view: &View, scope: &Scope, from: Option<IpAddr>, did: &str) {
    let Some(audit) = &view.rollcast().audit else { return };
    let at = match scope {
        Scope::Nothing => return,
        Scope::List { .. } => "/".to_owned(),
        Scope::Workload(workload) => timeline::address::workload(workload),
    };
    audit.record(&view.viewer().who(), from, did, &at, 101);
}

async fn follow(
    out: &mut (impl Sink<Message> + Unpin),
    view: &View,
    before: Following,
    (scope, since): (Scope, Option<Position>),
) -> Result<Following, End> {
    match scope {
        Scope::Nothing => Ok(Following::Nothing),
        Scope::List { query, window } => {
            let window = window.limited();
            let mut listed = match before {
                // The same list, other lines: what the viewer knows of it stays known.
                Following::List(mut listed) if listed.query == query => {
                    listed.window = window;
                    listed
                }
                before => {
                    drop(before); // its place is free
                    let choice = view.follow(&query).await;
                    Box::new(FollowedList::new(query, window, choice))
                }
            };
            if let Some(bytes) = listed.delta() {
                send(out, bytes).await?;
            }
            Ok(Following::List(listed))
        }
        Scope::Workload(workload) => {
            let hub = match view.hub_at(&workload, None).await {
                Ok(hub) => hub,
                Err(lost) if matches!(*lost, OpenError::Unknown) => {
                    let cluster = workload.cluster.clone();
                    let connection = Connection { state: ConnectionState::Unknown, ..Connection::default() };
                    send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
                    return Ok(Following::Unknown(workload));
                }
                // It may be asked for again in a moment, as after a connection that broke.
                Err(_) => return Err(End::Broken),
            };
            if !hub.watches(&workload.namespace) {
                let cluster = workload.cluster.clone();
                let connection = Connection { state: ConnectionState::OtherNamespaces, ..Connection::default() };
                send_frame(out, &ServerFrame::Connection { cluster, connection }).await?;
                return Ok(Following::Nothing);
            }
            drop(before); // its seat is free
            // One for which there is no seat may be asked for again in a moment, as after a connection that broke.
            let hub = view.seat(hub).ok_or(End::Broken)?;
            view.pay().await; // the hub makes what a stream begins with itself
            let (first, followed) = hub.follow(workload, since).await.map_err(|_| End::Broken)?;
            begin(out, view, first).await?;
            Ok(Following::Deployment(Box::new(followed)))
        }
    }
}

/// Brings the viewer to where a Deployment stands. The heartbeat tells the time: a shared snapshot may carry an older one.
async fn begin(out: &mut (impl Sink<Message> + Unpin), view: &View, first: First) -> Result<(), End> {
    let _place = view.wait_to_send(first.frame.len()).ok_or(End::Broken)?; // as an answer
    send(out, first.frame).await?;
    send_frame(out, &ServerFrame::Heartbeat { now_millis: first.now_millis }).await
}

/// What to pass on next.
async fn next(following: &mut Following) -> Result<Update, End> {
    match following {
        Following::Nothing | Following::Unknown(_) => std::future::pending().await,
        Following::List(listed) => loop {
            tokio::time::sleep_until(listed.not_before).await;
            listed.changed().await;
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
        _ => crate::telemetry::clock::now_millis(),
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
