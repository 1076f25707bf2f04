//! The pages of the application: complete HTML of the current state, which the same application takes over in the browser.

use app::payload::{ListPayload, Payload};
use app::wall::settings::Settings;
use app::zone;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use timeline::address::{Address, InvalidParameter, Route, at};
use timeline::list::{By, Column, Group, Query, SentRows, Window};

use super::extract::RequestAddress;
use super::respond::{no_cluster, not_found, refuse, refuse_not_found, render};
use super::{details, links};
use crate::web::client_view::ClientView;
use crate::web::listing::ListResult;

/// Lines of a list that are in its page from the start.
const LINES: u32 = 50;

/// Renders the page of the application that an address leads to.
pub(super) async fn page(view: ClientView, RequestAddress(address): RequestAddress, request: Request) -> Response {
    let (view, address) = (&view, &address);
    match (address.route, address.named_workload()) {
        (Route::AllDeployments | Route::Cluster | Route::Namespace, _) => list(view, address, request).await,
        (Route::Wall, _) => wall(view, address, request).await,
        (Route::Workload, Some(workload)) => links::workload(view, workload, address, request).await,
        (Route::Pod, Some(workload)) => details::pod(view, workload, address, request).await,
        (Route::Revision, Some(workload)) => details::revision(view, workload, address, request).await,
        (Route::Rollouts, Some(workload)) => details::rollouts(view, workload, address, request).await,
        (Route::Share, Some(workload)) => details::share(view, workload, address, request).await,
        _ => not_found(view, request).await,
    }
}

fn check(address: &Address) -> Result<(), InvalidParameter> {
    address.check("show", Group::from_name)?;
    address.check("by", By::from_name)?;
    address.check("sort", Column::from_name)?;
    address.check("order", |text| matches!(text, "asc" | "desc").then_some(())).map(drop)
}

async fn list(view: &ClientView, address: &Address, request: Request) -> Response {
    let place = |name| Some(address.value(name).to_owned()).filter(|value| !value.is_empty());
    let query = address.parameters.query(place("cluster"), place("namespace"));
    if let Some(unknown) = query.cluster.as_ref().filter(|cluster| !view.has_cluster(cluster)) {
        return refuse_not_found(view, no_cluster(view, unknown), request).await;
    }
    match check(address).and_then(|()| address.parse::<u32>("from")) {
        Ok(from) => {
            let from = from.unwrap_or(0);
            let (payload, status) = lines(view, query, Window { from, to: from.saturating_add(LINES) }).await;
            render(view, Payload::List(Box::new(payload)), status, request).await
        }
        Err(wrong) => {
            let all = Query { cluster: query.cluster, namespace: query.namespace, ..Query::default() };
            let instead = vec![(timeline::address::list(&all), "The whole list".to_owned())];
            refuse(view, wrong, instead, request).await
        }
    }
}

/// Returns some lines of a list as they are now.
async fn lines(view: &ClientView, query: Query, window: Window) -> (ListPayload, StatusCode) {
    view.throttle().await;
    let chosen = view.list_now(&query).await;
    let delta = SentRows::default().delta(&chosen.overall, &chosen.lines, window, ListResult::line).unwrap_or_default();
    let status = if chosen.is_wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    (ListPayload { query, window, delta }, status)
}

async fn wall(view: &ClientView, address: &Address, request: Request) -> Response {
    if let Some(unknown) = address.parameters.get("cluster").filter(|cluster| !view.has_cluster(cluster)) {
        let mut refused = refuse_not_found(view, no_cluster(view, unknown), request).await;
        // Otherwise a wall that reloaded itself while its cluster was missing would stay on this page.
        refused.headers_mut().entry(header::REFRESH).or_insert(HeaderValue::from_static("30"));
        return refused;
    }
    let checked = || {
        let within = |from: u32, to: u32| move |text: &str| text.parse().ok().filter(|it| (from..=to).contains(it));
        let is_one_of = |all: &'static [&str]| move |text: &str| all.contains(&text).then_some(());
        address.check("theme", is_one_of(&["dark", "light", "auto"]))?;
        address.check("zone", zone::Choice::parse)?;
        check(address)?;
        address.check("rotate", within(2, 3_600))?;
        address.check("columns", within(1, 4))?;
        address.check("sound", is_one_of(&["on", "off"]))
    };
    match checked() {
        Ok(_) => {
            let query = Settings::from_parameters(&address.parameters).query;
            let (payload, status) = lines(view, query, Window { from: 0, to: app::wall::ROWS }).await;
            render(view, Payload::Wall(Box::new(payload)), status, request).await
        }
        Err(wrong) => {
            let instead = vec![(at("/wall"), "The wall with all Deployments".to_owned())];
            refuse(view, wrong, instead, request).await
        }
    }
}
