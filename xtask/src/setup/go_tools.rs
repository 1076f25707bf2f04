//! Programs in Go: those that are published as modules, each of a pinned version, and those of our modules. Among them are those that check
//! the Helm chart.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process;

/// Folder in which they are installed.
const FOLDER: &str = "target/tools/bin";
const HELM: &str = "helm.sh/helm/v4/cmd/helm@v4.3.1";
const KUBECONFORM: &str = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0";

/// Installs the program of a Go package unless it has that version already: `helm.sh/helm/v4/cmd/helm@v4.3.1`.
pub fn ensure_go_tool(package_at_version: &str) -> Result<PathBuf> {
    let (package, version) = package_at_version.split_once('@').context("a Go package needs @VERSION")?;
    let name = package.rsplit('/').next().context("a Go package needs a name")?;
    let folder = process::workspace_path(FOLDER);
    let program = folder.join(name);
    if is_that_version(&program, package, version) {
        return Ok(program);
    }
    ensure!(process::is_installed("go"), "{name} is built with Go 1.26 or newer, which is not on the PATH");
    process::print_note(&format!("installing {name} {version} into {FOLDER} (minutes, once)"));
    std::fs::create_dir_all(&folder)?;
    process::run(process::command("go", &["install", package_at_version]).env("GOBIN", &folder))?;
    Ok(program)
}

/// Files of a module of ours with one program.
pub(super) const SOURCES: [&str; 3] = ["main.go", "go.mod", "go.sum"];

/// Builds a program of a module of ours, and prints that, unless it is newer than these files of the module.
pub(super) fn go_build(
    made: &Path,
    what: &str,
    module: &str,
    sources: &[&str],
    arguments: &[&str],
    flags: &str,
) -> Result<()> {
    let module = process::workspace_path(module);
    if process::is_outdated(made, &sources.iter().map(|file| module.join(file)).collect::<Vec<_>>()) {
        process::print_note(&format!("building {what}"));
        let mut go = process::command("go", &["build", "-trimpath", "-ldflags", flags, "-o"]);
        process::run(go.arg(made).args(arguments).current_dir(module))?;
    }
    Ok(())
}

/// Builds Dex, the provider at which people sign in in tests; `None` where there is no Go to build it with.
pub fn ensure_provider() -> Result<Option<PathBuf>> {
    if !process::is_installed("go") {
        return Ok(None);
    }
    let made = process::workspace_path("target/oidc/provider");
    let what = "Dex, the sign-in provider of the tests (about 2 minutes the first time)";
    go_build(&made, what, "end2end/oidc", &SOURCES, &["."], "-s -w")?;
    Ok(Some(made))
}

pub struct ChartTools {
    pub helm: PathBuf,
    /// Checks objects against JSON schemas.
    pub kubeconform: PathBuf,
    /// Decodes objects into the Go types of the projects that define them.
    pub kinds: PathBuf,
}

/// Installs or builds what is missing or of another version.
pub fn ensure_chart_tools() -> Result<ChartTools> {
    let (helm, kubeconform) = (ensure_helm()?, ensure_go_tool(KUBECONFORM)?);
    let kinds = process::workspace_path("target/tools/bin/kinds");
    let what = "the check of the chart's kinds (about a minute the first time)";
    go_build(&kinds, what, "end2end/chart", &SOURCES, &["."], "-s -w")?;
    Ok(ChartTools { helm, kubeconform, kinds })
}

pub fn ensure_helm() -> Result<PathBuf> {
    ensure_go_tool(HELM)
}

/// Go writes package and version into each program: lines such as `path PACKAGE` and `mod MODULE VERSION`.
fn is_that_version(program: &Path, package: &str, version: &str) -> bool {
    let mut go = process::command("go", &["version", "-m"]);
    let Ok(lines) = process::output(go.arg(program)) else { return false };
    let has = |kind: &str, column: usize, value: &str| {
        let mut lines = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|line| line.first() == Some(&kind) && line.get(column) == Some(&value))
    };
    has("path", 1, package) && has("mod", 2, version)
}
