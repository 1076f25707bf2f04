//! Dex, the provider at which people sign in in tests, built from its Go module.

use std::path::PathBuf;

use anyhow::Result;

use super::go_tools::{SOURCES, go_build};
use crate::process;

/// Builds it where it is missing or older than its sources; `None` where there is no Go to build it with.
pub fn ensure_provider() -> Result<Option<PathBuf>> {
    if !process::is_installed("go") {
        return Ok(None);
    }
    let made = process::workspace_path("target/oidc/provider");
    let what = "Dex, the sign-in provider of the tests (about 2 minutes the first time)";
    go_build(&made, what, "end2end/oidc", &SOURCES, &["."], "-s -w")?;
    Ok(Some(made))
}
