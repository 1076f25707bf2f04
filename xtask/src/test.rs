//! Every test: Rust, then the browser on recordings, then the browser on a real control plane.

use anyhow::{Result, bail, ensure};

use crate::cluster::{Cluster, Running};
use crate::{build, setup, sh};

const PARTS: [&str; 3] = ["rust", "page", "cluster"];

/// Runs the named parts, or all.
pub fn run(only: &[String]) -> Result<()> {
    for part in only {
        ensure!(PARTS.contains(&part.as_str()), "there is no part {part:?}; there are: {}", PARTS.join(", "));
    }
    let wants = |part: &str| only.is_empty() || only.iter().any(|wanted| wanted == part);
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    // The page first: the server embeds it, and a page that does not build should be known at once.
    let rollcast = build::build()?;
    if wants("rust") {
        sh::run(&mut sh::command("cargo", &["test", "--workspace", "--all-targets"]))?;
    }
    if !wants("page") && !wants("cluster") {
        return Ok(());
    }
    let mut command = sh::command("npx", &["playwright", "test"]);
    command
        .current_dir(sh::at("end2end"))
        .env("ROLLCAST_BIN", rollcast)
        .env("ROLLCAST_XTASK", std::env::current_exe()?);
    if let Some(chromium) = setup::ensure_browser()? {
        command.env("CHROMIUM", chromium);
    }
    sh::run(sh::command("npx", &["tsc", "--project", "."]).current_dir(sh::at("end2end")))?;
    if wants("page") {
        command.arg("--project=page");
    }
    let mut running = None;
    if wants("cluster") {
        match kubeconfig(&mut running)? {
            Some(kubeconfig) => {
                command.arg("--project=cluster").env("ROLLCAST_TEST_KUBECONFIG", kubeconfig);
                if sh::has("go") {
                    command.env("ROLLCAST_ORACLE", setup::ensure_binaries()?.oracle);
                } else {
                    sh::say("LEFT OUT: the comparison with Kubernetes' own verdicts (no Go here)");
                }
            }
            None if is_ci => bail!(
                "the tests on a real control plane need Go or ROLLCAST_TEST_KUBECONFIG; with CI=true they may not be left out"
            ),
            None => sh::say(
                "LEFT OUT: the tests on a real control plane (no Go here, and ROLLCAST_TEST_KUBECONFIG is not set)",
            ),
        }
    }
    sh::run(&mut command)
}

/// Kubeconfig of the cluster to test on: a given one, or one that is started for this run.
fn kubeconfig(running: &mut Option<Running>) -> Result<Option<std::path::PathBuf>> {
    if let Some(given) = std::env::var_os("ROLLCAST_TEST_KUBECONFIG") {
        return Ok(Some(given.into()));
    }
    if !sh::has("go") {
        return Ok(None);
    }
    let cluster = Running(Cluster::named("test"));
    cluster.0.up()?;
    let kubeconfig = cluster.0.kubeconfig();
    *running = Some(cluster);
    Ok(Some(kubeconfig))
}
