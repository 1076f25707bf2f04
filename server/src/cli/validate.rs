//! Checks of option combinations. Options of the command line must fit together, and override the environment, which
//! may be set for other commands.

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

use super::Replay;
use crate::cli::terminal::options::{FollowOptions, Wait};

/// An invalid combination, with a sentence about it.
type InvalidCombination = (ErrorKind, String);

fn is_written(given: &ArgMatches, name: &str) -> bool {
    given.value_source(name) == Some(ValueSource::CommandLine)
}

/// Checks that an option of the command line has the one that it requires, which may come from the environment.
fn needs(given: &ArgMatches, name: &str, other: &str, is_there: bool) -> Result<(), InvalidCombination> {
    if is_there || !is_written(given, name) {
        return Ok(());
    }
    let option = |name: &str| format!("--{}", name.replace('_', "-"));
    Err((ErrorKind::MissingRequiredArgument, format!("{} requires {}", option(name), option(other))))
}

/// Selects a running Rollcast or a cluster: the command line wins; the environment's server wins over its cluster.
pub(super) fn follow(from: &mut FollowOptions, given: &ArgMatches) -> Result<(), InvalidCombination> {
    let of_cluster = ["context", "kubeconfig", "as"].into_iter().find(|name| is_written(given, name));
    match of_cluster {
        Some(name) if is_written(given, "server") => {
            return Err((ErrorKind::ArgumentConflict, format!("--server and --{name} cannot be used together")));
        }
        Some(_) => from.server = None,
        None if from.server.is_some() => (from.context, from.kubeconfig) = (None, None),
        None => {}
    }
    for name in ["token_file", "cluster"] {
        needs(given, name, "server", from.server.is_some())?;
    }
    Ok(())
}

/// Checks that a stored replay plays once, from its start.
pub(super) fn replay(replay: &Replay) -> Result<(), InvalidCombination> {
    let other = if replay.playback.r#loop { Some("loop") } else { replay.playback.hold_at.map(|_| "hold-at") };
    match other.filter(|_| replay.data_dir.is_some()) {
        Some(other) => Err((ErrorKind::ArgumentConflict, format!("--data-dir and --{other} cannot be used together"))),
        None => Ok(()),
    }
}

/// Names are taken out of a file only.
pub(super) fn wait(wait: &Wait, given: &ArgMatches) -> Result<(), InvalidCombination> {
    needs(given, "redact", "export", wait.export.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};

    fn read(arguments: &[&str]) -> Result<Cli, String> {
        let all = [&["rollcast"], arguments].concat();
        Cli::read(all.into_iter().map(Into::into)).map_err(|why| why.to_string())
    }

    #[test]
    fn what_is_written_has_to_fit_together() {
        for (arguments, why) in [
            (&["wait", "web", "--token-file", "t"][..], "--token-file requires --server"),
            (&["trace", "web", "--cluster", "c"], "--cluster requires --server"),
            (&["wait", "web", "--redact"], "--redact requires --export"),
            (
                &["wait", "web", "--server", "http://a", "--context", "c"],
                "--server and --context cannot be used together",
            ),
            (&["wait", "web", "--server", "http://a", "--as", "jane"], "--server and --as cannot be used together"),
            (&["wait", "web", "--as-group", "admins"], "--as <USER>"),
            (&["replay", "r.jsonl", "--data-dir", "/d", "--loop"], "--data-dir and --loop cannot be used together"),
            (
                &["replay", "r.jsonl", "--data-dir", "/d", "--hold-at", "3"],
                "--data-dir and --hold-at cannot be used together",
            ),
            (&["serve", "--listen", "localhost:7440"], "must be an IP address and a port, such as 127.0.0.1:7440"),
            (&["serve", "--keep-bytes", "much"], "must be a size, such as 500MB or 2GB"),
            // An address without a namespace is that of all namespaces.
            (&["serve", "--namespace", "shop,"], "invalid value '' for '--namespace <NAMESPACE>': must not be empty"),
            (&["wait", "web", "--namespace", ""], "invalid value '' for '--namespace <NAMESPACE>': must not be empty"),
            (&["wait", "web", "--server", ""], "invalid value '' for '--server <URL>': must not be empty"),
        ] {
            let refused = read(arguments).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let whole = ["wait", "web", "--server", "http://a", "--token-file", "t", "--export", "x.html", "--redact"];
        let Ok(Cli { command: Some(Command::Demo(demo)) }) = read(&["demo", "--data-dir", "/d"]) else {
            panic!("a folder")
        };
        assert!(demo.data_dir.is_some());
        let Ok(Cli { command: Some(Command::Wait(wait)) }) = read(&whole) else { panic!("it fits together") };
        assert!(wait.redact && wait.from.remote.token_file.is_some());
    }
}
