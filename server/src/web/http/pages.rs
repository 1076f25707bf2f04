//! The pages: complete HTML from the current state, rendered by the same application that runs in the browser. Its routes are the
//! ones that it names; what each of them is about is decided here.

use app::components::audience::Audience;
use app::payload::{ListPayload, Page, Payload, WallPayload};
use app::playground::Playground;
use app::site::Site;
use app::zone;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use leptos::prelude::{IntoView, provide_context, use_context};
use leptos_axum::ResponseOptions;
use timeline::list::{self, By, Column, Group, SentRows, Sort, Window};
use timeline::words::safe;

use super::extract::{Malformed, Parameters, Segments, origin};
use super::{details, guard, links};
use crate::export::assets;
use crate::web::listing::Chosen;
use crate::web::state::Rollcast;
use crate::web::view::View;

/// Where in a path the part stands that is below the page of a workload.
const BELOW: usize = 7;
/// Lines of a list that are in its page from the start.
const LINES: u32 = 50;

/// Whichever page of the application an address leads to.
pub(super) async fn page(
    view: View,
    matched: MatchedPath,
    segments: Segments,
    parameters: Parameters,
    request: Request,
) -> Response {
    let part = |name: &str| segments.get(name);
    let asked = |name| Some(parameters.text(name)).filter(|text| !text.is_empty());
    let (view, parameters) = (&view, &parameters);
    match matched.as_str() {
        "/" => list(view, parameters, asked("cluster"), asked("namespace"), request).await,
        "/wall" => wall(view, parameters, request).await,
        "/clusters/{cluster}" => list(view, parameters, Some(part("cluster")), None, request).await,
        "/clusters/{cluster}/namespaces/{namespace}" => {
            list(view, parameters, Some(part("cluster")), Some(part("namespace")), request).await
        }
        path => match (segments.workload(), path.split('/').nth(BELOW)) {
            (Some(workload), None) => links::workload(view, workload, parameters, request).await,
            (Some(workload), Some("pods")) => details::pod(view, workload, part("uid"), parameters, request).await,
            (Some(workload), Some("revisions")) => {
                details::revision(view, workload, part("revision"), parameters, request).await
            }
            (Some(workload), Some("rollouts")) => details::rollouts(view, workload, parameters, request).await,
            (Some(workload), Some("share")) => details::share(view, workload, parameters, request).await,
            _ => not_found(view, request).await,
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
    let order = |text: &str| match text {
        "asc" => Some(false),
        "desc" => Some(true),
        _ => None,
    };
    let sort = Sort {
        column: parameters.read("sort", Column::named)?.unwrap_or_default(),
        is_descending: parameters.read("order", order)?.unwrap_or_default(),
    };
    Ok(list::Query {
        text: parameters.text("q"),
        labels: parameters.text("labels"),
        group: parameters.read("show", Group::named)?,
        by: parameters.read("by", by)?.unwrap_or_default(),
        sort,
        cluster,
        namespace,
    })
}

async fn list(
    view: &View,
    parameters: &Parameters,
    cluster: Option<String>,
    namespace: Option<String>,
    request: Request,
) -> Response {
    if let Some(unknown) = cluster.as_ref().filter(|cluster| !view.has_cluster(cluster)) {
        return missing(view, no_cluster(view, unknown), request).await;
    }
    let place = list::Query { cluster: cluster.clone(), namespace: namespace.clone(), ..list::Query::default() };
    let from = parameters.read("from", |text| text.parse().ok());
    let (query, from) = match query(parameters, cluster, namespace).and_then(|query| Ok((query, from?.unwrap_or(0)))) {
        Ok(asked) => asked,
        Err(wrong) => {
            let instead = vec![(timeline::address::list(&place), "The whole list".to_owned())];
            return refuse(view, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await;
        }
    };
    let (payload, status) = lines(view, query, Window { from, to: from.saturating_add(LINES) }).await;
    render(view, Payload::List(Box::new(payload)), status, request).await
}

/// Some lines of a list as they are now.
async fn lines(view: &View, query: list::Query, window: Window) -> (ListPayload, StatusCode) {
    view.pay().await;
    let chosen = view.listed(&query);
    let delta = SentRows::default().delta(&chosen.overall, &chosen.lines, window, Chosen::line).unwrap_or_default();
    let status =
        if chosen.overall.trouble == view.sight().trouble() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    (ListPayload { query, window, delta }, status)
}

/// The wall of a list.
async fn wall(view: &View, parameters: &Parameters, request: Request) -> Response {
    let part = |name| Some(parameters.text(name)).filter(|text| !text.is_empty());
    if let Some(unknown) = part("cluster").filter(|cluster| !view.has_cluster(cluster)) {
        return missing(view, no_cluster(view, &unknown), request).await;
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
            let query = list::Query { group: None, by: By::Verdict, sort: Sort::default(), ..query };
            let (list, status) = lines(view, query, Window { from: 0, to: app::wall::ROWS }).await;
            let payload = WallPayload { list, rotate_seconds, columns: columns as u8, has_sound };
            render(view, Payload::Wall(Box::new(payload)), status, request).await
        }
        Err(wrong) => {
            let instead = vec![("/wall".to_owned(), "The wall with all Deployments".to_owned())];
            refuse(view, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await
        }
    }
}

pub(super) fn no_cluster(view: &View, cluster: &str) -> String {
    let known = view.hubs().map(|hub| safe(hub.name())).collect::<Vec<_>>().join(", ");
    let text = format!("Rollcast does not watch a cluster named {:?}. It watches: {known}.", safe(cluster));
    format!("{} {text}", view.sight().trouble()).trim_start().to_owned()
}

pub(super) async fn not_found(view: &View, request: Request) -> Response {
    let why = "There is no such page. The list of all Deployments is at /, the page of a Deployment at \
               /clusters/{cluster}/namespaces/{namespace}/deployments/{name}.";
    missing(view, why.to_owned(), request).await
}

pub(super) async fn missing(view: &View, why: String, request: Request) -> Response {
    let instead = vec![("/".to_owned(), "All Deployments".to_owned())];
    refuse(view, StatusCode::NOT_FOUND, why, instead, request).await
}

/// A page that says what is wrong with an address, and where to go instead.
pub(super) async fn refuse(
    view: &View,
    status: StatusCode,
    why: String,
    instead: Vec<(String, String)>,
    request: Request,
) -> Response {
    // What was asked for is what is wrong with it, more often than the path.
    let asked = safe(request.uri().path_and_query().map_or("/", |asked| asked.as_str()));
    let is_silent = view.sight().is_silent();
    let status = if is_silent { StatusCode::SERVICE_UNAVAILABLE } else { status };
    let title = status.canonical_reason().unwrap_or_default();
    let shell = move |build| app::shell::missing(title, asked.clone(), why.clone(), instead.clone(), build);
    let mut response = still(view, status, request, shell).await;
    if is_silent {
        // It may be there, and be shown as soon as the cluster says so.
        response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("5"));
    }
    response
}

/// A page in which no program runs.
pub(super) async fn still<V: IntoView + 'static>(
    view: &View,
    status: StatusCode,
    request: Request,
    shell: impl Fn(&'static str) -> V + Clone + Send + Sync + 'static,
) -> Response {
    let audience = view.rollcast().audience(view.viewer());
    let (site, playground) = (site(view, &audience), playground(view));
    let shell = move |build| {
        provide_context(site);
        provide_context(audience.clone());
        if let Some(playground) = playground.clone() {
            provide_context(playground);
        }
        shell(build)
    };
    plain(view.rollcast(), status, request, shell).await
}

/// Which pages there are for who looks.
fn site(view: &View, audience: &Audience) -> Site {
    let has_links = matches!(audience, Audience::Known { can_share: true, .. });
    Site { has_history: view.keeps(), has_links }
}

/// The playground as its strip shows it now, where there is one.
fn playground(view: &View) -> Option<Playground> {
    view.rollcast().playground.as_ref().map(|playground| playground.strip())
}

/// A page in which no program runs and nothing of any cluster stands.
pub(super) async fn plain<V: IntoView + 'static>(
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
pub(super) async fn render(view: &View, payload: Payload, status: StatusCode, request: Request) -> Response {
    let origin = origin(&request);
    let audience = view.rollcast().audience(view.viewer());
    let (site, playground) = (site(view, &audience), playground(view));
    let page = Page { build: view.rollcast().build.to_owned(), payload, playground, site };
    let shell = move || {
        guard_page();
        provide_context(audience.clone());
        app::shell::shell(page.clone(), &origin, assets::part)
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
