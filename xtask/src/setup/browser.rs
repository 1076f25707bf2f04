//! The npm packages of page and browser tests, and a Chromium to run tests in.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::apt::apt_install;
use crate::process;

/// Debian's Chromiums, the preferred one first: the one without windows draws the same with a quarter less of the processor.
const SYSTEM_CHROMIUMS: [&str; 2] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/// Installs the npm packages of `end2end` (browser tests, fonts, wasm-opt, esbuild) as its lock file says.
pub fn ensure_node_modules() -> Result<()> {
    let (lock, installed) = (
        process::workspace_path("end2end/package-lock.json"),
        process::workspace_path("end2end/node_modules/.package-lock.json"),
    );
    if !process::is_outdated(&installed, &[lock]) {
        return Ok(());
    }
    ensure!(process::is_installed("npm"), "npm is missing: install Node.js 20 or newer");
    process::print_note("installing the npm packages of end2end into end2end/node_modules");
    // No package needs a script to be installed; one that comes with a script later does not run it.
    process::run(
        process::command("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(process::workspace_path("end2end"))
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )
}

/// A Chromium for tests, screenshots and figures.
pub struct Browser {
    /// The system's; none where Playwright has one of its own.
    path: Option<String>,
}

impl Browser {
    /// A command that runs a program of `end2end` with this browser.
    pub fn node(&self, program: &str) -> Command {
        let mut command = process::command("node", &[program]);
        self.configure(command.current_dir(process::workspace_path("end2end")));
        command
    }

    /// Lets what a command starts use this browser, with the same fonts on every machine.
    pub fn configure(&self, command: &mut Command) {
        if let Some(path) = &self.path {
            command.env("CHROMIUM", path);
        }
        command.env("FONTCONFIG_FILE", process::workspace_path("end2end/fonts.conf"));
    }
}

/// Finds a Chromium: `CHROMIUM`, the system's, or one that Playwright installs.
pub fn ensure_browser() -> Result<Browser> {
    if let Ok(path) = std::env::var("CHROMIUM") {
        return Ok(Browser { path: Some(path) });
    }
    let system = || SYSTEM_CHROMIUMS.into_iter().find(|path| Path::new(path).exists());
    if system().is_none() && !apt_install(&["chromium-headless-shell"]) {
        apt_install(&["chromium"]); // of Debian before 12
    }
    if let Some(path) = system() {
        return Ok(Browser { path: Some(path.to_owned()) });
    }
    process::print_note("no system Chromium: letting Playwright install its own");
    process::run(
        process::command("npx", &["playwright", "install", "chromium"]).current_dir(process::workspace_path("end2end")),
    )?;
    Ok(Browser { path: None })
}
