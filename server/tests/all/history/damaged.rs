//! Files that are damaged.

use std::fs;

use server::history::sqlite::{FILE, Sqlite};
use server::history::store::{Store, StoreError};

use crate::common::sqlite;
use crate::history::{SMALL, commit, longest, one};

#[test]
fn a_damaged_file_is_put_aside_and_another_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), vec![7; 9_000]).unwrap();
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    store.commit(&[one()]).unwrap();
    assert_eq!(sqlite::put_aside(folder.path()), 1);
}

#[test]
fn a_damaged_page_is_found_when_it_is_read_and_writing_goes_on_in_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    for (from, to, text) in &longest() {
        store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
    }
    drop(store);
    sqlite::spoil(folder.path());
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    let found = (0..2_000).find_map(|_| store.commit(&[one()]).and_then(|_| store.tidy(0)).err()).unwrap();
    assert!(matches!(found, StoreError::Damaged { .. }), "{found}");
    assert_eq!(sqlite::put_aside(folder.path()), 1);
    drop(store);
    Sqlite::open(folder.path(), SMALL).unwrap().commit(&[one()]).unwrap();
}

/// The folder may be an administrator's, and files of an earlier version.
#[cfg(unix)]
#[test]
fn what_is_kept_is_its_owners_alone_whatever_the_folder_and_the_files_were_before() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let modes = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
        let mode = |file: fs::DirEntry| {
            (file.file_name().into_string().unwrap(), file.metadata().unwrap().permissions().mode() & 0o777)
        };
        let mut modes: Vec<(String, u32)> = files.map(mode).collect();
        modes.sort();
        modes
    };
    let owners =
        ["history.db", "history.db-shm", "history.db-wal", "history.lock"].map(|name| (name.to_owned(), 0o600));
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    store.commit(&[one()]).unwrap();
    assert_eq!(modes(), owners);
    // As after a kill: the log is there, and all of it can be read by everybody.
    let copy = |name: &str| fs::copy(folder.path().join(name), folder.path().join(format!("{name}.copy"))).unwrap();
    let all = ["history.db", "history.db-wal"];
    for name in all {
        copy(name);
    }
    drop(store);
    for name in all {
        fs::rename(folder.path().join(format!("{name}.copy")), folder.path().join(name)).unwrap();
    }
    for (name, _) in modes() {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    store.commit(&[one()]).unwrap();
    assert_eq!(modes(), owners);
    let made = folder.path().join("made/below");
    drop(Sqlite::open(&made, SMALL).unwrap());
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}
