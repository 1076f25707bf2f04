//! The browser tests' npm packages, and a Chromium to run them in.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::sh;

const SYSTEM_CHROMIUM: &str = "/usr/bin/chromium";

/// Installs the npm packages of `end2end` (browser tests, wasm-opt) as its lock file says.
pub fn ensure_node_modules() -> Result<()> {
    let (lock, installed) = (sh::at("end2end/package-lock.json"), sh::at("end2end/node_modules/.package-lock.json"));
    let newer = |a: &Path, b: &Path| Some(a.metadata().ok()?.modified().ok()? > b.metadata().ok()?.modified().ok()?);
    if installed.exists() && newer(&lock, &installed) != Some(true) {
        return Ok(());
    }
    ensure!(sh::has("npm"), "npm is missing: install Node.js 20 or newer");
    sh::say("installing the npm packages of end2end into end2end/node_modules");
    sh::run(
        sh::command("npm", &["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(sh::at("end2end"))
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )
}

/// Path of a Chromium: `CHROMIUM`, the system's, or one that Playwright installs.
pub fn ensure_browser() -> Result<Option<String>> {
    if let Ok(path) = std::env::var("CHROMIUM") {
        return Ok(Some(path));
    }
    if !Path::new(SYSTEM_CHROMIUM).exists() && sh::has("apt-get") {
        // The pictures that pages are compared with are drawn with these fonts.
        super::apt_install(&["chromium", "fonts-dejavu-core"]);
    }
    if Path::new(SYSTEM_CHROMIUM).exists() {
        return Ok(Some(SYSTEM_CHROMIUM.to_owned()));
    }
    sh::say("no system Chromium: letting Playwright install its own");
    sh::run(sh::command("npx", &["playwright", "install", "chromium"]).current_dir(sh::at("end2end")))?;
    Ok(None)
}
