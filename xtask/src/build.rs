//! Building and starting the product.

use std::path::PathBuf;

use anyhow::Result;

use crate::{page, sh};

/// Recordings that are played when there is no cluster.
const DEMO: &str = "server/demo";

/// Builds page and server; returns the path of the development binary.
pub fn build() -> Result<PathBuf> {
    page::build()?;
    sh::run(&mut sh::command("cargo", &["build", "--package", "server", "--bin", "rollcast"]))?;
    Ok(sh::at("target/debug/rollcast"))
}

/// Builds page and server as they are shipped: one file with everything embedded.
pub fn release() -> Result<PathBuf> {
    page::build()?;
    sh::run(&mut sh::command("cargo", &["build", "--release", "--package", "server", "--bin", "rollcast"]))?;
    Ok(sh::at("target/release/rollcast"))
}

/// Starts rollcast: on the current context, or on the demo recordings when there is none.
pub fn run(arguments: &[String]) -> Result<()> {
    let rollcast = build()?;
    let mut command = sh::command(&rollcast, &[]);
    let reachable =
        !arguments.is_empty() || sh::output(&mut sh::command(&rollcast, &["check"])).inspect_err(why_not).is_ok();
    if !reachable {
        command.args(["replay", "--loop"]).args(demo_recordings()?);
    } else {
        command.arg("serve").args(arguments);
    }
    sh::run(&mut command)
}

/// The bundled recordings, in the order of their names.
pub fn demo_recordings() -> Result<Vec<PathBuf>> {
    let mut recordings: Vec<PathBuf> =
        std::fs::read_dir(sh::at(DEMO))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    recordings.sort();
    Ok(recordings)
}

fn why_not(error: &anyhow::Error) {
    let text = error.to_string();
    let why = text.rsplit("rollcast: ").next().unwrap_or(&text);
    sh::say(&format!("playing recordings of real rollouts in a loop, because {why}"));
}
