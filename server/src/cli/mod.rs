//! Reads the command line, the configuration file and the environment, and starts the command.
//! Owns the options and their help, the settings, and the wiring of all other rooms.
//! No other room knows it.
//!
//! Doc comments are the help; every option can be given by environment variable.

pub mod clusters;
pub mod commands;
pub mod config;
mod history;
mod listen;
mod provider;
pub mod run;
mod sign_in;
pub mod terminal;
mod validate;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::ValueRange;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use timeline::wire::PROTOCOL;

pub use self::history::{History, HistoryArguments, HistoryCommand, RolloutSelector};
pub use self::listen::{Listen, ServerOptions};
pub use self::sign_in::SignIn;
use crate::cli::terminal::options::{DeploymentArgument, FollowOptions, RemoteOptions, ShareArguments, Trace, Wait};
use crate::feed::playground;
use crate::feed::replay::ReplayOptions;
use crate::kube::credentials::Impersonation;

/// Name of the program as a kubectl plugin.
const PLUGIN: &str = "kubectl-rollcast";
/// Name under which kubectl starts the program to request completions.
const COMPLETER: &str = "kubectl_complete-rollcast";

/// Watch Kubernetes rollouts live in a browser. Rollcast only reads: it never changes anything in a cluster.
#[derive(Debug, Parser)]
#[command(name = "rollcast", version = version())]
pub struct Cli {
    /// The command, with what it takes; without one, what there is to watch is told.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Returns version, build and protocol. `cargo xtask` sets the commit of a release.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let build = option_env!("ROLLCAST_COMMIT").map_or("development build".to_owned(), |id| format!("build {id}"));
        format!("{} ({build}, protocol {PROTOCOL})", env!("CARGO_PKG_VERSION"))
    });
    &VERSION
}

impl Cli {
    /// Returns the events that are logged by default: none for the commands that print everything themselves.
    pub const fn usual_log(&self) -> &'static str {
        match self.command {
            None | Some(Command::Trace(_) | Command::Wait(_) | Command::Completion { .. } | Command::Manual { .. }) => {
                "off"
            }
            Some(Command::Open(_)) => "warn,hyper=warn,kube=warn,kube_client=off",
            _ => "info,hyper=warn,kube=warn,kube_client=off",
        }
    }

    /// Returns the command line under the name that the program was started with: kubectl starts a plugin as `kubectl-rollcast`, and people
    /// write `kubectl rollcast`.
    fn command_named_as(program: Option<&OsString>) -> clap::Command {
        let command = Self::command();
        if is_named(program, PLUGIN) { command.bin_name("kubectl rollcast") } else { command }
    }

    /// Parses the command line. Variables of the environment that are meant for other commands cause no error: only
    /// options of the command line must fit together.
    ///
    /// # Errors
    /// When it is invalid; a request for help is an error, too.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let command = Self::command_named_as(arguments.first());
        let mut command = command.mut_subcommands(|of| of.mut_args(without_empty_or_false_variable));
        let matches = command.try_get_matches_from_mut(arguments).map_err(without_secrets)?;
        let mut read = Self::from_arg_matches(&matches).map_err(|why| why.format(&mut command))?;
        if let Some((name, given)) = matches.subcommand() {
            let sort_out = match &mut read.command {
                Some(Command::Trace(trace)) => validate::follow(&mut trace.from, given),
                Some(Command::Open(open)) => validate::follow(&mut open.from, given),
                Some(Command::Replay(replay)) => validate::replay(replay),
                Some(Command::Wait(wait)) => {
                    validate::follow(&mut wait.from, given).and_then(|()| validate::wait(wait, given))
                }
                _ => Ok(()),
            };
            let of = command.find_subcommand_mut(name).map(|of| of.to_owned());
            sort_out.map_err(|(kind, why)| of.unwrap_or(command).error(kind, why))?;
        }
        Ok(read)
    }
}

/// Treats an empty variable of a namespace or server as one that is not set: templates of container platforms write
/// such variables. Makes `false` the default of a switch that its variable turns off: a default conflicts with no
/// option. Switches that are also keys of the file are an `Option`; `None` leaves the choice to the file.
fn without_empty_or_false_variable(option: clap::Arg) -> clap::Arg {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    if ["namespace", "server"].contains(&option.get_id().as_str()) && option.get_env().is_some_and(is_empty) {
        return option.env(None::<&str>);
    }
    let is_switch = !option.get_action().takes_values() || option.get_num_args() == Some(ValueRange::EMPTY);
    let is_false = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value == "false");
    if is_switch && option.get_env().is_some_and(is_false) {
        option.env(None::<&str>).default_value("false")
    } else {
        option
    }
}

fn is_named(program: Option<&OsString>, name: &str) -> bool {
    program.and_then(|path| Path::new(path).file_stem()).is_some_and(|stem| stem == name)
}

/// Returns whether kubectl requests completions instead of starting a command.
pub fn asks_for_completion(arguments: &[OsString]) -> bool {
    is_named(arguments.first(), COMPLETER)
}

/// Removes the quoted text from an error, if it is an address that may hold a password.
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
    /// Watch clusters and serve the web dashboard
    Serve(Box<Serve>),
    /// Serve the web dashboard from recordings
    Replay(Replay),
    /// Start a simulated cluster and serve its web dashboard; needs no Kubernetes cluster
    ///
    /// The simulated cluster runs on this machine only. Change it with the buttons of the page or with kubectl.
    Demo(Demo),
    /// Record a cluster as JSON lines on standard output, until interrupted
    Record(Record),
    /// Print the timeline document of a recording as JSON
    Report {
        /// Recording to read
        #[arg(value_name = "FILE.jsonl")]
        file: PathBuf,
    },
    /// Show one rollout live in the terminal; q quits
    ///
    /// Prints lines if standard output is not a terminal.
    Trace(Trace),
    /// Wait until rollouts are complete; exit codes: 0 complete, 1 failed, 124 timed out, 2 cannot watch
    ///
    /// Only live data decides. While a cluster or a server does not respond, no rollout is complete, failed or missing.
    ///
    /// The command waits for the Deployment that has the name at the start, like kubectl rollout status. If this Deployment is deleted,
    /// or replaced by another one with the same name, the rollout has failed.
    ///
    /// A server may see a change a moment after it was made. With --server, nothing is decided in the first second. A server that
    /// lags behind by more than a second may still report the previous rollout.
    Wait(Wait),
    /// Start a server on this machine and open the page of a Deployment in the browser; Ctrl-C ends it
    ///
    /// The server watches one namespace (with -A all of them), listens on loopback only and stores no history.
    Open(Open),
    /// Check that clusters respond, what Rollcast may read, and where history is stored; exit code 2 on a problem
    Check(Check),
    /// Verify, compact or export the history database
    History(HistoryArguments),
    /// Create, list and revoke share links on a running Rollcast server with sign-in
    ///
    /// A share link shows one page to people without an account.
    Share(ShareArguments),
    /// Export a rollout from a recording or a running Rollcast server as a self-contained HTML file on standard output
    ///
    /// The file contains the page with its time control, story and details, and loads nothing. Recordings come from `rollcast record`
    /// and `rollcast history export`.
    Export(Export),
    /// Print a completion script for a shell
    ///
    /// For example: rollcast completion bash > ~/.local/share/bash-completion/completions/rollcast
    Completion {
        /// Shell that reads the script
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands into a folder
    #[command(hide = true)]
    Manual {
        /// Folder to write to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// The clusters that a command looks at, as they are named on the command line.
#[derive(Debug, Default, Args)]
pub struct Clusters {
    /// Kubeconfig file [default: KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, env = "ROLLCAST_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Kubeconfig context, repeatable; each context is one cluster [default: the current context]
    #[arg(long, env = "ROLLCAST_CONTEXT", value_delimiter = ',', value_name = "CONTEXT")]
    pub context: Vec<String>,
    /// Use every context of the kubeconfig
    #[arg(
        long,
        env = "ROLLCAST_ALL_CONTEXTS",
        num_args = 0,
        default_missing_value = "true",
        conflicts_with = "context"
    )]
    pub all_contexts: Option<bool>,
    /// The user to impersonate.
    #[command(flatten)]
    pub impersonation: Impersonation,
    /// Hide texts that people and programs in the clusters write: change causes, termination messages, probe responses
    #[arg(long, env = "ROLLCAST_HIDE_MESSAGES", num_args = 0, default_missing_value = "true")]
    pub hide_messages: Option<bool>,
}

/// Arguments of `rollcast serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Configuration file [default: rollcast/rollcast.toml in the user's configuration folder, ~/.config on Linux]
    ///
    /// Options and environment variables override the file.
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) clusters: Clusters,
    /// Namespace to watch, repeatable [default: all namespaces]
    ///
    /// Rollcast then needs permissions in these namespaces only.
    #[arg(
        long,
        short,
        env = "ROLLCAST_NAMESPACE",
        value_delimiter = ',',
        value_parser = config::parse_nonempty,
        value_name = "NAMESPACE"
    )]
    pub namespace: Vec<String>,
    /// Run the credential plugins (exec) of a kubeconfig even if others can reach this server
    ///
    /// Without this option, Rollcast runs them only if it listens on loopback, and none of --auth, --trust-proxy, --public-url and
    /// --allow-host is set.
    #[arg(long, env = "ROLLCAST_ALLOW_EXEC_PLUGINS", num_args = 0, default_missing_value = "true")]
    pub allow_exec_plugins: Option<bool>,
    #[command(flatten)]
    pub(crate) history: History,
    #[command(flatten)]
    pub(crate) sign_in: SignIn,
    #[command(flatten)]
    pub(crate) listen: Listen,
}

/// Arguments of `rollcast replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// Recordings; each is served as a cluster named after its file
    #[arg(required = true, value_name = "FILE.jsonl")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) playback: ReplayOptions,
    /// Store the history of the replay in this folder; without it, nothing is stored
    ///
    /// Each start adds a new cluster; if the name of the file is taken, it gets a number. ROLLCAST_DATA_DIR does not set this option:
    /// it names the folder of `rollcast serve`.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) listen: Listen,
}

/// Arguments of `rollcast demo`.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    pub(crate) playground: playground::Options,
    /// Store the history in this folder; without it, nothing is stored
    ///
    /// Each start is a new cluster with the same name, whatever the seed. ROLLCAST_DATA_DIR does not set this option: it names the
    /// folder of `rollcast serve`.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) listen: Listen,
}

/// Arguments of `rollcast record`.
#[derive(Debug, Args)]
pub struct Record {
    #[command(flatten)]
    pub(crate) clusters: Clusters,
    /// Namespace to record [default: all namespaces]
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_parser = config::parse_nonempty, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// Arguments of `rollcast export`.
#[derive(Debug, Args)]
pub struct Export {
    /// Recording to read, or - for standard input; with --server: the Deployment, if no such file exists
    #[arg(value_name = "FILE.jsonl|deployment/NAME")]
    pub of: String,
    /// Deployment to export, if the recording contains several
    #[arg(value_name = "deployment/NAME")]
    pub deployment: Option<DeploymentArgument>,
    /// URL of a running Rollcast server to export from, live or from its history, instead of a recording
    #[arg(long, env = "ROLLCAST_SERVER", value_parser = config::parse_nonempty, value_name = "URL")]
    pub server: Option<String>,
    // The environment may set these for other commands: the export of a recording needs no server for them.
    #[command(flatten)]
    pub(crate) remote: RemoteOptions,
    /// Namespace of the Deployment, if several have one of that name [default with --server: default]
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_parser = config::parse_nonempty, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Revision to export [default: the last rollout]
    #[arg(long, env = "ROLLCAST_REVISION", value_name = "N")]
    pub revision: Option<u64>,
    /// Replace the names of clusters, namespaces, nodes and images with consistent placeholders
    #[arg(long, env = "ROLLCAST_REDACT")]
    pub redact: bool,
}

/// Arguments of `rollcast open`.
#[derive(Debug, Args)]
pub struct Open {
    /// Deployment to open [default: the list of Deployments]
    #[arg(value_name = "deployment/NAME")]
    pub deployment: Option<DeploymentArgument>,
    #[command(flatten)]
    pub(crate) from: FollowOptions,
    /// Watch all namespaces instead of the one of the Deployment
    #[arg(long, short = 'A', env = "ROLLCAST_ALL_NAMESPACES")]
    pub all_namespaces: bool,
    /// Address and port to listen on: loopback only; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:0", value_parser = config::parse_address, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Print the address of the page and open no browser
    #[arg(long, env = "ROLLCAST_NO_BROWSER")]
    pub no_browser: bool,
}

/// Arguments of `rollcast check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Configuration file [default: rollcast/rollcast.toml in the user's configuration folder, ~/.config on Linux]
    ///
    /// Options and environment variables override the file.
    #[arg(long, env = "ROLLCAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) clusters: Clusters,
    /// Namespace to check, repeatable [default: all namespaces]
    #[arg(
        long,
        short,
        env = "ROLLCAST_NAMESPACE",
        value_delimiter = ',',
        value_parser = config::parse_nonempty,
        value_name = "NAMESPACE"
    )]
    pub namespace: Vec<String>,
    #[command(flatten)]
    pub(crate) history: History,
}
