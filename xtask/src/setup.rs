//! Tools that the project needs on a machine, each installed only if it is missing.

mod apt;
mod browser;
mod cargo_tool;
mod control_plane;
mod go_tools;
mod node;
mod static_linux;
mod wasm;

use anyhow::Result;

pub use apt::{POSTGRES, ensure_buildah, ensure_postgres};
pub use browser::{Browser, ensure_browser, ensure_firefox, ensure_node_modules, ensure_webkit};
pub use cargo_tool::{CYCLONEDX, DENY, MDBOOK, MUTANTS};
pub use control_plane::{Binaries, KUBERNETES, OLDER_KUBERNETES, TEST_KUBERNETES, ensure_binaries, minor};
pub use go_tools::{ChartTools, ensure_chart_tools, ensure_go_tool, ensure_helm, ensure_provider};
pub use node::ensure_node;
pub use static_linux::{STATIC_TOOLS, ensure_static_linux};
pub use wasm::{Toolchain, ensure_wasm, flags_without_paths, paths_of_sources};

use crate::process;

pub fn everything() -> Result<()> {
    ensure_wasm()?;
    ensure_node_modules()?;
    ensure_browser()?;
    let tell = |is_there: bool, what: &str, without: &str| {
        if !is_there {
            process::print_note(&format!("no {what} here, and none to install: {without}"));
        }
    };
    tell(ensure_firefox().is_some(), "Firefox", "the tests in it will be left out (FIREFOX names one)");
    tell(ensure_webkit().is_some(), "WebKit", "the tests in it will be left out by night");
    tell(ensure_postgres(), "PostgreSQL", "the tests of history in a database will be left out");
    tell(DENY.ensure().is_some(), "cargo-deny", "licences and sources of dependencies will not be checked");
    if !process::is_installed("go") {
        process::print_note(
            "no Go here: the control plane of the cluster tests cannot be built (set ROLLCAST_TEST_KUBECONFIG to use a cluster of yours), nor the provider of the sign-in tests, nor the tools that check the Helm chart",
        );
    }
    build_all_with_go()?;
    process::print_note("set-up complete");
    Ok(())
}

/// Builds the control plane and the real node.
pub fn build_with_go() -> Result<()> {
    if process::is_installed("go") {
        ensure_binaries()?;
        ensure_node()?;
    }
    Ok(())
}

/// Builds also the provider at which people sign in, and the tools of the chart.
pub fn build_all_with_go() -> Result<()> {
    build_with_go()?;
    if process::is_installed("go") {
        ensure_provider()?;
        ensure_chart_tools()?;
    }
    Ok(())
}
