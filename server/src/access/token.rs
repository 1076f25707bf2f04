//! A Kubernetes token shows who somebody is: each cluster says whether it takes it, and for whom. In a browser the token rests in the
//! session's cookie, encrypted, with which session it is; a program sends it with every request.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use futures::future::join_all;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::attempts::Attempts;
use super::cookie::{Keys, Name};
use super::ended::Ended;
use super::once::Once;
use super::{Stranger, Subjects, Viewer};
use crate::kube::review::{Asker, Reviewer, Subject};
use crate::telemetry::clock;

/// What a cluster said of a token is asked again after this long.
const ASK_AGAIN: Duration = Duration::from_secs(25);
/// It is good for so long where the cluster does not answer.
const GOOD_FOR: Duration = Duration::from_secs(45);
/// A cluster that did not answer is asked again after this long, and an answer is waited for so long.
const ASK_THE_SILENT: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(5);
/// Tokens that are known, and tokens that are nobody's.
const MOST: usize = 4_096;
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
    /// What was said lately of tokens that somebody has.
    known: Mutex<HashMap<Print, Known>>,
    /// When tokens were said to be nobody's: apart, so that whoever invents tokens pushes nobody's out.
    refused: Mutex<HashMap<Print, Instant>>,
    asking: Once<Print>,
    /// Clients whose tokens were refused lately.
    attempts: Attempts,
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

/// What each cluster said of a token.
type Known = BTreeMap<String, Said>;

/// What a cluster said of a token.
#[derive(Clone, Default)]
struct Said {
    /// Whose it is, and when that was asked.
    whose: Option<(Instant, Option<Subject>)>,
    /// When the cluster did not answer.
    silent: Option<Instant>,
}

impl Said {
    fn is_old(&self) -> bool {
        let is_resting = self.silent.is_some_and(|at| at.elapsed() < ASK_THE_SILENT);
        !is_resting && self.whose.as_ref().is_none_or(|(at, _)| at.elapsed() >= ASK_AGAIN)
    }

    fn good(&self) -> Option<&Option<Subject>> {
        self.whose.as_ref().filter(|(at, _)| at.elapsed() < GOOD_FOR).map(|(_, whose)| whose)
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// Tokens of these clusters.
    #[must_use]
    pub fn new(keys: Keys, clusters: Vec<(String, Reviewer)>) -> Self {
        Self {
            keys,
            clusters,
            known: Mutex::default(),
            refused: Mutex::default(),
            asking: Once::default(),
            attempts: Attempts::default(),
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
        if let Some(known) = self.known(&print) {
            return known;
        }
        let _turn = self.asking.turn(&print).await;
        if let Some(known) = self.known(&print) {
            return known; // somebody else asked meanwhile
        }
        let mut said =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&print).cloned().unwrap_or_default();
        let asked = self.clusters.iter().filter(|(name, _)| said.get(name).is_none_or(Said::is_old));
        // Strangers may make up tokens without end: who was known does not wait for them.
        let was_known = said.values().any(|said| matches!(said.whose, Some((_, Some(_)))));
        let asker = if was_known { Asker::Known } else { asker };
        // All at once: of many that are shown at the same time no more are asked about.
        let attempt = match asker {
            Asker::Stranger => Some(self.attempts.begin(client).ok_or(Stranger::TooMany)?),
            Asker::Known => None,
        };
        // What is answered was so at some time since then.
        let asked_at = Instant::now();
        let answers = join_all(asked.map(|(name, reviewer)| async move {
            (name.clone(), timeout(PATIENCE, reviewer.whose(token, asker)).await)
        }));
        for (cluster, answer) in answers.await {
            let said = said.entry(cluster).or_default();
            match answer {
                Ok(Ok(whose)) => *said = Said { whose: Some((asked_at, whose)), silent: None },
                Ok(Err(_)) | Err(_) => said.silent = Some(Instant::now()),
            }
        }
        let viewer = viewer(&said);
        if let Some(attempt) = attempt.filter(|_| matches!(viewer, Err(Stranger::SignIn))) {
            attempt.refused();
        }
        self.learn(print, said, &viewer);
        viewer
    }

    /// What is known of a token without asking; `None` when clusters have to be asked.
    fn known(&self, print: &Print) -> Option<Result<Viewer, Stranger>> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.get(print).is_some_and(|at| at.elapsed() < ASK_AGAIN) {
            return Some(Err(Stranger::SignIn));
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let said = known.get(print)?;
        let is_old = self.clusters.iter().any(|(name, _)| said.get(name).is_none_or(Said::is_old));
        (!is_old).then(|| viewer(said))
    }

    fn learn(&self, print: Print, said: Known, viewer: &Result<Viewer, Stranger>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match viewer {
            Err(Stranger::SignIn) => {
                known.remove(&print);
                drop(known);
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                if refused.len() >= MOST {
                    refused.retain(|_, at| at.elapsed() < ASK_AGAIN);
                }
                if refused.len() < MOST {
                    refused.insert(print, Instant::now());
                }
            }
            _ => {
                if known.len() >= MOST {
                    known.retain(|_, said| said.values().any(|said| said.good().is_some()));
                }
                if known.len() < MOST || known.contains_key(&print) {
                    known.insert(print, said);
                }
            }
        }
    }
}

/// Whom the clusters take a token for.
fn viewer(said: &Known) -> Result<Viewer, Stranger> {
    let taken = said.iter().filter_map(|(cluster, said)| Some((cluster.clone(), said.good()?.clone()?)));
    let taken: BTreeMap<String, Subject> = taken.collect();
    match taken.values().next() {
        Some(first) => {
            let name = first.user.as_str().into();
            Ok(Viewer::known(name, Subjects::Each(taken)))
        }
        None if said.values().all(|said| said.good().is_some()) => Err(Stranger::SignIn),
        None => Err(Stranger::Unknown),
    }
}
