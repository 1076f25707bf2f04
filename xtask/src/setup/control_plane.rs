//! The programs of the real control plane, built from Go modules: the Kubernetes binary, etcd, KWOK.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::process;

/// Kubernetes' version; also in `end2end/cluster/go.mod`.
pub const KUBERNETES: &str = "1.36.3";
const KWOK: &str = "sigs.k8s.io/kwok/cmd/kwok@v0.8.0";

/// Where the programs are.
pub struct Binaries {
    /// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl by first argument.
    pub kubernetes: PathBuf,
    /// etcd.
    pub etcd: PathBuf,
    /// The fake kubelet.
    pub kwok: PathBuf,
    /// Program that prints the verdicts of Kubernetes' own code.
    pub oracle: PathBuf,
}

/// Builds what is missing or older than its sources.
pub fn ensure_binaries() -> Result<Binaries> {
    ensure!(process::is_installed("go"), "the control plane is built with Go 1.26 or newer, which is not on the PATH");
    let folder = process::workspace_path("target/cluster/bin");
    std::fs::create_dir_all(&folder)?;
    let binaries = Binaries {
        kubernetes: folder.join("rollcast-cluster"),
        etcd: folder.join("etcd"),
        kwok: folder.join("kwok"),
        oracle: folder.join("oracle"),
    };
    let modules = process::workspace_path("end2end/cluster");
    let sources = ["main.go", "certificates.go", "go.mod", "go.sum"].map(|file| modules.join(file));
    if process::is_outdated(&binaries.kubernetes, &sources) {
        process::print_note(
            "building the Kubernetes control plane from its Go modules (about 4 minutes the first time)",
        );
        let mut versions = KUBERNETES.split('.');
        let version = "k8s.io/component-base/version";
        let flags = format!(
            "-s -w -X {version}.gitVersion=v{KUBERNETES} -X {version}.gitMajor={} -X {version}.gitMinor={}",
            versions.next().unwrap_or_default(),
            versions.next().unwrap_or_default(),
        );
        go_build(&binaries.kubernetes, ".", &flags, &modules)?;
    }
    if process::is_outdated(&binaries.oracle, &["oracle/main.go", "go.mod", "go.sum"].map(|file| modules.join(file))) {
        process::print_note("building the oracle that verdicts are compared with");
        go_build(&binaries.oracle, "./oracle", "-s -w", &modules)?;
    }
    let etcd = modules.join("etcd");
    if process::is_outdated(&binaries.etcd, &["main.go", "go.mod", "go.sum"].map(|file| etcd.join(file))) {
        process::print_note("building etcd");
        go_build(&binaries.etcd, ".", "-s -w", &etcd)?;
    }
    if !binaries.kwok.exists() {
        process::print_note("building KWOK, the fake kubelet");
        process::run(process::command("go", &["install", KWOK]).env("GOBIN", &folder))?;
    }
    Ok(binaries)
}

pub(super) fn go_build(made: &Path, package: &str, flags: &str, modules: &Path) -> Result<()> {
    let mut go = process::command("go", &["build", "-trimpath", "-ldflags", flags, "-o"]);
    process::run(go.arg(made).arg(package).current_dir(modules))
}
