//! Checks of what would be published: the program's files, the plugin as krew installs it, the image as it starts, and the workflows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::image;
use super::platform::{Platform, dist};
use crate::server::Server;
use crate::{process, setup};

const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
const KREW: &str = "sigs.k8s.io/krew/cmd/krew@v0.4.3";

/// Checks the workflows of continuous integration.
pub fn workflows() -> Result<()> {
    process::run(&mut process::command(setup::ensure_go_tool(ACTIONLINT)?, &[]))
}

/// Checks the program, the plugin and the image of this machine.
pub fn run() -> Result<()> {
    let (here, krew) = (Platform::here(), setup::ensure_go_tool(KREW)?);
    ensure!(here.archive().exists(), "there is no archive: run `cargo xtask release pack`");
    let root = dist("krew");
    process::remove(&root)?;
    let mut install = process::command(krew, &["install", "--no-update-index", "--manifest"]);
    install.arg(dist("rollcast.yaml")).arg("--archive").arg(here.archive()).env("KREW_ROOT", &root);
    process::run(&mut install)?;
    check_files(here)?;
    let version = |program: PathBuf| process::output(&mut process::command(program, &["--version"]));
    let (expected, plugin) = (version(here.program())?, version(root.join("bin/kubectl-rollcast"))?);
    ensure!(plugin == expected, "the plugin is {plugin:?} instead of {expected:?}");
    check_completion(&root.join("bin/kubectl-rollcast"))?;
    if here.is_linux() {
        let image = image::started_version(here)?;
        ensure!(image == expected, "the image has {image:?} instead of {expected:?}");
    }
    println!("{expected}: installed by krew, and started from its image");
    Ok(())
}

/// Lets kubectl complete a command of the plugin.
fn check_completion(plugin: &Path) -> Result<()> {
    let folder = dist("completer");
    std::fs::create_dir_all(&folder)?;
    for name in ["kubectl-rollcast", "kubectl_complete-rollcast"] {
        let link = folder.join(name);
        if link.is_symlink() {
            std::fs::remove_file(&link)?; // of an earlier run
        }
        std::os::unix::fs::symlink(plugin, link)?;
    }
    let mut kubectl = process::command(setup::ensure_binaries()?.kubernetes, &["kubectl"]);
    let completed = process::output(kubectl.args(["__complete", "rollcast", "tr"]).env("PATH", &folder))?;
    ensure!(completed.starts_with("trace\t") && completed.contains(":4"), "kubectl completes {completed:?}");
    Ok(())
}

/// Starts the playground of a program and requests every file that its page names: all of them are of one build.
fn check_files(platform: Platform) -> Result<()> {
    let demo = ["demo", "--no-stories", "--listen", "127.0.0.1:0"];
    let server = Server::start(&mut process::command(platform.program(), &demo))?;
    let page = server.get("/wall", "Accept: text/html\r\n")?.text();
    let named = page.split(['"', '\'']).filter(|text| text.starts_with("/pkg/") || text.starts_with("/start.js"));
    let files: BTreeSet<&str> = named.collect();
    ensure!(
        files.iter().any(|file| file.starts_with("/pkg/parts/")),
        "the page names no part of its program: {files:?}"
    );
    for file in files {
        ensure!(server.get(file, "")?.status == 200, "the page names {file}, which the program does not have");
    }
    Ok(())
}
