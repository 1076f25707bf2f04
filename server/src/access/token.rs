//! Sign-in with a Kubernetes token: each cluster reviews it and names its user. A browser keeps the token in the encrypted session
//! cookie; a program sends it with every request.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use futures::future::join_all;
use moka::Entry;
use moka::future::Cache;
use moka::ops::compute::Op;
use moka::policy::EvictionPolicy;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::clients::client_network;
use super::cookie::{SealPurpose, SessionKeys};
use super::refreshing_cache::{RefreshPolicy, RefreshingCache};
use super::revoked_sessions::RevokedSessions;
use super::{AuthError, Subjects, Viewer};
use crate::kube::review::{Reviewer, Subject, TokenSender};
use crate::telemetry::clock;
use crate::telemetry::panics::locked;
use crate::telemetry::rate::RateLimit;

/// Lifetimes of token reviews, and their timeout.
const POLICY: RefreshPolicy = RefreshPolicy {
    refresh_after: Duration::from_secs(25),
    expire_after: Duration::from_secs(45),
    retry_after: Duration::from_secs(5),
};
/// Timeout of the review of a token by one cluster.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of cached tokens, accepted and rejected ones each.
const MOST_TOKENS: u64 = 4_096;
/// Rejected tokens of one client: a burst, then one in each period. Each is a review by every cluster, so one client
/// must not cause them without limit. A client without a known address is not limited.
pub(super) const REFUSED_AT_ONCE: u32 = 20;
pub(super) const REFUSED_EVERY: Duration = Duration::from_secs(2);
/// Longest token, in bytes: with it, the head of a request has 16 KB at most. The cookie of a browser's session must contain it, too.
const LONGEST_TOKEN: usize = 12 << 10;

/// The digest under which the reviews of a token are cached.
type TokenDigest = [u8; 32];

fn digest(token: &str) -> TokenDigest {
    Sha256::digest(token).into()
}

/// Sign-in with Kubernetes tokens.
pub struct TokenAuth {
    keys: SessionKeys,
    clusters: Vec<(String, Reviewer)>,
    /// Reviews of accepted tokens.
    accepted: Cache<TokenDigest, Arc<TokenReviews>>,
    /// Reviews of all others, in a cache of their own: invented tokens must not evict accepted ones.
    strange: Cache<TokenDigest, Arc<TokenReviews>>,
    /// Rate limit of rejected tokens of each client.
    attempts: RateLimit<IpAddr>,
    /// Ended sessions, by their owner: one person may have many tokens.
    revoked: RevokedSessions,
    /// Clusters whose last review failed: if each failure were logged, strangers could fill the log.
    failing: Mutex<BTreeSet<String>>,
}

/// A session with a token, as its cookie holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TokenSession {
    /// Start, in seconds of the Unix epoch.
    began: i64,
    /// Distinguishes sessions that began in the same second.
    id: String,
    token: String,
    /// The cluster and the user of the token when the session began.
    owner: String,
}

impl TokenSession {
    /// Reads a session from a cookie: no token has a space, but an owner has one.
    fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ').map(str::to_owned);
        let (began, id) = (parts.next()?.parse().ok()?, parts.next()?);
        Some(Self { began, id, token: parts.next()?, owner: parts.next()? })
    }
}

/// The review of a token by each cluster: its user. The key is the API server that reviewed it, one at a time.
type TokenReviews = BTreeMap<String, RefreshingCache<Option<u64>, Option<Subject>>>;

impl TokenAuth {
    /// Authenticates tokens at these clusters.
    pub fn new(keys: SessionKeys, clusters: Vec<(String, Reviewer)>) -> Arc<Self> {
        // The least recently used token goes first.
        let cache = || Cache::builder().max_capacity(MOST_TOKENS).eviction_policy(EvictionPolicy::lru()).build();
        Arc::new(Self {
            keys,
            clusters,
            accepted: cache(),
            strange: cache(),
            attempts: RateLimit::new(REFUSED_AT_ONCE, REFUSED_EVERY),
            revoked: RevokedSessions::default(),
            failing: Mutex::default(),
        })
    }

    /// Authenticates a request; `client` is the address that limits count.
    ///
    /// # Errors
    /// When it carries no token that a cluster accepts.
    pub async fn viewer(self: &Arc<Self>, headers: &HeaderMap, client: Option<IpAddr>) -> Result<Viewer, AuthError> {
        if let Some(token) = bearer_token(headers) {
            return self.authenticate(token, client).await;
        }
        let session =
            self.session(headers).filter(|session| !self.revoked.contains(&session.owner, session.began, &session.id));
        match session {
            // A cluster accepted it when the session began: it is not invented.
            Some(session) => self.review(&session.token, TokenSender::Known, client).await,
            None => Err(AuthError::SignInRequired),
        }
    }

    /// Returns the cookie of a new session of a viewer; `None` if the token is too long for one.
    pub fn begin(&self, token: &str, viewer: &Viewer) -> Option<HeaderValue> {
        let (began, id, owner) = (clock::now_millis() / 1_000, fastrand::u64(..), session_owner(viewer));
        self.keys.seal(SealPurpose::Session, &format!("{began} {id:016x} {token} {owner}"))
    }

    /// Ends the session of a request, also for others who have its cookie.
    pub fn end(&self, headers: &HeaderMap) {
        if let Some(session) = self.session(headers) {
            self.revoked.insert(&session.owner, session.began, &session.id);
        }
    }

    /// Returns the new cookie of a session whose cookie an older key encrypted.
    pub fn renewed_cookie(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.keys.reseal(SealPurpose::Session, headers)
    }

    fn session(&self, headers: &HeaderMap) -> Option<TokenSession> {
        TokenSession::from_text(&self.keys.open(SealPurpose::Session, headers)?)
    }

    /// Authenticates a token.
    ///
    /// # Errors
    /// When no cluster accepts it, none responds, or too many of the same client were rejected lately.
    pub async fn authenticate(self: &Arc<Self>, token: &str, client: Option<IpAddr>) -> Result<Viewer, AuthError> {
        self.review(token, TokenSender::Unverified, client).await
    }

    async fn review(
        self: &Arc<Self>,
        token: &str,
        sender: TokenSender,
        client: Option<IpAddr>,
    ) -> Result<Viewer, AuthError> {
        if token.is_empty() || token.len() > LONGEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AuthError::SignInRequired);
        }
        let digest = digest(token);
        if let Some(viewer) = self.cached_viewer(&digest).await {
            return viewer;
        }
        self.ask_silent_clusters(digest, token).await;
        let asked = self.strange.entry_by_ref(&digest).and_try_compute_with(|strange| async move {
            if self.cached_viewer(&digest).await.is_some() {
                return Ok::<_, AuthError>(Op::Nop); // another request completed the review meanwhile
            }
            let known = self.accepted.get(&digest).await;
            // Strangers may invent tokens without limit: known viewers do not wait for them.
            let (was_known, before) = (known.is_some(), known.or_else(|| strange.map(Entry::into_value)));
            let sender = if was_known { TokenSender::Known } else { sender };
            // Counted before the reviews: of many tokens at the same time no more than the limit are reviewed.
            let payer = client.filter(|_| sender == TokenSender::Unverified).map(client_network);
            if payer.is_some_and(|payer| self.attempts.take(&payer).is_err()) {
                return Err(AuthError::TooManyAttempts);
            }
            let before = before.unwrap_or_default();
            let is_asked = |(name, reviewer): &&(String, Reviewer)| is_due(&before, name, reviewer);
            let clusters: Vec<&(String, Reviewer)> = self.clusters.iter().filter(is_asked).collect();
            let said = Arc::new(self.ask_clusters(&clusters, token, sender, before.clone()).await);
            let viewer = viewer(&said);
            if let Some(payer) = payer.filter(|_| !matches!(viewer, Err(AuthError::SignInRequired))) {
                self.attempts.give_back(&payer);
            }
            if viewer.is_ok() || (was_known && viewer.is_err_and(|why| why == AuthError::Unavailable)) {
                self.accepted.insert(digest, said).await;
                return Ok(Op::Remove);
            }
            self.accepted.invalidate(&digest).await;
            Ok(Op::Put(said))
        });
        asked.await?;
        // Not `remembered`: a cluster may have become due while another one did not answer.
        self.cached_reviews(&digest).await.map_or(Err(AuthError::Unavailable), |said| viewer(&said))
    }

    /// Asks clusters that did not review the token the last time, in the background: a known viewer does not wait for
    /// them.
    async fn ask_silent_clusters(self: &Arc<Self>, digest: TokenDigest, token: &str) {
        let mut silent = Vec::new();
        let marked = self.accepted.entry_by_ref(&digest).and_compute_with(|known| {
            let known = known.map(Entry::into_value).filter(|said| viewer(said).is_ok());
            let mut said = known.map(Arc::unwrap_or_clone).unwrap_or_default();
            for (name, reviewer) in &self.clusters {
                let (is_asked, here) = (is_due(&said, name, reviewer), reviewer.place());
                // Answers of another API server do not count.
                let is_here =
                    |said: &RefreshingCache<Option<u64>, _>| said.unexpired().all(|(place, _)| *place == here);
                if let Some(said) = said.get_mut(name).filter(|said| is_asked && said.has_failed() && is_here(said)) {
                    said.record_failure(Instant::now()); // so that no other request sends this review meanwhile
                    silent.push(name.clone());
                }
            }
            ready(if silent.is_empty() { Op::Nop } else { Op::Put(Arc::new(said)) })
        });
        let before = marked.await.into_entry().map(Entry::into_value).unwrap_or_default();
        if silent.is_empty() {
            return;
        }
        let (this, token) = (self.clone(), token.to_owned());
        tokio::spawn(async move {
            let is_asked = |(name, _): &&(String, Reviewer)| silent.contains(name);
            let clusters: Vec<&(String, Reviewer)> = this.clusters.iter().filter(is_asked).collect();
            let mut said = this.ask_clusters(&clusters, &token, TokenSender::Known, before).await;
            said.retain(|name, _| silent.contains(name));
            // Other clusters may have answered meanwhile, also that the token is invalid now.
            let added = this.accepted.entry_by_ref(&digest).and_compute_with(|known| {
                let known = known.map(|known| Arc::unwrap_or_clone(known.into_value()));
                ready(known.map_or(Op::Nop, |mut known| {
                    known.append(&mut said);
                    Op::Put(Arc::new(known))
                }))
            });
            added.await;
        });
    }

    /// Has these clusters review a token, and adds their answers to the known ones.
    async fn ask_clusters(
        &self,
        clusters: &[&(String, Reviewer)],
        token: &str,
        sender: TokenSender,
        before: Arc<TokenReviews>,
    ) -> TokenReviews {
        let asked_at = Instant::now();
        let answers = join_all(clusters.iter().map(|(name, reviewer)| async move {
            (name.clone(), reviewer.place(), timeout(REVIEW_TIMEOUT, reviewer.review_token(token, sender)).await)
        }));
        let (answers, mut said) = (answers.await, Arc::unwrap_or_clone(before));
        for (name, place, answer) in answers {
            let said = said.entry(name.clone()).or_insert_with(|| RefreshingCache::new(POLICY));
            said.retain(|known| *known == place);
            let failure = match answer {
                Ok(Ok(whose)) => {
                    said.insert(place, asked_at, whose);
                    locked(&self.failing).remove(&name);
                    continue;
                }
                Ok(Err(why)) => why.to_string(),
                Err(_) => "the API server did not respond in time".to_owned(),
            };
            said.record_failure(Instant::now());
            if locked(&self.failing).insert(name.clone()) {
                tracing::warn!("cannot review tokens in cluster {name}: {failure}");
            }
        }
        said
    }

    async fn cached_reviews(&self, digest: &TokenDigest) -> Option<Arc<TokenReviews>> {
        match self.accepted.get(digest).await {
            Some(said) => Some(said),
            None => self.strange.get(digest).await,
        }
    }

    /// Returns the cached result for a token; `None` if a cluster must be asked.
    async fn cached_viewer(&self, digest: &TokenDigest) -> Option<Result<Viewer, AuthError>> {
        let said = self.cached_reviews(digest).await?;
        (!self.clusters.iter().any(|(name, reviewer)| is_due(&said, name, reviewer))).then(|| viewer(&said))
    }
}

fn is_due(said: &TokenReviews, cluster: &str, reviewer: &Reviewer) -> bool {
    said.get(cluster).is_none_or(|said| said.is_due(&reviewer.place()))
}

/// Combines the reviews of all clusters.
fn viewer(said: &TokenReviews) -> Result<Viewer, AuthError> {
    let review =
        |said: &RefreshingCache<Option<u64>, Option<Subject>>| said.unexpired().next().map(|(_, whose)| whose.clone());
    let taken = said.iter().filter_map(|(cluster, said)| Some((cluster.clone(), review(said)??)));
    let taken: BTreeMap<String, Subject> = taken.collect();
    match taken.values().next() {
        Some(first) => {
            let name = first.user.as_str().into();
            let is_unchecked = said.values().any(|said| review(said).is_none());
            Ok(Viewer { is_unchecked, ..Viewer::signed_in(name, Subjects::Each(taken)) })
        }
        None if said.values().all(|said| review(said).is_some()) => Err(AuthError::SignInRequired),
        None => Err(AuthError::Unavailable),
    }
}

/// Returns the owner of a viewer's sessions. Clusters may have different users of one name: of each, the first cluster that
/// accepted the token is a part of the owner.
fn session_owner(viewer: &Viewer) -> String {
    let cluster = match viewer.subjects.as_deref() {
        Some(Subjects::Each(users)) => users.keys().next(),
        _ => None,
    };
    // Names of clusters and users may have any characters: the quotes mark where one ends.
    format!("{:?} {}", cluster.map_or("", String::as_str), viewer.name)
}

/// Returns the token that a request carries as `Authorization: Bearer`.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}
