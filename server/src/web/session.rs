//! A session: one viewer on one websocket. Snapshot, then deltas; a viewer that cannot keep up is given a fresh snapshot
//! and never waited for.

mod subscription;
mod transport;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use axum::http::HeaderMap;
use bytes::Bytes;
use futures::future::{BoxFuture, Fuse, FusedFuture, FutureExt};
use futures::{Sink, Stream, StreamExt};
use timeline::wire::{
    self, HEARTBEAT_SECONDS, MAX_VIEWER_FRAME, OPEN_AGAIN, PROTOCOL, Position, REFUSED, SIGN_IN_REQUIRED, Scope,
    ServerFrame, ViewerFrame,
};
use timeline::{Millis, Workload};
use tokio::sync::watch as signal;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Error as TransportError;

use self::subscription::Subscription;
use self::transport::{SessionEnd, close, close_with, send, send_frame};
use crate::access::permissions::Permissions;
use crate::access::{AuthError, Viewer};
use crate::hub::Update;
use crate::telemetry::rate::RateLimit;
use crate::web::client_view::ClientView;
use crate::web::limits::{Limit, QUESTION_EVERY, QUESTIONS_AT_ONCE};

/// Heartbeats between two pings. The answers to pings are all that a viewer sends, and some proxies close a connection
/// on which one side sends nothing for a minute.
const PING_AFTER: u32 = 5;
/// Unanswered pings in a row after which a viewer is gone: about three minutes. The system would go on sending for a
/// quarter of an hour; a slow line may need two minutes for what is queued before a ping.
const MOST_UNANSWERED: u32 = 8;
/// No heartbeat is sent this soon after a frame of a Deployment, which has the time, too. So a viewer hears something
/// every five seconds; pages and commands take a connection for lost after nine.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(1);

/// Interval for authenticating a viewer again.
const CHECK_VIEWER_EVERY: Duration = Duration::from_secs(10);
/// Interval for checking a link: a revoked one closes its streams within five seconds, on every server.
const CHECK_LINK_EVERY: Duration = Duration::from_secs(3);
/// A named namespace stays visible for this long while its cluster does not answer reviews. With the interval and the
/// timeout of reviews this is under a minute.
const UNCHECKED_FOR: Duration = Duration::from_secs(40);
/// A signed-in viewer connects again after this long, or up to a fifth later: a proxy names them only at the start of a
/// stream.
const RECONNECT_AFTER: Duration = Duration::from_secs(15 * 60);

/// Close reason for a viewer who is not signed in, or not any more.
const SIGN_IN: &str = "sign in";

/// Headers and addresses of the request that opened a stream.
#[derive(Default)]
pub struct StreamRequest {
    /// The headers of their request.
    pub headers: HeaderMap,
    /// The other end of its connection.
    pub peer: Option<IpAddr>,
    /// Its client, as a trusted proxy reports it.
    pub from: Option<IpAddr>,
}

/// Serves one viewer over any message transport, until it leaves.
pub async fn serve_over(
    mut out: impl Sink<Message> + Unpin,
    mut inbox: impl Stream<Item = Result<Message, axum::Error>> + Unpin,
    view: ClientView,
    stream_request: StreamRequest,
) {
    let _viewer = view.rollcast().viewers.enter();
    let Err(end) = run(&mut out, &mut inbox, view, &stream_request).await;
    match end {
        SessionEnd::Broken => tracing::debug!("the connection of a viewer failed"),
        SessionEnd::Closed(code, why) => return close_with(&mut out, code, why).await,
        SessionEnd::Left => {}
    }
    close(&mut out).await;
}

/// Tells a page that its viewer has to sign in.
pub async fn refuse(mut socket: WebSocket) {
    close_with(&mut socket, SIGN_IN_REQUIRED, SIGN_IN.to_owned()).await;
}

/// The state of a session: its viewer, their permissions, and what they follow.
struct Session<'s, S> {
    out: &'s mut S,
    view: ClientView,
    stream_request: &'s StreamRequest,
    permissions: signal::Receiver<Arc<Permissions>>,
    /// The permissions that `view` has; it may have a named namespace besides.
    applied_permissions: Arc<Permissions>,
    subscription: Subscription,
    /// The review of a named namespace that is under way, or the wait before `pending`.
    review: Fuse<BoxFuture<'static, Option<bool>>>,
    /// The scope to follow when that wait ends. Until then nothing is sent of the subscription, and no further request
    /// is read.
    pending: Option<(Scope, Option<Position>)>,
    /// The frame of a past moment that is being made. Until it is sent no further request is read.
    moment: Fuse<BoxFuture<'static, Option<Bytes>>>,
    /// When the last review that allowed a named namespace ended.
    allowed_at: Instant,
    /// When the last frame was sent, if it is one of a Deployment.
    frame_sent: Option<Instant>,
}

impl<'s, S: Sink<Message> + Unpin> Session<'s, S> {
    async fn start(out: &'s mut S, view: ClientView, stream_request: &'s StreamRequest) -> Result<Self, SessionEnd> {
        let mut permissions = view.watch_permissions().await.ok_or(SessionEnd::Broken)?;
        let told = permissions.borrow_and_update().clone();
        Ok(Self {
            out,
            view: view.with_permissions(told.clone()),
            stream_request,
            permissions,
            applied_permissions: told,
            subscription: Subscription::Nothing,
            review: Fuse::terminated(),
            pending: None,
            moment: Fuse::terminated(),
            allowed_at: Instant::now(),
            frame_sent: None,
        })
    }

    /// Takes changed permissions. They do not cover a namespace that is visible by its review: it stays visible until
    /// the next review.
    async fn apply_permissions(&mut self) -> Result<(), SessionEnd> {
        let told = self.permissions.borrow_and_update().clone();
        let before = self.view.clone();
        let shared = before.clone().with_permissions(told.clone());
        self.view = match self.named_only() {
            Some(workload) => shared.and_namespace(&workload.cluster, &workload.namespace),
            None => shared,
        };
        self.applied_permissions = told;
        if self.pending.is_none() { self.resubscribe(&before).await } else { Ok(()) }
    }

    /// Takes the result of a check of the viewer.
    async fn apply_check(&mut self, checked: Result<(Viewer, bool), AuthError>) -> Result<(), SessionEnd> {
        match checked {
            Ok((viewer, _)) if viewer.is_same(self.view.viewer()) => {}
            // Another viewer, or one who cannot be checked now: they may connect again.
            Ok(_) | Err(AuthError::Unavailable | AuthError::LinkUnavailable | AuthError::TooManyAttempts) => {
                return Err(SessionEnd::Broken);
            }
            Err(AuthError::SignInRequired | AuthError::NotFromProxy) => {
                return Err(SessionEnd::Closed(SIGN_IN_REQUIRED, SIGN_IN.to_owned()));
            }
        }
        if self.review.is_terminated()
            && let Some(workload) = self.named_only()
        {
            self.review = self.start_review(workload);
        }
        if self.pending.is_none()
            && let Subscription::List(listed) = &self.subscription
            && listed.choice.is_turned_away()
        {
            let scope = listed.scope();
            self.begin_following(scope, None).await?;
        }
        Ok(())
    }

    /// Takes the result of a review; `None` if the cluster did not respond, or for a list.
    async fn apply_review(&mut self, is_allowed: Option<bool>) -> Result<(), SessionEnd> {
        match (self.pending.take(), is_allowed) {
            (Some((scope, since)), is_allowed) => {
                self.reset_view();
                self.allowed_at = Instant::now();
                if let (Scope::Workload(workload), Some(true)) = (&scope, is_allowed) {
                    self.view = self.view.clone().and_namespace(&workload.cluster, &workload.namespace);
                }
                self.follow(scope, since).await
            }
            (None, Some(true)) => {
                self.allowed_at = Instant::now();
                Ok(())
            }
            // A cluster that does not respond is trusted for a while.
            (None, None) if self.allowed_at.elapsed() < UNCHECKED_FOR => Ok(()),
            (None, _) => {
                let before = self.view.clone();
                self.view = before.clone().with_permissions(self.applied_permissions.clone());
                self.resubscribe(&before).await
            }
        }
    }

    /// Performs a request of the viewer.
    async fn answer_request(&mut self, frame: ViewerFrame) -> Result<(), SessionEnd> {
        match frame {
            ViewerFrame::Hello { .. } => Ok(()),
            ViewerFrame::Subscribe { scope, since } => {
                self.audit(&scope, "followed");
                self.begin_following(scope, since).await
            }
            ViewerFrame::Moment { at_millis } => {
                self.moment = self.start_moment(at_millis);
                Ok(())
            }
        }
    }

    /// Follows a scope now, or after the wait that it begins.
    async fn begin_following(&mut self, scope: Scope, since: Option<Position>) -> Result<(), SessionEnd> {
        self.review = self.start_wait(&scope);
        if self.review.is_terminated() {
            self.reset_view();
            self.follow(scope, since).await
        } else {
            self.pending = Some((scope, since));
            Ok(())
        }
    }

    /// Sends an update of the subscription.
    async fn send_update(&mut self, update: Update) -> Result<(), SessionEnd> {
        match (update, &mut self.subscription) {
            (Update::Frame(bytes), subscription) => {
                let is_of_deployment = matches!(subscription, Subscription::Deployment(_));
                send(self.out, Message::Binary(bytes)).await?;
                self.frame_sent = is_of_deployment.then(Instant::now);
                Ok(())
            }
            (Update::Connection(_), Subscription::Deployment(followed)) => {
                let (cluster, connection) = (followed.hub.name().to_owned(), self.view.connection(&followed.hub));
                send_frame(self.out, &ServerFrame::Connection { cluster, connection }).await?;
                // A new speed is sent with the time: the viewer's clock ran at another speed.
                let now_millis = self.subscription.now_millis();
                send_frame(self.out, &ServerFrame::Heartbeat { now_millis }).await
            }
            (Update::Missed, Subscription::Deployment(followed)) => {
                self.view.rollcast().resyncs.fetch_add(1, Ordering::Relaxed);
                let first = followed.resubscribe().await.map_err(|_| SessionEnd::Broken)?;
                self.send_first(first).await
            }
            (Update::Connection(_) | Update::Missed, _) => Ok(()),
        }
    }

    /// Begins to make the frame of the followed Deployment at another time. `None` if it cannot be made.
    fn start_moment(&self, at_millis: Millis) -> Fuse<BoxFuture<'static, Option<Bytes>>> {
        let Subscription::Deployment(followed) = &self.subscription else { return Fuse::terminated() };
        self.audit(&Scope::Workload(followed.workload.clone()), "looked at a moment");
        let (view, hub, workload) = (self.view.clone(), followed.hub.clone(), followed.workload.clone());
        let frame = async move {
            let _turn = view.moment_turn().await;
            hub.moment_frame(&workload, at_millis).await.ok().flatten()
        };
        frame.boxed().fuse()
    }

    /// Shows what the current permissions show, without a namespace that was named before.
    fn reset_view(&mut self) {
        self.applied_permissions = self.permissions.borrow().clone();
        self.view = self.view.clone().with_permissions(self.applied_permissions.clone());
    }

    /// Returns whether messages of the viewer are read now, those that answer pings too.
    fn reads_messages(&self) -> bool {
        self.pending.is_none() && self.moment.is_terminated()
    }

    /// Returns the followed Deployment if it is visible only by the review of its named namespace, not by the
    /// permissions.
    fn named_only(&self) -> Option<&Workload> {
        let Subscription::Deployment(followed) = &self.subscription else { return None };
        let shared = self.view.clone().with_permissions(self.applied_permissions.clone());
        (self.view.can_see(&followed.workload) && !shared.can_see(&followed.workload)).then_some(&followed.workload)
    }

    /// Begins to wait for the client's turn to follow a scope, and then for the review of its namespace; terminated if
    /// there is nothing to wait for. The loop of the session waits: heartbeats go on.
    fn start_wait(&self, scope: &Scope) -> Fuse<BoxFuture<'static, Option<bool>>> {
        // Without a namespace that was named before, as it is followed then.
        let view = self.view.clone().with_permissions(self.permissions.borrow().clone());
        match (scope, &self.subscription) {
            (Scope::Nothing, _) => Fuse::terminated(),
            // Other lines of the same list.
            (Scope::List { query, .. }, Subscription::List(listed))
                if listed.query == *query && !listed.choice.is_turned_away() =>
            {
                Fuse::terminated()
            }
            (Scope::List { query, .. }, _) => {
                let query = query.clone();
                let wait = async move {
                    view.throttle_list(&query).await;
                    None
                };
                wait.boxed().fuse()
            }
            (Scope::Workload(workload), _) => {
                let review = self.start_review(workload);
                let wait = async move {
                    // The hub's task makes the first frame. To read and play a kept rollout takes long.
                    view.throttle().await;
                    review.await
                };
                wait.boxed().fuse()
            }
        }
    }

    /// Begins to check whether the viewer may see the namespace of a workload.
    fn start_review(&self, workload: &Workload) -> Fuse<BoxFuture<'static, Option<bool>>> {
        let (view, cluster, namespace) = (self.view.clone(), workload.cluster.clone(), workload.namespace.clone());
        async move { view.check_namespace(&cluster, &namespace).await }.boxed().fuse()
    }

    /// Writes what the viewer follows to the audit log, if there is one.
    fn audit(&self, scope: &Scope, did: &str) {
        let Some(audit) = &self.view.rollcast().site.audit else { return };
        let at = match scope {
            Scope::Nothing => return,
            Scope::List { .. } => "/".to_owned(),
            Scope::Workload(workload) => timeline::address::workload(workload),
        };
        audit.record(&self.view.viewer().audit_name(), self.stream_request.from, did, &at, 101);
    }
}

/// Runs the loop of a session. Rare work runs in boxed futures: thousands of sessions wait here, and each would hold
/// memory for all of it.
async fn run(
    out: &mut (impl Sink<Message> + Unpin),
    inbox: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    view: ClientView,
    stream_request: &StreamRequest,
) -> Result<Infallible, SessionEnd> {
    let rollcast = view.rollcast().clone();
    let mut session = Box::pin(Session::start(out, view, stream_request)).await?;
    let hello = ServerFrame::Hello { protocol: PROTOCOL, build: rollcast.build.to_owned() };
    send_frame(session.out, &hello).await?;
    let mut heartbeat = tokio::time::interval(Duration::from_secs(u64::from(HEARTBEAT_SECONDS)));
    heartbeat.reset();
    // Late ticks must not be made up for: a burst of pings leaves no time to respond.
    heartbeat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut heartbeats, mut unanswered) = (0, 0);
    let viewer = session.view.viewer();
    let mut check_due =
        tokio::time::interval(if viewer.link.is_some() { CHECK_LINK_EVERY } else { CHECK_VIEWER_EVERY });
    check_due.reset();
    let is_signed_in = viewer.subjects.is_some();
    // The check of the viewer that is under way. Frames do not wait for it: a cluster or a provider may take seconds.
    let mut check: Fuse<BoxFuture<'_, Result<(Viewer, bool), AuthError>>> = Fuse::terminated();
    let end = Instant::now() + RECONNECT_AFTER.mul_f64(1.0 + fastrand::f64() / 5.0);
    let questions = RateLimit::new(QUESTIONS_AT_ONCE, QUESTION_EVERY);
    let mut inbox = pin!(inbox.then(async |message| {
        if questions.ready(&()).await {
            rollcast.limits.count_hit(Limit::Questions);
        }
        message
    }));
    loop {
        tokio::select! {
            biased; // changed permissions apply before anything else is sent
            changed = session.permissions.changed() => {
                changed.map_err(|_| SessionEnd::Broken)?; // without known permissions nothing may be sent
                Box::pin(session.apply_permissions()).await?;
            }
            _ = check_due.tick(), if check.is_terminated() => {
                let StreamRequest { headers, peer, from } = stream_request;
                check = rollcast.authenticate(headers, *peer, *from).boxed().fuse();
            }
            checked = &mut check => Box::pin(session.apply_check(checked)).await?,
            is_allowed = &mut session.review => Box::pin(session.apply_review(is_allowed)).await?,
            () = tokio::time::sleep_until(end), if is_signed_in => return Err(SessionEnd::Closed(OPEN_AGAIN, String::new())),
            _ = heartbeat.tick() => {
                if session.frame_sent.is_none_or(|at| at.elapsed() >= HEARTBEAT_AFTER) {
                    let now_millis = session.now_millis();
                    send_frame(session.out, &ServerFrame::Heartbeat { now_millis }).await?;
                }
                heartbeats = (heartbeats + 1) % PING_AFTER;
                if heartbeats == 0 {
                    if unanswered == MOST_UNANSWERED {
                        return Err(SessionEnd::Broken);
                    }
                    unanswered += u32::from(session.reads_messages());
                    send(session.out, Message::Ping(Bytes::new())).await?;
                }
            }
            moment = &mut session.moment => {
                send(session.out, Message::Binary(moment.ok_or(SessionEnd::Broken)?)).await?;
            }
            message = inbox.next(), if session.reads_messages() => {
                let message = message.ok_or(SessionEnd::Left)?.map_err(read_error_end)?;
                unanswered = 0;
                if let Some(frame) = request(message)? {
                    Box::pin(session.answer_request(frame)).await?;
                }
            }
            update = session.subscription.next(), if session.pending.is_none() => session.send_update(update?).await?,
        }
    }
}

/// Returns the end of a session whose viewer's message cannot be read.
fn read_error_end(error: axum::Error) -> SessionEnd {
    match error.into_inner().downcast_ref::<TransportError>() {
        Some(TransportError::Capacity(_)) => {
            SessionEnd::Closed(REFUSED, format!("this frame is too large: at most {MAX_VIEWER_FRAME} bytes"))
        }
        _ => SessionEnd::Broken,
    }
}

/// Decodes a request of a viewer; `None` if it needs no response.
fn request(message: Message) -> Result<Option<ViewerFrame>, SessionEnd> {
    let bytes = match message {
        Message::Binary(bytes) => bytes,
        Message::Close(_) => return Err(SessionEnd::Left),
        Message::Ping(_) | Message::Pong(_) => return Ok(None),
        Message::Text(_) => Bytes::new(), // frames are binary
    };
    let refused = |why: String| Err(SessionEnd::Closed(REFUSED, format!("{why}; use the same version of Rollcast")));
    match wire::decode(&bytes) {
        Ok(ViewerFrame::Hello { protocol, .. }) if protocol != PROTOCOL => {
            refused(format!("this server speaks protocol {PROTOCOL}, not {protocol}"))
        }
        Ok(frame) => Ok(Some(frame)),
        Err(_) => refused(format!("this is not a frame of protocol {PROTOCOL}")),
    }
}

#[cfg(test)]
mod tests {
    use timeline::Retention;
    use timeline::list::{Query, Window};

    use super::*;
    use crate::hub::Handle;
    use crate::telemetry::viewers::Viewers;
    use crate::web::state::{Rollcast, Site};

    #[tokio::test]
    async fn what_may_not_be_seen_any_more_by_when_it_is_known_is_not_sent() {
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let rollcast = Rollcast::new(vec![hub], "build", Viewers::default(), Site::default());
        let view = ClientView::new(&rollcast, Viewer::anonymous()).await.unwrap();
        let told = signal::Sender::new(Arc::new(Permissions::All));
        let list = Scope::List { query: Query::default(), window: Window { from: 0, to: 10 } };
        let workload = Scope::Workload(Workload::deployment("prod", "shop", "web"));
        for (scope, frames) in [(&list, 1), (&workload, 2)] {
            for is_sent in [true, false] {
                let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
                let mut session = Session::start(&mut sent, view.clone(), &request).await.ok().unwrap();
                session.permissions = told.subscribe();
                if !is_sent {
                    told.send_replace(Arc::new(Permissions::none()));
                }
                let followed = session.follow(scope.clone(), None).await;
                assert_eq!(followed.is_ok(), is_sent || *scope == list);
                assert_eq!(sent.len(), if is_sent { frames } else { 0 });
            }
        }
    }

    #[tokio::test]
    async fn a_namespace_that_only_its_review_showed_stays_when_other_permissions_change() {
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let rollcast = Rollcast::new(vec![hub.clone()], "build", Viewers::default(), Site::default());
        let only = |namespace: &str| Arc::new(Permissions::none().and("prod", namespace));
        let view = ClientView::new(&rollcast, Viewer::anonymous()).await.unwrap();
        let workload = Workload::deployment("prod", "shop", "web");
        for (before, is_seen) in [("web", true), ("shop", false)] {
            let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
            let mut session = Session::start(&mut sent, view.clone(), &request).await.ok().unwrap();
            session.view = view.clone().with_permissions(only("web")).and_namespace("prod", "shop");
            session.applied_permissions = only(before);
            session.permissions = signal::Sender::new(only("api")).subscribe();
            let (_, followed) = hub.follow(workload.clone(), None).await.unwrap();
            session.subscription = Subscription::Deployment(Box::new(followed));
            assert!(session.apply_permissions().await.is_ok());
            assert_eq!(session.view.can_see(&workload), is_seen, "{before}");
        }
    }
}
