//! Following rollouts in the terminal: where, which, and until when.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::duration;

/// Where to follow a rollout.
#[derive(Debug, Args)]
pub struct Follow {
    /// Namespace; without it, the context's
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig; without it, the current one
    #[arg(long, env = "ROLLCAST_CONTEXT", value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Kubeconfig file; else KUBECONFIG, ~/.kube/config, or the cluster this runs in
    #[arg(long, env = "ROLLCAST_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Follow a running Rollcast at this address instead of the API server; where the environment names both, this
    #[arg(long, env = "ROLLCAST_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// How that is asked.
    #[command(flatten)]
    pub of_server: OfServer,
}

/// How a running Rollcast is asked.
#[derive(Debug, Args)]
pub struct OfServer {
    /// With --server: file with a Kubernetes token, where people have to sign in
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// With --server: the cluster to look in, where it watches several
    #[arg(long, env = "ROLLCAST_CLUSTER", value_name = "NAME")]
    pub cluster: Option<String>,
}

/// A Deployment as kubectl takes it: `deployment/NAME`, `deploy/NAME` or NAME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named(pub String);

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = match text.split_once('/') {
            None => text,
            Some(("deployment" | "deployments" | "deploy" | "deployment.apps" | "deployments.apps", name)) => name,
            Some((kind, _)) => return Err(format!("only Deployments can be followed, not {kind}")),
        };
        if name.is_empty() || name.contains('/') {
            return Err("must be deployment/NAME".to_owned());
        }
        Ok(Self(name.to_owned()))
    }
}

/// What `rollcast trace` is told.
#[derive(Debug, Args)]
pub struct Trace {
    /// The Deployment
    #[arg(value_name = "deployment/NAME")]
    pub deployment: Named,
    /// Where the rollout is followed: in a cluster, or at a running Rollcast.
    #[command(flatten)]
    pub from: Follow,
}

/// What `rollcast wait` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// What happens, a line each; the last line says how it ended and why
    Text,
    /// The timeline document at the end, of several Deployments a list; null for what does not come, nothing with exit code 2.
    /// Lines go to standard error
    Json,
}

/// What `rollcast wait` is told.
#[derive(Debug, Args)]
pub struct Wait {
    /// The Deployments
    #[arg(required = true, value_name = "deployment/NAME")]
    pub deployment: Vec<Named>,
    /// Where the rollouts are followed: in a cluster, or at a running Rollcast.
    #[command(flatten)]
    pub from: Follow,
    /// Give up after this time: 30s, 10m, 1h
    #[arg(long, env = "ROLLCAST_TIMEOUT", default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub timeout: Duration,
    /// End at the first cause that will not pass by itself: image not found, crash loop, configuration error
    #[arg(long, env = "ROLLCAST_FAIL_FAST")]
    pub fail_fast: bool,
    /// Complete counts only after this long without an exit, a restart or a lost pod: 30s, 2m
    #[arg(long, env = "ROLLCAST_SETTLE", value_parser = duration, value_name = "TIME")]
    pub settle: Option<Duration>,
    /// What to print
    #[arg(long, short, env = "ROLLCAST_OUTPUT", value_enum, default_value = "text", value_name = "FORMAT")]
    pub output: Output,
    /// However it ends, write the rollout to this file, to look at and play without a server; of one Deployment
    #[arg(long, env = "ROLLCAST_EXPORT", value_name = "FILE.html")]
    pub export: Option<PathBuf>,
    /// In that file, replace the names of clusters, namespaces, nodes and images
    #[arg(long, env = "ROLLCAST_REDACT")]
    pub redact: bool,
}
