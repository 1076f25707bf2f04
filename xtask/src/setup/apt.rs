//! Installation of Debian packages, and the programs that come by them alone.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::process;

/// Folder in which Debian's packages install PostgreSQL's programs, with a folder per version.
pub const POSTGRES: &str = "/usr/lib/postgresql";

/// Installs Debian packages, and prints that. Returns false if that is not possible.
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

/// Ensures that a PostgreSQL server can be started here, for the tests of history in a database; false if none can be installed.
pub fn ensure_postgres() -> bool {
    // Packages of its clients put programs there, too.
    let has_server = || {
        let versions = process::entries(Path::new(POSTGRES)).unwrap_or_default();
        versions.iter().any(|version| version.join("bin/initdb").exists())
    };
    has_server() || (apt_install(&["postgresql"]) && has_server())
}

/// Installs buildah, which builds images without a daemon.
pub fn ensure_buildah() -> Result<()> {
    ensure!(
        process::is_installed("buildah") || apt_install(&["buildah"]),
        "buildah is missing: install it to build images"
    );
    Ok(())
}
