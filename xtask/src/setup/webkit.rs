//! WebKit, the engine of Safari, to run tests in: the small browser of Debian's WebKitGTK, its driver, and a screen for it.

use std::path::{Path, PathBuf};

use super::apt::apt_install;
use crate::process;

const PROGRAMS: [&str; 2] = ["WebKitWebDriver", "Xvfb"];
/// Debian's packages of the programs; the driver's brings the browser.
const PACKAGES: [&str; 2] = ["webkit2gtk-driver", "xvfb"];
/// The browser's place among the libraries of a processor.
const BROWSER: &str = "webkit2gtk-4.1/MiniBrowser";

/// Finds the browser of WebKit: `ROLLCAST_WEBKIT`, the system's, or Debian's, which is installed. None where there is none to be had.
pub fn ensure_webkit() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("ROLLCAST_WEBKIT") {
        return Some(given.into());
    }
    find().or_else(|| apt_install(&PACKAGES).then(find).flatten())
}

fn find() -> Option<PathBuf> {
    if !PROGRAMS.into_iter().all(process::is_installed) {
        return None;
    }
    let library = Path::new("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    Some(library.join(BROWSER)).filter(|browser| browser.exists())
}
