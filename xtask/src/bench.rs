//! Figures: what events and pods cost, how long a large cluster takes to appear, how smooth a page is, and how long it takes from the API server to the page.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use crate::cluster::{Cluster, Running};
use crate::server::Server;
use crate::{build, process, setup, story};

/// Prints what Rollcast costs beside other clients of the same cluster.
pub fn print_peers() -> Result<()> {
    let rollcast = build::release()?;
    if !process::is_installed("kubectl") {
        process::print_note("LEFT OUT: kubectl (not installed)");
    }
    run_example("peers", &rollcast, &[])
}

/// Prints what thousands of viewers cost.
pub fn print_viewers() -> Result<()> {
    run_example("viewers", &build::release()?, &[])
}

fn run_example(example: &str, rollcast: &Path, arguments: &[OsString]) -> Result<()> {
    let run = ["run", "--quiet", "--release", "--package", "server", "--example", example, "--"];
    process::run(process::command("cargo", &run).arg(rollcast).args(arguments))
}

/// Runs for hours, and fails if memory or descriptors grow. `target/soak.csv` has a line for each minute.
pub fn soak(hours: f64) -> Result<()> {
    let csv = process::workspace_path("target/soak.csv");
    run_example("soak", &build::release()?, &[hours.to_string().into(), csv.into()])
}

/// Prints the figures.
pub fn print() -> Result<()> {
    let rollcast = build::release()?;
    for (package, example) in [("timeline", "cost"), ("server", "bench"), ("server", "kept")] {
        let run = ["run", "--quiet", "--release", "--package", package, "--example", example];
        process::run(&mut process::command("cargo", &run))?;
    }
    for example in ["lists", "latency"] {
        run_example(example, &rollcast, &[])?;
    }
    setup::ensure_node_modules()?;
    let browser = setup::ensure_browser()?;
    for pods in ["500", "5000"] {
        process::run(browser.node("measure/frames.mjs").arg(&rollcast).args([pods, "50"]))?;
    }
    if !process::is_installed("go") {
        process::print_note("LEFT OUT: latency on a real control plane (no Go here)");
        return Ok(());
    }
    let cluster = Running(Cluster::named("bench"));
    cluster.0.up()?;
    let kubeconfig = cluster.0.kubeconfig();
    let kubectl = story::Kubectl::find()?.with(&kubeconfig);
    let namespace = "latency";
    story::Story::named("rolling-one-by-one")?.play(&kubectl, Some(namespace.to_owned()), false)?;
    // History must not be noticed; what the machine does meanwhile falls on both alike.
    let (off, on) = ("--no-history", "--data-dir=target/bench-history");
    for history in [off, on, on, off] {
        process::print_note(&format!("with {history}"));
        let serve = ["serve", "--listen", "127.0.0.1:0", history, "--kubeconfig"];
        let server = Server::start(process::command(&rollcast, &serve).arg(&kubeconfig))?;
        let page = format!("{}/clusters/rollcast-test/namespaces/{namespace}/deployments/basic", server.address);
        process::run(browser.node("measure/latency.mjs").arg(&kubeconfig).args([page.as_str(), namespace]))?;
    }
    Ok(())
}
