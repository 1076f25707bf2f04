//! The tests in three commands: `check` in minutes, `test` for every change, `nightly` with nothing left out.
//!
//! `test` and `nightly` run the same parts: lint, Rust, then kubectl and the real control plane, then the browsers on recordings, on the
//! playground and on clusters. Long sets are sampled by `test`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Result, anyhow, ensure};

use crate::cluster::{Running, test_real_node};
use crate::page::{self, Optimization};
use crate::release::{self, Command as Release, Platform};
use crate::test_programs::{self, Extent, Tests, WHOLE, XTASK};
use crate::{build, chart, process, setup};

/// Folder in which tests on clusters store what they recorded.
const RECORDED: &str = "target/recorded";
/// The last one is run by night only.
const PARTS: [&str; 5] = ["lint", "rust", "page", "cluster", "release"];

/// Tests besides unit tests that take seconds: of the timeline, of the simulated cluster, and of the server's documents, words and rules.
const QUICK: [&str; 9] =
    ["properties::", "said::", "wire::", "world::", "architecture::", "circles::", "cli::", "documents::", "words::"];

/// Modules of the server's tests whose ignored tests need more than this machine, or a command of their own. Other ignored tests run by night.
const NOT_BY_NIGHT: [&str; 6] =
    ["chaos::", "faithful::", "invariants::", "kubelet::", "live::simulation::", "signed::"];
/// Seeds of the simulation that are played by night.
const SEEDS_BY_NIGHT: u32 = 10_000;
/// Number of seeds from which an optimised build saves time: it plays seeds ten times as fast, but takes as long to
/// build as this many without.
const MANY_SEEDS: u32 = 1_000;

const NO_GO: &str = "no Go here";

/// Rust tests that run at once on few processors: most of them wait, for a server or for a time that is to pass.
const LEAST_THREADS: usize = 6;

/// Runs the checks for every change: format, clippy, unit tests, documents, words and architecture. Minutes.
pub fn check() -> Result<()> {
    crate::lint::sources()?;
    if !process::workspace_path(page::SITE).exists() {
        page::build(Optimization::Full)?; // the server embeds the folder, whatever is in it
    }
    process::run(&mut process::command("cargo", &XTASK))?;
    let workspace = ["test", "--workspace", "--exclude", "xtask"];
    let cargo = |arguments: &[&str]| process::run(process::command("cargo", &workspace).args(arguments));
    cargo(&["--lib", "--bins"])?;
    let mut arguments = vec!["--test", "all", "--"];
    arguments.extend(QUICK);
    cargo(&arguments)
}

/// Runs the named parts, or all.
pub fn run(only: &[String], extent: Extent) -> Result<()> {
    for part in only {
        ensure!(PARTS.contains(&part.as_str()), "there is no part {part:?}; there are: {}", PARTS.join(", "));
    }
    ensure!(
        extent.is_whole() || !only.iter().any(|part| part == "release"),
        "the part \"release\" is one of `nightly`"
    );
    let wants = |part: &str| only.is_empty() || only.iter().any(|wanted| wanted == part);
    // Go programs are built beside the rest, which leaves processors idle.
    let needs_go = wants("cluster") || (wants("rust") && extent.is_whole());
    let go = std::thread::spawn(move || match extent {
        _ if !needs_go => Ok(()),
        Extent::Sample => setup::build_with_go(),
        Extent::Whole => setup::build_all_with_go(),
    });
    // The page first: the server embeds it, and a page that does not build should be known at once.
    page::build(Optimization::Full)?;
    if wants("lint") {
        match extent {
            Extent::Whole => crate::lint::lint()?,
            Extent::Sample => crate::lint::sources()?,
        }
    }
    let tests = Tests::build()?;
    let rollcast = build::development();
    crate::size::check(&rollcast)?;
    go.join().map_err(|_| anyhow!("building with Go broke off"))??; // tests keep time, and have the machine to themselves
    if wants("rust") {
        rust(&tests, extent)?;
    }
    if wants("page") || wants("cluster") {
        in_browsers(&tests, extent, wants("page"), wants("cluster"))?;
    }
    if extent.is_whole() && wants("release") { released() } else { Ok(()) }
}

/// Tests the pages on recordings and on the playground, and on clusters.
fn in_browsers(tests: &Tests, extent: Extent, wants_pages: bool, wants_clusters: bool) -> Result<()> {
    let mut browsers = browsers(extent)?;
    if wants_pages {
        add_pages(&mut browsers, extent)?;
    }
    let mut running = None;
    let is_recorded = wants_clusters && clusters(tests, extent, &mut running, &mut browsers)?;
    let passed = process::run(&mut browsers);
    if is_recorded {
        // Recordings are checked also when a browser test failed: they may show why.
        invariants(tests, "invariants::invariants_hold_in_recordings_of_clusters")?;
    }
    passed?;
    drop(running);
    if extent.is_whole() && wants_clusters && std::env::var_os(setup::TEST_KUBERNETES).is_none() {
        older_kubernetes()?;
    }
    Ok(())
}

/// Builds what a release has for this machine, installs the plugin with krew and the chart on a real node.
fn released() -> Result<()> {
    if !cfg!(target_os = "linux") || !process::is_installed("go") {
        return process::leave_out("the files of a release", "only on Linux with Go");
    }
    let platform = vec![Platform::here()];
    for command in [
        Release::Program { platform: None },
        Release::Image { platform },
        Release::Pack,
        Release::Check,
        Release::Workflows,
    ] {
        release::run(command)?;
    }
    chart::install()
}

/// Runs the tests on clusters, with each older version of Kubernetes.
fn older_kubernetes() -> Result<()> {
    for version in setup::OLDER_KUBERNETES.map(setup::minor) {
        process::print_note(&format!("the tests on clusters, with the control plane of Kubernetes {version}"));
        let mut tests = Command::new(std::env::current_exe()?);
        tests.args(["test", "--only", "cluster"]).env(setup::TEST_KUBERNETES, version).env(WHOLE, "yes");
        process::run(&mut tests)?;
    }
    Ok(())
}

fn rust(tests: &Tests, extent: Extent) -> Result<()> {
    // Backtraces of tests that wait name the runtime only, and hide the message in a short report.
    let mut environment: Vec<(&str, OsString)> = vec![("RUST_BACKTRACE", "0".into())];
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        environment.push(("RUST_TEST_THREADS", processors.max(LEAST_THREADS).to_string().into()));
    }
    let mut left_out = Vec::new();
    if !setup::ensure_postgres() {
        let why = "there is no PostgreSQL here, and none to install";
        process::leave_out("the tests of history in a database", why)?;
        environment.push(("ROLLCAST_TEST_NO_POSTGRES", "yes".into()));
        left_out.extend(["--skip", "in_postgres"]);
    }
    environment.extend(extent.variable());
    process::run(&mut process::command("cargo", &XTASK))?;
    let mut all = process::command("cargo", &test_programs::ALL);
    all.envs(environment.iter().cloned());
    process::run(all.arg("--").args(&left_out))?;
    if !extent.is_whole() {
        return Ok(());
    }
    if setup::ensure_provider()?.is_none() {
        process::leave_out("the tests of signing in at a real provider", NO_GO)?;
        left_out.extend(["--skip", "at_dex"]);
    }
    left_out.extend(NOT_BY_NIGHT.iter().flat_map(|module| ["--skip", module]));
    tests.run_ignored("server", &[""], &left_out, &environment)?;
    simulate(SEEDS_BY_NIGHT, 0)?;
    invariants(tests, "invariants::invariants_hold_on_a_thousand_simulated_clusters")
}

/// Returns the command that runs tests in browsers, without the projects that it is to run.
fn browsers(extent: Extent) -> Result<Command> {
    let mut command = process::command("npx", &["playwright", "test"]);
    command
        .current_dir(process::workspace_path("end2end"))
        .env("ROLLCAST_BIN", build::development())
        .env("ROLLCAST_XTASK", std::env::current_exe()?);
    command.envs(extent.variable());
    setup::ensure_browser()?.configure(&mut command);
    process::run(process::command("npx", &["tsc", "--project", "."]).current_dir(process::workspace_path("end2end")))?;
    Ok(command)
}

/// Adds the pages in Chromium and Firefox, by night in WebKit, too.
fn add_pages(command: &mut Command, extent: Extent) -> Result<()> {
    command.arg("--project=page");
    if let Some(firefox) = setup::ensure_firefox() {
        command.arg("--project=firefox").env("FIREFOX", firefox);
    } else {
        process::leave_out("the tests in Firefox", "FIREFOX names none, there is none here, and none to install")?;
    }
    if !extent.is_whole() {
        return Ok(());
    }
    if let Some(webkit) = setup::ensure_webkit() {
        command.arg("--project=webkit").env("ROLLCAST_WEBKIT", webkit);
    } else {
        process::leave_out("the tests in WebKit", "there is none here, and none to install")?;
    }
    Ok(())
}

/// Runs the tests on clusters that need no browser; adds those that do. Returns whether there is a cluster, and recordings with it.
fn clusters(tests: &Tests, extent: Extent, running: &mut Option<Running>, browsers: &mut Command) -> Result<bool> {
    if extent.is_whole() && process::is_installed("go") {
        chart::check()?;
    } else if extent.is_whole() {
        process::leave_out("the checks of the Helm chart", NO_GO)?;
    }
    let kubectl = kubectl(tests)?;
    let Some(kubeconfig) = kubeconfig(running)? else {
        let why = "no Go here, and ROLLCAST_TEST_KUBECONFIG is not set";
        process::leave_out("the tests on a real control plane", why)?;
        return Ok(false);
    };
    let recorded = process::workspace_path(RECORDED);
    process::remove(&recorded)?; // of an earlier run
    let mut environment: Vec<(&str, OsString)> =
        vec![("ROLLCAST_TEST_KUBECONFIG", kubeconfig.clone().into()), ("ROLLCAST_RECORDED", recorded.clone().into())];
    let mut left_out: &[&str] = &[];
    match kubectl {
        Some(program) => environment.push(("ROLLCAST_KUBECTL", program.into())),
        None => left_out = &["--skip", "the_account_of_the_manifests_may_do"], // said above
    }
    environment.extend(extent.variable());
    // Pods of a real node take long, and so does the expiry of a permission: both wait most of the time.
    std::thread::scope(|scope| {
        let node = scope.spawn(|| test_real_node(tests, extent, ""));
        let control_plane = tests.run_ignored("server", &["faithful::", "signed::"], left_out, &environment);
        let node = node.join().map_err(|_| anyhow!("the tests on a real node broke off"))?;
        control_plane.and(node)
    })?;
    if extent.is_whole() {
        tests.run_ignored("server", &["chaos::"], &[], &environment)?;
    }
    browsers.env("ROLLCAST_RECORDED", recorded).env("ROLLCAST_TEST_KUBECONFIG", kubeconfig);
    browsers.args(["--project=cluster", "--project=faithful"]);
    if process::is_installed("go") {
        browsers.env("ROLLCAST_ORACLE", setup::ensure_binaries()?.oracle);
        if extent.is_whole()
            && let Some(provider) = setup::ensure_provider()?
        {
            browsers.env("ROLLCAST_PROVIDER", provider);
        }
    } else {
        process::leave_out("the comparison with Kubernetes' own verdicts, and signing in at a provider", NO_GO)?;
    }
    Ok(true)
}

/// Checks the invariants of every sentence on a thousand random clusters with their history cut again and again. Minutes.
pub fn thousand_clusters() -> Result<()> {
    invariants(&Tests::build()?, "invariants::invariants_hold_on_a_thousand_simulated_clusters")
}

/// Plays so many seeds of the simulation, from the first one on.
pub fn simulate(seeds: u32, first: u32) -> Result<()> {
    let environment = [("ROLLCAST_TEST_SEEDS", seeds), ("ROLLCAST_TEST_FIRST_SEED", first)];
    let environment = environment.map(|(name, number)| (name, number.to_string().into()));
    let (module, shown) = ("live::simulation::", "--nocapture");
    if seeds < MANY_SEEDS {
        return Tests::build()?.run_ignored("server", &[module], &[shown], &environment);
    }
    let optimised = ["test", "--release", "--package", "server", "--test", "all", "--", "--ignored", module, shown];
    process::run(process::command("cargo", &optimised).envs(environment))
}

fn invariants(tests: &Tests, test: &str) -> Result<()> {
    tests.run_ignored(
        "server",
        &[test],
        &["--nocapture"],
        &[("ROLLCAST_RECORDED", process::workspace_path(RECORDED).into())],
    )
}

/// Tests kubectl on the simulated cluster. Returns which kubectl that is.
fn kubectl(tests: &Tests) -> Result<Option<String>> {
    let program = if process::is_installed("go") {
        format!("{} kubectl", setup::ensure_binaries()?.kubernetes.display())
    } else if process::is_installed("kubectl") {
        "kubectl".to_owned()
    } else {
        let what = "kubectl on the simulated cluster, and what it says of the manifests' account";
        process::leave_out(what, "neither Go nor kubectl here")?;
        return Ok(None);
    };
    tests.run_ignored("simcluster", &["kubectl::"], &[], &[("ROLLCAST_KUBECTL", program.clone().into())])?;
    Ok(Some(program))
}

/// Returns the kubeconfig of the cluster to test on: a given one, or one that is started for this run.
fn kubeconfig(running: &mut Option<Running>) -> Result<Option<std::path::PathBuf>> {
    if let Some(given) = std::env::var_os("ROLLCAST_TEST_KUBECONFIG") {
        return Ok(Some(given.into()));
    }
    if !process::is_installed("go") {
        return Ok(None);
    }
    let cluster = Running::start("test")?;
    let kubeconfig = cluster.0.kubeconfig();
    *running = Some(cluster);
    Ok(Some(kubeconfig))
}
