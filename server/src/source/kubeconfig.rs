//! From a kubeconfig to clients: one per context, or a sentence that says what is wrong and what to do.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

/// A cluster that can be asked.
pub struct Target {
    /// Name of the context: the name of the cluster in pages and addresses.
    pub name: String,
    /// Address of the API server.
    pub address: String,
    /// Client with the context's credentials.
    pub client: kube::Client,
    /// Namespace of the context.
    pub namespace: String,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The file cannot be read or parsed.
    #[error("cannot read the kubeconfig {path}: {why}. Give the right file with --kubeconfig or in KUBECONFIG.")]
    File {
        /// Its path.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// There is no kubeconfig and this is not a pod of a cluster.
    #[error("no kubeconfig was found. Give one with --kubeconfig, or in KUBECONFIG, or put it at ~/.kube/config.")]
    None,
    /// No such context.
    #[error("the kubeconfig has no context {name:?}. It has: {known}.")]
    Context {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The context's parts do not fit together.
    #[error("context {name:?} of the kubeconfig cannot be used: {why}")]
    Unusable {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
}

/// Makes a client for each of the named contexts, or for the current one.
///
/// # Errors
/// When the kubeconfig or a context cannot be used. Whether the server answers is not asked here.
pub async fn targets(kubeconfig: Option<&Path>, contexts: &[String]) -> Result<Vec<Target>, TargetError> {
    let (config, path) = read(kubeconfig)?;
    let Some(config) = config else {
        return in_cluster().map(|target| vec![target]);
    };
    let known: Vec<String> = config.contexts.iter().map(|context| context.name.clone()).collect();
    let wanted: Vec<String> = match (contexts, &config.current_context) {
        ([], Some(current)) => vec![current.clone()],
        ([], None) => {
            let why = "it names no current context; choose one with --context".to_owned();
            return Err(TargetError::File { path, why });
        }
        (named, _) => named.to_vec(),
    };
    let mut targets = Vec::new();
    for name in wanted {
        if !known.contains(&name) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(TargetError::Context { name, known });
        }
        targets.push(target(config.clone(), name).await?);
    }
    Ok(targets)
}

fn read(kubeconfig: Option<&Path>) -> Result<(Option<Kubeconfig>, String), TargetError> {
    let named = kubeconfig.map(|path| path.display().to_string());
    let read = match kubeconfig {
        Some(path) => Kubeconfig::read_from(path).map(Some),
        None => match Kubeconfig::from_env() {
            Ok(Some(config)) => Ok(Some(config)),
            Ok(None) => match Kubeconfig::read() {
                Err(KubeconfigError::ReadConfig(error, _)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(KubeconfigError::FindPath) => Ok(None),
                other => other.map(Some),
            },
            Err(error) => Err(error),
        },
    };
    let path = named.unwrap_or_else(|| std::env::var("KUBECONFIG").unwrap_or_else(|_| "~/.kube/config".into()));
    match read {
        Ok(config) => Ok((config, path)),
        Err(KubeconfigError::ReadConfig(why, path)) => {
            Err(TargetError::File { path: path.display().to_string(), why: why.to_string() })
        }
        Err(why) => Err(TargetError::File { path, why: timeline::words::safe(&why.to_string()) }),
    }
}

fn in_cluster() -> Result<Target, TargetError> {
    let config = kube::Config::incluster().map_err(|_| TargetError::None)?;
    client("in-cluster".into(), config)
}

async fn target(config: Kubeconfig, name: String) -> Result<Target, TargetError> {
    let options = KubeConfigOptions { context: Some(name.clone()), ..Default::default() };
    match kube::Config::from_custom_kubeconfig(config, &options).await {
        Ok(config) => client(name, config),
        Err(why) => Err(TargetError::Unusable { name, why: why.to_string() }),
    }
}

/// A client that fails fast and never asks twice by itself: when to ask again is the watch loop's business alone.
///
/// # Errors
/// When the configuration's credentials or certificates cannot be used.
pub fn client_for(mut config: kube::Config) -> kube::Result<kube::Client> {
    config.connect_timeout = Some(Duration::from_secs(5));
    config.default_retry = false;
    kube::Client::try_from(config)
}

fn client(name: String, config: kube::Config) -> Result<Target, TargetError> {
    let address = config.cluster_url.to_string();
    let namespace = config.default_namespace.clone();
    match client_for(config) {
        Ok(client) => Ok(Target { name, address, client, namespace }),
        Err(why) => Err(TargetError::Unusable { name, why: why.to_string() }),
    }
}
