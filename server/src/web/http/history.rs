//! The page of rollouts that are kept, and the same as JSON.

use std::collections::BTreeSet;

use app::history::{HistoryPayload, PastWorkload};
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use timeline::past::{PastRollout, Search};
use timeline::wire::{Connection, Unwritten};
use timeline::{Millis, Uid};

use super::asked::{Asked, Zone, asked, days, in_address};
use super::extract::RequestAddress;
use super::respond::{api_error, missing, refuse, render_static, unreadable_history};
use super::status::connections;
use crate::access::sight::{Sight, UNWRITTEN};
use crate::history::Keeping;
use crate::history::sql::{Overview, Reader};
use crate::history::store::{Found, StoreError};
use crate::telemetry::clock;
use crate::web::view::View;

/// Rollouts on a page.
const LINES: u32 = 50;
/// Most rollouts of one answer.
const MOST: u32 = 500;
/// Workloads of a page whose last rollouts are drawn, and how many of each.
const WORKLOADS: usize = LINES as usize;
const BARS: u32 = 24;

/// Since when what is observed is not written, and why, as the other pages say it.
fn unwritten(view: &View, keeping: &Keeping, zone: &Zone) -> String {
    let Keeping::Failing { since_millis, why } = keeping else { return String::new() };
    let why = if view.sees_all() { why.clone() } else { UNWRITTEN.to_owned() };
    let unwritten = Some(Unwritten { since_millis: *since_millis, why });
    let stamp = |at: Millis| format!("{} {}", zone.stamp(at), zone.said());
    app::connection::unwritten(&Connection { unwritten, ..Connection::default() }, stamp).unwrap_or_default()
}

/// The page.
pub(super) async fn page(view: View, RequestAddress(address): RequestAddress, request: Request) -> Response {
    let view = &view;
    view.pay().await; // one search may read all that is kept
    let now_millis = clock::now_millis();
    let Asked { search, zone, after } = match asked(&address, now_millis) {
        Ok(asked) => asked,
        Err(wrong) => {
            let instead = vec![("/history".to_owned(), "All rollouts in the history".to_owned())];
            return refuse(view, StatusCode::BAD_REQUEST, wrong.to_string(), instead, request).await;
        }
    };
    let Some(archive) = view.archive() else {
        let why = "This server stores no history: it runs with --no-history, or shows a recording or the playground without --data-dir.";
        return missing(view, why.to_owned(), request).await;
    };
    let (asked, sight, days) = (search.clone(), view.sight().clone(), days(now_millis, &zone));
    let unwritten = unwritten(view, &archive.keeping().borrow(), &zone);
    let read = archive.read(move |reader| {
        // The strip tells of all days, whichever was asked for.
        let days = reader.days(&asked, &sight, days)?;
        let found = reader.rollouts(&asked, &sight, after, LINES)?;
        let (workloads, total) = overview(reader, &asked, &sight, &found.rollouts)?;
        Ok((days, found, workloads, total))
    });
    let (payload, status) = match read.await {
        Ok((days, found, workloads, [total, rollouts])) => {
            let others = total - rollouts;
            let rollouts = found.rollouts.into_iter();
            let rollouts = rollouts.map(|rollout| (zone.stamp(rollout.started_millis), rollout)).collect();
            let after = found.after.map(in_address);
            let kept = if view.sees_all() { archive.said() } else { archive.limits_said() };
            let field = |at: Option<Millis>| at.map(|at| zone.field(at)).unwrap_or_default();
            let (since, until) = (field(search.from_millis), field(search.to_millis));
            let trouble = String::new();
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
                trouble,
                unwritten,
            };
            (payload, StatusCode::OK)
        }
        Err(why) => {
            let (status, trouble) = unreadable_history(view, &why);
            (HistoryPayload { search, trouble, unwritten, ..HistoryPayload::default() }, status)
        }
    };
    render_static(view, status, request, move |build| app::shell::history(payload.clone(), build)).await
}

/// The workloads of a page's rollouts, each with its last ones of all that is asked for; and how many rows and rollouts that are of all
/// workloads.
fn overview(
    reader: &Reader,
    search: &Search,
    sight: &Sight,
    page: &[PastRollout],
) -> Result<(Vec<PastWorkload>, [u32; 2]), StoreError> {
    let mut seen = BTreeSet::new();
    let rollouts = page.iter().filter(|rollout| rollout.is_rollout());
    let firsts = rollouts.filter(|rollout| seen.insert((&rollout.cluster, rollout.uid)));
    let firsts: Vec<&PastRollout> = firsts.take(WORKLOADS).collect();
    let named: Vec<(&str, Uid)> = firsts.iter().map(|rollout| (rollout.cluster.as_str(), rollout.uid)).collect();
    let Overview { total, counts, last } = reader.overview(search, sight, &named, BARS)?;
    let workloads = firsts.iter().zip(last).map(|(rollout, mut rollouts)| {
        rollouts.reverse();
        let place = (rollout.cluster.clone(), rollout.namespace.clone());
        let total = counts.get(&(rollout.cluster.clone(), rollout.uid)).copied().unwrap_or_default();
        PastWorkload { place, name: rollout.name.clone(), rollouts, total }
    });
    Ok((workloads.collect(), [total, counts.values().sum()]))
}

/// The same as JSON.
pub(super) async fn json(view: View, RequestAddress(address): RequestAddress) -> Response {
    view.pay().await;
    let limit = |text: &str| text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
    let read = asked(&address, clock::now_millis()).and_then(|asked| Ok((asked, address.check("limit", limit)?)));
    let (Asked { search, after, .. }, limit) = match read {
        Ok(read) => read,
        Err(wrong) => return api_error(StatusCode::BAD_REQUEST, wrong.to_string()),
    };
    let Some(archive) = view.archive() else {
        return api_error(StatusCode::NOT_FOUND, "This server stores no history.".to_owned());
    };
    let sight = view.sight().clone();
    let found: Result<Found, StoreError> =
        archive.read(move |reader| reader.rollouts(&search, &sight, after, limit.unwrap_or(LINES))).await;
    match found {
        Ok(found) => {
            let after = found.after.map(in_address);
            Json(json!({ "rollouts": found.rollouts, "after": after, "clusters": connections(&view) })).into_response()
        }
        Err(why) => {
            let (status, why) = unreadable_history(&view, &why);
            api_error(status, why)
        }
    }
}
