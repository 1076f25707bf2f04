//! Format, clippy for everything that is built (server side and page), licences and advisories where cargo-deny is there.

use anyhow::Result;

use crate::{setup, sh};

/// Runs every check; the first that fails ends it.
pub fn lint() -> Result<()> {
    sh::run(&mut sh::command("cargo", &["fmt", "--all", "--check"]))?;
    sh::run(&mut sh::command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    setup::ensure_wasm()?;
    // The page's own code is behind another feature; clippy looks at it for the host, where it compiles as well.
    sh::run(&mut sh::command(
        "cargo",
        &[
            "clippy",
            "--package",
            "app",
            "--features",
            "hydrate",
            "--target-dir",
            "target/page-lint",
            "--",
            "-D",
            "warnings",
        ],
    ))?;
    if sh::has("cargo-deny") {
        sh::run(&mut sh::command("cargo", &["deny", "check"]))?;
    } else {
        sh::say("LEFT OUT: licences and advisories (install cargo-deny to check deny.toml)");
    }
    Ok(())
}
