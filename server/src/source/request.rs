//! Requests to the API server: paths, status codes, errors as sentences. Only GET: Rollcast changes nothing.

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::Resource;
use k8s_openapi::api::{apps::v1 as apps, core::v1 as core};
use kube::client::Body;
use timeline::fact::Kind;

/// Largest list page or error body that is read, in bytes.
const MAX_BODY: usize = 64 << 20;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// 403.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// 401.
    #[error("the credentials were refused; they may have expired: {0}")]
    Unauthorized(String),
    /// 410, or 400 which some servers answer to a position they do not know.
    #[error("the server no longer knows this position ({0})")]
    Gone(StatusCode),
    /// Any other status that is not success.
    #[error("the server answered {0}: {1}")]
    Status(StatusCode, String),
    /// The server was not reached, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// The answer is not what was asked for.
    #[error("the answer cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Path of a kind's collection.
pub(super) fn collection(kind: Kind, namespace: Option<&str>) -> String {
    fn path<R: Resource>() -> (String, &'static str) {
        let group = if R::GROUP.is_empty() {
            format!("/api/{}", R::VERSION)
        } else {
            format!("/apis/{}/{}", R::GROUP, R::VERSION)
        };
        (group, R::URL_PATH_SEGMENT)
    }
    let (group, plural) = match kind {
        Kind::Deployment => path::<apps::Deployment>(),
        Kind::ReplicaSet => path::<apps::ReplicaSet>(),
        Kind::Pod => path::<core::Pod>(),
        Kind::Event => path::<core::Event>(),
    };
    match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    }
}

/// Sends a GET and returns the body of a successful answer, unread.
pub(super) async fn get(client: &kube::Client, path: &str) -> Result<Body, RequestError> {
    let request = Request::get(path)
        .header(http::header::ACCEPT, "application/json")
        .body(Body::empty())
        .map_err(|error| RequestError::Unreachable(error.to_string()))?;
    let response = client.send(request).await.map_err(|error| RequestError::Unreachable(sentence(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response.into_body());
    }
    let body = read(response.into_body()).await.unwrap_or_default();
    #[derive(serde::Deserialize)]
    struct Status {
        message: Option<String>,
    }
    let message = serde_json::from_slice::<Status>(&body).ok().and_then(|status| status.message).unwrap_or_default();
    let message = timeline::words::safe(&message);
    Err(match status {
        StatusCode::FORBIDDEN => RequestError::Forbidden(message),
        StatusCode::UNAUTHORIZED => RequestError::Unauthorized(message),
        StatusCode::GONE | StatusCode::BAD_REQUEST => RequestError::Gone(status),
        status => RequestError::Status(status, message),
    })
}

/// Reads a whole body.
pub(super) async fn read(body: Body) -> Result<Vec<u8>, RequestError> {
    let limited = http_body_util::Limited::new(body, MAX_BODY);
    let collected = limited.collect().await.map_err(|error| RequestError::Unreachable(error.to_string()))?;
    Ok(collected.to_bytes().to_vec())
}

/// The innermost reasons of an error: outer layers only say that a request failed.
fn sentence(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let text = inner.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        source = inner.source();
    }
    timeline::words::safe(&words)
}
