//! `/status` and `/api/v1/status`: connection and watches of each cluster, as far as the viewer may see them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use app::status::{
    ClusterFigures, ClusterStatus, ConnectionStatus, KindFigures, KindStatus, ServerStatus, StatusPayload,
    state_and_problems,
};
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use futures::future::try_join_all;
use serde_json::{Value, json};
use timeline::fact::Kind;
use timeline::words::{moment, sentence_end};
use timeline::{Millis, words};

use super::respond::{Refusal, render_static};
use crate::hub::{Handle, HubEnded};
use crate::kube::{Health, RelistReason};
use crate::telemetry::clock;
use crate::web::client_view::ClientView;

/// Returns the state of a cluster's connection, as far as the viewer may see it.
pub(super) fn connection(view: &ClientView, hub: &Handle) -> ConnectionStatus {
    ConnectionStatus::new(&view.connection(hub), hub.state_since_millis())
}

/// Returns the states of the connections to all clusters that the viewer may see.
pub(super) fn connections(view: &ClientView) -> Value {
    view.hubs().map(|hub| json!({ "name": hub.name(), "connection": connection(view, hub) })).collect()
}

pub(super) async fn page(view: ClientView, request: Request) -> Response {
    let (status, code) = match gather(&view).await {
        Ok(status) => (status, StatusCode::OK),
        Err(ended) => {
            let trouble = sentence_end(&ended.to_string());
            (StatusPayload { trouble, ..StatusPayload::default() }, StatusCode::SERVICE_UNAVAILABLE)
        }
    };
    let now_millis = status.cluster_millis().unwrap_or_else(clock::now_millis);
    let made = format!("{} UTC", words::clock(now_millis));
    let shell = move |build| app::shell::status(status.clone(), made.clone(), build);
    render_static(&view, code, request, shell).await
}

pub(super) async fn json(view: ClientView) -> Result<Json<StatusPayload>, Refusal> {
    Ok(Json(gather(&view).await?))
}

async fn gather(view: &ClientView) -> Result<StatusPayload, HubEnded> {
    // Concurrently: a busy hub does not delay the requests to the others.
    let clusters = try_join_all(view.hubs().map(|hub| cluster(view, hub))).await?;
    let rollcast = view.rollcast();
    let server = view.sees_all().then(|| ServerStatus {
        viewers: rollcast.viewers.count() as u64,
        viewer_resyncs: rollcast.resyncs.load(Ordering::Relaxed),
        history_missed: view.archive().map(|archive| archive.counters.missed.load(Ordering::Relaxed)),
    });
    let notice = rollcast.site.restart_notice.as_ref().filter(|_| view.sees_all());
    let notice = notice.map(|notice| notice.borrow().clone()).filter(|notice| !notice.is_empty());
    let trouble = notice.unwrap_or_else(|| view.permissions().trouble().to_owned());
    Ok(StatusPayload { clusters, trouble, server })
}

async fn cluster(view: &ClientView, hub: &Handle) -> Result<ClusterStatus, HubEnded> {
    // Read before the request to the hub, because the hub handles its queue first.
    let (queued, queue_capacity) = hub.queue().unzip();
    let watches = hub.read(|reader| reader.watches.clone()).await?;
    let (told, now_millis) = (view.connection(hub), hub.now_millis());
    let is_watched = hub.sources.started_millis().is_some();
    let stamp = |at_millis: Millis| format!("{} UTC", moment(at_millis, now_millis));
    let (words, advice) = state_and_problems(hub.name(), &told, &stamp);
    let (connection, sees_all) = (connection(view, hub), view.sees_all_of(hub.name()));
    let figures = sees_all.then(|| ClusterFigures {
        address: hub.reviewer.host(),
        heard_millis: hub.sources.heard_millis(),
        queued: queued.filter(|_| is_watched),
        queue_capacity: queue_capacity.filter(|_| is_watched),
        gaps: hub.counters().gaps.load(Ordering::Relaxed),
        frames_dropped: hub.counters().dropped.load(Ordering::Relaxed),
    });
    let seen = |namespace: &Option<String>| {
        namespace.as_ref().is_none_or(|namespace| view.sees_some_of(hub.name(), namespace))
    };
    let mut kinds: BTreeMap<Kind, Vec<&Health>> = BTreeMap::new();
    for ((kind, _), health) in watches.iter().filter(|((_, namespace), _)| seen(namespace)) {
        kinds.entry(*kind).or_default().push(health);
    }
    let kinds = kinds.into_iter().map(|(kind, health)| KindStatus {
        figures: sees_all.then(|| kind_figures(hub, kind)),
        ..kind_status(kind, &health, sees_all, &connection)
    });
    let kinds = kinds.collect();
    Ok(ClusterStatus { name: hub.name().to_owned(), connection, words, advice, now_millis, figures, kinds })
}

/// Returns the worst state of the watches of a kind. Names a forbidden namespace even if others are watched. Errors are for
/// viewers who see the whole cluster; others get only the connection state.
fn kind_status(kind: Kind, watches: &[&Health], sees_all: bool, connection: &ConnectionStatus) -> KindStatus {
    let refused = watches.iter().find_map(|health| match health {
        Health::Forbidden { verb } => Some(*verb),
        _ => None,
    });
    let stale = watches.iter().filter_map(|health| match health {
        Health::Stale { since_millis, why, .. } => Some((*since_millis, why)),
        _ => None,
    });
    let stale = stale.min_by_key(|(since_millis, _)| *since_millis);
    let is_live = watches.iter().all(|health| matches!(health, Health::Live));
    let permission = match refused {
        Some("list") => "list refused",
        Some(_) => "watch refused",
        None if is_live => "granted",
        None => "unknown",
    };
    let (state, since_millis, why) = match stale {
        Some((since_millis, why)) => {
            ("stale", Some(since_millis), if sees_all { sentence_end(why) } else { connection.why.clone() })
        }
        None if refused.is_some() => ("forbidden", None, String::new()),
        None if is_live => ("live", None, String::new()),
        None => ("connecting", None, String::new()),
    };
    KindStatus { kind, state, since_millis, why, permission, figures: None }
}

fn kind_figures(hub: &Handle, kind: Kind) -> KindFigures {
    let counted = hub.sources.kind(kind);
    let relists = RelistReason::ALL.map(|(reason, name)| (name, counted.relists(reason)));
    KindFigures {
        last_event_millis: counted.last_event_millis(),
        lag_millis: hub.counters().lags.get(kind).last_millis(),
        events: counted.events.load(Ordering::Relaxed),
        restarts: counted.restarts.load(Ordering::Relaxed),
        relists: relists.into_iter().filter(|(_, count)| *count > 0).collect(),
        skipped: counted.malformed.load(Ordering::Relaxed),
    }
}
