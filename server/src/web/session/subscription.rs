//! The subscription of a session: what its viewer follows, as far as they may see it.

use axum::extract::ws::Message;
use futures::Sink;
use futures::future::Fuse;
use timeline::list::{Query, Window};
use timeline::wire::{Connection, ConnectionState, Position, Scope, ServerFrame};
use timeline::{Millis, Workload};

use super::Session;
use super::transport::{SessionEnd, send, send_frame};
use crate::history::hub_cache::OpenError;
use crate::hub::{FirstFrame, FollowedDeployment, Handle, Update};
use crate::telemetry::clock;
use crate::web::client_view::ClientView;
use crate::web::followed_list::FollowedList;

/// Reason that a cluster is stale while some cluster does not respond to reviews. The text does not name that cluster.
const UNCHECKED: &str = "your permissions cannot be checked right now";

pub(super) enum Subscription {
    Nothing,
    /// A cluster that does not exist, or is hidden; or a workload whose visibility cannot be checked now.
    Unknown(Workload),
    List(Box<FollowedList>),
    Deployment(Box<FollowedDeployment>),
}

impl Subscription {
    pub(super) async fn next(&mut self) -> Result<Update, SessionEnd> {
        match self {
            Self::Nothing | Self::Unknown(_) => std::future::pending().await,
            Self::List(listed) => loop {
                tokio::time::sleep_until(listed.not_before).await;
                listed.changed().await.map_err(|_| SessionEnd::Broken)?; // the viewer reconnects
                if let Some(bytes) = listed.delta() {
                    return Ok(Update::Frame(bytes));
                }
            },
            Self::Deployment(followed) => followed.next().await.map_err(|_| SessionEnd::Broken),
        }
    }

    pub(super) fn now_millis(&self) -> Millis {
        match self {
            Self::Deployment(followed) => followed.hub.now_millis(),
            _ => clock::now_millis(),
        }
    }
}

impl<S: Sink<Message> + Unpin> Session<'_, S> {
    /// Returns the time of what is followed, or waited for: its page is shown already.
    pub(super) fn now_millis(&self) -> Millis {
        match &self.pending {
            None => self.subscription.now_millis(),
            Some((Scope::Workload(workload), _)) => {
                let hub = self.view.hubs().find(|hub| hub.name() == workload.cluster);
                hub.map_or_else(clock::now_millis, Handle::now_millis)
            }
            Some(_) => clock::now_millis(),
        }
    }

    /// Follows the same scope again after the permissions changed, as far as the viewer may see it now. `before` is the
    /// view with the permissions before.
    pub(super) async fn resubscribe(&mut self, before: &ClientView) -> Result<(), SessionEnd> {
        let view = &self.view;
        let workload = match &mut self.subscription {
            Subscription::List(listed) => {
                listed.choice.leave(); // other rows may be visible now
                let scope = listed.scope();
                return self.begin_following(scope, None).await;
            }
            Subscription::Deployment(followed) => {
                let workload = &followed.workload;
                // A hidden Deployment is followed without objects while something of its cluster is visible.
                let seen = |view: &ClientView| (view.can_see(workload), view.has_cluster(&workload.cluster));
                if seen(before) == seen(view) {
                    return Ok(());
                }
                workload.clone()
            }
            Subscription::Unknown(workload)
                if before.has_cluster(&workload.cluster) != view.has_cluster(&workload.cluster)
                    || view.can_see(workload)
                    || before.permissions().is_silent() != view.permissions().is_silent() =>
            {
                workload.clone()
            }
            Subscription::Nothing | Subscription::Unknown(_) => return Ok(()),
        };
        // The old subscription keeps its place until the new one has one.
        let _followed = std::mem::replace(&mut self.subscription, Subscription::Nothing);
        self.follow(Scope::Workload(workload), None).await
    }

    /// Follows a scope as far as the view shows it. Nothing is sent that became hidden while it was computed.
    pub(super) async fn follow(&mut self, scope: Scope, since: Option<Position>) -> Result<(), SessionEnd> {
        self.moment = Fuse::terminated(); // it belongs to the last subscription, which may be hidden now
        let before = std::mem::replace(&mut self.subscription, Subscription::Nothing);
        self.subscription = match scope {
            Scope::Nothing => Subscription::Nothing,
            Scope::List { query, window } => self.follow_list(before, query, window.limited()).await?,
            Scope::Workload(workload) => self.follow_deployment(before, workload, since).await?,
        };
        Ok(())
    }

    /// Follows some lines of a list, and sends what the viewer lacks of them.
    async fn follow_list(
        &mut self,
        before: Subscription,
        query: Query,
        window: Window,
    ) -> Result<Subscription, SessionEnd> {
        let mut listed = match before {
            // The same list, perhaps other lines: rows that the viewer has are not sent again.
            Subscription::List(mut listed) if listed.query == query => {
                listed.window = window;
                if listed.choice.is_turned_away() {
                    listed.choice = self.view.follow(&query).await;
                }
                listed
            }
            before => {
                drop(before); // frees its place for the new one
                let choice = self.view.follow(&query).await;
                Box::new(FollowedList::new(query, window, choice))
            }
        };
        // With changed permissions the list is chosen again before anything is sent.
        if self.permissions.has_changed().is_ok_and(|has_changed| !has_changed)
            && let Some(bytes) = listed.delta()
        {
            send(self.out, Message::Binary(bytes)).await?;
        }
        Ok(Subscription::List(listed))
    }

    /// Follows a Deployment from a position, and sends what the viewer lacks of it; or why it cannot be followed.
    async fn follow_deployment(
        &mut self,
        before: Subscription,
        workload: Workload,
        since: Option<Position>,
    ) -> Result<Subscription, SessionEnd> {
        // It may become visible again: neither the workload nor its cluster is reported as missing.
        if self.view.permissions().is_silent() && !self.view.can_see(&workload) {
            let since_millis = clock::now_millis();
            let state = ConnectionState::Stale { since_millis, retry_at_millis: None, why: UNCHECKED.to_owned() };
            self.send_state(&workload, state).await?;
            return Ok(Subscription::Unknown(workload));
        }
        let hub = match self.view.open_hub(&workload, None).await {
            Ok(hub) => hub,
            Err(OpenError::Unknown) => {
                self.send_state(&workload, ConnectionState::Unknown).await?;
                return Ok(Subscription::Unknown(workload));
            }
            // The viewer connects again in a moment, as after a broken connection.
            Err(_) => return Err(SessionEnd::Broken),
        };
        if !hub.watches(&workload.namespace) {
            self.send_state(&workload, ConnectionState::OtherNamespaces).await?;
            return Ok(Subscription::Nothing);
        }
        drop(before); // frees its seat for the new one
        // Without a free seat the viewer connects again in a moment, as after a broken connection.
        let hub = self.view.subscribe_to(hub).ok_or(SessionEnd::Broken)?;
        let (first, followed) = hub.follow(workload, since).await.map_err(|_| SessionEnd::Broken)?;
        if self.permissions.has_changed().unwrap_or(true) {
            let shared = self.view.clone().with_permissions(self.permissions.borrow().clone());
            if self.view.can_see(&followed.workload) && !shared.can_see(&followed.workload) {
                return Err(SessionEnd::Broken); // the permission is reviewed when the viewer reconnects
            }
        }
        self.send_first(first).await?;
        Ok(Subscription::Deployment(Box::new(followed)))
    }

    /// Sends the viewer the state of the connection to the cluster of a workload.
    async fn send_state(&mut self, workload: &Workload, state: ConnectionState) -> Result<(), SessionEnd> {
        let connection = Connection { state, ..Connection::default() };
        send_frame(self.out, &ServerFrame::Connection { cluster: workload.cluster.clone(), connection }).await
    }

    /// Sends the first frame of a subscription. The heartbeat carries the time: that of a shared snapshot may be older.
    pub(super) async fn send_first(&mut self, first: FirstFrame) -> Result<(), SessionEnd> {
        let _place = self.view.queue_bytes(first.frame.len()).ok_or(SessionEnd::Broken)?; // counts like a response
        send(self.out, Message::Binary(first.frame)).await?;
        send_frame(self.out, &ServerFrame::Heartbeat { now_millis: first.now_millis }).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use timeline::{Retention, Uid};
    use tokio::sync::watch as signal;

    use super::*;
    use crate::access::Viewer;
    use crate::access::permissions::Permissions;
    use crate::kube::InitialState;
    use crate::telemetry::viewers::Viewers;
    use crate::web::limits::QUESTIONS_AT_ONCE;
    use crate::web::session::StreamRequest;
    use crate::web::state::{Rollcast, Site};

    fn list(text: &str) -> Scope {
        let query = Query { text: text.to_owned(), ..Query::default() };
        Scope::List { query, window: Window { from: 0, to: 10 } }
    }

    /// The view of a client that waits for its next turn.
    async fn throttled(hub: Handle) -> ClientView {
        let rollcast = Rollcast::new(vec![hub], "build", Viewers::default(), Site::default());
        let view = ClientView::new(&rollcast, Viewer::anonymous()).await.unwrap();
        let view = view.from_address(Some([10, 0, 0, 1].into()));
        for _ in 0..QUESTIONS_AT_ONCE {
            view.throttle().await;
        }
        view
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_is_followed_again_waits_for_its_turn_in_the_loop() {
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let view = throttled(hub).await;
        let told = signal::Sender::new(Arc::new(Permissions::All));
        let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
        let mut session = Session::start(&mut sent, view.clone(), &request).await.ok().unwrap();
        session.permissions = told.subscribe();
        assert!(session.follow(list("web"), None).await.is_ok());
        told.send_replace(Arc::new(Permissions::none()));
        let applied = session.apply_permissions().now_or_never();
        assert!(applied.is_some_and(|applied| applied.is_ok()), "heartbeats go on");
        assert_eq!(session.pending, Some((list("web"), None)));
        assert_eq!((&mut session.review).await, None);
        assert!(session.apply_review(None).await.is_ok());
        assert_eq!(session.pending, None);
        assert_eq!(sent.len(), 2, "the list, and what is hidden of it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_others_follow_waits_for_nothing_after_a_named_namespace() {
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let view = throttled(hub).await;
        let told = Arc::new(Permissions::none().and("prod", "web"));
        let query = Query::default();
        let _followed = view.clone().with_permissions(told.clone()).follow(&query).await;
        let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
        let mut session = Session::start(&mut sent, view.clone(), &request).await.ok().unwrap();
        session.view = view.with_permissions(told.clone()).and_namespace("prod", "shop");
        session.permissions = signal::Sender::new(told).subscribe();
        for (text, result) in [("", Some(None)), ("web", None)] {
            assert_eq!(session.start_wait(&list(text)).now_or_never(), result, "{text:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_have_the_time_of_what_is_waited_for() {
        let observed = Some((1_000, 5_000));
        let hub = Handle::start_frozen("replay", "", InitialState { observed, ..InitialState::default() });
        let view = throttled(hub.clone()).await;
        let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
        let mut session = Session::start(&mut sent, view, &request).await.ok().unwrap();
        let workload = Workload::deployment("replay", "shop", "web");
        let web = Scope::Workload(workload.clone());
        assert!(session.begin_following(web.clone(), None).await.is_ok());
        assert_eq!(session.pending, Some((web, None)));
        assert_eq!(session.now_millis(), 5_000, "that of its cluster");
        let (_, followed) = hub.follow(workload, None).await.unwrap();
        session.subscription = Subscription::Deployment(Box::new(followed));
        let before_millis = clock::now_millis();
        assert!(session.begin_following(list("web"), None).await.is_ok());
        assert_eq!(session.pending, Some((list("web"), None)));
        assert!(session.now_millis() >= before_millis, "that of the server, whatever was followed before");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_rollout_waits_for_its_turn_in_the_loop() {
        let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
        let view = throttled(hub).await;
        let (mut sent, request) = (Vec::<Message>::new(), StreamRequest::default());
        let mut session = Session::start(&mut sent, view.clone(), &request).await.ok().unwrap();
        let first = Workload { rollout: Some(1), ..Workload::deployment("prod", "shop", "web") };
        let kept = first.with_uid(Some(Uid::from_bits(1)));
        let scope = Scope::Workload(kept.clone());
        assert_eq!(session.start_wait(&scope).now_or_never(), None);
        // With changed permissions it is followed again at once.
        let followed = session.follow(scope, None).now_or_never();
        assert!(followed.is_some_and(|followed| followed.is_ok()), "heartbeats go on");
        assert_eq!(sent.len(), 1, "there is no such rollout");
        assert!(view.hub(&kept).now_or_never().is_none(), "a request waits for its turn");
    }
}
