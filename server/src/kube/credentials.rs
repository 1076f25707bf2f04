//! Creates the client of a cluster, and creates it again for renewals, from a context of a kubeconfig or from this pod's service
//! account. At most one attempt can hang.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use timeline::Millis;
use tokio::sync::Semaphore;

use super::kubeconfig::{Contexts, TargetError, client_for};
use super::pace::Pace;
use super::plugin::{self, PluginError};
use super::{proxy::Proxies, reason};
use crate::kube::loopback::is_this_machine;

/// The user that requests to a cluster are made as, by kubectl's names. Without a user, the kubeconfig decides.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Impersonation {
    /// User to impersonate in requests to the Kubernetes API server
    #[arg(long, env = "ROLLCAST_AS", value_name = "USER")]
    pub r#as: Option<String>,
    /// Group to impersonate, repeatable; requires --as
    #[arg(long, env = "ROLLCAST_AS_GROUP", value_delimiter = ',', requires = "as", value_name = "GROUP")]
    pub as_group: Vec<String>,
}

impl Impersonation {
    /// Overrides the impersonation of the kubeconfig.
    fn apply(&self, auth: &mut AuthInfo) {
        let Some(user) = &self.r#as else { return };
        auth.impersonate = Some(user.clone());
        auth.impersonate_groups = Some(self.as_group.clone());
        (auth.impersonate_uid, auth.impersonate_user_extra) = (None, None); // they belong to another user
    }
}

/// The source of a cluster's client.
#[derive(Debug, Clone)]
pub struct Credentials {
    contexts: Contexts,
    /// `None` for the cluster in which this program runs.
    context: Option<String>,
    name: String,
    impersonation: Impersonation,
    /// Whether credential plugins of the kubeconfig may run.
    may_run_commands: bool,
    /// Whether the plugin may prompt for a password when the first client is created.
    may_ask_people: bool,
    /// Held by the current attempt, also by one that timed out and hangs in the system.
    busy: Arc<Semaphore>,
}

/// Hashes of a client's parts, to find out whether a new client would be different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClientFingerprint {
    /// Hash of the address of the cluster and its certificate authority.
    pub place: u64,
    /// Hash of the kubeconfig.
    pub settings: u64,
    /// Hash of the kubeconfig, the contents of files and the output of commands.
    credentials: u64,
}

/// A new client with its address and warnings.
pub(super) struct FetchedClient {
    pub client: kube::Client,
    pub address: String,
    pub warnings: Vec<String>,
    /// Whether only that cluster can read requests.
    pub is_confidential: bool,
    pub fingerprint: ClientFingerprint,
    /// Expiry of its credentials, if known.
    pub expires_at_millis: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialRequest {
    /// The first client; a command may prompt for a password.
    Initial,
    /// New credentials: the present ones were refused or expire soon.
    Renewal(ClientFingerprint),
    /// A client of the present kubeconfig, if it differs.
    SettingsCheck(ClientFingerprint),
}

impl Credentials {
    /// Creates credentials from a context of a kubeconfig, or from this pod's service account, for a cluster of that name. Their
    /// commands do not prompt.
    pub fn new(contexts: Contexts, context: Option<String>, name: String) -> Self {
        let (impersonation, busy) = (Impersonation::default(), Arc::new(Semaphore::new(1)));
        Self { contexts, context, name, impersonation, may_run_commands: true, may_ask_people: false, busy }
    }

    /// Returns credentials that impersonate a user in requests.
    #[must_use]
    pub fn impersonating(self, impersonation: Impersonation) -> Self {
        Self { impersonation, ..self }
    }

    /// Returns credentials that run no command, even if the kubeconfig names one. If other people can reach this program, they
    /// would use the personal credentials of the person who started it, and a kubeconfig that others can write could run any
    /// command.
    #[must_use]
    pub fn without_commands(self) -> Self {
        Self { may_run_commands: false, ..self }
    }

    /// Returns credentials whose command may, or may not, prompt for a password when the first client is created.
    #[must_use]
    pub fn asking_people(self, may_ask_people: bool) -> Self {
        Self { may_ask_people, ..self }
    }

    /// Returns the name of the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether both use the same context of the same file.
    pub fn is_same_place(&self, other: &Self) -> bool {
        self.contexts.path() == other.contexts.path() && self.context == other.context
    }

    /// Returns these credentials with the kubeconfig read again.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub async fn reload(&self, pace: &Pace) -> Result<Self, TargetError> {
        if self.context.is_none() {
            return Ok(self.clone());
        }
        let contexts = self.contexts.clone();
        let contexts = self.run_blocking(pace.credentials, move || contexts.reload()).await??;
        Ok(Self { contexts, ..self.clone() })
    }

    /// Creates a client, running commands for credentials. All requests except `Initial` reload the kubeconfig, and return `None` if
    /// the client would be the same. If a command is wanted, `may_run_command` is called with the hash of its settings; if it
    /// returns false, the result is `None`, too.
    pub(super) async fn fetch(
        &self,
        request: CredentialRequest,
        pace: &Pace,
        may_run_command: impl FnOnce(u64) -> bool,
    ) -> Result<Option<FetchedClient>, TargetError> {
        let now = if request == CredentialRequest::Initial { self.clone() } else { self.reload(pace).await? };
        let runtime = tokio::runtime::Handle::current();
        // kube reads files of certificates and tokens here.
        let mut config = self.run_blocking(pace.credentials, move || runtime.block_on(now.config())).await??;
        self.impersonation.apply(&mut config.auth_info);
        config.cluster_url = reason::without_user(config.cluster_url);
        let place = place(&config);
        let mut fingerprint = ClientFingerprint { place, settings: hash(&(place, auth(&config))), credentials: 0 };
        if matches!(request, CredentialRequest::SettingsCheck(before) if before.settings == fingerprint.settings) {
            return Ok(None);
        }
        if self.may_run_commands && runs_command(&config.auth_info) && !may_run_command(fingerprint.settings) {
            return Ok(None);
        }
        let may_ask = self.may_ask_people && request == CredentialRequest::Initial;
        let expires_at_millis = self.ask_command(&mut config, may_ask, pace).await?;
        let (warnings, is_confidential) = (self.warnings(&config), is_confidential(&config));
        let address = config.cluster_url.to_string();
        let build = move || {
            fingerprint.credentials = hash(&(fingerprint.settings, auth(&config), files(&config)));
            if matches!(request, CredentialRequest::Renewal(before) if before.credentials == fingerprint.credentials) {
                return Ok(None);
            }
            let client = client_for(config)?;
            Ok(Some(FetchedClient { client, address, warnings, is_confidential, fingerprint, expires_at_millis }))
        };
        let built: kube::Result<_> = self.run_blocking(pace.credentials, build).await?;
        built.map_err(|why| self.unusable(&reason::describe(&why)))
    }

    async fn config(&self) -> Result<kube::Config, TargetError> {
        let Some(context) = self.context.clone() else {
            return kube::Config::incluster().map_err(|why| TargetError::InCluster(reason::describe(&why)));
        };
        self.contexts.choose(Some(&context))?;
        let Some(config) = self.contexts.config.clone() else { return Err(TargetError::None) };
        let named = proxy_url(&config, &context);
        let options = KubeConfigOptions { context: Some(context), ..Default::default() };
        let result = kube::Config::from_custom_kubeconfig(config, &options).await;
        let mut config = result.map_err(|why| self.unusable(&reason::describe(&why)))?;
        if config.default_namespace.is_empty() {
            config.default_namespace = "default".to_owned(); // as in kubectl
        }
        config.proxy_url = match named {
            Some(named) => named.parse().ok(),
            None => Proxies::of_environment().for_server(&config.cluster_url),
        };
        Ok(config)
    }

    /// Runs the command of the kubeconfig for credentials, unless others take precedence.
    async fn ask_command(
        &self,
        config: &mut kube::Config,
        may_ask: bool,
        pace: &Pace,
    ) -> Result<Option<Millis>, TargetError> {
        let auth = &mut config.auth_info;
        if !self.may_run_commands && runs_command(auth) {
            return Err(self.unusable(&PluginError::Refused.to_string()));
        }
        let is_given = has_secret(auth);
        let Some(command) = auth.exec.take().filter(|_| !is_given) else { return Ok(None) };
        let answered = plugin::run(&command, may_ask, pace).await.map_err(|why| self.unusable(&why.to_string()))?;
        if let Some((certificate, key)) = answered.certificate() {
            auth.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
            auth.client_key_data = Some(BASE64_STANDARD.encode(key).into());
        }
        let expires_at_millis = answered.expires_at_millis();
        auth.token = answered.token.map(Into::into);
        Ok(expires_at_millis)
    }

    /// Runs a job that may hang (files on a network, old kinds of commands that kube runs) in a thread of its own, with a time
    /// limit. While one hangs, no other begins.
    async fn run_blocking<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TargetError> {
        let hangs = || self.unusable("reading its files or fetching its credentials takes too long");
        let permit = self.busy.clone().try_acquire_owned().map_err(|_| hangs())?;
        let job = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            job()
        });
        let done = tokio::time::timeout(limit, job).await.map_err(|_| hangs())?;
        done.map_err(|why| self.unusable(&why.to_string()))
    }

    /// Returns the reasons why the connection to the cluster is less safe than it should be.
    fn warnings(&self, config: &kube::Config) -> Vec<String> {
        let (name, address) = (&self.name, &config.cluster_url);
        let mut all = Vec::new();
        if config.accept_invalid_certs {
            all.push(format!("{name}: the certificate of {address} is not verified (insecure-skip-tls-verify): an attacker on the network can read the credentials and fake the data"));
        }
        if is_read_on_the_way(config) && has_secret(&config.auth_info) {
            all.push(format!(
                "{name}: the credentials are sent to {address} without TLS, and others on the network can read them"
            ));
        }
        if !is_confidential(config) {
            all.push(format!("{name}: tokens of viewers (--auth token) are not sent to this cluster, because the connection is not secure; nobody can sign in to it with a token"));
        }
        all
    }

    pub(super) fn unusable(&self, why: &str) -> TargetError {
        TargetError::Unusable { name: self.name.clone(), why: timeline::words::safe(why) }
    }
}

/// Returns the address of the proxy that a context names.
fn proxy_url(config: &Kubeconfig, context: &str) -> Option<String> {
    let context = config.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    let cluster = config.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|proxy| !proxy.is_empty())
}

/// Returns whether requests go to another machine without TLS.
fn is_read_on_the_way(config: &kube::Config) -> bool {
    let address = &config.cluster_url;
    let is_here = is_this_machine(address.host().unwrap_or_default()) && config.proxy_url.is_none();
    address.scheme_str() != Some("https") && !is_here
}

/// Returns whether only that cluster can read requests: TLS proves its identity, or it is on this machine.
fn is_confidential(config: &kube::Config) -> bool {
    !config.accept_invalid_certs && !is_read_on_the_way(config)
}

/// Returns whether requests carry a reusable secret, such as a token or a password. Then no command is run for
/// credentials.
fn has_secret(auth: &AuthInfo) -> bool {
    let has_password = auth.username.is_some() && auth.password.is_some();
    auth.auth_provider.is_some() || auth.token.is_some() || auth.token_file.is_some() || has_password
}

/// Returns whether a command fetches credentials: client-go's "exec plugin", or that of an old auth provider, which
/// kube runs.
fn runs_command(auth: &AuthInfo) -> bool {
    let of_provider = auth.auth_provider.as_ref().is_some_and(|provider| provider.config.contains_key("cmd-path"));
    of_provider || (auth.exec.is_some() && !has_secret(auth))
}

fn place(config: &kube::Config) -> u64 {
    let proxy = config.proxy_url.as_ref().map(ToString::to_string);
    hash(&(config.cluster_url.to_string(), &config.root_cert, &config.tls_server_name, proxy))
}

/// Returns the kubeconfig's settings of the user in a fixed order: some of them are in hash maps.
fn auth(config: &kube::Config) -> Option<String> {
    serde_json::to_value(&config.auth_info).ok().map(|auth| auth.to_string())
}

/// Returns the contents of the files to which the kubeconfig refers.
fn files(config: &kube::Config) -> Vec<Option<Vec<u8>>> {
    let auth = &config.auth_info;
    let named = [&auth.token_file, &auth.client_certificate, &auth.client_key];
    named.into_iter().map(|path| std::fs::read(path.as_ref()?).ok()).collect()
}

fn hash(what: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_kubeconfig_read_again_is_the_same() {
        let env: Vec<_> = (0..20).map(|n| json!({ "name": format!("N{n}"), "value": "v", "x": "y" })).collect();
        let user = json!({ "exec": { "command": "fetch", "env": env } });
        let read = || {
            let mut config = kube::Config::new("http://localhost".parse().unwrap_or_default());
            config.auth_info = serde_json::from_value(user.clone()).unwrap_or_default();
            (config.auth_info.exec.is_some(), place(&config), auth(&config))
        };
        assert!(read().0);
        assert_eq!(read(), read());
    }

    #[tokio::test]
    async fn an_empty_namespace_of_a_context_is_the_default_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = json!({
            "contexts": [{ "name": "a", "context": { "cluster": "c", "user": "u", "namespace": "" } }],
            "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }],
        });
        std::fs::write(file.path(), config.to_string()).unwrap();
        let contexts = Contexts::read(Some(file.path())).unwrap();
        let credentials = Credentials::new(contexts, Some("a".to_owned()), "a".to_owned());
        assert_eq!(credentials.config().await.unwrap().default_namespace, "default");
    }

    #[test]
    fn it_is_known_which_users_show_a_secret_and_for_which_a_command_is_run() {
        for (user, is_secret, is_command) in [
            (json!({ "exec": { "command": "fetch" } }), false, true),
            (json!({ "token": "a", "exec": { "command": "fetch" } }), true, false),
            (json!({ "username": "a", "exec": { "command": "fetch" } }), false, true),
            (json!({ "token": "a", "auth-provider": { "name": "gcp", "config": { "cmd-path": "f" } } }), true, true),
            (json!({ "auth-provider": { "name": "gcp", "config": { "cmd-path": "fetch" } } }), true, true),
            (json!({ "auth-provider": { "name": "oidc", "config": { "id-token": "a" } } }), true, false),
            (json!({ "auth-provider": { "name": "a", "config": {} } }), true, false),
            (json!({ "token": "a" }), true, false),
            (json!({ "tokenFile": "a" }), true, false),
            (json!({ "username": "a", "password": "b" }), true, false),
            (json!({ "username": "a" }), false, false),
            (json!({ "client-certificate": "a", "client-key": "b" }), false, false),
        ] {
            let auth = serde_json::from_value(user.clone()).unwrap();
            assert_eq!((has_secret(&auth), runs_command(&auth)), (is_secret, is_command), "{user}");
        }
    }

    #[test]
    fn what_is_sent_to_a_cluster_is_its_own_only_where_it_shows_who_it_is() {
        for (address, is_unchecked, proxy, is_its_own) in [
            ("https://prod.example.com:6443", false, None, true),
            ("https://prod.example.com:6443", false, Some("http://proxy:3128"), true),
            ("https://prod.example.com:6443", true, None, false),
            ("https://127.0.0.1:6443", true, None, false), // it may be the end of a tunnel
            ("http://prod.example.com", false, None, false),
            ("http://127.0.0.1:8001", false, None, true),
            ("http://127.0.0.1:8001", false, Some("http://proxy:3128"), false),
        ] {
            let mut config = kube::Config::new(address.parse().unwrap());
            config.accept_invalid_certs = is_unchecked;
            config.proxy_url = proxy.map(|proxy| proxy.parse().unwrap());
            assert_eq!(is_confidential(&config), is_its_own, "{address} {is_unchecked} {proxy:?}");
        }
    }
}
