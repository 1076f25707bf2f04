//! Format and clippy for everything that is built (server side and page), and cargo-deny's checks of dependencies.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::{page, process, setup};

/// The advisories are a repository of their own, which not every machine reaches.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Runs every check; the first that fails ends it.
pub fn lint() -> Result<()> {
    sources()?;
    dependencies()
}

/// Checks our own code.
pub fn sources() -> Result<()> {
    process::run(&mut process::command("cargo", &["fmt", "--all", "--check"]))?;
    // The server embeds this folder, so it does not compile without it.
    std::fs::create_dir_all(process::workspace_path(page::SITE))?;
    process::run(&mut process::command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // The page's own code is behind another feature; clippy checks it for the host, where it compiles as well.
    let page = ["clippy", "--package", "app", "--features", "hydrate", "--", "-D", "warnings"];
    process::run(&mut process::command("cargo", &page))
}

/// Checks what we use. Tests of a change leave it out: it depends on `Cargo.lock` alone, and cargo-deny takes minutes to build.
fn dependencies() -> Result<()> {
    match setup::DENY.ensure() {
        Some(deny) => with_deny(&deny),
        None => {
            let what = "licences, sources and advisories of dependencies";
            process::leave_out(what, "no cargo-deny here, and none to install")
        }
    }
}

/// Checks licences, sources and bans always, and advisories if they can be fetched. A new advisory is printed and does
/// not fail the check: no change of ours caused it.
fn with_deny(deny: &Path) -> Result<()> {
    process::run(&mut process::command(deny, &["check", "bans", "licenses", "sources"]))?;
    if process::succeeds_within(&mut process::command(deny, &["fetch", "db"]), FETCH_LIMIT) {
        if process::run(&mut process::command(deny, &["check", "--disable-fetch", "advisories"])).is_err() {
            process::print_note("ADVISORIES: there are some of our dependencies, see above");
        }
        process::print_note("checked: licences, sources, bans and advisories of all dependencies");
    } else {
        process::print_note("checked: licences, sources and bans of all dependencies");
        process::print_note(
            "NOT CHECKED: advisories (their database, github.com/rustsec/advisory-db, cannot be fetched here)",
        );
    }
    Ok(())
}
