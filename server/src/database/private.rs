//! Private files: they are created for their owner alone, and secrets that all users can read are refused.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Every user of this machine can read or write a file with a secret.
#[derive(Debug, thiserror::Error)]
#[error(
    "every user of this machine can read or write {}, which contains a secret: restrict it, for example with `chmod 600`",
    .0.display()
)]
pub struct ExposedSecret(PathBuf);

/// Checks the permissions of a file with a secret. Its group may read it, as Kubernetes gives volumes to a group. A missing file is no
/// error here: its reader says so.
///
/// # Errors
/// When all users can read or write it.
pub fn check(path: &Path) -> Result<(), ExposedSecret> {
    let is_exposed = path.metadata().is_ok_and(|known| known.permissions().mode() & 0o007 != 0);
    if is_exposed { Err(ExposedSecret(path.to_owned())) } else { Ok(()) }
}

/// Like [`check`], for a secret of a server. If only the person at the machine reaches that, an exposed secret is logged.
///
/// # Errors
/// When all users can read or write the file, and the server is for others.
pub fn check_served(path: &Path, is_for_others: bool) -> Result<(), ExposedSecret> {
    match check(path) {
        Err(exposed) if !is_for_others => {
            tracing::warn!("{exposed}");
            Ok(())
        }
        checked => checked,
    }
}

/// Creates a file for its owner alone, or restricts an existing one, which an earlier version may have created. Does
/// not open an existing file: SQLite would lose its locks when it is closed.
pub fn create(path: &Path) -> io::Result<()> {
    match create_new(path) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            restrict(path);
            Ok(())
        }
        created => created.map(drop),
    }
}

/// Creates a file for its owner alone, and fails if something has its path, also a link.
pub fn create_new(path: &Path) -> io::Result<File> {
    owners(OpenOptions::new().create_new(true)).open(path)
}

/// Opens or creates a file for its owner alone, to lock it.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    let file = owners(OpenOptions::new().create(true).truncate(true)).open(path)?;
    restrict(path);
    Ok(file)
}

fn owners(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600).write(true)
}

/// Removes the permissions of others. Only the owner of a file can do that; others use it as it is.
pub fn restrict(path: &Path) {
    let Ok(mode) = path.metadata().map(|known| known.permissions().mode()) else { return };
    if mode & 0o077 != 0
        && let Err(why) = std::fs::set_permissions(path, Permissions::from_mode(0o600))
    {
        tracing::warn!("other users can read {}, and its permissions cannot be changed: {why}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{metadata, set_permissions};

    use super::*;

    #[test]
    fn a_secret_that_everybody_can_read_is_refused_where_others_reach_the_server() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, is_refused) in [
            (0o600, false),
            (0o400, false),
            (0o440, false),
            (0o640, false),
            (0o644, true),
            (0o604, true),
            (0o602, true),
        ] {
            set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(check(file.path()).is_err(), is_refused, "{mode:o}");
            assert_eq!(check_served(file.path(), true).is_err(), is_refused, "{mode:o}");
            assert!(check_served(file.path(), false).is_ok(), "{mode:o}");
        }
        assert!(check(Path::new("/no/such/file")).is_ok());
    }

    #[test]
    fn files_are_their_owners_alone_also_those_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| metadata(path).unwrap().permissions().mode() & 0o777;
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        set_permissions(&old, Permissions::from_mode(0o644)).unwrap();
        for path in [&new, &old] {
            create(path).unwrap();
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
        assert_eq!(create_new(&old).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept");
        open_lock_file(&folder.path().join("lock")).unwrap();
        assert_eq!(mode(&folder.path().join("lock")), 0o600);
    }
}
