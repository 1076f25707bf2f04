//! Links for people without an account, as the command line names them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with links, on which Rollcast.
#[derive(Debug, Args)]
pub struct ShareOf {
    /// URL of the running Rollcast server
    #[arg(long, env = "ROLLCAST_SERVER", value_name = "URL", global = true)]
    pub server: Option<String>,
    /// File with the token to sign in with
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// What is to be done with them
    #[command(subcommand)]
    pub what: ShareCommand,
}

/// What can be done with links.
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
