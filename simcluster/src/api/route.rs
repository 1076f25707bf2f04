//! From a request to what it is about.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};

use super::{Cluster, answer, discovery, read, scale, watch, write};
use crate::{ApiError, Key, Resource};

/// The longest body that is read, as in Kubernetes.
const LONGEST: usize = 3 * 1024 * 1024;

/// A part of an object with an address of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The object.
    Whole,
    /// Its status.
    Status,
    /// Its size.
    Scale,
    /// Its being evicted, which is only ever created.
    Eviction,
}

/// What a request is about.
#[derive(Debug)]
pub struct Target {
    /// Which kind.
    pub resource: Resource,
    /// Which namespace, if one is named.
    pub namespace: Option<String>,
    /// Which object, if one is named.
    pub name: Option<String>,
    /// Which part of it.
    pub part: Part,
    /// What stands behind the question mark.
    pub query: Query,
    /// What the client takes.
    pub accept: String,
}

impl Target {
    /// Where the named object is.
    pub fn key(&self) -> Key {
        Key::new(self.namespace.as_deref().unwrap_or_default(), self.name.as_deref().unwrap_or_default())
    }
}

/// What stands behind the question mark.
#[derive(Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    fn read(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// A value, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether something is asked for.
    pub fn is(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value == "true" || value == "1")
    }
}

/// Everything that the cluster answers.
pub fn router(cluster: Cluster) -> Router {
    Router::new().fallback(answer).with_state(cluster)
}

async fn answer(State(cluster): State<Cluster>, request: Request<Body>) -> Response {
    if !is_local(request.headers()) {
        let error = "this cluster answers to localhost only; the request was for another host";
        return (StatusCode::FORBIDDEN, error).into_response();
    }
    let (parts, body) = request.into_parts();
    let path = percent_encoding::percent_decode_str(parts.uri.path()).decode_utf8_lossy();
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if let Some(found) = discovery::answer(&segments) {
        return if parts.method == Method::GET { found } else { ApiError::not_allowed().into_response() };
    }
    let query = Query::read(parts.uri.query().unwrap_or_default());
    let Some(target) = target(&segments, query, &parts.headers) else {
        return ApiError::no_such_path().into_response();
    };
    let body = match Limited::new(body, LONGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return ApiError::bad_request("the body is longer than 3 MiB, or was cut off".to_owned()).into_response();
        }
    };
    match dispatch(&cluster, &parts.method, target, &parts.headers, &body) {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

/// Pages of other sites must not reach this cluster under a name of theirs.
fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// `[namespaces NAMESPACE] RESOURCE [NAME [PART]]` behind the group and version.
fn target(segments: &[&str], query: Query, headers: &HeaderMap) -> Option<Target> {
    let (group, version, rest) = match segments {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default().to_owned();
    let known = |plural: &str| {
        Resource::ALL.into_iter().find(|of| of.plural() == plural && of.group() == group && of.version() == version)
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => (Some(*namespace), rest),
        rest => (None, rest),
    };
    let [plural, rest @ ..] = rest else { return None };
    let resource = known(plural).filter(|of| namespace.is_none() || of.is_namespaced())?;
    let (name, part) = match rest {
        [] => (None, Part::Whole),
        [name] => (Some(*name), Part::Whole),
        [name, "status"] => (Some(*name), Part::Status),
        [name, "scale"] if matches!(resource, Resource::Deployment | Resource::ReplicaSet) => {
            (Some(*name), Part::Scale)
        }
        [name, "eviction"] if resource == Resource::Pod => (Some(*name), Part::Eviction),
        _ => return None,
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Some(Target { resource, namespace: owned(namespace), name: owned(name), part, query, accept })
}

fn dispatch(
    cluster: &Cluster,
    method: &Method,
    target: Target,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let is_one = target.name.is_some();
    if is_one && target.resource.is_namespaced() && target.namespace.is_none() {
        return Err(ApiError::no_such_path());
    }
    if target.part == Part::Eviction {
        return if method == Method::POST {
            write::evict(cluster, &target, headers, body)
        } else {
            Err(ApiError::not_allowed())
        };
    }
    match (method, is_one) {
        (&Method::GET, false) if target.query.is("watch") => watch::watch(cluster, target),
        (&Method::GET, true) if target.query.is("watch") => {
            Err(ApiError::bad_request("watch a list with a field selector instead".to_owned()))
        }
        (&Method::GET, false) => read::list(cluster, &target),
        (&Method::GET, true) if target.part == Part::Scale => scale::get(cluster, &target),
        (&Method::GET, true) => read::get(cluster, &target),
        (&Method::POST, false) => write::create(cluster, &target, headers, body),
        (&Method::PUT, true) => write::update(cluster, &target, headers, body),
        (&Method::PATCH, true) => write::patch(cluster, &target, headers, body),
        (&Method::DELETE, true) if target.part == Part::Whole => write::delete(cluster, &target, body),
        (&Method::DELETE, false) => write::delete_all(cluster, &target, body),
        _ => Err(ApiError::not_allowed()),
    }
}

/// An object, or its row if the client prefers tables.
pub fn shown(
    cluster: &Cluster,
    target: &Target,
    status: StatusCode,
    object: &std::sync::Arc<crate::change::Stored>,
) -> Response {
    if super::table::is_asked_for(&target.accept) {
        let now = cluster.with(|world| world.now_millis());
        let table = super::table::table(target, std::slice::from_ref(object), now, true);
        return answer::json(status, table.to_string());
    }
    answer::json(status, object.json())
}
