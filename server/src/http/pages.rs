//! The pages: complete HTML from the current state, rendered by the same application that runs in the browser. Its routes are the
//! ones that it names; what each of them is about is decided here.

use std::sync::Arc;

use app::payload::{ListPayload, Page, Payload, WallPayload};
use app::zone;
use axum::extract::{FromRequestParts, MatchedPath, Query, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;
use timeline::list::{self, By, Group, Sent, Window};
use timeline::words::safe;

use super::{details, guard, links};
use crate::listing::Chosen;
use crate::state::Rollcast;

/// Lines of a list that are in its page from the start.
const LINES: u32 = 50;

/// The parameters of an address; of two with the same name the last one counts.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// It is there, whatever it says.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// What is written, or nothing.
    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// A value that must be understood where there is one.
    pub(super) fn read<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Malformed> {
        let said = self.get(name).filter(|text| !text.is_empty());
        let wrong = |text: &str| Malformed { name: name.to_owned(), text: text.to_owned() };
        said.map(|text| read(text).ok_or_else(|| wrong(text))).transpose()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let query = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        Ok(Self(query.map(|Query(all)| all).unwrap_or_default()))
    }
}

/// A parameter that makes no sense.
#[derive(Debug)]
pub(super) struct Malformed {
    name: String,
    text: String,
}

impl Malformed {
    /// What it should be.
    pub(super) fn why(&self) -> String {
        let should = match self.name.as_str() {
            "at" => "a time such as 2026-11-21T14:02:05.250Z, or milliseconds since 1970",
            "uid" => "the UID of a Deployment",
            "revision" => "the number of a revision, 1 or more",
            "show" => "stuck, moving, finished or stable",
            "by" => "namespace or verdict",
            "rotate" => "seconds, 2 to 3600",
            "columns" => "1 to 4",
            "sound" => "on or off",
            "theme" => "dark, light or auto",
            "zone" => "utc, own, or the name of a time zone such as Europe/Berlin",
            _ => "a number",
        };
        format!("{}={} makes no sense: it should be {should}.", self.name, timeline::words::safe(&self.text))
    }
}

/// Whichever page of the application an address leads to.
pub(super) async fn page(
    State(rollcast): State<Arc<Rollcast>>,
    matched: MatchedPath,
    params: RawPathParams,
    parameters: Parameters,
    request: Request,
) -> Response {
    let part = |name: &str| {
        let part = params.iter().find(|(known, _)| *known == name);
        part.map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let place = || (part("cluster"), part("namespace"), part("name"));
    let asked = |name| Some(parameters.text(name)).filter(|text| !text.is_empty());
    let (rollcast, parameters) = (&*rollcast, &parameters);
    match matched.as_str() {
        "/" => list(rollcast, parameters, asked("cluster"), asked("namespace"), request).await,
        "/wall" => wall(rollcast, parameters, request).await,
        "/clusters/{cluster}" => list(rollcast, parameters, Some(part("cluster")), None, request).await,
        "/clusters/{cluster}/namespaces/{namespace}" => {
            list(rollcast, parameters, Some(part("cluster")), Some(part("namespace")), request).await
        }
        "/clusters/{cluster}/namespaces/{namespace}/deployments/{name}" => {
            links::deployment(rollcast, place(), parameters, request).await
        }
        below => match below.split('/').nth(7) {
            Some("pods") => details::pod(rollcast, place(), part("uid"), parameters, request).await,
            Some("revisions") => details::revision(rollcast, place(), part("revision"), parameters, request).await,
            Some("rollouts") => details::rollouts(rollcast, place(), parameters, request).await,
            Some("share") => details::share(rollcast, place(), parameters, request).await,
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
    let news = Sent::default().news(&chosen.overall, &chosen.lines, window, Chosen::line).unwrap_or_default();
    let status = if chosen.overall.trouble.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    (ListPayload { query, window, news }, status)
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

/// A moment as people and programs write it.
pub(super) fn millis(text: &str) -> Option<i64> {
    let time = || text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond());
    text.parse().ok().or_else(time)
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
    let build = rollcast.build;
    let shell = move || {
        guard_page();
        app::shell::missing(path.clone(), why.clone(), instead.clone(), build)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, status)
}

/// A page of the application, rendered from what it is about.
pub(super) async fn render(rollcast: &Rollcast, payload: Payload, status: StatusCode, request: Request) -> Response {
    let origin = origin(&request);
    let playground = rollcast.playground.as_ref().map(|playground| playground.strip());
    let page = Page { build: rollcast.build.to_owned(), payload, playground };
    let shell = move || {
        guard_page();
        app::shell::shell(page.clone(), &origin)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, status)
}

/// How this server was addressed: previews need whole addresses. A proxy in front says how it was asked.
pub(super) fn origin(request: &Request) -> String {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let scheme = header("x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    format!("{scheme}://{}", header("host").unwrap_or_default())
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
