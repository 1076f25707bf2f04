//! Programs in Go: those that are published as modules, each of a pinned version, and those of our modules.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::process;

/// Where they are installed.
const FOLDER: &str = "target/tools/bin";

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

/// Builds a program of a module of ours, and says so, unless it is newer than these files of the module.
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

/// Go writes package and version into each program.
fn is_that_version(program: &PathBuf, package: &str, version: &str) -> bool {
    let mut go = process::command("go", &["version", "-m"]);
    let Ok(lines) = process::output(go.arg(program)) else { return false };
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = lines.lines().map(fields).collect();
    let has = |kind: &str, is: &dyn Fn(&[String]) -> bool| {
        all.iter().any(|line| line.first().is_some_and(|first| first == kind) && is(line))
    };
    has("path", &|line| line.get(1).is_some_and(|path| path == package))
        && has("mod", &|line| line.get(2).is_some_and(|found| found == version))
}
