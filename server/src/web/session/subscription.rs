//! The subscription of a session: what its viewer follows, as far as they may see it.

use std::sync::Arc;

use axum::extract::ws::Message;
use futures::Sink;
use timeline::list::{Query, Window};
use timeline::wire::{Connection, ConnectionState, Position, Scope, ServerFrame};
use timeline::{Millis, Workload};
use tokio::sync::watch as signal;

use super::transport::{SessionEnd, send, send_frame};
use crate::access::permissions::Permissions;
use crate::history::hub_cache::OpenError;
use crate::hub::{FirstFrame, FollowedDeployment, Update};
use crate::web::client_view::ClientView;
use crate::web::followed_list::FollowedList;

/// Why a cluster is stale while some cluster does not answer reviews. The text does not say which one.
const UNCHECKED: &str = "your permissions cannot be checked right now";

pub(super) enum Subscription {
    Nothing,
    /// A cluster that does not exist, or is hidden; or a workload whose visibility cannot be checked now.
    Unknown(Workload),
    List(Box<FollowedList>),
    Deployment(Box<FollowedDeployment>),
}

/// Follows the same scope again after the permissions changed, as far as the viewer may see it now.
pub(super) async fn resubscribe(
    out: &mut (impl Sink<Message> + Unpin),
    before: &ClientView,
    view: &ClientView,
    permissions: &signal::Receiver<Arc<Permissions>>,
    subscription: Subscription,
) -> Result<Subscription, SessionEnd> {
    match subscription {
        Subscription::List(mut listed) => {
            listed.follow_anew(view).await;
            Ok(Subscription::List(listed))
        }
        Subscription::Deployment(followed) => {
            let workload = followed.workload.clone();
            // A hidden Deployment is followed without objects while something of its cluster is visible.
            let seen = |view: &ClientView| (view.can_see(&workload), view.has_cluster(&workload.cluster));
            if seen(before) == seen(view) {
                return Ok(Subscription::Deployment(followed));
            }
            follow(out, view, permissions, Subscription::Nothing, (Scope::Workload(workload), None)).await
        }
        Subscription::Unknown(workload)
            if before.has_cluster(&workload.cluster) != view.has_cluster(&workload.cluster)
                || view.can_see(&workload)
                || before.permissions().is_silent() != view.permissions().is_silent() =>
        {
            follow(out, view, permissions, Subscription::Nothing, (Scope::Workload(workload), None)).await
        }
        subscription => Ok(subscription),
    }
}

/// Follows a scope as far as the view shows it. Nothing is sent that became hidden while it was computed.
pub(super) async fn follow(
    out: &mut (impl Sink<Message> + Unpin),
    view: &ClientView,
    permissions: &signal::Receiver<Arc<Permissions>>,
    before: Subscription,
    (scope, since): (Scope, Option<Position>),
) -> Result<Subscription, SessionEnd> {
    match scope {
        Scope::Nothing => Ok(Subscription::Nothing),
        Scope::List { query, window } => follow_list(out, view, permissions, before, (query, window.limited())).await,
        Scope::Workload(workload) => follow_deployment(out, view, permissions, before, (workload, since)).await,
    }
}

/// Follows some lines of a list, and sends what the viewer lacks of them.
async fn follow_list(
    out: &mut (impl Sink<Message> + Unpin),
    view: &ClientView,
    permissions: &signal::Receiver<Arc<Permissions>>,
    before: Subscription,
    (query, window): (Query, Window),
) -> Result<Subscription, SessionEnd> {
    let mut listed = match before {
        // The same list, other lines: what the viewer knows of it stays known.
        Subscription::List(mut listed) if listed.query == query => {
            listed.window = window;
            listed
        }
        before => {
            drop(before); // its place is free
            let choice = view.follow(&query).await;
            Box::new(FollowedList::new(query, window, choice))
        }
    };
    // With changed permissions the list is chosen again before anything is sent.
    if permissions.has_changed().is_ok_and(|has_changed| !has_changed)
        && let Some(bytes) = listed.delta()
    {
        send(out, bytes).await?;
    }
    Ok(Subscription::List(listed))
}

/// Follows a Deployment from a position, and sends what the viewer lacks of it; or why it cannot be followed.
async fn follow_deployment(
    out: &mut (impl Sink<Message> + Unpin),
    view: &ClientView,
    permissions: &signal::Receiver<Arc<Permissions>>,
    before: Subscription,
    (workload, since): (Workload, Option<Position>),
) -> Result<Subscription, SessionEnd> {
    // It may become visible again: neither the workload nor its cluster is reported as missing.
    if view.permissions().is_silent() && !view.can_see(&workload) {
        let since_millis = crate::telemetry::clock::now_millis();
        let state = ConnectionState::Stale { since_millis, retry_at_millis: None, why: UNCHECKED.to_owned() };
        send_state(out, &workload, state).await?;
        return Ok(Subscription::Unknown(workload));
    }
    let hub = match view.hub_at(&workload, None).await {
        Ok(hub) => hub,
        Err(OpenError::Unknown) => {
            send_state(out, &workload, ConnectionState::Unknown).await?;
            return Ok(Subscription::Unknown(workload));
        }
        // The viewer connects again in a moment, as after a broken connection.
        Err(_) => return Err(SessionEnd::Broken),
    };
    if !hub.watches(&workload.namespace) {
        send_state(out, &workload, ConnectionState::OtherNamespaces).await?;
        return Ok(Subscription::Nothing);
    }
    drop(before); // its seat is free
    // Without a free seat the viewer connects again in a moment, as after a broken connection.
    let hub = view.subscribe_to(hub).ok_or(SessionEnd::Broken)?;
    view.throttle().await; // the hub's task makes the first frame
    let (first, followed) = hub.follow(workload, since).await.map_err(|_| SessionEnd::Broken)?;
    if permissions.has_changed().unwrap_or(true) {
        let shared = view.clone().with_permissions(permissions.borrow().clone());
        if view.can_see(&followed.workload) && !shared.can_see(&followed.workload) {
            return Err(SessionEnd::Broken); // the review is made when they connect again
        }
    }
    send_first(out, view, first).await?;
    Ok(Subscription::Deployment(Box::new(followed)))
}

/// Tells the viewer how the connection to the cluster of a workload is.
async fn send_state(
    out: &mut (impl Sink<Message> + Unpin),
    workload: &Workload,
    state: ConnectionState,
) -> Result<(), SessionEnd> {
    let connection = Connection { state, ..Connection::default() };
    send_frame(out, &ServerFrame::Connection { cluster: workload.cluster.clone(), connection }).await
}

/// Sends the first frame of a subscription. The heartbeat carries the time: that of a shared snapshot may be older.
pub(super) async fn send_first(
    out: &mut (impl Sink<Message> + Unpin),
    view: &ClientView,
    first: FirstFrame,
) -> Result<(), SessionEnd> {
    let _place = view.queue_bytes(first.frame.len()).ok_or(SessionEnd::Broken)?; // as an answer
    send(out, first.frame).await?;
    send_frame(out, &ServerFrame::Heartbeat { now_millis: first.now_millis }).await
}

pub(super) async fn next(subscription: &mut Subscription) -> Result<Update, SessionEnd> {
    match subscription {
        Subscription::Nothing | Subscription::Unknown(_) => std::future::pending().await,
        Subscription::List(listed) => loop {
            tokio::time::sleep_until(listed.not_before).await;
            listed.changed().await.map_err(|_| SessionEnd::Broken)?; // the viewer connects again in a moment
            if let Some(bytes) = listed.delta() {
                return Ok(Update::Frame(bytes));
            }
        },
        Subscription::Deployment(followed) => followed.next().await.map_err(|_| SessionEnd::Broken),
    }
}

pub(super) fn now(subscription: &Subscription) -> Millis {
    match subscription {
        Subscription::Deployment(followed) => followed.hub.now_millis(),
        _ => crate::telemetry::clock::now_millis(),
    }
}
