//! Every test: what rustfmt and clippy say, Rust, then the browsers on recordings and on the playground, then kubectl, then the real control plane:
//! stories in the browser, and the simulated cluster beside it.

use std::process::Command;

use anyhow::{Result, anyhow, bail, ensure};

use crate::built::{self, Tests};
use crate::cluster::{Cluster, Running};
use crate::{build, setup, sh};

/// Where tests on clusters keep what happened in them.
const RECORDED: &str = "target/recorded";
const PARTS: [&str; 4] = ["lint", "rust", "page", "cluster"];

/// Rust tests that run at once on few processors: most of them wait, for a server or for a time that is to pass.
const LEAST_THREADS: usize = 4;

/// Tells the tests to leave nothing out of their long sets.
const WHOLE: &str = "ROLLCAST_TEST_WHOLE";

/// How much more is tried by night: seeds of chaos on the real control plane, and kills of a server that writes history.
const NIGHTLY: [(&str, &str); 2] = [("ROLLCAST_TEST_CHAOS", "20"), ("ROLLCAST_TEST_KILLS", "200")];

/// Runs the named parts, or all; long sets sampled or whole.
pub fn run(only: &[String], is_whole: bool) -> Result<()> {
    for part in only {
        ensure!(PARTS.contains(&part.as_str()), "there is no part {part:?}; there are: {}", PARTS.join(", "));
    }
    let wants = |part: &str| only.is_empty() || only.iter().any(|wanted| wanted == part);
    let is_ci = sh::is_ci();
    // What is built with Go is built beside the rest, which leaves it room.
    let build: fn() -> Result<()> = if wants("cluster") || wants("rust") { build_with_go } else { || Ok(()) };
    let go = std::thread::spawn(build);
    // The page first: the server embeds it, and a page that does not build should be known at once.
    crate::page::build()?;
    if wants("lint") {
        crate::check::lint()?;
    }
    let tests = Tests::build()?;
    let rollcast = build::development();
    crate::size::check(&rollcast)?;
    go.join().map_err(|_| anyhow!("building with Go broke off"))??; // tests keep time, and have the machine to themselves
    if wants("rust") {
        let mut all = sh::command("cargo", &built::ALL);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            all.env("RUST_TEST_THREADS", processors.max(LEAST_THREADS).to_string());
        }
        if is_whole {
            all.env(WHOLE, "yes");
        }
        let mut left_out = Vec::new();
        if setup::ensure_provider()?.is_none() {
            ensure!(!is_ci, "the tests of signing in at a provider need Go; with CI=true they may not be left out");
            sh::say("LEFT OUT: the tests of signing in at a real provider (no Go here)");
            left_out.extend(["--skip", "at_dex"]);
        }
        if !setup::ensure_postgres() {
            ensure!(
                !is_ci,
                "the tests of history in a database need PostgreSQL; with CI=true they may not be left out"
            );
            sh::say("LEFT OUT: the tests of history in a database (there is no PostgreSQL here, and none to install)");
            all.env("ROLLCAST_TEST_NO_POSTGRES", "yes");
            left_out.extend(["--skip", "in_postgres"]);
        }
        if !left_out.is_empty() {
            all.arg("--").args(left_out);
        }
        sh::run(&mut all)?;
    }
    if !wants("page") && !wants("cluster") {
        return Ok(());
    }
    let mut command = sh::command("npx", &["playwright", "test"]);
    command
        .current_dir(sh::at("end2end"))
        .env("ROLLCAST_BIN", rollcast)
        .env("ROLLCAST_XTASK", std::env::current_exe()?);
    if is_whole {
        command.env(WHOLE, "yes");
    }
    setup::ensure_browser()?.configure(&mut command);
    sh::run(sh::command("npx", &["tsc", "--project", "."]).current_dir(sh::at("end2end")))?;
    if wants("page") {
        command.arg("--project=page");
        match setup::ensure_firefox() {
            Some(firefox) => drop(command.arg("--project=firefox").env("FIREFOX", firefox)),
            None if is_ci => {
                bail!("the tests in Firefox need one (FIREFOX names it); with CI=true they may not be left out")
            }
            None => sh::say("LEFT OUT: the tests in Firefox (there is none here, and none to install)"),
        }
    }
    let (mut running, mut is_recorded) = (None, false);
    if wants("cluster") {
        let kubectl = kubectl(&tests, is_ci)?;
        match kubeconfig(&mut running)? {
            Some(kubeconfig) => {
                let recorded = sh::at(RECORDED);
                if recorded.exists() {
                    std::fs::remove_dir_all(&recorded)?; // of an earlier run
                }
                let mut environment = vec![
                    ("ROLLCAST_TEST_KUBECONFIG", kubeconfig.clone().into()),
                    ("ROLLCAST_RECORDED", recorded.clone().into()),
                ];
                let mut left_out: &[&str] = &[];
                match kubectl {
                    Some(program) => environment.push(("ROLLCAST_KUBECTL", program.into())),
                    None => left_out = &["--skip", "the_account_of_the_manifests_may_do"], // said above
                }
                if is_whole {
                    environment.push((WHOLE, "yes".into()));
                }
                tests.run_ignored("server", &["faithful::", "chaos::", "signed::"], left_out, &environment)?;
                real_pods(&tests, is_whole, "")?;
                command.env("ROLLCAST_RECORDED", recorded);
                is_recorded = true;
                command.args(["--project=cluster", "--project=faithful"]).env("ROLLCAST_TEST_KUBECONFIG", kubeconfig);
                if let Some(provider) = setup::ensure_provider()? {
                    command.env("ROLLCAST_PROVIDER", provider);
                    command.env("ROLLCAST_ORACLE", setup::ensure_binaries()?.oracle);
                } else {
                    ensure!(
                        !is_ci,
                        "Kubernetes' own verdicts and the provider need Go; with CI=true they may not be left out"
                    );
                    sh::say(
                        "LEFT OUT: the comparison with Kubernetes' own verdicts, and signing in at a provider (no Go here)",
                    );
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
    let passed = sh::run(&mut command);
    if is_recorded {
        // What was recorded is looked at also when a browser test failed: it may say why.
        invariants(&tests, "invariants::of_what_was_recorded_on_clusters")?;
    }
    passed
}

/// What takes too long for every change: all sets whole, more chaos, more kills, and the thousand clusters.
pub fn nightly() -> Result<()> {
    let this = std::env::current_exe()?;
    let mut tests = Command::new(this);
    tests.args(["test", "--whole"]).envs(NIGHTLY);
    sh::run(&mut tests)?;
    thousand_clusters()
}

/// What must hold of every sentence, of a thousand random clusters with their history cut again and again. Minutes.
pub fn thousand_clusters() -> Result<()> {
    invariants(&Tests::build()?, "invariants::of_a_thousand_simulated_clusters")
}

/// What is said of pods on a real node: the named situations, else all or a sample, on a cluster of their own.
pub fn real_pods(tests: &Tests, is_whole: bool, situations: &str) -> Result<()> {
    let cluster = Running(Cluster::named("real-node"));
    if setup::ensure_node()?.is_none() {
        sh::say("LEFT OUT: what is said of pods on a real node (it cannot run here, as said above)");
        return Ok(());
    }
    cluster.0.down()?; // of an earlier run, with its namespaces
    cluster.0.up()?;
    cluster.0.add_real_node()?;
    let mut environment = vec![
        ("ROLLCAST_TEST_KUBECONFIG", cluster.0.kubeconfig().into()),
        ("ROLLCAST_RECORDED", sh::at("target/kubelet").into()),
        ("ROLLCAST_TEST_SITUATIONS", situations.into()),
    ];
    if is_whole {
        environment.push((WHOLE, "yes".into()));
    }
    tests.run_ignored("server", &["kubelet::"], &["--nocapture"], &environment)
}

fn invariants(tests: &Tests, test: &str) -> Result<()> {
    tests.run_ignored("server", &[test], &["--nocapture"], &[("ROLLCAST_RECORDED", sh::at(RECORDED).into())])
}

/// The control plane, the provider at which people sign in, and the real node.
fn build_with_go() -> Result<()> {
    if sh::has("go") {
        setup::ensure_binaries()?;
        setup::ensure_provider()?;
        setup::ensure_node()?;
    }
    Ok(())
}

/// kubectl on the simulated cluster. Returns which kubectl that is.
fn kubectl(tests: &Tests, is_ci: bool) -> Result<Option<String>> {
    let program = if sh::has("go") {
        format!("{} kubectl", setup::ensure_binaries()?.kubernetes.display())
    } else if sh::has("kubectl") {
        "kubectl".to_owned()
    } else if is_ci {
        bail!("the tests of kubectl need Go or kubectl; with CI=true they may not be left out");
    } else {
        sh::say(
            "LEFT OUT: kubectl on the simulated cluster, and what it says of the manifests' account (neither Go nor kubectl here)",
        );
        return Ok(None);
    };
    tests.run_ignored("simcluster", &["kubectl::"], &[], &[("ROLLCAST_KUBECTL", program.clone().into())])?;
    Ok(Some(program))
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
