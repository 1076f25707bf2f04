//! PostgreSQL, for the tests of history in a database.

use std::path::Path;

use super::apt::apt_install;

/// Where Debian's packages put the programs, a folder per version.
pub const POSTGRES: &str = "/usr/lib/postgresql";

/// A PostgreSQL server can be started here; false where there is none and none to install.
pub fn ensure_postgres() -> bool {
    Path::new(POSTGRES).exists() || apt_install(&["postgresql"])
}
