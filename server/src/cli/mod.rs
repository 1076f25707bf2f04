//! The command line. Doc comments are the help; every option can be given by environment variable.

mod listen;
mod sign_in;

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand};
use timeline::Retention;

pub use self::listen::{HalfTls, Listen, Served};
pub use self::sign_in::{SignIn, SignInError};
use crate::config::{Config, duration};
use crate::history::options::{self, Limits, Location, Options};
use crate::history::postgres::Server;

/// Watch Kubernetes rollouts live in a browser. Rollcast only reads: it never changes anything in a cluster.
#[derive(Debug, Parser)]
#[command(name = "rollcast", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch clusters and serve their rollouts as web pages
    Serve(Box<Serve>),
    /// Serve the same pages, fed by recordings
    Replay(Replay),
    /// A cluster in a box, to do things to and watch the controllers cope: needs no cluster, nothing leaves this machine
    Demo(Demo),
    /// Write what is observed in a cluster as JSON lines to standard output, until interrupted
    Record(Record),
    /// Print the timeline document of a recording
    Report(Report),
    /// Show one rollout live in the terminal; q ends it. Prints lines where standard output is no terminal
    Trace(Trace),
    /// Wait until rollouts are complete: exit code 0 complete, 1 failed, 124 timed out, 2 cannot watch
    ///
    /// Only what is live decides: while a cluster or a server does not answer, nothing is complete, failed or missing.
    ///
    /// It waits for the Deployment that has the name when waiting begins, as kubectl rollout status does: once that one is deleted,
    /// or replaced by another one of its name, it has failed.
    ///
    /// A server may learn of a change a moment after it was made. So with --server nothing is decided in the first second; a server
    /// that is further behind than that may still tell of the rollout before.
    Wait(Wait),
    /// Say whether a cluster answers and what may be read; exit code 2 if something is missing
    Check(Check),
    /// Look through what is kept, make it smaller, hand on a rollout as a file
    History(HistoryOf),
    /// Links for people without an account, of a running Rollcast on which people sign in
    Share(ShareOf),
    /// Write a rollout of a recording or of a running Rollcast to standard output as one HTML file, to look at and play without a server
    ///
    /// The file holds the page with its time control, story and details, and loads nothing. A recording comes from `rollcast record`
    /// or `rollcast history export`.
    Export(Export),
}

/// What to do with links, on which Rollcast.
#[derive(Debug, Args)]
pub struct ShareOf {
    /// The running Rollcast
    #[arg(long, env = "ROLLCAST_SERVER", value_name = "URL", global = true)]
    pub server: Option<String>,
    /// File with the token that is shown to the server
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub what: ShareCommand,
}

/// What can be done with links.
#[derive(Debug, Subcommand)]
pub enum ShareCommand {
    /// Make one, and print it
    Make {
        /// What it opens and nothing else: the address of a Deployment, of one of its rollouts or moments, or of a wall, such as /wall
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// How long it lasts: 1h to 30d
        #[arg(long = "for", env = "ROLLCAST_FOR", default_value = "1d", value_name = "TIME")]
        lasts: String,
        /// Let chats show a preview of what it opens to everybody who sees the link
        #[arg(long, env = "ROLLCAST_ALLOW_PREVIEW")]
        allow_preview: bool,
    },
    /// List those that still open something: your own, or everybody's if you may see everything
    Ls,
    /// Take one away: it opens nothing any more
    Revoke {
        /// Its name, as it is listed
        #[arg(value_name = "NAME")]
        id: String,
    },
}

/// Which clusters.
#[derive(Debug, Args)]
pub struct Clusters {
    /// Kubeconfig file; else KUBECONFIG, ~/.kube/config, or the cluster this runs in
    #[arg(long, env = "ROLLCAST_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context to use, repeatable; each is a cluster of its own. Without it, the current context
    #[arg(long, env = "ROLLCAST_CONTEXT", value_delimiter = ',', value_name = "CONTEXT")]
    pub context: Vec<String>,
    /// Use every context of the kubeconfig
    #[arg(long, env = "ROLLCAST_ALL_CONTEXTS", conflicts_with = "context")]
    pub all_contexts: bool,
    /// Leave out the texts that people and programs of the clusters write: change causes, termination messages, answers to probes
    #[arg(long, env = "ROLLCAST_HIDE_MESSAGES")]
    pub hide_messages: bool,
}

/// How much history pages hold, and what is kept beyond the life of the program.
#[derive(Debug, Args)]
pub struct History {
    /// Folder for the history that lasts [default: rollcast in this platform's state folder, ~/.local/state on Linux]
    #[arg(long, env = "ROLLCAST_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Keep the history that lasts in this PostgreSQL database, as postgres://USER:PASSWORD@HOST/DATABASE: for several Rollcasts
    #[arg(long, env = "ROLLCAST_HISTORY", hide_env_values = true, conflicts_with = "data_dir", value_name = "URL")]
    pub history: Option<Server>,
    /// Keep no history beyond the life of the program
    #[arg(long, env = "ROLLCAST_NO_HISTORY", conflicts_with_all = ["data_dir", "history", "keep_for", "keep_bytes"])]
    pub no_history: bool,
    /// Keep what was observed this long [default: 30d]
    #[arg(long, env = "ROLLCAST_KEEP_FOR", value_parser = duration, value_name = "TIME")]
    pub keep_for: Option<Duration>,
    /// Keep at most this much, for example 500MB or 2GB: what is oldest goes first [default: 2GB]
    #[arg(long, env = "ROLLCAST_KEEP_BYTES", value_name = "SIZE")]
    pub keep_bytes: Option<ByteSize>,
    /// Pages hold what ended at most this long ago, for example 90m, 24h or 7d [default: 24h]
    #[arg(long, env = "ROLLCAST_HISTORY_AGE", value_parser = duration, value_name = "TIME")]
    pub history_age: Option<Duration>,
    /// Pods that are gone to remember per Deployment; those of the last 15 minutes always are [default: 1000]
    #[arg(long, env = "ROLLCAST_HISTORY_PODS", value_name = "N")]
    pub history_pods: Option<usize>,
    /// Rollouts to remember per Deployment [default: 50]
    #[arg(long, env = "ROLLCAST_HISTORY_ROLLOUTS", value_name = "N")]
    pub history_rollouts: Option<usize>,
}

impl History {
    /// As the timeline takes it; the file says what the command line does not.
    #[must_use]
    pub fn retention(&self, file: &Config) -> Retention {
        let usual = Retention::default();
        let age = self.history_age.or(file.history_age).and_then(|age| i64::try_from(age.as_millis()).ok());
        Retention {
            age_millis: age.unwrap_or(usual.age_millis),
            gone_pods: self.history_pods.or(file.history_pods).unwrap_or(usual.gone_pods),
            rollouts: self.history_rollouts.or(file.history_rollouts).unwrap_or(usual.rollouts).max(1),
            ..usual
        }
    }

    /// Where history is kept, and how much of it; `None` when none is to be kept. The file says what the command line does not.
    ///
    /// # Errors
    /// When nothing says where, and this platform has no folder for that.
    pub fn kept(&self, file: &Config) -> Result<Option<Options>, NoFolder> {
        let is_said =
            self.data_dir.is_some() || self.history.is_some() || self.keep_for.is_some() || self.keep_bytes.is_some();
        if self.no_history || (file.no_history && !is_said) {
            return Ok(None);
        }
        let said = location(self.history.as_ref(), self.data_dir.as_ref());
        let location = match said.or_else(|| location(file.history.as_ref(), file.data_dir.as_ref())) {
            Some(location) => location,
            None => usual()?,
        };
        let limits = Limits::of(self.keep_for.or(file.keep_for), self.keep_bytes.or(file.keep_bytes));
        Ok(Some(Options { location, limits }))
    }
}

fn location(server: Option<&Server>, folder: Option<&PathBuf>) -> Option<Location> {
    server.cloned().map(Location::Postgres).or_else(|| folder.cloned().map(Location::Folder))
}

fn usual() -> Result<Location, NoFolder> {
    options::usual_folder().map(Location::Folder).ok_or(NoFolder)
}

/// Nothing says where history is to be kept.
#[derive(Debug, thiserror::Error)]
#[error("there is no folder for history here: name one with --data-dir, or keep none with --no-history")]
pub struct NoFolder;

/// `rollcast serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Configuration file; without it rollcast/rollcast.toml in the user's configuration folder (~/.config on Linux), if it is there.
    /// Options win over it
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Which clusters.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to watch, repeatable; without it, all of them. Needs permission in these namespaces only
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
    /// How much history is kept.
    #[command(flatten)]
    pub history: History,
    /// Who is let in.
    #[command(flatten)]
    pub sign_in: SignIn,
    /// Where to serve.
    #[command(flatten)]
    pub listen: Listen,
}

/// `rollcast replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// Recordings, each served as a cluster named after its file
    #[arg(required = true, value_name = "FILE.jsonl")]
    pub files: Vec<PathBuf>,
    /// Times as fast as it happened
    #[arg(long, env = "ROLLCAST_SPEED", default_value_t = 1.0, value_parser = speed, value_name = "X")]
    pub speed: f64,
    /// Begin again at the end
    #[arg(long, env = "ROLLCAST_LOOP")]
    pub r#loop: bool,
    /// Begin when the first page looks, so that it misses nothing
    #[arg(long, env = "ROLLCAST_WHEN_WATCHED")]
    pub when_watched: bool,
    /// Play this many seconds at once and stop there
    #[arg(long, env = "ROLLCAST_HOLD_AT", conflicts_with_all = ["loop", "speed", "when_watched"], value_name = "SECONDS")]
    pub hold_at: Option<f64>,
    /// Where to serve.
    #[command(flatten)]
    pub listen: Listen,
}

/// `rollcast demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// What its chances follow from: the same seed gives the same cluster
    #[arg(long, env = "ROLLCAST_SEED", default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// How many times as fast as usual time passes in it
    #[arg(long, env = "ROLLCAST_SPEED", default_value_t = 1.0, value_parser = speed, value_name = "X")]
    pub speed: f64,
    /// Port of its Kubernetes API, on loopback; 0 for any that is free
    #[arg(long, env = "ROLLCAST_API_PORT", default_value_t = 0, value_name = "PORT")]
    pub api_port: u16,
    /// Where to write its kubeconfig; without it, a file of its own in the folder for temporary files
    #[arg(long, env = "ROLLCAST_WRITE_KUBECONFIG", value_name = "FILE")]
    pub write_kubeconfig: Option<PathBuf>,
    /// No stories: nothing happens but by you
    #[arg(long, env = "ROLLCAST_NO_STORIES")]
    pub no_stories: bool,
    /// Where to serve.
    #[command(flatten)]
    pub listen: Listen,
}

/// `rollcast record`.
#[derive(Debug, Args)]
pub struct Record {
    /// Which clusters.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to record; without it, all of them
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

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
    /// Follow a running Rollcast at this address instead of the API server
    #[arg(long, env = "ROLLCAST_SERVER", conflicts_with_all = ["context", "kubeconfig"], value_name = "URL")]
    pub server: Option<String>,
    /// With --server: file with a Kubernetes token, where people have to sign in
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", requires = "server", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// With --server: the cluster to look in, where it watches several
    #[arg(long, env = "ROLLCAST_CLUSTER", requires = "server", value_name = "NAME")]
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

/// `rollcast trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// The Deployment
    #[arg(value_name = "deployment/NAME")]
    pub deployment: Named,
    /// Where to follow it.
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

/// `rollcast wait`.
#[derive(Debug, Args)]
pub struct Wait {
    /// The Deployments
    #[arg(required = true, value_name = "deployment/NAME")]
    pub deployment: Vec<Named>,
    /// Where to follow them.
    #[command(flatten)]
    pub from: Follow,
    /// Give up after this time: 30s, 10m, 1h
    #[arg(long, env = "ROLLCAST_TIMEOUT", default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub timeout: Duration,
    /// End at the first cause that will not pass by itself: image not found, crash loop, configuration error
    #[arg(long, env = "ROLLCAST_FAIL_FAST")]
    pub fail_fast: bool,
    /// What to print
    #[arg(long, short, env = "ROLLCAST_OUTPUT", value_enum, default_value = "text", value_name = "FORMAT")]
    pub output: Output,
    /// However it ends, write the rollout to this file, to look at and play without a server; of one Deployment
    #[arg(long, env = "ROLLCAST_EXPORT", value_name = "FILE.html")]
    pub export: Option<PathBuf>,
    /// In that file, replace the names of clusters, namespaces, nodes and images
    #[arg(long, env = "ROLLCAST_REDACT", requires = "export")]
    pub redact: bool,
}

/// `rollcast export`.
#[derive(Debug, Args)]
pub struct Export {
    /// The recording; - for standard input. With --server: the Deployment, where there is no such file
    #[arg(value_name = "FILE.jsonl|deployment/NAME")]
    pub of: String,
    /// The Deployment, where the recording is of several
    #[arg(value_name = "deployment/NAME")]
    pub deployment: Option<Named>,
    /// Take it from a running Rollcast at this address, live or from what it keeps, instead of from a recording
    #[arg(long, env = "ROLLCAST_SERVER", value_name = "URL")]
    pub server: Option<String>,
    // The environment may name these for other commands: who makes a file of a recording need not name a server for them.
    /// With --server: file with a Kubernetes token, where people have to sign in
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// With --server: the cluster to look in, where it watches several
    #[arg(long, env = "ROLLCAST_CLUSTER", value_name = "NAME")]
    pub cluster: Option<String>,
    /// Its namespace, where several have one of that name; with --server, without it, default
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Its revision; without it, its last rollout
    #[arg(long, env = "ROLLCAST_REVISION", value_name = "N")]
    pub revision: Option<u64>,
    /// Replace the names of clusters, namespaces, nodes and images, each by the same other name wherever it stands
    #[arg(long, env = "ROLLCAST_REDACT")]
    pub redact: bool,
}

/// `rollcast check`.
#[derive(Debug, Args)]
pub struct Check {
    /// How much history is kept.
    #[command(flatten)]
    pub history: History,
    /// Configuration file; without it rollcast/rollcast.toml in the user's configuration folder (~/.config on Linux), if it is there.
    /// Options win over it
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Which clusters.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to check, repeatable; without it, all of them
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
}

/// `rollcast history`.
#[derive(Debug, Args)]
pub struct HistoryOf {
    /// Folder of the history [default: rollcast in this platform's state folder, ~/.local/state on Linux]
    #[arg(long, global = true, env = "ROLLCAST_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// PostgreSQL database of the history, as postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(
        long,
        global = true,
        env = "ROLLCAST_HISTORY",
        hide_env_values = true,
        conflicts_with = "data_dir",
        value_name = "URL"
    )]
    pub history: Option<Server>,
    /// What to do.
    #[command(subcommand)]
    pub what: HistoryCommand,
}

/// What to do with what is kept.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Read everything, also while a Rollcast writes it; exit code 2 if something is damaged
    Check,
    /// Do at once what a Rollcast does in time: join, fold, let go of what is old or too much. None may be running
    Compact {
        /// Keep what was observed this long [default: 30d]
        #[arg(long, env = "ROLLCAST_KEEP_FOR", value_parser = duration, value_name = "TIME")]
        keep_for: Option<Duration>,
        /// Keep at most this much [default: 2GB]
        #[arg(long, env = "ROLLCAST_KEEP_BYTES", value_name = "SIZE")]
        keep_bytes: Option<ByteSize>,
    },
    /// Write a rollout to standard output, as `rollcast record` writes it and `rollcast replay` plays it
    Export {
        /// The Deployment
        #[arg(value_name = "deployment/NAME")]
        deployment: Named,
        /// Its revision; without it, its last rollout
        #[arg(long, value_name = "N")]
        revision: Option<u64>,
        /// Its namespace, where several have one of that name
        #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_name = "NAMESPACE")]
        namespace: Option<String>,
        /// Its cluster, where several have one
        #[arg(long, env = "ROLLCAST_CLUSTER", value_name = "NAME")]
        cluster: Option<String>,
        /// Replace the names of clusters, namespaces, nodes and images, each by the same other name wherever it stands
        #[arg(long, env = "ROLLCAST_REDACT")]
        redact: bool,
    },
}

impl HistoryOf {
    /// Where it is, and how much is kept of it.
    ///
    /// # Errors
    /// When nothing says where, and this platform has no folder for that.
    pub fn options(&self) -> Result<Options, NoFolder> {
        let (keep_for, keep_bytes) = match &self.what {
            HistoryCommand::Compact { keep_for, keep_bytes } => (*keep_for, *keep_bytes),
            HistoryCommand::Check | HistoryCommand::Export { .. } => (None, None),
        };
        let limits = Limits::of(keep_for, keep_bytes);
        let location = match location(self.history.as_ref(), self.data_dir.as_ref()) {
            Some(location) => location,
            None => usual()?,
        };
        Ok(Options { location, limits })
    }
}

/// `rollcast report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The recording
    #[arg(value_name = "FILE.jsonl")]
    pub file: PathBuf,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && (0.01..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("must be a number from 0.01 to 1000".to_owned()),
    }
}
