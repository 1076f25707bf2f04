//! The program as kubectl starts a plugin: `kubectl-rollcast`, with kubectl's options.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::shop;

/// The program under the name of a plugin.
fn plugin(folder: &Path) -> Command {
    named("kubectl-rollcast", folder)
}

fn named(name: &str, folder: &Path) -> Command {
    let program = folder.join(name);
    if !program.exists() {
        symlink(env!("CARGO_BIN_EXE_rollcast"), &program).unwrap();
    }
    Command::new(program)
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// A browser that writes the address that it is to open into a file.
fn browser(folder: &Path) -> (PathBuf, PathBuf) {
    let (program, opened) = (folder.join("browser"), folder.join("opened"));
    fs::write(&program, format!("#!/bin/sh\nprintf %s \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", opened.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (program, opened)
}

#[tokio::test]
async fn open_serves_one_namespace_as_another_user_and_opens_the_page() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let (browser, opened) = browser(folder.path());
    let mut open = plugin(folder.path());
    open.args(["open", "deploy/web", "-n", "shop", "--kubeconfig", &kubeconfig(&api, "prod")]);
    open.args(["--as", "jane", "--as-group", "devs", "--as-group", "ops"]).env("BROWSER", &browser);
    let serving = Serving::begin(&mut open);
    until("the browser has opened the page", async || opened.exists()).await;
    let page = fs::read_to_string(&opened).unwrap();
    let path = "/clusters/prod/namespaces/shop/deployments/web";
    assert_eq!(page, format!("http://{}", serving.address));
    let address = serving.address.strip_suffix(path).unwrap();
    until("it is live", async || get(address, path).await.contains("Live")).await;
    let paths: Vec<String> = api.paths().into_iter().map(|(_, path)| path).collect();
    assert!(paths.iter().all(|path| path == "version" || path.contains("namespaces/shop/")), "{paths:?}");
    assert_eq!(api.impersonated(), BTreeSet::from([["jane", "devs", "ops"].map(str::to_owned).to_vec()]));
    serving.end();
}

#[tokio::test]
async fn open_without_a_deployment_or_a_browser_prints_the_list_of_the_namespace() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let kubeconfig = kubeconfig(&api, "prod");
    for (options, path) in [
        (&["-n", "shop"][..], "/clusters/prod/namespaces/shop"),
        (&[], "/clusters/prod/namespaces/default"),
        (&["-A"], "/"),
    ] {
        let mut open = plugin(folder.path());
        open.args(["open", "--no-browser", "--kubeconfig", &kubeconfig]).args(options);
        let serving = Serving::begin(&mut open);
        let address = serving.address.strip_suffix(path.trim_end_matches('/')).unwrap();
        assert!(get(address, path).await.starts_with("HTTP/1.0 200"), "{path}");
        serving.end();
    }
    let beyond = plugin(folder.path()).args(["open", "--listen", "0.0.0.0:0", "--kubeconfig", &kubeconfig]).output();
    let beyond = text(beyond.unwrap());
    assert!(beyond.contains("0.0.0.0:0 is not a loopback address"), "{beyond}");
}

#[test]
fn a_plugin_calls_itself_as_people_start_it() {
    let folder = tempfile::tempdir().unwrap();
    let help = text(plugin(folder.path()).args(["wait", "--help"]).output().unwrap());
    assert!(help.contains("Usage: kubectl rollcast wait [OPTIONS] <deployment/NAME>..."), "{help}");
    let version = text(plugin(folder.path()).arg("--version").output().unwrap());
    let expected =
        format!("rollcast {} (development build, protocol {})\n", env!("CARGO_PKG_VERSION"), timeline::wire::PROTOCOL);
    assert_eq!(version, expected);
}

#[test]
fn kubectl_is_told_what_may_be_typed_next() {
    let folder = tempfile::tempdir().unwrap();
    let next = |typed: &[&str]| text(named("kubectl_complete-rollcast", folder.path()).args(typed).output().unwrap());
    assert_eq!(next(&["tr"]), "trace\tShow one rollout live in the terminal; q quits\n:4\n");
    assert_eq!(next(&["wait", "web", "--fail"]).split_once('\t').unwrap().0, "--fail-fast");
    assert_eq!(next(&["wait", "-o", "j"]).split_once('\t').unwrap().0, "json");
    assert_eq!(next(&["open", "-n", ""]), ":0\n", "nothing is known of namespaces");
    let commands = next(&[""]);
    assert!(commands.contains("\nopen\t") && !commands.contains("manual"), "{commands}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let commands = ["serve", "demo", "trace", "wait", "open", "check", "record", "replay", "report", "export", "share"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(plugin(folder.path()).args(["completion", shell]).output().unwrap());
        commands.iter().for_each(|command| assert!(script.contains(command), "{shell} does not complete {command}"));
        assert!(script.contains("fail-fast"), "{shell} does not complete options");
    }
    let manual = folder.path().join("man");
    let written = plugin(folder.path()).arg("manual").arg(&manual).output().unwrap();
    assert!(written.status.success(), "{}", text(written));
    for command in commands {
        let page = fs::read_to_string(manual.join(format!("rollcast-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(&format!("rollcast {command}")), "{command}: {page}");
    }
}
