//! Requests to the API server: paths, status codes, errors as sentences. Only GET: Rollcast does not change clusters.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use timeline::fact::Kind;

use super::access::Access;
use super::credentials::FetchedClient;
use super::error::RequestError;
use super::pace::Pace;
use super::reason;

/// Largest response that is read, except for lists, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Fields of an error response that are read. A proxy in front of the API server sends no `Status`: its code may be a string.
#[derive(Default, Deserialize)]
struct Refused {
    message: Option<String>,
}

/// Returns the seconds of `Retry-After`, up to a limit, so that no error stays unreported for longer.
fn retry_after(headers: &http::HeaderMap) -> Duration {
    const LONGEST: u64 = 60;
    let value = headers.get(http::header::RETRY_AFTER);
    let seconds = value.and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    Duration::from_secs(seconds.unwrap_or(0).min(LONGEST))
}

pub(super) fn path_with_query(
    path: &str,
    parameters: impl IntoIterator<Item = (&'static str, impl AsRef<str>)>,
) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("{path}?{query}")
}

/// Returns the path of a kind's collection; every kind is in version `v1` of its group.
pub(super) fn collection(kind: Kind, namespace: Option<&str>) -> String {
    let (group, plural) = match kind.resource().split_once('.') {
        Some((plural, group)) => (format!("/apis/{group}/v1"), plural),
        None => ("/api/v1".to_owned(), kind.resource()),
    };
    match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    }
}

/// Sends a GET and returns the unread body of a successful response, which must begin within the pace's limit.
pub(super) async fn get(access: &Access, path: &str) -> Result<Body, RequestError> {
    access.with_client(|client| send_get(client, access.pace(), path)).await
}

async fn send_get(client: Arc<FetchedClient>, pace: &Pace, path: &str) -> Result<Body, RequestError> {
    let request = Request::get(path).header(http::header::ACCEPT, "application/json").body(Body::empty());
    let response = client.send(pace, request).await?;
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    if status.is_success() {
        return Ok(response.into_body());
    }
    // The server's message helps, but is not worth a long wait.
    let body = tokio::time::timeout(pace.answer, read(response.into_body(), pace)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    let Refused { message } = serde_json::from_slice(&body).unwrap_or_default();
    Err(RequestError::of_status(status, &message.unwrap_or_default(), retry_after))
}

pub(super) async fn read(body: Body, pace: &Pace) -> Result<Vec<u8>, RequestError> {
    gather(body, pace, MAX_ANSWER, || ()).await
}

/// Reads a whole body up to a limit in bytes, and reports each piece. Each piece must arrive within the pace's limit.
pub(super) async fn gather(
    body: Body,
    pace: &Pace,
    most: usize,
    mut heard: impl FnMut(),
) -> Result<Vec<u8>, RequestError> {
    let mut body = http_body_util::Limited::new(body, most);
    let mut whole = Vec::new();
    loop {
        let frame = tokio::time::timeout(pace.answer, body.frame()).await;
        let frame = frame
            .map_err(|_| RequestError::Unreachable("the API server stopped in the middle of a response".to_owned()))?;
        match frame {
            None => return Ok(whole),
            Some(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(RequestError::TooLong(most));
            }
            Some(Err(error)) => return Err(RequestError::Unreachable(reason::describe(error.as_ref()))),
            Some(Ok(frame)) => {
                heard();
                whole.extend_from_slice(&frame.into_data().unwrap_or_default()); // trailers contain no data
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    #[tokio::test]
    async fn what_a_refusal_says_is_told_whether_its_code_is_a_number_or_a_word() {
        for (body, expected) in [
            (r#"{"kind":"Status","message":"no agent","code":503}"#, "no agent"),
            (r#"{"type":"error","code":"ClusterUnavailable","message":"no agent","status":503}"#, "no agent"),
            (r#"{"message":null}"#, ""),
            ("no agent", ""),
        ] {
            let refuse = tower::service_fn(move |_: Request<Body>| async move {
                Response::builder().status(503).body(Body::from(body.as_bytes().to_vec()))
            });
            let access = Access::fixed(kube::Client::new(refuse, "default"), Pace::default());
            let told = get(&access, "/version").await.unwrap_err();
            assert!(matches!(&told, RequestError::Status { message, .. } if message == expected), "{body}: {told}");
        }
    }
}
