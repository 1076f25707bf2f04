//! The command line. Doc comments are the help; every option can be given by environment variable.

mod follow;
mod given;
mod history;
mod listen;
mod provider;
mod share;
mod sign_in;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use self::follow::{Follow, Named, OfServer, Output, Trace, Wait};
pub use self::history::{History, HistoryCommand, HistoryOf, NoLocation};
pub use self::listen::{HalfTls, Listen, Served};
pub use self::share::{ShareCommand, ShareOf};
pub use self::sign_in::{SignIn, SignInError};

/// Watch Kubernetes rollouts live in a browser. Rollcast only reads: it never changes anything in a cluster.
#[derive(Debug, Parser)]
#[command(name = "rollcast", version)]
pub struct Cli {
    /// The command, with what it takes; without one, what there is to watch is told.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Reads what the program was started with. What the environment names besides for other commands is not in the way: only what
    /// stands on the command line has to fit together.
    ///
    /// # Errors
    /// When it makes no sense; the error is also how help is shown.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(arguments).map_err(without_secrets)?;
        let mut read = Self::from_arg_matches(&matches).map_err(|why| why.format(&mut command))?;
        if let Some((name, given)) = matches.subcommand() {
            let sort_out = match &mut read.command {
                Some(Command::Trace(trace)) => given::follow(&mut trace.from, given),
                Some(Command::Demo(demo)) => {
                    given::demo(demo, given);
                    Ok(())
                }
                Some(Command::Replay(replay)) => given::replay(replay, given),
                Some(Command::Wait(wait)) => {
                    given::follow(&mut wait.from, given).and_then(|()| given::wait(wait, given))
                }
                _ => Ok(()),
            };
            let of = command.find_subcommand_mut(name).map(|of| of.to_owned());
            sort_out.map_err(|(kind, why)| of.unwrap_or(command).error(kind, why))?;
        }
        Ok(read)
    }
}

/// The same error without the text that it is about, where that is an address which may hold a password.
fn without_secrets(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        let may_be_secret = |value: &ContextValue| matches!(value, ContextValue::String(text) if text.contains('@'));
        if error.get(kind).is_some_and(may_be_secret) {
            error.insert(kind, ContextValue::String("…".to_owned()));
        }
    }
    error
}

/// The commands that there are.
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

/// The clusters that a command looks at, as they are named on the command line.
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

/// What `rollcast serve` is told.
#[derive(Debug, Args)]
pub struct Serve {
    /// Configuration file; without it rollcast/rollcast.toml in the user's configuration folder (~/.config on Linux), if it is there.
    /// Options win over it
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The clusters that it looks at.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to watch, repeatable; without it, all of them. Needs permission in these namespaces only
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
    /// Run the commands that a kubeconfig names to fetch credentials (exec plugins), although people sign in, other machines reach this
    /// server, or something in front of it is named (--trust-proxy, --public-url, --allow-host). Else they are always run
    #[arg(long, env = "ROLLCAST_ALLOW_EXEC_PLUGINS")]
    pub allow_exec_plugins: bool,
    /// How much history it holds, and what of it lasts.
    #[command(flatten)]
    pub history: History,
    /// Who is let in, and how they are known.
    #[command(flatten)]
    pub sign_in: SignIn,
    /// The address at which it serves, and under which names.
    #[command(flatten)]
    pub listen: Listen,
}

/// What `rollcast replay` is told.
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
    /// Keep what is played in this folder beyond the life of the program; without it, nothing is kept. Each start is another cluster: where
    /// the name of the file is taken, it gets a number. Only where it is written here: the environment names the folder of `rollcast serve`
    #[arg(long, env = "ROLLCAST_DATA_DIR", hide_env = true, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// The address at which it serves, and under which names.
    #[command(flatten)]
    pub listen: Listen,
}

/// What `rollcast demo` is told.
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
    /// Keep its history in this folder beyond the life of the program; without it, none is kept. Each start is another cluster of that
    /// name, whatever the seed is. Only where it is written here: the environment names the folder of `rollcast serve`
    #[arg(long, env = "ROLLCAST_DATA_DIR", hide_env = true, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// The address at which it serves, and under which names.
    #[command(flatten)]
    pub listen: Listen,
}

/// What `rollcast record` is told.
#[derive(Debug, Args)]
pub struct Record {
    /// The clusters that it looks at.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to record; without it, all of them
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// What `rollcast export` is told.
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
    /// How that is asked.
    #[command(flatten)]
    pub of_server: OfServer,
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

/// What `rollcast check` is told.
#[derive(Debug, Args)]
pub struct Check {
    /// How much history it holds, and what of it lasts.
    #[command(flatten)]
    pub history: History,
    /// Configuration file; without it rollcast/rollcast.toml in the user's configuration folder (~/.config on Linux), if it is there.
    /// Options win over it
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The clusters that it looks at.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to check, repeatable; without it, all of them
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
}

/// What `rollcast report` is told.
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
