//! Building and starting the product.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::page::{self, Optimization};
use crate::process;

/// Builds page and server, both at once: development binaries read the page's files on request, and need only their
/// folder at build time. Returns the path of the development binary.
pub fn build(optimization: Optimization) -> Result<PathBuf> {
    std::fs::create_dir_all(process::workspace_path(page::SITE))?;
    let rollcast = std::thread::spawn(server);
    let page = page::build(optimization)
        .inspect_err(|error| process::print_note(&format!("the page is not built: {error:#}")));
    let rollcast = rollcast.join().map_err(|_| anyhow!("building the server broke off"))?;
    page.and(rollcast)
}

fn server() -> Result<PathBuf> {
    process::run(&mut process::command("cargo", &["build", "--package", "server", "--bin", "rollcast"]))?;
    Ok(development())
}

/// Returns the path of the development binary, which is built with the tests as well.
pub fn development() -> PathBuf {
    process::workspace_path("target/debug/rollcast")
}

/// Builds page and server as they are shipped: one file with everything embedded.
pub fn release() -> Result<PathBuf> {
    page::build(Optimization::Full)?;
    process::run(&mut process::command("cargo", &["build", "--release", "--package", "server", "--bin", "rollcast"]))?;
    Ok(process::workspace_path("target/release/rollcast"))
}

/// Starts rollcast: on the current context, or on a simulated cluster when there is none.
pub fn run(arguments: &[String]) -> Result<()> {
    let rollcast = build(Optimization::Compiler)?;
    let reachable = !arguments.is_empty()
        || process::output(&mut process::command(&rollcast, &["check"])).inspect_err(why_not).is_ok();
    if reachable {
        return process::run(process::command(&rollcast, &["serve"]).args(arguments));
    }
    playground(&rollcast, &[])
}

pub fn demo(arguments: &[String]) -> Result<()> {
    playground(&build(Optimization::Compiler)?, arguments)
}

fn playground(rollcast: &Path, arguments: &[String]) -> Result<()> {
    process::run(&mut playground_command(rollcast, arguments))
}

pub fn playground_command(rollcast: &Path, arguments: &[String]) -> std::process::Command {
    let kubeconfig = process::workspace_path("target/playground.kubeconfig");
    let mut command = process::command(rollcast, &["demo"]);
    if !arguments.iter().any(|argument| argument.starts_with("--write-kubeconfig")) {
        command.arg("--write-kubeconfig").arg(kubeconfig);
    }
    command.args(arguments);
    command
}

pub fn load(pods: u32, rate: u32, old_replica_sets: u32, seed: u64) -> Result<()> {
    let run = ["run", "--release", "--package", "simcluster", "--example", "load", "--"];
    let mut command = process::command("cargo", &run);
    command.args([pods, rate, old_replica_sets].map(|number| number.to_string())).arg(seed.to_string());
    process::run(command.arg(process::workspace_path("target/load.kubeconfig")))
}

fn why_not(error: &anyhow::Error) {
    let text = error.to_string();
    let why = text.rsplit("rollcast: ").next().unwrap_or(&text);
    process::print_note(&format!("starting a simulated cluster to play with, because {why}"));
}
