//! `rollcast completion` and `rollcast manual`: files for shells and for `man`, made from the command line itself.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap_complete::Shell;

use crate::telemetry::print;

/// Prints the completion script of a shell.
///
/// # Errors
/// When it cannot be printed.
pub fn completion(mut command: clap::Command, shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "rollcast", &mut script);
    print::out().write_all(&script)
}

/// Writes a manual page for each command into a folder.
///
/// # Errors
/// When the folder cannot be written.
pub fn manual(command: clap::Command, folder: &Path) -> anyhow::Result<()> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(command, folder)
    };
    write().with_context(|| format!("cannot write manual pages to {}", folder.display()))
}
