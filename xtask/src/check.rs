//! Format, clippy for everything that is built (server side and page), and what cargo-deny says of dependencies.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::{setup, sh};

/// The advisories are a repository of their own, which not every machine reaches.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Runs every check; the first that fails ends it.
pub fn lint() -> Result<()> {
    sh::run(&mut sh::command("cargo", &["fmt", "--all", "--check"]))?;
    sh::run(&mut sh::command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // The page's own code is behind another feature; clippy looks at it for the host, where it compiles as well.
    let page = ["clippy", "--package", "app", "--features", "hydrate", "--", "-D", "warnings"];
    sh::run(&mut sh::command("cargo", &page))?;
    match setup::ensure_deny() {
        Some(deny) => dependencies(&deny),
        None if sh::is_ci() => bail!(
            "licences and sources need cargo-deny, which cannot be installed here; with CI=true they may not be left out"
        ),
        None => {
            sh::say(
                "LEFT OUT: licences, sources and advisories of dependencies (no cargo-deny here, and none to install)",
            );
            Ok(())
        }
    }
}

/// Licences, sources and bans always; advisories where they can be had. A new advisory is told and fails nothing: it comes without
/// anybody having changed anything here.
fn dependencies(deny: &Path) -> Result<()> {
    sh::run(&mut sh::command(deny, &["check", "bans", "licenses", "sources"]))?;
    if sh::succeeds_within(&mut sh::command(deny, &["fetch", "db"]), FETCH_LIMIT) {
        if sh::run(&mut sh::command(deny, &["check", "--disable-fetch", "advisories"])).is_err() {
            sh::say("ADVISORIES: there are some of our dependencies, see above");
        }
        sh::say("checked: licences, sources, bans and advisories of all dependencies");
    } else {
        sh::say("checked: licences, sources and bans of all dependencies");
        sh::say("NOT CHECKED: advisories (their database, github.com/rustsec/advisory-db, cannot be fetched here)");
    }
    Ok(())
}
