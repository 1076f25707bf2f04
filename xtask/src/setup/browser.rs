//! The npm packages of page and browser tests, and browsers to run tests in: a Chromium; the machine's own Firefox, for Playwright has none
//! that is unchanged; and WebKit, the engine of Safari, in the small browser of Debian's WebKitGTK, with its driver and a screen for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::apt::apt_install;
use crate::process;

/// Debian's Chromiums, the preferred one first: the one without windows draws the same with a quarter less of the processor.
const SYSTEM_CHROMIUMS: [&str; 2] = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
/// Debian's first.
const FIREFOXES: [&str; 2] = ["firefox-esr", "firefox"];
const FIREFOX_ON_MACOS: &str = "/Applications/Firefox.app/Contents/MacOS/firefox";
/// The place of WebKit's browser among the libraries of a processor, and what drives and shows it.
const WEBKIT: &str = "webkit2gtk-4.1/MiniBrowser";
const AROUND_WEBKIT: [&str; 2] = ["WebKitWebDriver", "Xvfb"];

/// Installs the npm packages of `end2end` (browser tests, fonts, wasm-opt, esbuild) in the versions of its lock file.
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
    /// Path of the system's; `None` if Playwright has one of its own.
    path: Option<PathBuf>,
}

impl Browser {
    /// Returns a command that runs a program of `end2end` with this browser.
    pub fn node(&self, program: &str) -> Command {
        let mut command = process::command("node", &[program]);
        self.configure(command.current_dir(process::workspace_path("end2end")));
        command
    }

    /// Lets a command and its child processes use this browser, with the same fonts on every machine.
    pub fn configure(&self, command: &mut Command) {
        if let Some(path) = &self.path {
            command.env("CHROMIUM", path);
        }
        command.env("FONTCONFIG_FILE", process::workspace_path("end2end/fonts.conf"));
    }
}

/// Finds a Chromium: `CHROMIUM`, the system's, or one that Playwright installs.
pub fn ensure_browser() -> Result<Browser> {
    let find = || SYSTEM_CHROMIUMS.map(PathBuf::from).into_iter().find(|path| path.exists());
    // Debian before 12 has the second one.
    let packages = ["chromium-headless-shell", "chromium"];
    let path = packages.into_iter().find_map(|package| find_or_install("CHROMIUM", &[package], find));
    if path.is_some() {
        return Ok(Browser { path });
    }
    process::print_note("no system Chromium: letting Playwright install its own");
    process::run(
        process::command("npx", &["playwright", "install", "chromium"]).current_dir(process::workspace_path("end2end")),
    )?;
    Ok(Browser { path: None })
}

/// Finds a Firefox: `FIREFOX`, the system's, or Debian's, which is installed. `None` if there is none.
pub fn ensure_firefox() -> Option<PathBuf> {
    find_or_install("FIREFOX", &["firefox-esr"], || {
        let on_macos = || Some(PathBuf::from(FIREFOX_ON_MACOS)).filter(|program| program.exists());
        FIREFOXES.into_iter().filter_map(process::find).find(|program| !is_snap(program)).or_else(on_macos)
    })
}

/// On Ubuntu `firefox` is a script that starts a sandbox, which sees no profile of a test.
fn is_snap(program: &Path) -> bool {
    std::fs::read(program).is_ok_and(|bytes| bytes.starts_with(b"#!") && bytes.windows(6).any(|part| part == b"/snap/"))
}

/// Finds the browser of WebKit: `ROLLCAST_WEBKIT`, the system's, or Debian's, which is installed. `None` if there is none.
pub fn ensure_webkit() -> Option<PathBuf> {
    // The package of the driver brings the browser.
    find_or_install("ROLLCAST_WEBKIT", &["webkit2gtk-driver", "xvfb"], || {
        let library = Path::new("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let is_usable = |browser: &PathBuf| browser.exists() && AROUND_WEBKIT.into_iter().all(process::is_installed);
        Some(library.join(WEBKIT)).filter(is_usable)
    })
}

fn find_or_install(variable: &str, packages: &[&str], find: fn() -> Option<PathBuf>) -> Option<PathBuf> {
    let given = std::env::var_os(variable).map(PathBuf::from);
    given.or_else(find).or_else(|| apt_install(packages).then(find).flatten())
}
