//! What later versions, versions before the first release or other programs wrote is refused.

use std::fs;
use std::path::Path;

use server::history::options::Location;
use server::history::sql::Reader;
use server::history::sqlite::{FILE, Sqlite};

use crate::common::sqlite;
use crate::history::{SMALL, why};

#[test]
fn a_file_of_an_earlier_format_is_upgraded_by_who_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    drop(Sqlite::open(folder.path(), SMALL).unwrap());
    let path = folder.path().join(FILE);
    let earlier =
        "DELETE FROM _sqlx_migrations WHERE version > 1; DROP INDEX episodes_open; DROP INDEX rollouts_by_namespace";
    sqlite::rows(&path, earlier);
    let reader = Reader::new(&Location::Folder(folder.path().to_owned()));
    let early = format!("{}: Rollcast has not upgraded its tables yet", path.display());
    assert_eq!(reader.clusters().unwrap_err().to_string(), early);
    drop(Sqlite::open(folder.path(), SMALL).unwrap());
    assert!(reader.clusters().unwrap().is_empty());
    let indexes = "SELECT count(*) FROM sqlite_schema WHERE name IN ('episodes_open', 'rollouts_by_namespace')";
    assert_eq!(sqlite::number(&path, indexes), 2);
}

#[test]
fn a_later_format_and_other_programs_files_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    drop(Sqlite::open(folder.path(), SMALL).unwrap());
    let path = folder.path().join(FILE);
    sqlite::rows(&path, "UPDATE _sqlx_migrations SET version = 99 WHERE version = 2");
    let place = path.display();
    let newer = format!("{place} was written by a later version of Rollcast (format 99; this version reads up to 2)");
    assert_eq!(why(folder.path()), newer);
    let read = |folder: &Path| Reader::new(&Location::Folder(folder.to_owned())).namespaces().unwrap_err().to_string();
    assert_eq!(read(folder.path()), newer, "so does who only reads");
    let unreleased = format!(
        "{place} was written by a version of Rollcast before the first release and cannot be read; start with another folder or database (`--data-dir`, `--history`), or move it away"
    );
    // As versions before the first release had it: a format that they counted themselves, or "Roll". Nothing of it is touched.
    for mark in ["user_version = 1", "application_id = 0x526f6c6c"] {
        sqlite::rows(&path, &format!("PRAGMA {mark}"));
        let before = fs::read(&path).unwrap();
        assert_eq!((why(folder.path()), read(folder.path())), (unreleased.clone(), unreleased.clone()));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    sqlite::rows(&path, "CREATE TABLE theirs (a); PRAGMA user_version = 1");
    assert_eq!(why(folder.path()), format!("{} is not a history database of Rollcast", path.display()));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "").unwrap();
    assert!(why(&folder.path().join("plain").join("below")).starts_with("cannot create "));
}
