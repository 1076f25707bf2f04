//! Links for people without an account, as the command line names them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with links, on which Rollcast.
#[derive(Debug, Args)]
pub struct ShareOf {
    /// The running Rollcast
    #[arg(long, env = "ROLLCAST_SERVER", value_name = "URL", global = true)]
    pub server: Option<String>,
    /// File with the token that is shown to the server
    #[arg(long, env = "ROLLCAST_TOKEN_FILE", value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// What is to be done with them
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
