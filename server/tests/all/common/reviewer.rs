//! A cluster that answers reviews of tokens and permissions as a test says, without a network.

use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use server::kube::Pace;
use server::kube::access::Access;
use server::kube::review::Reviewer;
use tokio::sync::watch;
use tower::service_fn;

/// Status and body of a response.
pub type Answer = (u16, Vec<u8>);

/// A review with that status.
pub fn answered(status: &Value) -> Answer {
    (200, json!({ "metadata": {}, "spec": {}, "status": status }).to_string().into_bytes())
}

/// Asks the cluster of `answer`, which gets each review.
pub fn reviewer<A>(pace: Pace, answer: impl Fn(Value) -> A + Send + Sync + 'static) -> Reviewer
where
    A: Future<Output = Answer> + Send + 'static,
{
    let answer = Arc::new(answer);
    let cluster = service_fn(move |request: Request<Body>| {
        let answer = answer.clone();
        async move {
            let review = request.into_body().collect().await.unwrap().to_bytes();
            let (status, body) = answer(serde_json::from_slice(&review).unwrap()).await;
            let response = Response::builder().status(status).body(Body::from(body)).unwrap();
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let access = Access::fixed(kube::Client::new(cluster, "default"), pace);
    Reviewer::new(watch::channel(Some(access)).1)
}
