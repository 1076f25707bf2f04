//! The way to a cluster's API: one client for all its watches, and its renewal when credentials are refused, end soon or the
//! kubeconfig says something else by now.
//!
//! ```text
//!   a request fails, or credentials end soon
//!        │ at most one renewal at a time, and after each a wait that doubles
//!        ▼
//!   kubeconfig again ─► command again ─► anything new? ─► the client of the next generation, for everybody at once
//!        └── no, or it fails: the client stays, and what is wrong is said beside what the request met
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use timeline::Millis;
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::credentials::{ClientFingerprint, CredentialRequest, Credentials, FetchedClient};
use super::error::RequestError;
use super::kubeconfig::TargetError;
use super::pace::Pace;
use super::reason;
use crate::telemetry::clock;
use crate::telemetry::panics::{exit_on_panic, locked};

/// Credentials that end this soon are renewed now.
const SOON_MILLIS: Millis = 60_000;

/// A cluster with credentials.
pub struct Target {
    /// Name of the context: the name of the cluster in pages and addresses.
    pub name: String,
    /// Address of the API server.
    pub address: String,
    /// The way to it, with the context's credentials.
    pub access: Access,
    /// Namespace of the context.
    pub namespace: String,
    /// Reasons why the connection is less safe than it should be, a sentence each.
    pub warnings: Vec<String>,
}

/// Access to the API of a cluster. Clones share the client.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    /// `None` where the client is all there is.
    credentials: Option<Credentials>,
    current: signal::Sender<ClientState>,
    renewals: Mutex<Renewals>,
    pace: Pace,
}

struct ClientState {
    generation: u64,
    fetched: Arc<FetchedClient>,
    /// Why there is nothing newer.
    problem: Option<String>,
}

#[derive(Default)]
struct Renewals {
    is_under_way: bool,
    backoff: Backoff,
    /// When the last one ended.
    ended: Option<Instant>,
    /// Not before then.
    next: Option<Instant>,
}

impl FetchedClient {
    /// Returns the response, which must begin within the pace's limit. Errors are in words without secrets.
    pub(super) async fn send(
        &self,
        pace: &Pace,
        request: http::Result<Request<Body>>,
    ) -> Result<Response<Body>, RequestError> {
        let request = request.map_err(|error| RequestError::Unreachable(error.to_string()))?;
        let response = tokio::time::timeout(pace.answer, self.client.send(request)).await;
        let response = response.map_err(|_| RequestError::Unreachable("the API server does not respond".to_owned()))?;
        response.map_err(|error| {
            let why = reason::describe(&error);
            let is_sent = !reason::is_about_credentials(&error);
            if is_sent { RequestError::Unreachable(why) } else { RequestError::Credentials(why) }
        })
    }
}

impl Credentials {
    /// Opens the way to the cluster. Commands that fetch credentials run, with a limit.
    ///
    /// # Errors
    /// When the credentials cannot be had or used. The server is not asked anything here.
    pub async fn target(&self, pace: &Pace) -> Result<Target, TargetError> {
        let nothing = || self.unusable("it has no usable settings");
        let fetched = self.fetch(CredentialRequest::Initial, pace).await?.ok_or_else(nothing)?;
        let (address, warnings) = (fetched.address.clone(), fetched.warnings.clone());
        let namespace = fetched.client.default_namespace().to_owned();
        let access = Access::share(Some(self.clone()), fetched, pace.clone());
        let name = self.name().to_owned();
        Ok(Target { name, address, access, namespace, warnings })
    }
}

impl Access {
    /// Creates access with one client, which is never renewed.
    pub fn fixed(client: kube::Client, pace: Pace) -> Self {
        let fetched = FetchedClient {
            client,
            address: String::new(),
            warnings: Vec::new(),
            is_confidential: true,
            fingerprint: ClientFingerprint::default(),
            expires_at_millis: None,
        };
        Self::share(None, fetched, pace)
    }

    fn share(credentials: Option<Credentials>, fetched: FetchedClient, pace: Pace) -> Self {
        let current = signal::Sender::new(ClientState { generation: 0, fetched: Arc::new(fetched), problem: None });
        Self(Arc::new(Inner { credentials, current, renewals: Mutex::default(), pace }))
    }

    /// Returns the times and limits of requests.
    pub(super) fn pace(&self) -> &Pace {
        &self.0.pace
    }

    /// Sends a request with the client that there is. Refusals and servers that are not reached make the client anew, where that may
    /// help. Without an answer so far, the next client sends it again: hyper can lose a request on a connection that the server refuses
    /// (hyperium/hyper#4122).
    pub(super) async fn with_client<T, F>(&self, send: impl Fn(Arc<FetchedClient>) -> F) -> Result<T, RequestError>
    where
        F: Future<Output = Result<T, RequestError>>,
    {
        let place = self.place();
        loop {
            let (generation, client) = self.client();
            tokio::select! {
                biased; // an answer that is there is taken
                answer = send(client) => {
                    return answer.inspect_err(|error| self.note_failure(generation, error));
                }
                () = self.wait_for_renewal(generation) => {}
            }
            if self.place() != place {
                // The request may name a position, or what the other cluster is not to know.
                return Err(RequestError::Unreachable("the connection settings of the cluster changed".to_owned()));
            }
        }
    }

    /// Returns the current client with its generation. Credentials that expire soon are renewed while they are still valid.
    fn client(&self) -> (u64, Arc<FetchedClient>) {
        let (generation, client) = {
            let current = self.0.current.borrow();
            (current.generation, current.fetched.clone())
        };
        if client.expires_at_millis.is_some_and(|ends| ends - SOON_MILLIS <= clock::now_millis()) {
            self.renew(generation, CredentialRequest::Renewal);
        }
        (generation, client)
    }

    /// Takes note of how a request with the client of that generation failed.
    pub(super) fn note_failure(&self, generation: u64, error: &RequestError) {
        // One side refuses the other's certificate. Which side's file is outdated is unknown.
        let is_certificate = |why: &str| why.contains("certificate") || why.contains("fatal alert");
        match error {
            RequestError::Unreachable(why) if !is_certificate(why) => {
                self.renew(generation, CredentialRequest::SettingsCheck);
            }
            error if is_of_connection(error) => self.renew(generation, CredentialRequest::Renewal),
            _ => {}
        }
    }

    /// Returns a request's error, and the fault of the credentials beside it.
    pub(super) fn sentence(&self, error: &RequestError) -> String {
        match self.0.current.borrow().problem.as_deref().filter(|_| is_of_connection(error)) {
            Some(problem) => format!("{} {problem}", timeline::words::sentence_end(&error.to_string())),
            None => error.to_string(),
        }
    }

    /// Returns when there is a client of a later generation.
    pub(super) async fn wait_for_renewal(&self, generation: u64) {
        // The sender is ours: it cannot be gone.
        let _ = self.0.current.subscribe().wait_for(|current| current.generation > generation).await;
    }

    pub(super) fn generation(&self) -> u64 {
        self.0.current.borrow().generation
    }

    /// Returns host and port of the API server, without a path or credentials; `None` where the client is all there is.
    pub fn host(&self) -> Option<String> {
        let address: http::Uri = self.0.current.borrow().fetched.address.parse().ok()?;
        let port = address.port().map(|port| format!(":{port}")).unwrap_or_default();
        address.host().map(|host| format!("{host}{port}"))
    }

    /// Identifies the API server. Positions in watches mean nothing at another one.
    pub(super) fn place(&self) -> u64 {
        self.0.current.borrow().fetched.fingerprint.place
    }

    fn renew(&self, generation: u64, request: fn(ClientFingerprint) -> CredentialRequest) {
        let Some(credentials) = self.0.credentials.clone() else { return };
        let fingerprint = {
            let current = self.0.current.borrow();
            if current.generation != generation {
                return; // another request has renewed it already
            }
            current.fetched.fingerprint
        };
        if !locked(&self.0.renewals).begin(Instant::now(), self.pace()) {
            return;
        }
        let request = request(fingerprint);
        let access = self.clone();
        let name = format!("the renewal of the credentials of cluster {}", credentials.name());
        let renewal = async move {
            let fetched = credentials.fetch(request, access.pace()).await;
            // New ones may be good for seconds only: they are asked for at the usual pace.
            let ends = match &fetched {
                Ok(Some(_)) => None,
                Ok(None) | Err(_) => access.0.current.borrow().fetched.expires_at_millis,
            };
            let left = ends.and_then(|ends| u64::try_from(ends - clock::now_millis()).ok()).map(Duration::from_millis);
            // The end comes first: a task that the new client wakes may be refused again at once.
            locked(&access.0.renewals).end(Instant::now(), left, access.pace());
            access.take(credentials.name(), fetched);
        };
        tokio::spawn(exit_on_panic(name, renewal));
    }

    fn take(&self, name: &str, fetched: Result<Option<FetchedClient>, TargetError>) {
        self.0.current.send_if_modified(|current| match fetched {
            Ok(Some(fetched)) => {
                tracing::info!(cluster.name = name, "credentials or address changed; created a new client");
                // The kubeconfig may say by now what it did not say at the start.
                fetched.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                let fetched = Arc::new(fetched);
                *current = ClientState { generation: current.generation + 1, fetched, problem: None };
                true
            }
            Ok(None) => {
                current.problem = None;
                false
            }
            Err(why) => {
                tracing::warn!(cluster.name = name, "{why}");
                current.problem = Some(why.to_string());
                false
            }
        });
    }
}

/// Returns whether other credentials, or another address, may help.
const fn is_of_connection(error: &RequestError) -> bool {
    matches!(error, RequestError::Unauthorized(_) | RequestError::Credentials(_) | RequestError::Unreachable(_))
}

impl Renewals {
    /// Begins a renewal; returns whether one may begin now.
    fn begin(&mut self, now: Instant, pace: &Pace) -> bool {
        if self.is_under_way || self.next.is_some_and(|next| now < next) {
            return false;
        }
        let [_, longest] = pace.renewal;
        // What lasted for long was good: the next refusal is another story.
        if self.ended.is_some_and(|ended| now.duration_since(ended) > longest * 2) {
            self.backoff.reset();
        }
        self.is_under_way = true;
        true
    }

    /// Ends a renewal. The credentials that there are now expire after `left`, where that is known and still to come.
    fn end(&mut self, now: Instant, left: Option<Duration>, pace: &Pace) {
        let [first, longest] = pace.renewal;
        self.is_under_way = false;
        self.ended = Some(now);
        let mut wait = self.backoff.fail(first, longest, 1.0);
        // Some commands return the same credentials until these have expired, or will in a few seconds.
        if let Some(half) = left.map(|left| left / 2).filter(|half| *half < wait) {
            self.backoff.reset();
            wait = half.max(first);
        }
        self.next = Some(now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds at which renewals begin that are always wanted, with credentials that expire then, if they do.
    fn begins(renewals: &mut Renewals, start: Instant, lasts: u64, expires: Option<u64>) -> Vec<u64> {
        let pace = Pace::default();
        let mut begins = Vec::new();
        for second in 0..lasts {
            let now = start + Duration::from_secs(second);
            if renewals.begin(now, &pace) {
                assert!(!renewals.begin(now, &pace), "two at a time");
                let left = expires.and_then(|end| end.checked_sub(second)).filter(|left| *left > 0);
                renewals.end(now, left.map(Duration::from_secs), &pace);
                begins.push(second);
            }
        }
        begins
    }

    #[test]
    fn renewals_are_one_at_a_time_and_further_and_further_apart() {
        let (mut renewals, start) = (Renewals::default(), Instant::now());
        assert_eq!(begins(&mut renewals, start, 300, None), [0, 2, 6, 14, 30, 62, 122, 182, 242]);
        let later = start + Duration::from_secs(430);
        assert_eq!(begins(&mut renewals, later, 3, None), [0, 2], "the waits start over after a long good time");
    }

    #[test]
    fn credentials_that_a_command_returns_until_they_expire_are_renewed_about_then() {
        let begins = begins(&mut Renewals::default(), Instant::now(), 100, Some(60));
        assert_eq!(begins, [0, 2, 6, 14, 30, 45, 47, 51, 56, 58, 60, 62, 66, 74, 90]);
    }
}
