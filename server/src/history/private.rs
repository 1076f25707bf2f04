//! Files that nobody else on this machine is to read: they are made for their owner alone, and secrets that others can read are refused.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A file with a secret that every user of this machine can read or write.
#[derive(Debug, thiserror::Error)]
#[error(
    "every user of this machine can read or write {}, which contains a secret: restrict it, for example with `chmod 600`",
    .0.display()
)]
pub struct OpenToAll(PathBuf);

/// Looks at the rights of a file that holds a secret. Its group may read it, as Kubernetes gives volumes to a group. A file that cannot be
/// looked at is none of this function's: whoever reads it says so.
///
/// # Errors
/// When others can read or write it and others reach this server. Where nobody but the person at the machine does, it is logged.
pub fn check(path: &Path, is_for_others: bool) -> Result<(), OpenToAll> {
    if !is_open_to_all(path) {
        return Ok(());
    }
    let open = OpenToAll(path.to_owned());
    if is_for_others {
        return Err(open);
    }
    tracing::warn!("{open}");
    Ok(())
}

/// Makes a file for its owner alone. From one that is there, which an earlier version may have made, the rights of others are taken away.
/// It is not opened: SQLite would lose its locks when it is closed.
///
/// # Errors
/// When it cannot be made.
pub fn make(path: &Path) -> io::Result<()> {
    match owners(OpenOptions::new().create_new(true)).open(path) {
        Ok(_) => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            close(path);
            Ok(())
        }
        Err(why) => Err(why),
    }
}

/// Opens a file that is its owner's alone, to lock it; makes it where it is not there.
///
/// # Errors
/// When it cannot be made or opened.
pub fn lockable(path: &Path) -> io::Result<File> {
    let file = owners(OpenOptions::new().create(true).truncate(true)).open(path)?;
    close(path);
    Ok(file)
}

fn owners(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true)
}

/// Takes the rights of others away where there are any. Who does not own the file cannot, and uses it as it is.
#[cfg(unix)]
pub fn close(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    let Ok(mode) = path.metadata().map(|known| known.permissions().mode()) else { return };
    if mode & 0o077 != 0
        && let Err(why) = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
    {
        tracing::warn!("other users can read {}, and its permissions cannot be changed: {why}", path.display());
    }
}

/// Files of this system have no rights of that kind.
#[cfg(not(unix))]
pub fn close(_: &Path) {}

#[cfg(unix)]
fn is_open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    path.metadata().is_ok_and(|known| known.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;

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
            assert_eq!(check(file.path(), true).is_err(), is_refused, "{mode:o}");
            assert!(check(file.path(), false).is_ok(), "{mode:o}");
        }
        assert!(check(Path::new("/no/such/file"), true).is_ok());
    }

    #[test]
    fn files_are_their_owners_alone_also_those_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| metadata(path).unwrap().permissions().mode() & 0o777;
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        set_permissions(&old, Permissions::from_mode(0o644)).unwrap();
        for path in [&new, &old] {
            make(path).unwrap();
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept");
        lockable(&folder.path().join("lock")).unwrap();
        assert_eq!(mode(&folder.path().join("lock")), 0o600);
    }
}
