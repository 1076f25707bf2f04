//! A Kubernetes token shows who somebody is: each cluster says whether it takes it, and for whom. In a browser the token rests in the
//! session's cookie, encrypted, with which session it is; a program sends it with every request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use futures::future::join_all;
use moka::Entry;
use moka::future::Cache;
use moka::ops::compute::Op;
use moka::policy::EvictionPolicy;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::checked::{Checked, Terms};
use super::cookie::{Keys, Name};
use super::ended::Ended;
use super::followers::client_key;
use super::{Stranger, Subjects, Viewer};
use crate::kube::review::{Asker, Reviewer, Subject};
use crate::telemetry::clock;
use crate::telemetry::rate::RateLimit;

/// How long counts what a cluster said of a token, and how long an answer is waited for.
const TERMS: Terms = Terms {
    ask_again: Duration::from_secs(25),
    good_for: Duration::from_secs(45),
    ask_the_silent: Duration::from_secs(5),
};
const PATIENCE: Duration = Duration::from_secs(5);
/// Tokens that are somebody's, and tokens that are not.
const MOST: u64 = 4_096;
/// Tokens of one client that no cluster takes: so many at once, then one each time. Clusters are asked about each, and one client must
/// not have them asked without end. A client that is not known by an address is not limited.
const REFUSED_AT_ONCE: u32 = 20;
const REFUSED_EVERY: Duration = Duration::from_secs(2);
/// Longest token, in bytes: sealed, it has to fit into a cookie.
const LONGEST: usize = 2_800;

/// A token as it is remembered: not the token itself.
type Print = [u8; 32];

fn print(token: &str) -> Print {
    Sha256::digest(token).into()
}

/// Knows people by their tokens.
pub struct Tokens {
    keys: Keys,
    clusters: Vec<(String, Reviewer)>,
    /// What was said of tokens that a cluster took for somebody's.
    known: Cache<Print, Arc<Said>>,
    /// What was said of all others: apart, so that whoever invents tokens pushes nobody's out.
    strange: Cache<Print, Arc<Said>>,
    /// Tokens of clients that clusters are asked about, and that they refuse.
    attempts: RateLimit<IpAddr>,
    /// By the tokens that they rest on.
    ended: Ended<Print>,
}

/// A session of somebody who showed a token in a browser, as its cookie holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    /// When it began, in seconds of the Unix epoch.
    began: i64,
    /// Tells those apart that began in the same second.
    id: String,
    token: String,
}

impl Session {
    fn begin(token: &str) -> Self {
        let id = format!("{:016x}", fastrand::u64(..));
        Self { began: clock::now_millis() / 1_000, id, token: token.to_owned() }
    }

    /// As text: no token has a space.
    fn to_text(&self) -> String {
        format!("{} {} {}", self.began, self.id, self.token)
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ').map(str::to_owned);
        Some(Self { began: parts.next()?.parse().ok()?, id: parts.next()?, token: parts.next()? })
    }
}

/// What each cluster said of a token: whose it is.
type Said = BTreeMap<String, Checked<(), Option<Subject>>>;

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// Tokens of these clusters.
    #[must_use]
    pub fn new(keys: Keys, clusters: Vec<(String, Reviewer)>) -> Self {
        // The one that nobody has shown for longest goes first.
        let cache = || Cache::builder().max_capacity(MOST).eviction_policy(EvictionPolicy::lru()).build();
        Self {
            keys,
            clusters,
            known: cache(),
            strange: cache(),
            attempts: RateLimit::new(REFUSED_AT_ONCE, REFUSED_EVERY),
            ended: Ended::default(),
        }
    }

    /// Who sends a request; `client` is whom it is from, where one client is to be told from another.
    ///
    /// # Errors
    /// When it carries no token that a cluster takes.
    pub async fn viewer(&self, headers: &HeaderMap, client: Option<IpAddr>) -> Result<Viewer, Stranger> {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(|token| token.trim().to_owned());
        if let Some(token) = bearer {
            return self.whose(&token, client).await;
        }
        let session =
            self.session(headers).filter(|session| !self.ended.has(&print(&session.token), session.began, &session.id));
        match session {
            // A cluster took it when the session began: nobody made it up.
            Some(session) => self.ask(&session.token, Asker::Known, client).await,
            None => Err(Stranger::SignIn),
        }
    }

    /// The cookie of a session that begins; `None` where the token is too long for one.
    #[must_use]
    pub fn begin(&self, token: &str) -> Option<HeaderValue> {
        self.keys.seal(&Session::begin(token).to_text())
    }

    /// The session of a request is over, also for who kept its cookie.
    pub fn end(&self, headers: &HeaderMap) {
        if let Some(session) = self.session(headers) {
            self.ended.insert(&print(&session.token), session.began, &session.id);
        }
    }

    /// A session that goes on, sealed anew where that was done with an older key.
    #[must_use]
    pub fn resealed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.keys.resealed(Name::Session, headers)
    }

    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        Session::from_text(&self.keys.open(headers)?)
    }

    /// Whose token it is.
    ///
    /// # Errors
    /// When no cluster takes it, or none says, or too many of the same client were refused lately.
    pub async fn whose(&self, token: &str, client: Option<IpAddr>) -> Result<Viewer, Stranger> {
        self.ask(token, Asker::Stranger, client).await
    }

    async fn ask(&self, token: &str, asker: Asker, client: Option<IpAddr>) -> Result<Viewer, Stranger> {
        if token.is_empty() || token.len() > LONGEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Stranger::SignIn);
        }
        let print = print(token);
        if let Some(viewer) = self.remembered(&print).await {
            return viewer;
        }
        let asked = self.strange.entry_by_ref(&print).and_try_compute_with(|strange| async move {
            if self.remembered(&print).await.is_some() {
                return Ok::<_, Stranger>(Op::Nop); // somebody else asked meanwhile
            }
            let known = self.known.get(&print).await;
            // Strangers may make up tokens without end: who was known does not wait for them.
            let (was_known, before) = (known.is_some(), known.or_else(|| strange.map(Entry::into_value)));
            let asker = if was_known { Asker::Known } else { asker };
            // All at once: of many that are shown at the same time no more are asked about.
            let payer = client.filter(|_| asker == Asker::Stranger).map(client_key);
            if payer.is_some_and(|payer| self.attempts.take(&payer).is_err()) {
                return Err(Stranger::TooMany);
            }
            let said = Arc::new(self.ask_clusters(token, asker, before.unwrap_or_default()).await);
            let viewer = viewer(&said);
            if let Some(payer) = payer.filter(|_| !matches!(viewer, Err(Stranger::SignIn))) {
                self.attempts.give_back(&payer);
            }
            if viewer.is_ok() || (was_known && viewer.is_err_and(|why| why == Stranger::Unknown)) {
                self.known.insert(print, said).await;
                return Ok(Op::Remove);
            }
            self.known.invalidate(&print).await;
            Ok(Op::Put(said))
        });
        asked.await?;
        self.remembered(&print).await.unwrap_or(Err(Stranger::Unknown))
    }

    /// Asks the clusters whose answers are old whose token it is.
    async fn ask_clusters(&self, token: &str, asker: Asker, before: Arc<Said>) -> Said {
        let asked = self.clusters.iter().filter(|(name, _)| is_due(&before, name));
        let asked_at = Instant::now();
        let answers = join_all(asked.map(|(name, reviewer)| async move {
            (name.clone(), timeout(PATIENCE, reviewer.whose(token, asker)).await)
        }));
        let (answers, mut said) = (answers.await, Arc::unwrap_or_clone(before));
        for (cluster, answer) in answers {
            let said = said.entry(cluster).or_insert_with(|| Checked::new(TERMS));
            match answer {
                Ok(Ok(whose)) => said.answer((), asked_at, whose),
                Ok(Err(_)) | Err(_) => said.set_silent(Instant::now(), true),
            }
        }
        said
    }

    /// Whose a token is as far as that is known; `None` when clusters have to be asked.
    async fn remembered(&self, print: &Print) -> Option<Result<Viewer, Stranger>> {
        let said = match self.known.get(print).await {
            Some(said) => said,
            None => self.strange.get(print).await?,
        };
        (!self.clusters.iter().any(|(name, _)| is_due(&said, name))).then(|| viewer(&said))
    }
}

fn is_due(said: &Said, cluster: &str) -> bool {
    said.get(cluster).is_none_or(|said| said.is_due(&()))
}

/// Whom the clusters take a token for.
fn viewer(said: &Said) -> Result<Viewer, Stranger> {
    let taken = said.iter().filter_map(|(cluster, said)| Some((cluster.clone(), said.get(&())?.clone()?)));
    let taken: BTreeMap<String, Subject> = taken.collect();
    match taken.values().next() {
        Some(first) => {
            let name = first.user.as_str().into();
            Ok(Viewer::known(name, Subjects::Each(taken)))
        }
        None if said.values().all(|said| said.get(&()).is_some()) => Err(Stranger::SignIn),
        None => Err(Stranger::Unknown),
    }
}
