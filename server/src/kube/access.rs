//! Access to a cluster's API: one client for all its watches. The client is renewed when credentials are refused, expire soon, or
//! the kubeconfig has changed.
//!
//! ```text
//!   a request fails, or credentials end soon
//!        │ at most one renewal at a time, and a short wait after each
//!        ▼
//!   kubeconfig and files again ─► command again ─► anything new? ─► the client of the next generation, for all watches at once
//!        │                          └── not yet: after each run of a command a wait that doubles
//!        └── no, or it fails: the client stays, and errors of requests are reported together with the problem
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use timeline::Millis;
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::credentials::{ClientFingerprint, CredentialRequest, Credentials, FetchedClient};
use super::error::RequestError;
use super::kubeconfig::TargetError;
use super::pace::Pace;
use super::reason;
use super::renewals::Renewals;
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
    /// Access to the API server, with the context's credentials.
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
    /// `None` if the client is fixed.
    credentials: Option<Credentials>,
    current: signal::Sender<ClientState>,
    renewals: Mutex<Renewals>,
    pace: Pace,
}

struct ClientState {
    generation: u64,
    fetched: Arc<FetchedClient>,
    /// Why the last renewal brought no newer client.
    problem: Option<Problem>,
}

struct Problem {
    why: String,
    /// Settings of the command that failed; the problem lasts until that command runs again, or the settings differ.
    command_settings: Option<u64>,
}

impl FetchedClient {
    /// Returns the response, which must begin within the pace's limit. Error texts contain no secrets.
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
    /// Opens access to the cluster. Commands that fetch credentials run, with a time limit.
    ///
    /// # Errors
    /// If the credentials cannot be fetched or used. This sends no request to the API server.
    pub async fn target(&self, pace: &Pace) -> Result<Target, TargetError> {
        let nothing = || self.unusable("it has no usable settings");
        let fetched = self.fetch(CredentialRequest::Initial, pace, |_| true).await?.ok_or_else(nothing)?;
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

    /// Sends a request with the current client. If the server refuses it or is unreachable, the client is renewed where that may
    /// help. If there is no response by then, the next client sends the request again: hyper can lose a request on a connection
    /// that the server refuses (hyperium/hyper#4122).
    pub(super) async fn with_client<T, F>(&self, send: impl Fn(Arc<FetchedClient>) -> F) -> Result<T, RequestError>
    where
        F: Future<Output = Result<T, RequestError>>,
    {
        let place = self.place();
        loop {
            let (generation, client) = self.client();
            tokio::select! {
                biased; // a response that has arrived takes precedence
                answer = send(client) => {
                    return answer.inspect_err(|error| self.note_failure(generation, error));
                }
                () = self.wait_for_renewal(generation) => {}
            }
            if self.place() != place {
                // The request may contain a position, or data that another cluster must not receive.
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

    /// Records the failure of a request with the client of that generation.
    pub(super) fn note_failure(&self, generation: u64, error: &RequestError) {
        // One side rejects the other's certificate. Either side's file may be outdated.
        let is_certificate = |why: &str| why.contains("certificate") || why.contains("fatal alert");
        match error {
            RequestError::Unreachable(why) if !is_certificate(why) => {
                self.renew(generation, CredentialRequest::SettingsCheck);
            }
            error if is_of_connection(error) => self.renew(generation, CredentialRequest::Renewal),
            _ => {}
        }
    }

    /// Returns a request's error, together with the problem of the credentials.
    pub(super) fn sentence(&self, error: &RequestError) -> String {
        match self.0.current.borrow().problem.as_ref().filter(|_| is_of_connection(error)) {
            Some(Problem { why, .. }) => format!("{} {why}", timeline::words::sentence_end(&error.to_string())),
            None => error.to_string(),
        }
    }

    /// Waits for a client of a later generation.
    pub(super) async fn wait_for_renewal(&self, generation: u64) {
        // This object owns the sender, so waiting cannot fail.
        let _ = self.0.current.subscribe().wait_for(|current| current.generation > generation).await;
    }

    pub(super) fn generation(&self) -> u64 {
        self.0.current.borrow().generation
    }

    /// Returns host and port of the API server, without a path or credentials; `None` for a fixed client.
    pub fn host(&self) -> Option<String> {
        let address: http::Uri = self.0.current.borrow().fetched.address.parse().ok()?;
        let port = address.port().map(|port| format!(":{port}")).unwrap_or_default();
        address.host().map(|host| format!("{host}{port}"))
    }

    /// Identifies the API server. Positions of watches are not valid at another one.
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
        if !locked(&self.0.renewals).begin(Instant::now()) {
            return;
        }
        let request = request(fingerprint);
        let access = self.clone();
        let name = format!("the renewal of the credentials of cluster {}", credentials.name());
        let renewal = async move {
            let (mut command_settings, mut has_run) = (None, false);
            let may_run_command = |settings| {
                command_settings = Some(settings);
                has_run = locked(&access.0.renewals).may_run_command(settings, Instant::now(), access.pace());
                has_run
            };
            let fetched = credentials.fetch(request, access.pace(), may_run_command).await;
            // New credentials may be valid for seconds only: their renewal keeps the usual pace.
            let ends = match &fetched {
                Ok(Some(_)) => None,
                Ok(None) | Err(_) => access.0.current.borrow().fetched.expires_at_millis,
            };
            let left = ends.and_then(|ends| u64::try_from(ends - clock::now_millis()).ok()).map(Duration::from_millis);
            // The renewal ends first: a task that the new client wakes may be refused at once.
            {
                let mut renewals = locked(&access.0.renewals);
                renewals.end(Instant::now(), access.pace());
                if has_run {
                    renewals.end_command(Instant::now(), left, access.pace());
                }
            }
            access.take(credentials.name(), fetched, command_settings, has_run);
        };
        tokio::spawn(exit_on_panic(name, renewal));
    }

    /// Applies the result of a renewal. `command_settings` are the settings of the wanted command; `None` if no command was wanted.
    fn take(
        &self,
        name: &str,
        fetched: Result<Option<FetchedClient>, TargetError>,
        command_settings: Option<u64>,
        has_run: bool,
    ) {
        self.0.current.send_if_modified(|current| match fetched {
            Ok(Some(fetched)) => {
                tracing::info!(cluster.name = name, "credentials or address changed; created a new client");
                // The kubeconfig may have new warnings since the start.
                fetched.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
                let fetched = Arc::new(fetched);
                *current = ClientState { generation: current.generation + 1, fetched, problem: None };
                true
            }
            Ok(None) => {
                // Where no command was wanted, the kubeconfig has the settings of the client.
                let settings = command_settings.unwrap_or(current.fetched.fingerprint.settings);
                current.problem.take_if(|problem| has_run || problem.command_settings != Some(settings));
                false
            }
            Err(error) => {
                let why = error.to_string();
                // Files are read every few seconds: only the first of equal problems in a row is a warning.
                if current.problem.as_ref().is_some_and(|problem| problem.why == why) {
                    tracing::debug!(cluster.name = name, "{why}");
                } else {
                    tracing::warn!(cluster.name = name, "{why}");
                }
                current.problem = Some(Problem { why, command_settings: command_settings.filter(|_| has_run) });
                false
            }
        });
    }
}

/// Returns whether other credentials, or another address, may help.
const fn is_of_connection(error: &RequestError) -> bool {
    matches!(error, RequestError::Unauthorized(_) | RequestError::Credentials(_) | RequestError::Unreachable(_))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kube::kubeconfig::Contexts;

    /// A folder with a kubeconfig, whose token is in another file.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, text: &str) -> String {
            let path = self.0.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        }

        /// Writes a kubeconfig with an API server and a user.
        fn write_kubeconfig(&self, server: &str, user: &serde_json::Value) {
            let config = json!({
                "contexts": [{ "name": "a", "context": { "cluster": "c", "user": "u" } }],
                "clusters": [{ "name": "c", "cluster": { "server": server } }],
                "users": [{ "name": "u", "user": user }],
            });
            self.write("config", &config.to_string());
        }

        async fn access(&self) -> Access {
            let contexts = Contexts::read(Some(&self.0.path().join("config"))).unwrap();
            let credentials = Credentials::new(contexts, Some("a".to_owned()), "a".to_owned());
            credentials.target(&Pace::default()).await.unwrap().access
        }
    }

    /// Reports an error with each probe; never returns.
    async fn fail_probes(access: &Access, error: &RequestError) {
        loop {
            access.note_failure(access.generation(), error);
            tokio::time::sleep(access.pace().probe).await;
        }
    }

    /// Reports an error with each probe, for that time or until there is another client; returns whether there is one.
    async fn has_renewed(access: &Access, error: &RequestError, within: Duration) -> bool {
        tokio::select! {
            () = fail_probes(access, error) => false,
            renewed = tokio::time::timeout(within, access.wait_for_renewal(access.generation())) => renewed.is_ok(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_mended_after_a_minute_of_failures_is_taken_up_within_5_seconds() {
        let (long, soon) = (Duration::from_secs(70), Duration::from_secs(5));
        let folder = Folder::new();
        let token_file = json!({ "tokenFile": folder.write("token", "one") });
        let refused = || RequestError::Unauthorized(String::new());
        let unreachable = || RequestError::Unreachable("connection refused".to_owned());

        folder.write_kubeconfig("http://127.0.0.1:1", &token_file);
        let access = folder.access().await;
        assert!(!has_renewed(&access, &refused(), long).await);
        folder.write("token", "two");
        assert!(has_renewed(&access, &refused(), soon).await, "a token in a file");

        assert!(!has_renewed(&access, &refused(), long).await);
        folder.write_kubeconfig("http://127.0.0.1:1", &json!({ "token": "three" }));
        assert!(has_renewed(&access, &refused(), soon).await, "a token in the kubeconfig");

        assert!(!has_renewed(&access, &unreachable(), long).await);
        folder.write_kubeconfig("http://127.0.0.1:2", &json!({ "token": "three" }));
        assert!(has_renewed(&access, &unreachable(), soon).await, "an address");
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_command_failed_with_is_said_until_it_runs_again() {
        let folder = Folder::new();
        folder.write_kubeconfig("http://127.0.0.1:1", &json!({}));
        let access = folder.access().await;
        let refused = RequestError::Unauthorized("Unauthorized".to_owned());
        let failed = |why: &str| Err(TargetError::Unusable { name: "a".to_owned(), why: why.to_owned() });
        let says = |words: &str| access.sentence(&refused).contains(words);
        let settings = Some(access.0.current.borrow().fetched.fingerprint.settings);
        access.take("a", failed("the command failed"), settings, true);
        access.take("a", Ok(None), settings, false);
        assert!(says("the command failed"), "it may not run yet");
        access.take("a", Ok(None), None, false);
        assert!(says("the command failed"), "the kubeconfig is as it was");
        access.take("a", failed("no such context"), None, false);
        assert!(says("no such context") && !says("the command failed"));
        access.take("a", Ok(None), settings, false);
        assert!(!says("no such context"), "the kubeconfig is mended");
        access.take("a", failed("the command failed"), settings, true);
        access.take("a", Ok(None), settings, true);
        assert!(!says("the command failed"), "it ran");
        access.take("a", failed("another command failed"), settings.map(|settings| !settings), true);
        access.take("a", Ok(None), None, false);
        assert!(!says("another command failed"), "the kubeconfig has the settings of the client again");
    }
}
