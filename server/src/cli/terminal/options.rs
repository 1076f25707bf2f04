//! Options of the commands that run in a terminal: `trace`, `wait`, `share`. Doc comments are their help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::config::parse_nonempty;
use crate::kube::credentials::Impersonation;
use crate::telemetry::clock::parse_duration;

/// Options of following a rollout.
#[derive(Debug, Args)]
pub struct FollowOptions {
    /// Namespace of the Deployment [default: the context's namespace; with --server: default]
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_parser = parse_nonempty, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Kubeconfig context [default: the current context]
    #[arg(long, env = "ROLLCAST_CONTEXT", value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Kubeconfig file [default: KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, env = "ROLLCAST_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) impersonation: Impersonation,
    /// URL of a running Rollcast server to follow, instead of the Kubernetes API server
    ///
    /// If the environment sets a server and also a context or a kubeconfig, the server wins.
    #[arg(long, env = "ROLLCAST_SERVER", value_parser = parse_nonempty, value_name = "URL")]
    pub server: Option<String>,
    #[command(flatten)]
    pub(crate) remote: RemoteOptions,
}

/// Options of requests to a running server.
#[derive(Debug, Args)]
pub struct RemoteOptions {
    /// With --server: file with a Kubernetes token or an ID token of its provider, if it requires sign-in
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// With --server: cluster of the Deployment, if the server watches several
    #[arg(long, env = "ROLLCAST_CLUSTER", value_name = "NAME")]
    pub cluster: Option<String>,
}

/// A Deployment as kubectl takes it: `deployment/NAME`, `deploy/NAME` or NAME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentArgument(pub String);

impl std::str::FromStr for DeploymentArgument {
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

/// Arguments of `rollcast trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// Deployment to follow
    #[arg(value_name = "deployment/NAME")]
    pub deployment: DeploymentArgument,
    #[command(flatten)]
    pub(crate) from: FollowOptions,
}

/// Output formats of `rollcast wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// One line for each event; the last line says how the rollout ended and why
    Text,
    /// The timeline document at the end: a list for several Deployments, null if unavailable, nothing on exit code 2. Event lines go
    /// to standard error
    Json,
}

/// Arguments of `rollcast wait`.
#[derive(Debug, Args)]
pub struct Wait {
    /// Deployments to wait for
    #[arg(required = true, value_name = "deployment/NAME")]
    pub deployment: Vec<DeploymentArgument>,
    #[command(flatten)]
    pub(crate) from: FollowOptions,
    /// Give up after this time, for example 30s, 10m or 1h
    #[arg(long, env = "ROLLCAST_TIMEOUT", default_value = "10m", value_parser = parse_duration, value_name = "TIME")]
    pub timeout: Duration,
    /// Stop at the first cause that does not resolve by itself: image not found, crash loop, configuration error
    #[arg(long, env = "ROLLCAST_FAIL_FAST")]
    pub fail_fast: bool,
    /// Require this long without a container exit, a restart or a lost pod after completion, for example 30s or 2m
    #[arg(long, env = "ROLLCAST_SETTLE", value_parser = parse_duration, value_name = "TIME")]
    pub settle: Option<Duration>,
    /// Output format
    #[arg(long, short, env = "ROLLCAST_OUTPUT", value_enum, default_value = "text", value_name = "FORMAT")]
    pub output: Output,
    /// Write the rollout to this self-contained HTML file, however the wait ends; for one Deployment only
    #[arg(long, env = "ROLLCAST_EXPORT", value_name = "FILE.html")]
    pub export: Option<PathBuf>,
    /// With --export: replace the names of clusters, namespaces, nodes and images with consistent placeholders
    #[arg(long, env = "ROLLCAST_REDACT")]
    pub redact: bool,
}

/// Arguments of `rollcast share`.
#[derive(Debug, Args)]
pub struct ShareArguments {
    /// URL of the running Rollcast server
    #[arg(long, env = "ROLLCAST_SERVER", value_parser = parse_nonempty, value_name = "URL", global = true)]
    pub server: Option<String>,
    /// File with the token to sign in with
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) what: ShareCommand,
}

/// Subcommands of `rollcast share`.
#[derive(Debug, Subcommand)]
pub enum ShareCommand {
    /// Create a share link and print it
    Make {
        /// Address of the page to share: a Deployment, one of its rollouts or moments, or a wall such as /wall
        ///
        /// The link shows this page and nothing else.
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// Lifetime of the link, from 1h to 30d
        #[arg(long = "for", env = "ROLLCAST_FOR", default_value = "1d", value_name = "TIME")]
        lasts: String,
        /// Let chat programs show a preview of the page to everybody who sees the link
        #[arg(long, env = "ROLLCAST_ALLOW_PREVIEW")]
        allow_preview: bool,
    },
    /// List the active share links: your own, or all of them if you may see everything
    Ls,
    /// Revoke a share link
    Revoke {
        /// Name of the link, as `rollcast share ls` prints it
        #[arg(value_name = "NAME")]
        id: String,
    },
}
