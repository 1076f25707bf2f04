//! Dex, the provider at which people sign in in tests, built from its Go module.

use std::path::PathBuf;

use anyhow::Result;

use super::control_plane::{go_build, is_older};
use crate::sh;

/// Builds it where it is missing or older than its sources; `None` where there is no Go to build it with.
pub fn ensure_provider() -> Result<Option<PathBuf>> {
    if !sh::has("go") {
        return Ok(None);
    }
    let (made, sources) = (sh::at("target/oidc/provider"), sh::at("end2end/oidc"));
    if is_older(&made, &["main.go", "go.mod", "go.sum"].map(|file| sources.join(file))) {
        sh::say("building Dex, the sign-in provider of the tests (about 2 minutes the first time)");
        std::fs::create_dir_all(sh::at("target/oidc"))?;
        go_build(&made, ".", "-s -w", &sources)?;
    }
    Ok(Some(made))
}
