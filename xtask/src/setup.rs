//! What the project needs on a machine, each part skipped when it is there.

mod browser;
mod control_plane;
mod deny;
mod firefox;
mod node;
mod postgres;
mod provider;
mod wasm;

use anyhow::Result;

pub use browser::{ensure_browser, ensure_node_modules};
pub use control_plane::{Binaries, ensure_binaries};
pub use deny::ensure_deny;
pub use firefox::ensure_firefox;
pub use node::ensure_node;
pub use postgres::ensure_postgres;
pub use provider::ensure_provider;
pub use wasm::{Toolchain, ensure_wasm};

use crate::sh;

/// Everything that any command needs.
pub fn everything() -> Result<()> {
    ensure_wasm()?;
    ensure_node_modules()?;
    ensure_browser()?;
    if ensure_firefox().is_none() {
        sh::say("no Firefox here, and none to install: the tests in it will be left out (FIREFOX names one)");
    }
    if !ensure_postgres() {
        sh::say("no PostgreSQL here, and none to install: the tests of history in a database will be left out");
    }
    if ensure_deny().is_none() {
        sh::say("no cargo-deny here, and none to install: licences and sources of dependencies will not be checked");
    }
    if sh::has("go") {
        ensure_binaries()?;
        ensure_provider()?;
        ensure_node()?;
    } else {
        sh::say(
            "no Go here: the control plane of the cluster tests cannot be built (set ROLLCAST_TEST_KUBECONFIG to use a cluster of yours), nor the provider of the sign-in tests",
        );
    }
    sh::say("set-up complete");
    Ok(())
}

/// Installs Debian packages, said aloud. False where that is not possible.
fn apt_install(packages: &[&str]) -> bool {
    if !sh::has("apt-get") {
        return false;
    }
    sh::say(&format!("installing Debian packages on this machine: {}", packages.join(" ")));
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(packages);
    let quiet = |arguments: &[&str]| {
        sh::command("apt-get", arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    quiet(&install) || (quiet(&["update", "-qq"]) && quiet(&install))
}
