//! cargo-deny, which looks at licences, sources and advisories of what we depend on.

use std::path::PathBuf;

use crate::process;

const NAME: &str = "cargo-deny";
const VERSION: &str = "0.20.2";
/// Where it is installed when the machine has none of that version.
const ROOT: &str = "target/tools";

/// Finds cargo-deny of that version, or installs it. None where crates.io cannot be reached.
pub fn ensure_deny() -> Option<PathBuf> {
    let ours = process::workspace_path(ROOT).join("bin").join(NAME);
    let known = [process::find(NAME), Some(ours.clone())].into_iter().flatten().find(is_that_version);
    if known.is_some() {
        return known;
    }
    process::print_note(&format!("installing {NAME} {VERSION} into {ROOT} (several minutes, once)"));
    // As a debug build: released it is optimised for a quarter of an hour, and then saves a second.
    let install = ["install", NAME, "--version", VERSION, "--locked", "--debug", "--root", ROOT];
    process::run(&mut process::command("cargo", &install)).ok().map(|()| ours)
}

fn is_that_version(program: &PathBuf) -> bool {
    let version = process::output(&mut process::command(program, &["--version"]));
    version.is_ok_and(|told| told.split_whitespace().nth(1) == Some(VERSION))
}
