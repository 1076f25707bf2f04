//! `rollcast completion` and `rollcast manual`: files for shells and for `man`, generated from the command line. Also
//! the responses to kubectl that complete `kubectl rollcast`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap_complete::{Shell, engine};

use crate::telemetry::print;

/// Prints the completion script of a shell.
pub fn completion(mut command: clap::Command, shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "rollcast", &mut script);
    print::out().write_all(&script)
}

/// Prints the completions of the last argument, as kubectl reads them from a program `kubectl_complete-PLUGIN`: a line
/// for each, with its help after a tab; then the directive for the shell, by the numbers of cobra: 4 completes no
/// files, 0 does if there is nothing else.
pub fn for_kubectl(mut command: clap::Command, arguments: &[OsString]) -> io::Result<()> {
    let last = arguments.len().saturating_sub(1);
    let candidates = engine::complete(&mut command, arguments.to_vec(), last, None).unwrap_or_default();
    let mut lines = Vec::new();
    for candidate in candidates.iter().filter(|candidate| !candidate.is_hide_set()) {
        lines.extend_from_slice(candidate.get_value().as_encoded_bytes());
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        if let Some(line) = help.lines().next() {
            lines.extend([b"\t", line.as_bytes()].concat());
        }
        lines.push(b'\n');
    }
    lines.extend_from_slice(if lines.is_empty() { b":0\n" } else { b":4\n" });
    print::file(&lines)
}

/// Writes a manual page for each command into a folder.
pub fn manual(command: clap::Command, folder: &Path) -> anyhow::Result<()> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(command, folder)
    };
    write().with_context(|| format!("cannot write manual pages to {}", folder.display()))
}
