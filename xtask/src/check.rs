//! Format, clippy for everything that is built (server side and page), licences and advisories where cargo-deny is there.

use anyhow::Result;

use crate::sh;

/// Runs every check; the first that fails ends it.
pub fn lint() -> Result<()> {
    sh::run(&mut sh::command("cargo", &["fmt", "--all", "--check"]))?;
    sh::run(&mut sh::command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // The page's own code is behind another feature; clippy looks at it for the host, where it compiles as well.
    let page = ["clippy", "--package", "app", "--features", "hydrate", "--", "-D", "warnings"];
    sh::run(&mut sh::command("cargo", &page))?;
    if sh::has("cargo-deny") {
        sh::run(&mut sh::command("cargo", &["deny", "check"]))?;
    } else {
        sh::say("LEFT OUT: licences and advisories (install cargo-deny to check deny.toml)");
    }
    Ok(())
}
