//! Installation of Debian packages.

use crate::process;

/// Installs Debian packages, said aloud. False where that is not possible.
pub fn apt_install(packages: &[&str]) -> bool {
    if !process::is_installed("apt-get") {
        return false;
    }
    process::print_note(&format!("installing Debian packages on this machine: {}", packages.join(" ")));
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(packages);
    let quiet = |arguments: &[&str]| {
        process::command("apt-get", arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    quiet(&install) || (quiet(&["update", "-qq"]) && quiet(&install))
}
