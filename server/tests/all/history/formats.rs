//! What earlier versions wrote is read, and what later ones or other programs wrote is refused.

use std::fs;
use std::path::Path;

use app::history::{PastRollout, Search};
use server::access::sight::Sight;
use server::feed::recording::Recording;
use server::history::Archive;
use server::history::index;
use server::history::options::{Location, Options};
use server::history::sql::Reader;
use server::history::sqlite::{FILE, Sqlite};
use server::history::store::{Commit, Sought, Store};
use timeline::view::Now;

use crate::common;
use crate::history::{SMALL, batches, commit, play, resumed, tidy, why};
/// Who asks while a file of an earlier version is opened waits for it to be made one of this version.
#[tokio::test]
async fn an_older_file_is_read_once_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/history/4.db");
    fs::copy(older, folder.path().join(FILE)).unwrap();
    let location = Location::Folder(folder.path().into());
    let (release, released) = std::sync::mpsc::channel::<()>();
    let options = Options { location: location.clone(), limits: SMALL };
    let archive = Archive::with(options, move || {
        let _ = released.recv(); // only the first time
        location.open(SMALL)
    });
    let mut namespaces = std::pin::pin!(archive.read(|reader| reader.namespaces()));
    let soon = std::time::Duration::from_millis(200);
    assert!(tokio::time::timeout(soon, &mut namespaces).await.is_err(), "it was read before it was opened");
    release.send(()).unwrap();
    assert!(!namespaces.await.unwrap().is_empty());
    archive.close().await;
}

/// Files that earlier versions wrote, one per format; they are never written again.
#[test]
fn files_of_every_format_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/history");
    let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
    let batches = batches(&text);
    let (whole, _) = play(&batches);
    let timeline = Recording::read(&text).play();
    let uid = *timeline.model().deployments.keys().next().unwrap();
    let now = Now { millis: batches.last().unwrap().1, skew_millis: 0 };
    let rollouts = index::rollouts("c", timeline.model(), uid, now, index::LAST);
    if std::env::var_os("ROLLCAST_TEST_WRITE_FORMAT").is_some() {
        let mut store = Sqlite::open(&folder, SMALL).unwrap();
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        tidy(&mut store);
    }
    for format in 1..=5 {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(folder.join(format!("{format}.db")), copy.path().join(FILE)).unwrap();
        if format == 1 {
            first_index(&copy.path().join(FILE), &rollouts);
        }
        let mut store = Sqlite::open(copy.path(), SMALL).unwrap();
        assert!(resumed(&mut store, None, 0).timeline.model() == whole.model(), "format {format}");
        let reader = Reader::of_folder(copy.path());
        let known = reader.find("c", uid, Sought::Revision(2)).unwrap();
        assert_eq!(known, Some(1), "format {format}");
        let search = Search { from_millis: Some(rollouts[1].started_millis + 1), ..Search::default() };
        let named = Search { name: rollouts[0].name.clone(), image: rollouts[1].images.clone(), ..search.clone() };
        let of_name = reader.rollouts(&named, &Sight::All, None, 9).unwrap().rollouts;
        let (names, images) = (&rollouts[0].name, &rollouts[1].images);
        let is_it = |rollout: &PastRollout| rollout.name == *names && rollout.images.contains(images);
        assert!(!of_name.is_empty() && of_name.iter().all(is_it), "format {format}");
        let found = reader.rollouts(&search, &Sight::All, None, 9).unwrap().rollouts;
        let numbered = |(number, rollout): (usize, &PastRollout)| {
            let first = rollout.first_available_millis.filter(|_| format > 2); // earlier ones did not know
            let (number, restarts) = (number as u32, rollout.restarts.filter(|_| format > 2));
            // The rows of format 1 are written above; those in the other files do not know when the next one showed.
            let last_millis = rollout.last_millis.filter(|_| format == 1);
            let (ceiling, floor) = (rollout.ceiling.filter(|_| format == 1), rollout.floor.filter(|_| format == 1));
            let images_before = rollouts.get(number.wrapping_sub(1) as usize).map(|before| before.images.clone());
            let images_before = images_before.unwrap_or_default();
            let known = PastRollout { number, restarts, first_available_millis: first, last_millis, ..rollout.clone() };
            PastRollout { ceiling, floor, images_before, ..known }
        };
        let mut expected: Vec<PastRollout> = rollouts.iter().enumerate().map(numbered).skip(1).collect();
        expected.reverse();
        assert_eq!(found, expected, "format {format}");
    }
}

/// Writes an index of rollouts as format 1 had it.
fn first_index(file: &Path, rollouts: &[PastRollout]) {
    let database = rusqlite::Connection::open(file).unwrap();
    for (number, rollout) in rollouts.iter().enumerate() {
        let row = "INSERT INTO rollouts (cluster, uid, number, namespace, started_millis, outcome, cause, is_deleted, text, rollout)
             VALUES (1, ?1, ?2, ?3, ?4, 'complete', '', 0, '', ?5)";
        let json = serde_json::to_string(rollout).unwrap();
        let (uid, started) = (rollout.uid.to_string(), rollout.started_millis);
        database.execute(row, rusqlite::params![uid, number as i64, rollout.namespace, started, json]).unwrap();
    }
}

#[test]
fn a_later_format_and_other_programs_files_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    drop(Sqlite::open(folder.path(), SMALL).unwrap());
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let place = path.display();
    let newer = format!("{place} was written by a later version of Rollcast (format 99; this version reads up to 5)");
    assert_eq!(why(folder.path()), newer);
    let read = |folder: &Path| Reader::of_folder(folder).namespaces().unwrap_err().to_string();
    assert_eq!(read(folder.path()), newer, "so does who only reads");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let older = format!(
        "{place} was written by an earlier version of Rollcast (format 4; this version reads 5): start `rollcast serve` once to upgrade it"
    );
    assert_eq!(read(folder.path()), older);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert_eq!(why(folder.path()), format!("{} is not a history database of Rollcast", path.display()));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "").unwrap();
    assert!(why(&folder.path().join("plain").join("below")).starts_with("cannot create "));
}
