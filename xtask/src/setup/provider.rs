//! Dex, the provider at which people sign in in tests, built from its Go module.

use std::path::PathBuf;

use anyhow::Result;

use super::control_plane::go_build;
use crate::process;

/// Builds it where it is missing or older than its sources; `None` where there is no Go to build it with.
pub fn ensure_provider() -> Result<Option<PathBuf>> {
    if !process::is_installed("go") {
        return Ok(None);
    }
    let (made, sources) = (process::workspace_path("target/oidc/provider"), process::workspace_path("end2end/oidc"));
    if process::is_outdated(&made, &["main.go", "go.mod", "go.sum"].map(|file| sources.join(file))) {
        process::print_note("building Dex, the sign-in provider of the tests (about 2 minutes the first time)");
        std::fs::create_dir_all(process::workspace_path("target/oidc"))?;
        go_build(&made, &["."], "-s -w", &sources)?;
    }
    Ok(Some(made))
}
