//! A Firefox to run tests in: the machine's own, for Playwright has none that is unchanged.

use std::path::PathBuf;

use super::apt::apt_install;
use crate::process;

/// Debian's first: on other systems `firefox` may be a script that starts a sandbox, which sees no profile of a test.
const PROGRAMS: [&str; 2] = ["firefox-esr", "firefox"];
const ON_MACOS: &str = "/Applications/Firefox.app/Contents/MacOS/firefox";
/// As Debian calls it.
const PACKAGE: &str = "firefox-esr";

/// Finds a Firefox: `FIREFOX`, the system's, or Debian's, which is installed. None where there is none to be had.
pub fn ensure_firefox() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("FIREFOX") {
        return Some(given.into());
    }
    find().or_else(|| apt_install(&[PACKAGE]).then(find).flatten())
}

fn find() -> Option<PathBuf> {
    let on_macos = || Some(PathBuf::from(ON_MACOS)).filter(|program| program.exists());
    PROGRAMS.into_iter().find_map(process::find).or_else(on_macos)
}
