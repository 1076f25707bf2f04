//! The programs of the real control plane, built from Go modules: the Kubernetes binary, etcd, KWOK.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::go_tools::{SOURCES, go_build};
use crate::process;

/// Kubernetes' version; also in `end2end/cluster/go.mod`.
pub const KUBERNETES: &str = "1.36.3";
/// Older ones that tests run on by night; their modules are in `end2end/cluster/kubernetes-1.35.mod` and so on.
pub const OLDER_KUBERNETES: [&str; 2] = ["1.35.4", "1.34.4"];
/// Names the version to test on: 1.35.
pub const TEST_KUBERNETES: &str = "ROLLCAST_TEST_KUBERNETES";
const MODULES: &str = "end2end/cluster";
/// A tool of those modules: its libraries are those of Kubernetes, which are compiled once.
const KWOK: &str = "sigs.k8s.io/kwok/cmd/kwok";

pub struct Binaries {
    /// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl by first argument.
    pub kubernetes: PathBuf,
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
    let version = kubernetes_version()?;
    let (kubernetes, modules_of_version) = if version == KUBERNETES {
        ("rollcast-cluster".to_owned(), "go.mod".to_owned())
    } else {
        (format!("rollcast-cluster-{}", minor(version)), format!("kubernetes-{}.mod", minor(version)))
    };
    let binaries = Binaries {
        kubernetes: folder.join(kubernetes),
        etcd: folder.join("etcd"),
        kwok: folder.join("kwok"),
        oracle: folder.join("oracle"),
    };
    let mut numbers = version.split('.');
    let variables = "k8s.io/component-base/version";
    let flags = format!(
        "-s -w -X {variables}.gitVersion=v{version} -X {variables}.gitMajor={} -X {variables}.gitMinor={}",
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let what =
        format!("the control plane of Kubernetes {version} from its Go modules (about 4 minutes the first time)");
    let sources = ["main.go", "certificates.go", &modules_of_version];
    let modfile = format!("-modfile={modules_of_version}");
    go_build(&binaries.kubernetes, &what, MODULES, &sources, &[&modfile, "."], &flags)?;
    let (what, sources) = ("the oracle that verdicts are compared with", ["oracle/main.go", "go.mod", "go.sum"]);
    go_build(&binaries.oracle, what, MODULES, &sources, &["./oracle"], "-s -w")?;
    go_build(&binaries.kwok, "KWOK", MODULES, &["go.mod", "go.sum"], &[KWOK], "-s -w")?;
    go_build(&binaries.etcd, "etcd", "end2end/cluster/etcd", &SOURCES, &["."], "-s -w")?;
    Ok(binaries)
}

/// Returns the version of Kubernetes that tests run on.
fn kubernetes_version() -> Result<&'static str> {
    let Ok(wanted) = std::env::var(TEST_KUBERNETES) else { return Ok(KUBERNETES) };
    let versions = || std::iter::once(KUBERNETES).chain(OLDER_KUBERNETES);
    versions().find(|version| minor(version) == wanted).with_context(|| {
        let known = versions().map(minor).collect::<Vec<_>>().join(", ");
        format!("{TEST_KUBERNETES}={wanted:?} is none of: {known}")
    })
}

/// Returns the minor version: 1.35 of 1.35.4.
pub fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}
