//! The command line. Doc comments are the help; every option can be given by environment variable.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

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
    Serve(Serve),
    /// Serve the same pages, fed by recordings
    Replay(Replay),
    /// Write what is observed in a cluster as JSON lines to standard output, until interrupted
    Record(Record),
    /// Print the timeline document of a recording
    Report(Report),
    /// Say whether a cluster answers and what may be read; exit code 2 if something is missing
    Check(Check),
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
}

/// Where to serve.
#[derive(Debug, Args)]
pub struct Listen {
    /// Address and port to serve on
    #[arg(long, env = "ROLLCAST_LISTEN", default_value = "127.0.0.1:7440", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Host name under which browsers may reach this server, repeatable; addresses and localhost always may
    #[arg(long, env = "ROLLCAST_ALLOW_HOST", value_delimiter = ',', value_name = "NAME")]
    pub allow_host: Vec<String>,
}

/// `rollcast serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Which clusters.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to watch, repeatable; without it, all of them. Needs permission in these namespaces only
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
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
    /// Play this many seconds at once and stop there
    #[arg(long, env = "ROLLCAST_HOLD_AT", conflicts_with_all = ["loop", "speed"], value_name = "SECONDS")]
    pub hold_at: Option<f64>,
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

/// `rollcast check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Which clusters.
    #[command(flatten)]
    pub clusters: Clusters,
    /// Namespace to check, repeatable; without it, all of them
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_delimiter = ',', value_name = "NAMESPACE")]
    pub namespace: Vec<String>,
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
