//! The store of history: what is kept is what was observed, however it is tidied, and whatever happens to its file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod common;
#[path = "common/postgres.rs"]
mod postgres;
#[path = "common/until.rs"]
mod until;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use app::history::{PastRollout, Search};
use serde_json::value::RawValue;
use server::commands::history::{self as command, RolloutSelector};
use server::history::batch::{Batch, FORMAT, pack};
use server::history::options::{Limits, Location, Options};
use server::history::resume::{self, FINGERPRINT, Resumed, Standing};
use server::history::sql::Reader;
use server::history::sqlite::{FILE, Sqlite};
use server::history::store::{Checkpoint, Commit, Lines, Sought, Store, StoreError, Stored, Written};
use server::history::{Archive, Before, Keeping, index};
use server::recording::{LineType, RecordedLine, Recording};
use server::sight::{Scope, Sight};
use server::source::SourceEvent;
use server::translate::Object;
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::{History, Millis, Model, Timeline, Uid};

/// Lines per batch, before any are joined.
const LINES: usize = 5;

/// So small that every recording is joined, and has keyframes.
const SMALL: Limits = Limits { age_millis: i64::MAX / 4, bytes: u64::MAX, joined_bytes: 4_000, keyframe_bytes: 6_000 };

/// A place for a history.
struct Place {
    location: Location,
    /// Its name, where it is a database.
    database: String,
    _folder: tempfile::TempDir,
}

impl Place {
    fn open(&self, limits: Limits) -> Box<dyn Store> {
        self.location.open(limits).unwrap()
    }

    fn options(&self) -> Options {
        Options { location: self.location.clone(), limits: SMALL }
    }

    /// Damages what was put aside.
    fn damage_pins(&self) {
        match &self.location {
            Location::Folder(folder) => {
                let database = rusqlite::Connection::open(folder.join(FILE)).unwrap();
                database.execute("UPDATE pins SET body = x'0102' WHERE length(body) > 0", []).unwrap();
            }
            Location::Postgres(_) => {
                let sql = "UPDATE rollcast.pins SET body = '\\x0102' WHERE length(body) > 0";
                postgres::shared().sql(&self.database, sql);
            }
        }
    }

    /// Damages the first batch.
    fn damage(&self) {
        let first = "SET body = BODY WHERE id = (SELECT min(id) FROM";
        match &self.location {
            Location::Folder(folder) => {
                let database = rusqlite::Connection::open(folder.join(FILE)).unwrap();
                let sql = format!("UPDATE batches {first} batches)").replace("BODY", "x'0102'");
                database.execute(&sql, []).unwrap();
            }
            Location::Postgres(_) => {
                let sql = format!("UPDATE rollcast.batches {first} rollcast.batches)").replace("BODY", "'\\x0102'");
                postgres::shared().sql(&self.database, &sql);
            }
        }
    }
}

fn in_folder(folder: &Path) -> Options {
    Options { location: Location::Folder(folder.to_owned()), limits: SMALL }
}

/// A place of each kind: a folder, and a database of a real server.
fn places() -> Vec<Place> {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = Location::Folder(folder.path().to_owned());
    let place = |location, database, folder| Place { location, database, _folder: folder };
    let mut places = vec![place(file, String::new(), folder)];
    if !postgres::is_left_out() {
        let database = postgres::shared().database();
        let server = Location::Postgres(postgres::shared().address(&database, "postgres").parse().unwrap());
        places.push(place(server, database, other));
    }
    places
}

/// A recording in batches as the writer makes them: a list is never cut.
fn batches(text: &str) -> Vec<(Millis, Millis, String)> {
    let (mut batches, mut lines, mut open) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        let read: RecordedLine<'_, &RawValue> = serde_json::from_str(line).unwrap();
        match read.r#type {
            LineType::Listed => open = 1,
            LineType::ListDone => open = 0,
            _ => {}
        }
        lines.push((read.observed_at_millis, line));
        if lines.len() >= LINES && open == 0 {
            batches.push(std::mem::take(&mut lines));
        }
    }
    batches.push(lines);
    let whole = |lines: Vec<(Millis, &str)>| {
        let text = lines.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
        Some((lines.first()?.0, lines.last()?.0, text))
    };
    batches.into_iter().filter_map(whole).collect()
}

/// The longest recording.
fn longest() -> Vec<(Millis, Millis, String)> {
    let (_, text) = common::recordings().into_iter().max_by_key(|(_, text)| text.len()).unwrap();
    batches(&text)
}

fn commit(lines: Option<(Millis, Millis, &str)>, checkpoint: Option<Checkpoint>) -> Commit {
    let heard_millis = lines.map_or(0, |(_, to, _)| to);
    let lines = lines.map(|(from_millis, to_millis, text)| Lines { from_millis, to_millis, body: pack(text).unwrap() });
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Commit { number, cluster: "c".into(), scope: "".into(), lines, heard_millis, checkpoint, rollouts: Vec::new() }
}

/// Plays batches one after the other.
fn play(batches: &[(Millis, Millis, String)]) -> (Timeline, History) {
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    for (.., text) in batches {
        for observed in Recording::read(text).observed {
            let changes = match observed.fact {
                Some(fact) => timeline.apply(observed.at_millis, fact),
                None => timeline.tick(observed.at_millis),
            };
            history.note(observed.at_millis, &changes);
        }
    }
    (timeline, history)
}

fn resumed(store: &mut dyn Store, made_by: Option<&str>, since_millis: Millis) -> Resumed {
    resume::resume("c", store.resume("c", made_by, since_millis).unwrap().unwrap()).unwrap()
}

fn tidy(store: &mut dyn Store) {
    while store.tidy(0).unwrap() {}
}

/// Names of what exists.
fn existing(model: &Model) -> Vec<String> {
    let deployments =
        model.deployments.values().filter(|known| known.deleted_millis.is_none()).map(|known| &known.name);
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none()).map(|known| &known.name);
    let pods = model.pods.values().filter(|known| known.gone_millis().is_none());
    let pods = pods.map(|known| format!("{} {}", known.name, known.state().name()));
    let mut names: Vec<String> = deployments.chain(sets).cloned().chain(pods).collect();
    names.sort();
    names
}

#[test]
fn of_every_recording_all_is_kept_however_it_is_tidied() {
    let (mut keyframes, mut joined) = (0, 0);
    let recordings = common::recordings();
    for ((name, text), place) in
        recordings.iter().flat_map(|recording| places().into_iter().map(move |place| (recording, place)))
    {
        let batches = batches(text);
        let mut store = place.open(SMALL);
        let store = &mut *store;
        let until = batches.len() * 2 / 3;
        for (index, (from, to, text)) in batches.iter().enumerate() {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
            if index + 1 == until {
                let (timeline, history) = play(&batches[..until]);
                let standing = Standing { timeline: &timeline, history: &history, observed: Some((batches[0].0, *to)) };
                store.commit(&[commit(None, resume::checkpoint(&standing))]).unwrap();
            }
            if index % 7 == 0 {
                tidy(store);
            }
        }
        tidy(store);
        let (whole, _) = play(&batches);
        let from_checkpoint = resumed(store, Some(FINGERPRINT), 0);
        assert!(from_checkpoint.timeline.model() == whole.model(), "{name}, from its checkpoint");
        let from_lines = resumed(store, None, 0);
        assert!(from_lines.timeline.model() == whole.model(), "{name}, from its lines");
        let kept = store.resume("c", None, 0).unwrap().unwrap().batches.len();
        joined += batches.len() - kept;
        let late = store.resume("c", None, i64::MAX / 4).unwrap().unwrap();
        keyframes += usize::from(late.batches[0].is_keyframe);
        let from_keyframe = resume::resume("c", late).unwrap();
        assert_eq!(existing(from_keyframe.timeline.model()), existing(whole.model()), "{name}");
    }
    let kinds = places().len();
    assert!(keyframes > 15 * kinds && joined > 300 * kinds, "{keyframes} keyframes, {joined} joined");
}

/// Who asks while a file of an earlier version is opened waits for it to be made one of this version.
#[tokio::test]
async fn an_older_file_is_read_once_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/history/3.db");
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
    for format in 1..=4 {
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
            PastRollout { number, restarts, first_available_millis: first, ..rollout.clone() }
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
fn what_is_too_much_goes_and_what_exists_stays() {
    for place in places() {
        let mut store = place.open(SMALL);
        let batches = longest();
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        let before = store.bytes().unwrap();
        drop(store);
        let mut store = place.open(Limits { bytes: before / 2, ..SMALL });
        tidy(&mut *store);
        let (whole, _) = play(&batches);
        assert_eq!(existing(resumed(&mut *store, None, 0).timeline.model()), existing(whole.model()));
        let after = store.bytes().unwrap();
        assert!(before > 60_000 && after <= before / 2, "{before} {after}");
        if let Location::Folder(folder) = &place.location {
            drop(store); // the log goes into the file
            let file = fs::metadata(folder.join(FILE)).unwrap().len();
            assert!(file <= before * 3 / 4, "room is given back: {file} of {before}");
        }
    }
}

#[test]
fn what_is_too_old_goes_up_to_the_last_keyframe_before() {
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let batches = longest();
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
            store.tidy(0).unwrap();
        }
        let count = |store: &mut dyn Store| store.resume("c", None, 0).unwrap().unwrap().batches.len();
        let before = count(&mut *store);
        let end = batches.last().unwrap().1;
        while store.tidy(end + 2_000).unwrap() {}
        assert!(count(&mut *store) < before / 2, "{before}");
        let (whole, _) = play(&batches);
        assert_eq!(existing(resumed(&mut *store, None, 0).timeline.model()), existing(whole.model()));
    }
}

#[test]
fn operators_look_through_it_make_it_smaller_and_hand_a_rollout_on() {
    for place in places() {
        let options = place.options();
        let nothing = match &place.location {
            Location::Folder(folder) => format!("no history is kept in {}", folder.display()),
            Location::Postgres(server) => format!("no history is kept in {server}"),
        };
        assert_eq!(command::check(&options).unwrap_err().to_string(), nothing);
        let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
        let (batches, timeline) = (batches(&text), Recording::read(&text).play());
        let deployment = timeline.model().deployments.values().next().unwrap();
        let now = Now { millis: batches.last().unwrap().1, skew_millis: 0 };
        let mut store = place.open(SMALL);
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        let rollouts = index::rollouts("c", timeline.model(), deployment.uid, now, index::LAST);
        store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        let lines = text.lines().count();
        assert_eq!(
            command::check(&options).unwrap(),
            format!("1 cluster, 3 rollouts, {lines} observations: all of it can be read")
        );
        assert!(
            command::compact(&options).unwrap_err().to_string().starts_with("another Rollcast keeps its history in")
        );
        drop(store);
        assert!(command::compact(&options).unwrap().contains(" before, "));
        let wanted = |name: &str, revision| RolloutSelector {
            name: name.into(),
            namespace: None,
            cluster: None,
            revision,
            is_redacted: false,
        };
        let mut out = Vec::new();
        command::export(&options, &wanted(&deployment.name, Some(2)), &mut out).unwrap();
        let again = Recording::read(&String::from_utf8(out).unwrap()).play();
        let rollout = again.model().deployments.values().next().unwrap().rollouts.last().unwrap().clone();
        assert_eq!((rollout.revision, rollout.completed_millis), (2, deployment.rollouts[1].completed_millis));
        let why = command::export(&options, &wanted("other", None), &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(why, "no such rollout is kept. Kept are: none of that name");
        let why =
            command::export(&options, &wanted(&deployment.name, Some(9)), &mut Vec::new()).unwrap_err().to_string();
        assert!(why.contains("revision 3 in c, "), "{why}");
        place.damage();
        let why = command::check(&options).unwrap_err().to_string();
        assert!(why.starts_with("batch ") && why.contains(" of c: it is damaged: "), "{why}");
    }
}

fn one() -> Commit {
    commit(Some((1, 2, "{\"observedAtMillis\":1,\"kind\":\"Pod\",\"type\":\"LIST_DONE\",\"object\":{}}\n")), None)
}

fn why(folder: &Path) -> String {
    Sqlite::open(folder, SMALL).err().unwrap().to_string()
}

#[test]
fn a_later_format_and_other_programs_files_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    drop(Sqlite::open(folder.path(), SMALL).unwrap());
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let place = path.display();
    let newer = format!("{place} was written by a later version of Rollcast (format 99, this one reads up to 4)");
    assert_eq!(why(folder.path()), newer);
    let read = |folder: &Path| Reader::of_folder(folder).namespaces().unwrap_err().to_string();
    assert_eq!(read(folder.path()), newer, "so does who only reads");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    let older = format!(
        "{place} was written by an earlier version of Rollcast (format 3, this one reads 4): start `rollcast serve` once, which brings it up to date"
    );
    assert_eq!(read(folder.path()), older);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert_eq!(why(folder.path()), format!("{} is a file of another program", path.display()));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "").unwrap();
    assert!(why(&folder.path().join("plain").join("below")).starts_with("cannot make "));
}

#[test]
fn a_link_to_a_workload_leads_to_its_rollouts_alone() {
    for place in places() {
        let mut store = place.open(SMALL);
        let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
        let recording = Recording::read(&text);
        let now = Now { millis: recording.span().unwrap().1, skew_millis: 0 };
        let timeline = recording.play();
        let uid = *timeline.model().deployments.keys().next().unwrap();
        let own = index::rollouts("c", timeline.model(), uid, now, index::LAST);
        let named = |name: &str, namespace: &str, uid: u128| {
            let of = |rollout: &PastRollout| PastRollout {
                uid: Uid::from_bits(uid),
                name: name.into(),
                namespace: namespace.into(),
                change_cause: Some("\"name\":\"web\" nul \0".into()),
                ..rollout.clone()
            };
            own.iter().map(of).collect::<Vec<_>>()
        };
        let place_of = own[0].namespace.clone();
        let rollouts = [own.clone(), named("other", &place_of, 7), named(&own[0].name, "elsewhere", 8)].concat();
        store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        let only = |name: &str| {
            let scope = Scope::Workload { cluster: "c".into(), namespace: place_of.clone(), name: name.into() };
            let sight = Sight::All.within(&scope);
            let reader = Reader::new(&place.location);
            let found = reader.rollouts(&Search::default(), &sight, None, 50).unwrap().rollouts;
            found.into_iter().map(|rollout| (rollout.namespace, rollout.name)).collect::<Vec<_>>()
        };
        for name in [own[0].name.as_str(), "other"] {
            assert_eq!(only(name), vec![(place_of.clone(), name.to_owned()); own.len()]);
        }
        assert_eq!(only("never"), []);
    }
}

#[test]
fn the_last_rollout_of_what_exists_stays_in_the_index_whatever_its_age() {
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
        let recording = Recording::read(&text);
        let now = Now { millis: recording.span().unwrap().1, skew_millis: 0 };
        let timeline = recording.play();
        let uid = *timeline.model().deployments.keys().next().unwrap();
        let rollouts = index::rollouts("c", timeline.model(), uid, now, index::LAST);
        let revisions = |store: &mut dyn Store, rollouts: Vec<PastRollout>| -> Vec<u64> {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
            while store.tidy(now.millis + 60_000).unwrap() {}
            let found =
                Reader::new(&place.location).rollouts(&Search::default(), &Sight::All, None, 50).unwrap().rollouts;
            found.iter().map(|rollout| rollout.revision).collect()
        };
        assert_eq!(revisions(&mut *store, rollouts.clone()), [3]);
        let deleted = rollouts.into_iter().map(|rollout| PastRollout { is_deleted: true, ..rollout });
        assert_eq!(revisions(&mut *store, deleted.collect()), [0; 0]);
    }
}

/// The same lines, later.
fn shifted(batches: &[(Millis, Millis, String)], by_millis: Millis) -> Vec<(Millis, Millis, String)> {
    let line = |line: &str| {
        let read: RecordedLine<'_, &RawValue> = serde_json::from_str(line).unwrap();
        let observed_at_millis = read.observed_at_millis + by_millis;
        format!("{}\n", serde_json::to_string(&RecordedLine { observed_at_millis, ..read }).unwrap())
    };
    let shifted = |text: &String| text.lines().map(line).collect();
    batches.iter().map(|(from, to, text)| (from + by_millis, to + by_millis, shifted(text))).collect()
}

#[test]
fn the_last_rollout_of_what_exists_is_made_again_pod_by_pod_when_its_lines_are_long_gone() {
    let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
    let first = batches(&text);
    let (whole, _) = play(&first);
    let uid = *whole.model().deployments.keys().next().unwrap();
    let end_millis = first.last().unwrap().1;
    let now = Now { millis: end_millis, skew_millis: 0 };
    let rollouts = index::rollouts("c", whole.model(), uid, now, index::LAST);
    // Much else happens later.
    let other = longest();
    let later = shifted(&other, end_millis + 3_600_000 - other[0].0);
    let last_millis = later.last().unwrap().1;
    for (place, is_by_age) in
        [true, false].into_iter().flat_map(|by| places().into_iter().map(move |place| (place, by)))
    {
        let mut store = place.open(SMALL);
        for (from, to, text) in &first {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        for (from, to, text) in &later {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
            store.tidy(0).unwrap();
        }
        let before = store.bytes().unwrap();
        drop(store);
        let reader = Reader::new(&place.location);
        let cut = |number: usize| reader.cut("c", uid, number as u32, None).unwrap();
        let as_before: Vec<String> = (0..rollouts.len()).map(|number| cut(number).unwrap().text).collect();
        let limits =
            if is_by_age { Limits { age_millis: 1_000, ..SMALL } } else { Limits { bytes: before / 2, ..SMALL } };
        let mut store = place.open(limits);
        let now_millis = if is_by_age { last_millis + 60_000 } else { 0 };
        while store.tidy(now_millis).unwrap() {}
        let gone = store.resume("c", None, 0).unwrap().unwrap().batches;
        assert!(gone[0].from_millis > end_millis, "its lines are gone");
        let known = reader.of_workload("c", uid, 9).unwrap();
        let told: Vec<(u64, bool)> = known.iter().map(|rollout| (rollout.revision, rollout.is_kept)).collect();
        let last = rollouts.len() - 1;
        if is_by_age {
            assert_eq!(told, [(3, true)]);
        } else {
            assert_eq!(told, [(3, true), (2, false), (1, false)]);
            assert!(cut(0).is_none(), "of the others the list is all there is");
            let name = known[0].name.clone();
            let gone = RolloutSelector { name, namespace: None, cluster: None, revision: Some(1), is_redacted: false };
            let why = command::export(&place.options(), &gone, &mut Vec::new()).unwrap_err().to_string();
            assert!(why.contains("revision 3 in c") && !why.contains("revision 1 in"), "{why}");
        }
        let played = |text: &str| Recording::read(text).play();
        let (made, was) = (played(&cut(last).unwrap().text), played(&as_before[last]));
        assert!(made.model() == was.model() && made.model().pods.len() > 3, "{}", made.model().pods.len());
        assert!(command::check(&place.options()).is_ok());
        place.damage_pins();
        let why = command::check(&place.options()).unwrap_err().to_string();
        assert!(why.starts_with(&format!("what was put aside of rollout {last} of {uid} of c: ")), "{why}");
        // Once it goes, what was put aside goes with it.
        let deleted = rollouts.iter().map(|rollout| PastRollout { is_deleted: true, ..rollout.clone() }).collect();
        store.commit(&[Commit { rollouts: deleted, ..commit(None, None) }]).unwrap();
        drop(store);
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        while store.tidy(last_millis + 60_000).unwrap() {}
        assert!(cut(last).is_none() && reader.places(uid).unwrap().is_empty());
    }
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_nobody_elses_business() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("state").join("rollcast");
    drop(Sqlite::open(&below, SMALL).unwrap());
    assert_eq!(fs::metadata(&below).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn one_at_a_time_writes() {
    let folder = tempfile::tempdir().unwrap();
    let first = Sqlite::open(folder.path(), SMALL).unwrap();
    assert_eq!(why(folder.path()), format!("another Rollcast keeps its history in {}", folder.path().display()));
    drop(first);
    assert!(Sqlite::open(folder.path(), SMALL).is_ok());
}

/// Files that were put aside.
fn aside(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("damaged-") && name.ends_with(".db")).count()
}

#[test]
fn a_damaged_file_is_put_aside_and_another_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), vec![7; 9_000]).unwrap();
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    store.commit(&[one()]).unwrap();
    assert_eq!(aside(folder.path()), 1);
}

#[test]
fn a_damaged_page_is_found_when_it_is_read_and_writing_goes_on_in_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    for (from, to, text) in &longest() {
        store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
    }
    drop(store);
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    for page in (4_096..bytes.len()).step_by(4_096) {
        bytes[page..page + 64].fill(0xff);
    }
    fs::write(&path, bytes).unwrap();
    let mut store = Sqlite::open(folder.path(), SMALL).unwrap();
    let found = (0..2_000).find_map(|_| store.commit(&[one()]).and_then(|_| store.tidy(0)).err()).unwrap();
    assert!(matches!(found, StoreError::Damaged { .. }), "{found}");
    assert_eq!(aside(folder.path()), 1);
    drop(store);
    Sqlite::open(folder.path(), SMALL).unwrap().commit(&[one()]).unwrap();
}

/// A store that fails, or does not answer, while it is told to.
struct Faulty {
    store: Sqlite,
    fault: Arc<AtomicU8>,
}

const FAILS: u8 = 1;
const HANGS: u8 = 2;
const HUNG: u8 = 3;

impl Store for Faulty {
    fn commit(&mut self, commits: &[Commit]) -> Result<Written, StoreError> {
        let _ = self.fault.compare_exchange(HANGS, HUNG, Ordering::Relaxed, Ordering::Relaxed);
        while self.fault.load(Ordering::Relaxed) == HUNG {
            std::thread::sleep(std::time::Duration::from_millis(5)); // a disk that takes its time
        }
        if self.fault.load(Ordering::Relaxed) == FAILS {
            return Err(StoreError::Failed("there is no room left".into()));
        }
        self.store.commit(commits)
    }

    fn resume(&mut self, cluster: &str, by: Option<&str>, since: Millis) -> Result<Option<Stored>, StoreError> {
        self.store.resume(cluster, by, since)
    }

    fn tidy(&mut self, _: Millis) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        self.store.bytes()
    }
}

fn faulty(folder: &Path, fault: u8) -> (Archive, Arc<AtomicU8>) {
    let fault = Arc::new(AtomicU8::new(fault));
    let (place, of_store) = (folder.to_owned(), fault.clone());
    let options = in_folder(&place);
    let open = move || {
        let store: Box<dyn Store> = Box::new(Faulty { store: Sqlite::open(&place, SMALL)?, fault: of_store.clone() });
        Ok(store)
    };
    (Archive::with(options, open), fault)
}

fn set(number: usize, at_millis: Millis) -> SourceEvent {
    let json = format!(
        r#"{{"metadata":{{"uid":"00000000-0000-4000-8000-{number:012}","name":"s{number}","namespace":"n"}}}}"#
    );
    SourceEvent::Object { object: Object::decode(Kind::ReplicaSet, &json).unwrap(), seen: Seen::Added, at_millis }
}

/// All lines that are kept.
fn kept(folder: &Path) -> String {
    let connection =
        rusqlite::Connection::open_with_flags(folder.join(FILE), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.unwrap();
    let mut rows = connection.prepare("SELECT body FROM batches ORDER BY seq").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let text =
        |body: Vec<u8>| Batch { seq: 0, is_keyframe: false, from_millis: 0, to_millis: 0, format: FORMAT, body }.text();
    bodies.map(|body| text(body.unwrap()).unwrap()).collect()
}

fn sets(text: &str) -> usize {
    let names = text.lines().filter_map(|line| line.split("\"name\":\"s").nth(1)?.split('"').next());
    names.collect::<std::collections::BTreeSet<_>>().len()
}

#[tokio::test]
async fn while_nothing_can_be_written_that_is_said_and_afterwards_everything_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), FAILS);
    let (mut journal, model) = (archive.journal("c", &[]), Model::default());
    (0..100).for_each(|number| journal.note(&set(number, 1_000 + number as Millis), &model));
    let mut keeping = archive.keeping();
    let said = keeping.wait_for(|keeping| *keeping != Keeping::Written).await.unwrap().clone();
    assert_eq!(said, Keeping::Failing { since_millis: 1_000, why: "there is no room left".into() });
    (100..200).for_each(|number| journal.note(&set(number, 1_000 + number as Millis), &model));
    fault.store(0, Ordering::Relaxed);
    keeping.wait_for(|keeping| *keeping == Keeping::Written).await.unwrap();
    until::until("all of them", async || sets(&kept(folder.path())) == 200).await;
    assert!(!kept(folder.path()).contains("LIST_DONE"), "no step is missing");
}

#[tokio::test]
async fn a_store_that_does_not_answer_holds_nobody_up_and_what_was_missed_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), HANGS);
    let (mut journal, model) = (archive.journal("c", &[]), Model::default());
    let many = server::history::QUEUE + 1_000;
    journal.note(&set(0, 1_000), &model);
    until::until("its first commit", async || fault.load(Ordering::Relaxed) == HUNG).await;
    // Now the queue fills, and the last of each object is held.
    (0..many).for_each(|number| journal.note(&set(number, 2_000), &model));
    fault.store(0, Ordering::Relaxed);
    let mut at_millis = 3_000;
    until::until("all of them", async || {
        at_millis += 1;
        journal.heard(at_millis, &model);
        sets(&kept(folder.path())) == many
    })
    .await;
    let text = kept(folder.path());
    assert_eq!(text.matches("\"blindSinceMillis\":2000").count(), 3, "of each kind");
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_told_of_while_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), HANGS);
    let (mut journal, model) = (archive.journal("c", &[]), Model::default());
    journal.note(&set(1, 1_000), &model);
    let mut keeping = archive.keeping();
    let said = keeping.wait_for(|keeping| *keeping != Keeping::Written).await.unwrap().clone();
    let why = "the place where it is kept does not answer".to_owned();
    assert_eq!(said, Keeping::Failing { since_millis: 1_000, why });
    fault.store(0, Ordering::Relaxed);
    keeping.wait_for(|keeping| *keeping == Keeping::Written).await.unwrap();
    until::until("it", async || sets(&kept(folder.path())) == 1).await;
    assert_eq!(*archive.anew().borrow(), 0, "a store that was slow lacks nothing, and is not told everything anew");
}

/// A rollout that went on when watching began is told as it ended, too.
#[test]
fn what_went_on_when_watching_began_is_told_once_it_is_over() {
    let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
    let model = Recording::read(&text).play().model().clone();
    let uid = *model.deployments.keys().next().unwrap();
    let told = |completed: Millis| {
        let mut model = model.clone();
        let deployment = model.deployments.get_mut(&uid).unwrap();
        let first = &mut deployment.rollouts[0];
        (first.started_millis, first.superseded_millis) = (None, None);
        first.completed_millis = Some(deployment.first_seen_millis + completed);
        let now = Now { millis: deployment.first_seen_millis + 3_600_000, skew_millis: 0 };
        let told = index::rollouts("c", &model, uid, now, 99);
        let revision = model.deployments.get(&uid).unwrap().rollouts[0].revision;
        told.first().filter(|told| told.revision == revision).cloned()
    };
    let over = told(5_000).unwrap();
    assert_eq!((over.took_millis(), over.outcome), (Some(5_000), timeline::rollout::Outcome::Complete));
    assert!(told(0).is_none(), "what was complete when watching began was not seen");
}

#[test]
fn what_has_not_come_yet_is_not_told() {
    let (_, text) = common::recordings().into_iter().find(|(name, _)| name == "rollout").unwrap();
    let batches = batches(&text);
    let (whole, _) = play(&batches);
    let uid = *whole.model().deployments.keys().next().unwrap();
    let heard_millis = batches.last().unwrap().1;
    let rollouts = index::rollouts("c", whole.model(), uid, Now { millis: heard_millis, skew_millis: 0 }, index::LAST);
    let last = rollouts.len() - 1;
    for place in places() {
        let mut store = place.open(SMALL);
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), heard_millis, ..commit(None, None) }]).unwrap();
        let reader = Reader::new(&place.location);
        let cut = |until_millis| reader.cut("c", uid, last as u32, until_millis).unwrap().unwrap();
        let ahead = cut(Some(heard_millis + 3_600_000));
        assert_eq!((ahead.to_millis, ahead.is_settled), (heard_millis, false), "nobody has seen it");
        // An hour passes in which nothing happens.
        let heard_millis = heard_millis + 3_600_000;
        store.commit(&[Commit { heard_millis, ..commit(None, None) }]).unwrap();
        let then = cut(Some(heard_millis));
        assert_eq!((then.to_millis, then.is_settled), (heard_millis, true));
        assert!(cut(None).is_settled);
    }
}

#[tokio::test]
async fn what_is_read_late_is_not_taken_up_where_other_namespaces_were_watched() {
    for (namespaces, is_known) in [(vec![], true), (vec!["n".to_owned()], false)] {
        let folder = tempfile::tempdir().unwrap();
        let first = Archive::start(in_folder(folder.path()));
        first.journal("c", &[]).note(&set(0, 1_000), &Model::default());
        first.close().await;
        let (place, mut times) = (folder.path().to_owned(), 0);
        let second = Archive::with(in_folder(folder.path()), move || {
            times += 1;
            if times == 1 {
                return Err(StoreError::Failed("not now".into()));
            }
            Ok(Box::new(Sqlite::open(&place, SMALL)?) as Box<dyn Store>)
        });
        let age_millis = server::clock::now_millis();
        assert!(matches!(second.before("c", &namespaces, age_millis).await, Before::Unread));
        second.journal("c", &namespaces).note(&set(1, 9_000), &Model::default());
        until::until("a commit", async || second.counters().commits.load(Ordering::Relaxed) > 0).await;
        let late = second.late("c", &namespaces, age_millis, true).unwrap().await.unwrap();
        match (late, is_known) {
            (Before::Known(resumed), true) => assert_eq!(resumed.timeline.model().replica_sets.values().count(), 2),
            (Before::Nothing, false) => {}
            (other, _) => panic!("{namespaces:?}: {other:?}"),
        }
    }
}
