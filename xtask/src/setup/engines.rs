//! Browsers of other engines to run tests in: the machine's own Firefox, for Playwright has none that is unchanged; and WebKit, the engine of
//! Safari, in the small browser of Debian's WebKitGTK, with its driver and a screen for it.

use std::path::{Path, PathBuf};

use super::apt::apt_install;
use crate::process;

/// Debian's first: on other systems `firefox` may be a script that starts a sandbox, which sees no profile of a test.
const FIREFOXES: [&str; 2] = ["firefox-esr", "firefox"];
const FIREFOX_ON_MACOS: &str = "/Applications/Firefox.app/Contents/MacOS/firefox";
/// The place of WebKit's browser among the libraries of a processor, and what drives and shows it.
const WEBKIT: &str = "webkit2gtk-4.1/MiniBrowser";
const AROUND_WEBKIT: [&str; 2] = ["WebKitWebDriver", "Xvfb"];

/// Finds a Firefox: `FIREFOX`, the system's, or Debian's, which is installed. None where there is none to be had.
pub fn ensure_firefox() -> Option<PathBuf> {
    ensure("FIREFOX", &["firefox-esr"], || {
        let on_macos = || Some(PathBuf::from(FIREFOX_ON_MACOS)).filter(|program| program.exists());
        FIREFOXES.into_iter().find_map(process::find).or_else(on_macos)
    })
}

/// Finds the browser of WebKit: `ROLLCAST_WEBKIT`, the system's, or Debian's, which is installed. None where there is none to be had.
pub fn ensure_webkit() -> Option<PathBuf> {
    // The package of the driver brings the browser.
    ensure("ROLLCAST_WEBKIT", &["webkit2gtk-driver", "xvfb"], || {
        let library = Path::new("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let is_usable = |browser: &PathBuf| browser.exists() && AROUND_WEBKIT.into_iter().all(process::is_installed);
        Some(library.join(WEBKIT)).filter(is_usable)
    })
}

fn ensure(variable: &str, packages: &[&str], find: fn() -> Option<PathBuf>) -> Option<PathBuf> {
    let given = std::env::var_os(variable).map(PathBuf::from);
    given.or_else(find).or_else(|| apt_install(packages).then(find).flatten())
}
