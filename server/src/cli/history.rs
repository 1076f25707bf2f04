//! Options of the stored history.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use timeline::Retention;

use super::DeploymentArgument;
use crate::cli::config::{Config, parse_nonempty, parse_size};
use crate::database::address::DatabaseUrl;
use crate::database::private;
use crate::history::options::{Limits, Location, Options};
use crate::telemetry::clock::parse_duration;

/// Options of the history.
#[derive(Debug, Args)]
#[command(next_help_heading = "History options")]
pub struct History {
    #[command(flatten)]
    pub(crate) location: LocationOptions,
    /// Do not store history; it is lost when the server stops
    #[arg(
        long,
        env = "ROLLCAST_NO_HISTORY",
        num_args = 0,
        default_missing_value = "true",
        conflicts_with_all = ["data_dir", "history", "keep_for", "keep_bytes"]
    )]
    pub no_history: Option<bool>,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    /// How far back pages show history, for example 90m, 24h or 7d [default: 24h]
    #[arg(long, env = "ROLLCAST_HISTORY_AGE", value_parser = parse_duration, value_name = "TIME")]
    pub history_age: Option<Duration>,
    /// Maximum number of deleted pods on the page of a Deployment; those of the last 15 minutes always stay [default: 1000]
    #[arg(long, env = "ROLLCAST_HISTORY_PODS", value_name = "N")]
    pub history_pods: Option<usize>,
    /// Maximum number of rollouts on the page of a Deployment [default: 50]
    #[arg(long, env = "ROLLCAST_HISTORY_ROLLOUTS", value_name = "N")]
    pub history_rollouts: Option<usize>,
}

/// Options for the location of the history.
#[derive(Debug, Args)]
pub struct LocationOptions {
    /// Folder of the history database [default: rollcast in the user's state folder, ~/.local/state on Linux]
    #[arg(long, global = true, env = "ROLLCAST_DATA_DIR", value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// PostgreSQL database with the history, as postgres://USER:PASSWORD@HOST/DATABASE; several servers may share it
    #[arg(
        long,
        global = true,
        env = "ROLLCAST_HISTORY",
        hide_env_values = true,
        conflicts_with = "data_dir",
        value_name = "URL"
    )]
    pub history: Option<DatabaseUrl>,
    /// File with the password of the PostgreSQL database; refused if every user can read or write it
    #[arg(long, global = true, env = "ROLLCAST_HISTORY_PASSWORD_FILE", value_name = "FILE")]
    pub history_password_file: Option<PathBuf>,
}

/// Options for the limits of the history.
#[derive(Debug, Args)]
pub struct LimitOptions {
    /// How long to store history, for example 12h or 30d [default: 30d]
    #[arg(long, env = "ROLLCAST_KEEP_FOR", value_parser = parse_duration, value_name = "TIME")]
    pub keep_for: Option<Duration>,
    /// Maximum size of the history database, for example 500MB or 2GB; the oldest history is deleted first [default: 2GB]
    #[arg(long, env = "ROLLCAST_KEEP_BYTES", value_parser = parse_size, value_name = "SIZE")]
    pub keep_bytes: Option<ByteSize>,
}

impl History {
    /// Returns the retention of the timeline. The command line overrides the file.
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

    /// Returns location and limits of the stored history; `None` if none is stored. The command line overrides the
    /// file.
    ///
    /// # Errors
    /// When no location is given and this platform has no default folder, or the address names no database.
    pub fn storage(&self, file: &Config) -> anyhow::Result<Option<Options>> {
        let LocationOptions { data_dir, history, .. } = &self.location;
        let LimitOptions { keep_for, keep_bytes } = self.limits;
        let is_said = data_dir.is_some() || history.is_some() || keep_for.is_some() || keep_bytes.is_some();
        if self.no_history.unwrap_or(file.no_history && !is_said) {
            return Ok(None);
        }
        let limits = Limits::new(keep_for.or(file.keep_for), keep_bytes.or(file.keep_bytes));
        Ok(Some(Options { location: self.location.merge(file)?, limits }))
    }
}

impl LocationOptions {
    /// Returns the location; the command line overrides the file.
    fn merge(&self, file: &Config) -> anyhow::Result<Location> {
        let password = self.history_password_file.as_ref().or(file.history_password_file.as_ref());
        anyhow::ensure!(
            password.is_none() || self.history.is_some() || file.history.is_some(),
            "--history-password-file requires --history"
        );
        match (&self.history, &self.data_dir, &file.history, &file.data_dir) {
            (Some(url), ..) | (None, None, Some(url), _) => {
                // The address is not repeated: it holds a password.
                let server = url.server().context(
                    "the database URL of --history, ROLLCAST_HISTORY or `history` in the configuration file is invalid",
                )?;
                let Some(file) = password else { return Ok(Location::Postgres(server)) };
                let server = server.with_password(&read_password(file)?);
                Ok(Location::Postgres(server.context("the password in --history-password-file is invalid")?))
            }
            (None, Some(folder), ..) | (None, None, None, Some(folder)) => Ok(Location::Folder(folder.clone())),
            (None, None, None, None) => default_location(),
        }
    }
}

/// Reads a password from its file: everything but the end of its last line. Errors do not repeat the path: somebody may
/// have given the password in its place.
fn read_password(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut password = std::fs::read(file).context("cannot read --history-password-file")?;
    private::check(file)?;
    let length = password.trim_ascii_end().len();
    password.truncate(length);
    Ok(password)
}

/// Returns the default folder on this platform; `None` for users without a home.
fn default_location() -> anyhow::Result<Location> {
    let folder = dirs::state_dir().or_else(dirs::data_local_dir).context(
        "this platform has no state folder: name a folder with --data-dir, or turn history off with --no-history",
    )?;
    Ok(Location::Folder(folder.join("rollcast")))
}

/// Arguments of `rollcast history`.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    #[command(flatten)]
    pub(crate) location: LocationOptions,
    #[command(subcommand)]
    pub(crate) what: HistoryCommand,
}

/// Subcommands of `rollcast history`.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Verify the whole history database; works while a server is running; exit code 2 if something is damaged
    Check,
    /// Merge stored data and delete expired data now instead of over time; no server may be running on the database
    Compact(LimitOptions),
    /// Write one rollout as a recording to standard output, for `rollcast replay` and `rollcast export`
    Export(RolloutSelector),
}

/// Arguments of `rollcast history export`.
#[derive(Debug, Args)]
pub struct RolloutSelector {
    /// Deployment to export
    #[arg(value_name = "deployment/NAME")]
    pub deployment: DeploymentArgument,
    /// Revision to export [default: the last rollout]
    #[arg(long, value_name = "N")]
    pub revision: Option<u64>,
    /// Namespace of the Deployment, if several have one of that name
    #[arg(long, short, env = "ROLLCAST_NAMESPACE", value_parser = parse_nonempty, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Cluster of the Deployment, if several have one
    #[arg(long, env = "ROLLCAST_CLUSTER", value_name = "NAME")]
    pub cluster: Option<String>,
    /// Replace the names of clusters, namespaces, nodes and images with consistent placeholders
    #[arg(long, env = "ROLLCAST_REDACT")]
    pub redact: bool,
}

impl HistoryArguments {
    /// Returns location and limits of the stored history.
    ///
    /// # Errors
    /// When no location is given and this platform has no default folder, or the address names no database.
    pub fn options(&self) -> anyhow::Result<Options> {
        let limits = match self.what {
            HistoryCommand::Compact(LimitOptions { keep_for, keep_bytes }) => Limits::new(keep_for, keep_bytes),
            HistoryCommand::Check | HistoryCommand::Export(_) => Limits::default(),
        };
        Ok(Options { location: self.location.merge(&Config::default())?, limits })
    }
}
