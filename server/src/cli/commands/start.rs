//! `rollcast` alone: prints which clusters it finds, and the commands for them.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::kube::kubeconfig::Contexts;
use crate::telemetry::print;

/// Prints three lines.
pub fn start() -> io::Result<()> {
    let named = std::env::var_os("ROLLCAST_KUBECONFIG").map(PathBuf::from);
    let contexts = Contexts::read(named.as_deref());
    let found = contexts.as_ref().map_err(ToString::to_string).and_then(|contexts| {
        let chosen = contexts.choose(None).map_err(|why| why.to_string())?;
        Ok(chosen.map_or_else(
            || "the cluster of this pod".to_owned(),
            |context| format!("context {context} of {}", contexts.path()),
        ))
    });
    let (first, second) = match found {
        Ok(found) => (
            format!("Found {found}. Rollcast only reads."),
            "Run `rollcast serve` to watch it in a browser, or `rollcast trace deployment/NAME` to watch one rollout here.",
        ),
        Err(why) => (
            format!("Found no cluster to watch: {}.", why.trim_end_matches('.')),
            "Run `rollcast demo` to try a simulated cluster, or `rollcast serve --kubeconfig FILE` to watch your own.",
        ),
    };
    let third = "Run `rollcast --help` for all commands, `rollcast COMMAND --help` for the options of one command.";
    writeln!(print::out(), "{first}\n{second}\n{third}")
}
