//! Measurements: cost of events and pods, comparison with other clients, smoothness of a page, and time from the API server to the page.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::cluster::Running;
use crate::server::Server;
use crate::{build, process, setup, story};

/// Built with Go, which the control plane of the tests needs as well.
const K9S: &str = "github.com/derailed/k9s@v0.50.16";

/// Prints what Rollcast costs beside other clients of the same cluster.
pub fn print_peers() -> Result<()> {
    let rollcast = build::release()?;
    if !process::is_installed("kubectl") {
        process::print_note("LEFT OUT: kubectl (not installed)");
    }
    let mut peers = example("peers", &rollcast);
    if process::is_installed("go") {
        peers.env("K9S", setup::ensure_go_tool(K9S)?);
    } else {
        process::print_note("LEFT OUT: k9s (no Go here)");
    }
    process::run(&mut peers)
}

pub fn print_viewers() -> Result<()> {
    process::run(&mut example("viewers", &build::release()?))
}

fn example(name: &str, rollcast: &Path) -> Command {
    let run = ["run", "--quiet", "--release", "--package", "server", "--example", name, "--"];
    let mut command = process::command("cargo", &run);
    command.arg(rollcast);
    command
}

/// Runs for hours, and fails if memory or descriptors grow. `target/soak.csv` has a line for each minute, `target/soak.svg` shows memory.
pub fn soak(hours: f64) -> Result<()> {
    let csv = process::workspace_path("target/soak.csv");
    process::run(example("soak", &build::release()?).arg(hours.to_string()).arg(csv))
}

pub fn print() -> Result<()> {
    let rollcast = build::release()?;
    for (package, name) in [("timeline", "cost"), ("server", "bench"), ("server", "kept")] {
        let run = ["run", "--quiet", "--release", "--package", package, "--example", name];
        process::run(&mut process::command("cargo", &run))?;
    }
    process::run(&mut example("latency", &rollcast))?;
    setup::ensure_node_modules()?;
    let browser = setup::ensure_browser()?;
    for pods in ["500", "5000"] {
        process::run(browser.node("measure/frames.mjs").arg(&rollcast).args([pods, "50"]))?;
    }
    if !process::is_installed("go") {
        process::print_note("LEFT OUT: latency on a real control plane (no Go here)");
        return Ok(());
    }
    let cluster = Running::start("bench")?;
    let kubeconfig = cluster.0.kubeconfig();
    let kubectl = story::Kubectl::find()?.with("--kubeconfig", &kubeconfig);
    let namespace = "latency";
    story::Story::named("rolling-one-by-one")?.play(&kubectl, Some(namespace.to_owned()), false)?;
    // Stored history must have no visible effect; other load on the machine affects both measurements alike.
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
