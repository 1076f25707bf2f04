//! Answers each request by its method and target.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use serde_json::json;
use tokio::net::TcpListener;

use super::target::{Subresource, Target};
use super::{Cluster, answer, discovery, read, watch, write};
use crate::ApiError;

/// Longest request body that is read, as in Kubernetes.
const LONGEST: usize = 3 * 1024 * 1024;

/// Path of access reviews, which clients request before other calls, as k9s and `kubectl auth can-i` do.
const SELF_REVIEWS: [&str; 4] = ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"];

impl Cluster {
    /// Answers the requests of clients.
    pub fn router(self) -> Router {
        Router::new().fallback(answer).with_state(self)
    }

    /// Serves the API until the task is dropped.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        axum::serve(listener, self.router()).await
    }
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
    if segments == SELF_REVIEWS && parts.method == Method::POST {
        // The review allows everything; its request body is not read, because k9s sends protobuf.
        let review = json!({ "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}, "status": { "allowed": true } });
        return answer::json(StatusCode::CREATED, review.to_string());
    }
    let Some(target) = Target::parse(&segments, parts.uri.query().unwrap_or_default(), &parts.headers) else {
        return ApiError::no_such_path().into_response();
    };
    let body = match Limited::new(body, LONGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return ApiError::bad_request("the body is longer than 3 MiB, or was cut off").into_response();
        }
    };
    dispatch(&cluster, &parts, target, &body).into_response()
}

/// Returns whether the request names this machine as its host. Web pages of other sites must not reach this cluster under their
/// own host name.
fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| if port.ends_with(']') { host } else { name });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn dispatch(cluster: &Cluster, parts: &Parts, target: Target, body: &Bytes) -> Result<Response, ApiError> {
    let (method, headers) = (&parts.method, &parts.headers);
    let is_one = target.name.is_some();
    if is_one && target.resource.is_namespaced() && target.namespace.is_none() {
        return Err(ApiError::no_such_path());
    }
    if target.part == Subresource::Eviction {
        return if method == Method::POST {
            write::evict(cluster, &target, headers, body)
        } else {
            Err(ApiError::not_allowed())
        };
    }
    match (method, is_one) {
        (&Method::GET, false) if target.is("watch") => watch::watch(cluster, target),
        (&Method::GET, true) if target.is("watch") => {
            Err(ApiError::bad_request("watch a list with a field selector instead"))
        }
        (&Method::GET, false) => read::list(cluster, &target),
        (&Method::GET, true) => read::get(cluster, &target),
        (&Method::POST, false) => write::create(cluster, &target, headers, body),
        (&Method::PUT, true) => write::update(cluster, &target, headers, body),
        (&Method::PATCH, true) => write::patch(cluster, &target, headers, body),
        (&Method::DELETE, true) if target.part == Subresource::Whole => write::delete(cluster, &target, body),
        _ => Err(ApiError::not_allowed()),
    }
}
