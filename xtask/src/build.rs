//! Building and starting the product.

use std::path::{Path, PathBuf};

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
    if arguments.is_empty() && !has_kubeconfig() {
        sh::say("no kubeconfig found: playing recordings of real rollouts in a loop (point KUBECONFIG at a cluster to watch it)");
        command.args(["replay", "--loop"]).args(demo_recordings()?);
    } else {
        command.arg("serve").args(arguments);
    }
    sh::run(&mut command)
}

/// The bundled recordings, in the order of their names.
pub fn demo_recordings() -> Result<Vec<PathBuf>> {
    let mut recordings: Vec<PathBuf> = std::fs::read_dir(sh::at(DEMO))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    recordings.sort();
    Ok(recordings)
}

fn has_kubeconfig() -> bool {
    let named = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
    let in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    named.is_some() || in_cluster || home.is_some_and(|path| path.exists())
}
