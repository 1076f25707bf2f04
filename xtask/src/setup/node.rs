//! The programs of the real node: containerd, a CNI plugin and the image's program from their Go modules, runc from Debian.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::apt::apt_install;
use super::go_tools::go_build;
use crate::process;

const MODULE: &str = "end2end/cluster/node";
/// Programs of others that its `go.mod` names.
const PACKAGES: [&str; 5] = [
    "github.com/containerd/containerd/v2/cmd/containerd",
    "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    "github.com/containerd/containerd/v2/cmd/ctr",
    "github.com/containernetworking/plugins/plugins/ipam/host-local",
    "github.com/containernetworking/plugins/plugins/main/bridge",
];
/// Programs of the system, and the Debian package of each.
const TOOLS: [(&str, &str); 3] = [("runc", "runc"), ("ip", "iproute2"), ("unshare", "util-linux")];
/// CAP_NET_ADMIN and CAP_SYS_ADMIN, by their bits in `CapEff`.
const CAPABILITIES: u64 = 1 << 12 | 1 << 21;

/// Builds and installs what is missing, and returns the folder of the programs. If no node can run, prints the reason
/// and returns `None`.
pub fn ensure_node() -> Result<Option<PathBuf>> {
    if let Some(obstacle) = obstacle() {
        process::print_note(&format!("a real node cannot run here: {obstacle}"));
        return Ok(None);
    }
    let missing: Vec<&str> =
        TOOLS.iter().filter(|(tool, _)| !process::is_installed(tool)).map(|(_, package)| *package).collect();
    if !missing.is_empty() && !apt_install(&missing) {
        process::print_note(&format!("a real node cannot run here: it needs {}", missing.join(", ")));
        return Ok(None);
    }
    let folder = process::workspace_path("target/cluster/bin/node");
    std::fs::create_dir_all(&folder)?;
    for package in PACKAGES {
        let program = folder.join(package.rsplit('/').next().context("no program")?);
        let what = format!("{package} for the real node (2 minutes for all the first time)");
        go_build(&program, &what, MODULE, &["go.mod", "go.sum"], &[package], "-s -w")?;
    }
    let (app, module) = (folder.join("app"), process::workspace_path(MODULE));
    if process::is_outdated(&app, &["main.go", "image.go", "registry.go"].map(|file| module.join("app").join(file))) {
        let mut go = process::command("go", &["build", "-trimpath", "-ldflags", "-s -w", "-o"]);
        process::run(go.arg(&app).arg("./app").env("CGO_ENABLED", "0").current_dir(&module))?; // the only file of its image
    }
    Ok(Some(folder))
}

/// Returns the obstacle that keeps a node from running here.
fn obstacle() -> Option<&'static str> {
    if !process::is_installed("go") {
        return Some("it is built with Go");
    }
    let Ok(this) = std::fs::metadata("/proc/self") else { return Some("it needs Linux") };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let is_able = this.uid() == 0 && effective.is_some_and(|held| held & CAPABILITIES == CAPABILITIES);
    (!is_able).then_some("it needs root, with the right to mount file systems and to add a bridge")
}
