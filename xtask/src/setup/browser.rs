//! The npm packages of page and browser tests, and a Chromium to run tests in.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::sh;

const SYSTEM_CHROMIUM: &str = "/usr/bin/chromium";

/// Installs the npm packages of `end2end` (browser tests, fonts, wasm-opt, esbuild) as its lock file says.
pub fn ensure_node_modules() -> Result<()> {
    let (lock, installed) = (sh::at("end2end/package-lock.json"), sh::at("end2end/node_modules/.package-lock.json"));
    let newer = |a: &Path, b: &Path| Some(a.metadata().ok()?.modified().ok()? > b.metadata().ok()?.modified().ok()?);
    if installed.exists() && newer(&lock, &installed) != Some(true) {
        return Ok(());
    }
    ensure!(sh::has("npm"), "npm is missing: install Node.js 20 or newer");
    sh::say("installing the npm packages of end2end into end2end/node_modules");
    // No package needs a script to be installed; one that comes with a script later does not run it.
    sh::run(
        sh::command("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(sh::at("end2end"))
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )
}

/// A Chromium for tests, screenshots and figures.
pub struct Browser {
    /// The system's; none where Playwright has one of its own.
    path: Option<String>,
}

impl Browser {
    /// Lets what a command starts use this browser, with the same fonts on every machine.
    pub fn configure(&self, command: &mut Command) {
        if let Some(path) = &self.path {
            command.env("CHROMIUM", path);
        }
        command.env("FONTCONFIG_FILE", sh::at("end2end/fonts.conf"));
    }
}

/// Finds a Chromium: `CHROMIUM`, the system's, or one that Playwright installs.
pub fn ensure_browser() -> Result<Browser> {
    if let Ok(path) = std::env::var("CHROMIUM") {
        return Ok(Browser { path: Some(path) });
    }
    if !Path::new(SYSTEM_CHROMIUM).exists() && sh::has("apt-get") {
        super::apt_install(&["chromium"]);
    }
    if Path::new(SYSTEM_CHROMIUM).exists() {
        return Ok(Browser { path: Some(SYSTEM_CHROMIUM.to_owned()) });
    }
    sh::say("no system Chromium: letting Playwright install its own");
    sh::run(sh::command("npx", &["playwright", "install", "chromium"]).current_dir(sh::at("end2end")))?;
    Ok(Browser { path: None })
}
