//! The pages: complete HTML from the current state, rendered by the same application that runs in the browser. Its routes are the
//! ones that it names; what each of them is about is decided here.

use std::sync::Arc;

use app::payload::{ListPayload, Page, Payload, WallPayload};
use app::zone;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use leptos::prelude::{IntoView, use_context};
use leptos_axum::ResponseOptions;
use timeline::list::{self, By, Group, Sent, Window};
use timeline::words::safe;

use super::extract::{Malformed, Parameters, Segments, origin};
use super::{details, guard, links};
use crate::listing::Chosen;
use crate::state::Rollcast;

/// Where in a path the part stands that is below the page of a workload.
const BELOW: usize = 7;
/// Lines of a list that are in its page from the start.
const LINES: u32 = 50;

/// Whichever page of the application an address leads to.
pub(super) async fn page(
    State(rollcast): State<Arc<Rollcast>>,
    matched: MatchedPath,
    segments: Segments,
    parameters: Parameters,
    request: Request,
) -> Response {
    let part = |name: &str| segments.get(name);
    let asked = |name| Some(parameters.text(name)).filter(|text| !text.is_empty());
    let (rollcast, parameters) = (&*rollcast, &parameters);
    match matched.as_str() {
        "/" => list(rollcast, parameters, asked("cluster"), asked("namespace"), request).await,
        "/wall" => wall(rollcast, parameters, request).await,
        "/clusters/{cluster}" => list(rollcast, parameters, Some(part("cluster")), None, request).await,
        "/clusters/{cluster}/namespaces/{namespace}" => {
            list(rollcast, parameters, Some(part("cluster")), Some(part("namespace")), request).await
        }
        path => match (segments.workload(), path.split('/').nth(BELOW)) {
            (Some(workload), None) => links::workload(rollcast, workload, parameters, request).await,
            (Some(workload), Some("pods")) => details::pod(rollcast, workload, part("uid"), parameters, request).await,
            (Some(workload), Some("revisions")) => {
                details::revision(rollcast, workload, part("revision"), parameters, request).await
            }
            (Some(workload), Some("rollouts")) => details::rollouts(rollcast, workload, parameters, request).await,
            (Some(workload), Some("share")) => details::share(rollcast, workload, parameters, request).await,
            _ => not_found(rollcast, request).await,
        },
    }
}

/// Which Deployments an address asks for.
pub(super) fn query(
    parameters: &Parameters,
    cluster: Option<String>,
    namespace: Option<String>,
) -> Result<list::Query, Malformed> {
    let by = |text: &str| match text {
        "namespace" => Some(By::Place),
        "verdict" => Some(By::Verdict),
        _ => None,
    };
    Ok(list::Query {
        text: parameters.text("q"),
        labels: parameters.text("labels"),
        group: parameters.read("show", Group::named)?,
        by: parameters.read("by", by)?.unwrap_or_default(),
        cluster,
        namespace,
    })
}

async fn list(
    rollcast: &Rollcast,
    parameters: &Parameters,
    cluster: Option<String>,
    namespace: Option<String>,
    request: Request,
) -> Response {
    if let Some(unknown) = cluster.as_ref().filter(|cluster| !rollcast.clusters.contains_key(*cluster)) {
        return missing(rollcast, no_cluster(rollcast, unknown), request).await;
    }
    let place = list::Query { cluster: cluster.clone(), namespace: namespace.clone(), ..list::Query::default() };
    let from = parameters.read("from", |text| text.parse().ok());
    let (query, from) = match query(parameters, cluster, namespace).and_then(|query| Ok((query, from?.unwrap_or(0)))) {
        Ok(asked) => asked,
        Err(wrong) => {
            let instead = vec![(app::address::list(&place), "The whole list".to_owned())];
            return refuse(rollcast, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await;
        }
    };
    let (payload, status) = lines(rollcast, query, Window { from, to: from.saturating_add(LINES) });
    render(rollcast, Payload::List(Box::new(payload)), status, request).await
}

/// Some lines of a list as they are now.
fn lines(rollcast: &Rollcast, query: list::Query, window: Window) -> (ListPayload, StatusCode) {
    let chosen = rollcast.listings.now(&query);
    let delta = Sent::default().delta(&chosen.overall, &chosen.lines, window, Chosen::line).unwrap_or_default();
    let status = if chosen.overall.trouble.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    (ListPayload { query, window, delta }, status)
}

/// The wall of a list.
async fn wall(rollcast: &Rollcast, parameters: &Parameters, request: Request) -> Response {
    let part = |name| Some(parameters.text(name)).filter(|text| !text.is_empty());
    if let Some(unknown) = part("cluster").filter(|cluster| !rollcast.clusters.contains_key(cluster)) {
        return missing(rollcast, no_cluster(rollcast, &unknown), request).await;
    }
    let read = || {
        let within = |from: u32, to: u32| move |text: &str| text.parse().ok().filter(|it| (from..=to).contains(it));
        let switch = |text: &str| match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        };
        let theme = |text: &str| matches!(text, "dark" | "light" | "auto").then_some(());
        parameters.read("theme", theme)?;
        parameters.read("zone", zone::Choice::named)?;
        Ok::<_, Malformed>((
            query(parameters, part("cluster"), part("namespace"))?,
            parameters.read("rotate", within(2, 3_600))?.unwrap_or(12),
            parameters.read("columns", within(1, 4))?.unwrap_or(0),
            parameters.read("sound", switch)?.unwrap_or(false),
        ))
    };
    match read() {
        Ok((query, rotate_seconds, columns, has_sound)) => {
            // A wall shows what goes on first, whatever the list it belongs to shows.
            let query = list::Query { group: None, by: By::Verdict, ..query };
            let (list, status) = lines(rollcast, query, Window { from: 0, to: app::wall::LINES });
            let payload = WallPayload { list, rotate_seconds, columns: columns as u8, has_sound };
            render(rollcast, Payload::Wall(Box::new(payload)), status, request).await
        }
        Err(wrong) => {
            let instead = vec![("/wall".to_owned(), "The wall with all Deployments".to_owned())];
            refuse(rollcast, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await
        }
    }
}

pub(super) fn no_cluster(rollcast: &Rollcast, cluster: &str) -> String {
    let known = rollcast.clusters.keys().map(|name| safe(name)).collect::<Vec<_>>().join(", ");
    format!("Rollcast does not watch a cluster named {:?}. It watches: {known}.", safe(cluster))
}

pub(super) async fn not_found(rollcast: &Rollcast, request: Request) -> Response {
    let why = "Pages are the list of all Deployments, and one page per Deployment at \
               /clusters/{cluster}/namespaces/{namespace}/deployments/{name}.";
    missing(rollcast, why.to_owned(), request).await
}

pub(super) async fn missing(rollcast: &Rollcast, why: String, request: Request) -> Response {
    let instead = vec![("/".to_owned(), "All Deployments".to_owned())];
    refuse(rollcast, StatusCode::NOT_FOUND, why, instead, request).await
}

/// A page that says what is wrong with an address, and where to go instead.
pub(super) async fn refuse(
    rollcast: &Rollcast,
    status: StatusCode,
    why: String,
    instead: Vec<(String, String)>,
    request: Request,
) -> Response {
    let path = safe(request.uri().path());
    still(rollcast, status, request, move |build| {
        app::shell::missing(path.clone(), why.clone(), instead.clone(), build)
    })
    .await
}

/// A page in which no program runs.
pub(super) async fn still<V: IntoView + 'static>(
    rollcast: &Rollcast,
    status: StatusCode,
    request: Request,
    shell: impl Fn(&'static str) -> V + Clone + Send + Sync + 'static,
) -> Response {
    let build = rollcast.build;
    let guarded = move || {
        guard_page();
        shell(build)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, guarded)(request).await, status)
}

/// A page of the application, rendered from what it is about.
pub(super) async fn render(rollcast: &Rollcast, payload: Payload, status: StatusCode, request: Request) -> Response {
    let origin = origin(&request);
    let playground = rollcast.playground.as_ref().map(|playground| playground.strip());
    let has_history = rollcast.archive.is_some();
    let page = Page { build: rollcast.build.to_owned(), payload, playground, has_history };
    let shell = move || {
        guard_page();
        app::shell::shell(page.clone(), &origin)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, status)
}

/// Sends the page's content security policy: what its markup may run carries the nonce of this answer.
fn guard_page() {
    if let (Some(nonce), Some(response)) = (leptos::nonce::use_nonce(), use_context::<ResponseOptions>())
        && let Ok(policy) = HeaderValue::from_str(&guard::policy(&format!("'nonce-{nonce}'")))
    {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}

fn respond(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
