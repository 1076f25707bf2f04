//! Shows that the program can be reproduced: the same commit, built in two folders, gives the same bytes.

use anyhow::{Result, ensure};

use super::archive;
use super::platform::Platform;
use crate::process;

/// Clones the commit into two folders, builds the program in both and compares them. Changes that are not committed are left out.
pub fn run() -> Result<()> {
    let (folder, platform) = (process::workspace_path("target/reproduce"), Platform::here());
    // Resolved once: somebody may commit while the first program is built.
    let commit = process::output(&mut process::command("git", &["rev-parse", "HEAD"]))?;
    let mut programs = Vec::new();
    // The names differ in length, so a remaining path changes the program.
    for name in ["first", "the-second-folder"] {
        let checkout = folder.join(name);
        process::remove(&checkout)?;
        process::run(process::command("git", &["clone", "--quiet", "--no-hardlinks", "."]).arg(&checkout))?;
        let at_commit = ["checkout", "--quiet", "--detach", commit.trim()];
        process::run(process::command("git", &at_commit).current_dir(&checkout))?;
        let build = ["xtask", "release", "program", "--platform", &platform.name()];
        process::run(process::command("cargo", &build).current_dir(&checkout))?;
        programs.push(checkout.join(format!("target/dist/programs/{}/rollcast", platform.name())));
    }
    let [first, second] = programs.as_slice() else { return Ok(()) };
    let (bytes, others) = (std::fs::read(first)?, std::fs::read(second)?);
    let difference = bytes.iter().zip(&others).position(|(a, b)| a != b);
    ensure!(
        bytes.len() == others.len() && difference.is_none(),
        "the programs differ: {} and {} bytes, first at {difference:?}; they are {} and {}",
        bytes.len(),
        others.len(),
        first.display(),
        second.display()
    );
    println!("both programs have the same {} bytes; sha256 {}", bytes.len(), archive::sha256(first)?);
    Ok(())
}
