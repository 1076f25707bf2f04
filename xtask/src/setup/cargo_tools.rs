//! Programs from crates.io, of one version each.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::process;

/// Where they are installed when the machine has none of that version.
const ROOT: &str = "target/tools";

/// Finds cargo-deny, which looks at licences, sources and advisories of what we depend on, or installs it. None where crates.io cannot
/// be reached.
pub fn ensure_deny() -> Option<PathBuf> {
    ensure_cargo_tool("cargo-deny", "0.20.2").ok()
}

/// Finds cargo-cyclonedx, which writes bills of materials, or installs it.
pub fn ensure_cyclonedx() -> Result<PathBuf> {
    ensure_cargo_tool("cargo-cyclonedx", "0.5.9")
}

/// Finds a program of that version, or installs it.
fn ensure_cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    let ours = process::workspace_path(ROOT).join("bin").join(name);
    let known = [process::find(name), Some(ours.clone())].into_iter().flatten();
    if let Some(known) = known.into_iter().find(|program| is_version(program, name, version)) {
        return Ok(known);
    }
    process::print_note(&format!("installing {name} {version} into {ROOT} (several minutes, once)"));
    // As a debug build: released it is optimised for a quarter of an hour, and then saves a second.
    let install = ["install", name, "--version", version, "--locked", "--debug", "--root", ROOT];
    process::run(&mut process::command("cargo", &install))?;
    ensure!(is_version(&ours, name, version), "{} is not {name} {version}", ours.display());
    Ok(ours)
}

fn is_version(program: &PathBuf, name: &str, version: &str) -> bool {
    // As cargo calls a subcommand; others take no word before their options.
    let subcommand = name.strip_prefix("cargo-").unwrap_or_default();
    let printed = process::output(&mut process::command(program, &[subcommand, "--version"]));
    printed.is_ok_and(|printed| printed.split_whitespace().any(|word| word.trim_start_matches('v') == version))
}
