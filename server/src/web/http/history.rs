//! The page of the stored history, and the same as JSON.

use std::collections::BTreeSet;

use app::history::{HistoryPayload, PastWorkload};
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use timeline::address::{Address, Route, at};
use timeline::episodes::{EpisodeRow, Search};
use timeline::wire::{Connection, Unwritten};
use timeline::{Millis, Uid};

use super::extract::RequestAddress;
use super::history_query::{HistoryQuery, days, history_query, place_parameter};
use super::respond::{Refusal, refuse, refuse_not_found, render_static, unreadable_history};
use super::status::connections;
use crate::access::permissions::{Permissions, UNWRITTEN};
use crate::history::sql::{Overview, Reader};
use crate::history::store::{EpisodePage, StoreError};
use crate::telemetry::clock;
use crate::web::client_view::ClientView;

/// Rollouts on a page.
const LINES: u32 = 50;
/// Most rollouts of one response.
const MOST_ROLLOUTS: u32 = 500;
/// Workloads of a page whose last rollouts are drawn, and how many of each.
const WORKLOADS: usize = LINES as usize;
const BARS: u32 = 24;

/// Returns a notice that the history is not written, as other pages show it.
fn unwritten_notice(view: &ClientView, mut unwritten: Option<Unwritten>, stamp: impl Fn(Millis) -> String) -> String {
    if let Some(unwritten) = unwritten.as_mut().filter(|_| !view.sees_all()) {
        unwritten.why = UNWRITTEN.to_owned();
    }
    app::connection::unwritten(&Connection { unwritten, ..Connection::default() }, &stamp).unwrap_or_default()
}

pub(super) async fn page(view: ClientView, RequestAddress(address): RequestAddress, request: Request) -> Response {
    let view = &view;
    view.throttle().await; // one search may read the whole history
    let now_millis = clock::now_millis();
    let HistoryQuery { search, zone, after } = match history_query(&address, now_millis) {
        Ok(asked) => asked,
        Err(wrong) => {
            let all = (at("/history"), "All rollouts in the history".to_owned());
            let rest = search_without(&address, &wrong.name).to_string();
            let rest = (rest, format!("This search without {}", wrong.name));
            let instead = if rest.0 == all.0 { vec![all] } else { vec![rest, all] };
            return refuse(view, wrong, instead, request).await;
        }
    };
    let Some(archive) = view.archive() else {
        let why = "This server stores no history: it runs with --no-history, or shows a recording or the playground without --data-dir.";
        return refuse_not_found(view, why.to_owned(), request).await;
    };
    let (asked, permissions, days) = (search.clone(), view.permissions().clone(), days(now_millis, &zone));
    let stamp = |at: Millis| zone.stamp(at, now_millis);
    let in_zone = |at: Millis| format!("{} {}", stamp(at), zone.label());
    let unwritten = unwritten_notice(view, archive.unwritten.borrow().clone(), in_zone);
    let turn = view.history_turn().await;
    let read = archive.read(move |reader| {
        let _turn = turn; // held even if the client has left
        // The strip shows all days, whichever was requested.
        let days = reader.days(&asked, &permissions, days)?;
        let found = reader.search(&asked, &permissions, after, LINES)?;
        let (workloads, total) = overview(reader, &asked, &permissions, &found.rollouts)?;
        Ok((days, found, workloads, total))
    });
    let (payload, status) = match read.await {
        Ok((days, found, workloads, [total, rollouts])) => {
            let others = total - rollouts;
            let rollouts = found.rollouts.into_iter();
            let rollouts = rollouts.map(|rollout| (stamp(rollout.started_millis), rollout)).collect();
            let after = found.next.map(place_parameter);
            let kept = if view.sees_all() { archive.options.to_string() } else { archive.options.limits.to_string() };
            let field = |at: Option<Millis>| at.map(|at| zone.field(at)).unwrap_or_default();
            let (since, until) = (field(search.from_millis), field(search.to_millis));
            let payload = HistoryPayload {
                search,
                since,
                until,
                rollouts,
                total,
                others,
                workloads,
                after,
                days,
                kept,
                unwritten,
                ..HistoryPayload::default()
            };
            (payload, StatusCode::OK)
        }
        Err(why) => {
            let Refusal(status, trouble) = unreadable_history(view, &why);
            (HistoryPayload { search, trouble, unwritten, ..HistoryPayload::default() }, status)
        }
    };
    render_static(view, status, request, move |build| app::shell::history(payload.clone(), build)).await
}

/// Returns the address of a search without one of its parameters.
fn search_without(search: &Address, name: &str) -> Address {
    let others = search.parameters.pairs().filter(|(known, _)| *known != name);
    others.fold(Address::new(Route::History, &[]), |address, (name, value)| address.with(name, Some(value)))
}

/// Returns the workloads of a page's rollouts, each with its last rollouts of the search, and the numbers of rows and
/// rollouts of all workloads.
fn overview(
    reader: &Reader,
    search: &Search,
    permissions: &Permissions,
    page: &[EpisodeRow],
) -> Result<(Vec<PastWorkload>, [u32; 2]), StoreError> {
    let mut seen = BTreeSet::new();
    let rollouts = page.iter().filter(|rollout| rollout.is_rollout());
    let firsts = rollouts.filter(|rollout| seen.insert((&rollout.cluster, rollout.uid)));
    let firsts: Vec<&EpisodeRow> = firsts.take(WORKLOADS).collect();
    let named: Vec<(&str, Uid)> = firsts.iter().map(|rollout| (rollout.cluster.as_str(), rollout.uid)).collect();
    let Overview { total, counts, last } = reader.overview(search, permissions, &named, BARS)?;
    let workloads = firsts.iter().zip(last).map(|(rollout, mut rollouts)| {
        rollouts.reverse();
        let place = (rollout.cluster.clone(), rollout.namespace.clone());
        let total = counts.get(&(rollout.cluster.clone(), rollout.uid)).copied().unwrap_or_default();
        PastWorkload { place, name: rollout.name.clone(), rollouts, total }
    });
    Ok((workloads.collect(), [total, counts.values().sum()]))
}

pub(super) async fn json(view: ClientView, RequestAddress(address): RequestAddress) -> Result<Json<Value>, Refusal> {
    view.throttle().await;
    let HistoryQuery { search, after, .. } = history_query(&address, clock::now_millis())?;
    let limit = |text: &str| text.parse().ok().filter(|limit| (1..=MOST_ROLLOUTS).contains(limit));
    let limit = address.check("limit", limit)?.unwrap_or(LINES);
    let none = || Refusal(StatusCode::NOT_FOUND, "This server stores no history.".to_owned());
    let archive = view.archive().ok_or_else(none)?;
    let (permissions, turn) = (view.permissions().clone(), view.history_turn().await);
    let found = archive.read(move |reader| {
        let _turn = turn; // held even if the client has left
        reader.search(&search, &permissions, after, limit)
    });
    let found = found.await;
    let EpisodePage { rollouts, next } = found.map_err(|why| unreadable_history(&view, &why))?;
    let after = next.map(place_parameter);
    Ok(Json(json!({ "rollouts": rollouts, "after": after, "clusters": connections(&view) })))
}
