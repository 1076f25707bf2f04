//! Reviews of permissions and tokens by a cluster: the only requests that are not GET. They store nothing in the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Request, StatusCode, header};
use k8s_openapi::Resource;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch as signal};

use super::access::Access;
use super::credentials::FetchedClient;
use super::error::RequestError;
use super::pace::Pace;
use super::request;

/// Concurrent reviews of a cluster, for all viewers together. Unverified tokens have a lower limit.
const AT_ONCE: usize = 32;
const UNVERIFIED_AT_ONCE: usize = 8;
/// Prefix of attributes that describe the token and not its owner: with them each token would be a new subject.
const OF_TOKENS: &str = "authentication.kubernetes.io/";

/// The user and the groups of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// User name.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// UID of the user, if the cluster gave one.
    pub uid: Option<String>,
    /// Further attributes that the cluster returned for the user: a token may have fewer permissions than its owner.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Sends reviews to a cluster. Clones share the limits.
#[derive(Clone)]
pub struct Reviewer {
    access: signal::Receiver<Option<Access>>,
    permits: Arc<Semaphore>,
    unverified_permits: Arc<Semaphore>,
}

/// The origin of a token, which decides the limit of its review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSender {
    /// A cluster confirmed the token before.
    Known,
    /// No cluster confirmed the token: it may be invented.
    Unverified,
}

impl Reviewer {
    /// Creates a reviewer for a cluster that connects later.
    pub fn new(access: signal::Receiver<Option<Access>>) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { access, permits: semaphore(AT_ONCE), unverified_permits: semaphore(UNVERIFIED_AT_ONCE) }
    }

    /// Returns host and port of the API server; `None` before there are credentials.
    pub fn host(&self) -> Option<String> {
        self.access.borrow().as_ref().and_then(Access::host)
    }

    /// Identifies the API server, by address and certificate authority; `None` before there are credentials. Reviews of another
    /// one are not valid here.
    pub fn place(&self) -> Option<u64> {
        self.access.borrow().as_ref().map(Access::place)
    }

    /// Returns whether a subject may list pods in a namespace, or in all namespaces if it is `None`.
    pub async fn may_list_pods(&self, subject: &Subject, namespace: Option<&str>) -> Result<bool, RequestError> {
        let attributes = ResourceAttributes {
            verb: Some("list".to_owned()),
            resource: Some("pods".to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ResourceAttributes::default()
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(subject.user.clone()),
                groups: Some(subject.groups.clone()),
                uid: subject.uid.clone(),
                extra: Some(subject.extra.clone()).filter(|extra| !extra.is_empty()),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let answer = self.send_review(&self.permits, &review).await?;
        let status = answer.status.ok_or_else(|| unreachable_error("the response has no status"))?;
        Ok(status.allowed && !status.denied.unwrap_or_default())
    }

    /// Returns the owner of a token; `None` if the cluster rejects the token, or if the connection is not confidential: then it
    /// is not sent.
    pub async fn review_token(&self, token: &str, sender: TokenSender) -> Result<Option<Subject>, RequestError> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let permits = match sender {
            TokenSender::Known => &self.permits,
            TokenSender::Unverified => &self.unverified_permits,
        };
        let answer = match self.send_review(permits, &review).await {
            Err(RequestError::NotConfidential) => return Ok(None),
            answer => answer?,
        };
        let status = answer.status.filter(|status| status.authenticated == Some(true));
        Ok(status.and_then(|status| status.user).and_then(subject))
    }

    async fn send_review<T: Resource + Serialize + DeserializeOwned>(
        &self,
        permits: &Semaphore,
        review: &T,
    ) -> Result<T, RequestError> {
        let _permit = permits.acquire().await.map_err(|_| unreachable_error("the server is shutting down"))?;
        let Some(access) = self.access.borrow().clone() else {
            return Err(unreachable_error("the cluster is not connected yet"));
        };
        let review = serde_json::to_vec(review)?;
        access.with_client(|client| post(client, access.pace(), review.clone())).await
    }
}

async fn post<T: Resource + DeserializeOwned>(
    client: Arc<FetchedClient>,
    pace: &Pace,
    review: Vec<u8>,
) -> Result<T, RequestError> {
    // Everyone who reads a token can use it.
    if T::KIND == TokenReview::KIND && !client.is_confidential {
        return Err(RequestError::NotConfidential);
    }
    let path = format!("/apis/{}/{}", T::API_VERSION, T::URL_PATH_SEGMENT);
    let request = Request::post(path.as_str()).header(header::CONTENT_TYPE, "application/json");
    let response = client.send(pace, request.body(Body::from(review))).await?;
    // The text of a rejection may repeat the request: use our own sentences.
    match response.status() {
        // The permission is named as in RBAC: by the resource and its group.
        StatusCode::FORBIDDEN => Err(RequestError::Forbidden(format!(
            "Rollcast's account lacks create on {}.{}",
            T::URL_PATH_SEGMENT,
            T::GROUP
        ))),
        StatusCode::UNAUTHORIZED => Err(RequestError::Unauthorized(format!("POST {path}"))),
        status if !status.is_success() => {
            Err(unreachable_error(&format!("the API server responded {}", status.as_u16())))
        }
        _ => {
            let body = request::read(response.into_body(), pace).await?;
            serde_json::from_slice(&body).map_err(|_| unreachable_error("the API server's response is malformed"))
        }
    }
}

fn unreachable_error(why: &str) -> RequestError {
    RequestError::Unreachable(why.to_owned())
}

fn subject(user: UserInfo) -> Option<Subject> {
    let UserInfo { username, groups, uid, extra } = user;
    let (groups, mut extra) = (groups.unwrap_or_default(), extra.unwrap_or_default());
    extra.retain(|name, _| !name.starts_with(OF_TOKENS));
    username.filter(|name| !name.is_empty()).map(|user| Subject { user, groups, uid, extra })
}
