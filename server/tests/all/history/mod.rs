//! The store of history: what is kept is what was observed, however it is tidied, and whatever happens to its file.

mod aging;
mod beside;
mod damaged;
mod episodes;
mod faulty;
mod formats;
mod kinds;
mod lines;
mod listed;
mod one_replica;
mod restored;
mod size;
mod trouble;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use server::cli::RolloutSelector;
use server::cli::commands::history as command;
use server::cli::terminal::options::DeploymentArgument;
use server::feed::recording::{LineType, RecordedLine, Recording};
use server::history::batch::Batch;
use server::history::options::{Limits, Location, Options};
use server::history::recorder::Recorder;
use server::history::resume;
use server::history::sqlite::{FILE, Sqlite};
use server::history::store::{Commit, Episode, Store};
use server::kube::InitialState;
use timeline::assess::rest::is_at_rest;
use timeline::episodes::{EpisodeRow, rollout_rows};
use timeline::view::Now;
use timeline::{History, Millis, Model, Timeline, Uid};

use crate::common::{self, postgres, sqlite};

/// Lines per batch, before any are joined.
const LINES: usize = 5;

/// So small that every recording is joined.
const SMALL: Limits = Limits {
    age_millis: i64::MAX / 4,
    bytes: u64::MAX,
    joined_bytes: 4_000,
    log_millis: i64::MAX / 4,
    replayed_bytes: u64::MAX / 4,
};

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

    /// Runs a statement in it, beside the one who writes.
    fn sql(&self, sql: &str) {
        match &self.location {
            Location::Folder(folder) => {
                sqlite::rows(&folder.join(FILE), sql);
            }
            Location::Postgres(_) => {
                postgres::shared().sql(&self.database, &format!("SET search_path = rollcast; {sql}"));
            }
        }
    }

    /// Two bytes that are no body.
    fn no_body(&self) -> &'static str {
        if self.database.is_empty() { "x'0102'" } else { "'\\x0102'" }
    }

    /// Damages every episode.
    fn damage_episodes(&self) {
        self.sql(&format!("UPDATE episodes SET body = {}", self.no_body()));
    }

    /// Damages the first batch.
    fn damage(&self) {
        self.sql(&format!("UPDATE batches SET body = {} WHERE id = (SELECT min(id) FROM batches)", self.no_body()));
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

fn longest() -> Vec<(Millis, Millis, String)> {
    let (_, text) = common::recordings().into_iter().max_by_key(|(_, text)| text.len()).unwrap();
    batches(&text)
}

fn commit(lines: Option<(Millis, Millis, &str)>, checkpoint: Option<Vec<u8>>) -> Commit {
    let heard_millis = lines.map_or(0, |(_, to, _)| to);
    let lines = lines.map(|(from_millis, to_millis, text)| Batch::pack(from_millis, to_millis, text).unwrap());
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Commit { number, cluster: "c".into(), lines, heard_millis, checkpoint, ..Commit::default() }
}

fn checkpoint(timeline: &Timeline, history: &History, observed: (Millis, Millis)) -> Option<Vec<u8>> {
    resume::compress(&resume::serialize(timeline, history, 0, Some(observed))?)
}

/// What a recorder makes of batches, for a workload that is at rest at their end.
fn recorded(batches: &[(Millis, Millis, String)], workload: Uid) -> Commit {
    let mut recorder = Recorder::default();
    for (.., text) in batches {
        recorder.record(text);
        recorder.begin_episode(workload);
    }
    let episodes = recorder.settle(workload).into_iter().collect();
    Commit { episodes, snapshots: recorder.pending_writes().1, ..commit(None, None) }
}

/// The episodes of a recording, as the recorder has them: each ends as soon as its workload is at rest for half a second.
pub fn episodes(text: &str) -> Vec<Episode> {
    let (mut recorder, mut timeline, mut rest) = (Recorder::default(), Timeline::new(), BTreeMap::<Uid, Millis>::new());
    let (mut episodes, mut told) = (Vec::new(), BTreeSet::new());
    let recording = Recording::read_to_store(text);
    for (observed, line) in recording.observed.into_iter().zip(&recording.lines) {
        let now = Now { millis: observed.at_millis, skew_millis: 0 };
        for (uid, since) in rest.iter_mut().filter(|(_, since)| now.millis - **since > 500) {
            episodes.extend(recorder.settle(*uid));
            *since = Millis::MAX;
        }
        observed.apply(&mut timeline);
        recorder.record(line);
        for uid in timeline.model().deployments.keys() {
            let rollouts = rollout_rows::rollouts("c", &timeline, *uid, now, rollout_rows::LAST);
            // Those of an episode that is over are over.
            let new = rollouts.iter().filter(|rollout| told.insert((*uid, rollout.started_millis)));
            new.for_each(|rollout| recorder.record_rollout(rollout));
            if is_at_rest(timeline.model(), *uid, now) {
                rest.entry(*uid).or_insert(now.millis);
            } else {
                recorder.begin_episode(*uid);
                rest.remove(uid);
            }
        }
    }
    let is_unsettled = |(_, since): &(&Uid, &Millis)| **since < Millis::MAX;
    episodes.extend(rest.iter().filter(is_unsettled).filter_map(|(uid, _)| recorder.settle(*uid)));
    episodes
}

/// What the index has of the Deployment of a recording at its end.
struct Indexed {
    batches: Vec<(Millis, Millis, String)>,
    timeline: Timeline,
    uid: Uid,
    now: Now,
    rollouts: Vec<EpisodeRow>,
}

/// The recording of three rollouts, in batches.
fn indexed() -> Indexed {
    let text = common::recording("rollout");
    let batches = batches(&text);
    let (timeline, _) = play(&batches);
    let uid = *timeline.model().deployments.keys().next().unwrap();
    let now = Now { millis: batches.last().unwrap().1, skew_millis: 0 };
    let rollouts = rollout_rows::rollouts("c", &timeline, uid, now, rollout_rows::LAST);
    Indexed { batches, timeline, uid, now, rollouts }
}

/// Plays batches one after the other.
fn play(batches: &[(Millis, Millis, String)]) -> (Timeline, History) {
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    for (.., text) in batches {
        for observed in Recording::read(text).observed {
            history.note(observed.at_millis, &observed.apply(&mut timeline));
        }
    }
    (timeline, history)
}

fn resumed(store: &mut dyn Store, use_checkpoint: bool) -> InitialState {
    resume::restore("c", store.resume("c", use_checkpoint).unwrap().unwrap()).unwrap()
}

fn tidy(store: &mut dyn Store) {
    while store.tidy(0).unwrap() {}
}

/// Names of what exists, and how pods are.
pub fn existing(model: &Model) -> Vec<String> {
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
    let mut joined = 0;
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
                let checkpoint = checkpoint(&timeline, &history, (batches[0].0, *to));
                store.commit(&[commit(None, checkpoint)]).unwrap();
            }
            if index % 7 == 0 {
                tidy(store);
            }
        }
        tidy(store);
        let (whole, _) = play(&batches);
        let from_checkpoint = resumed(store, true);
        assert!(from_checkpoint.timeline.model() == whole.model(), "{name}, from its checkpoint");
        let from_lines = resumed(store, false);
        assert!(from_lines.timeline.model() == whole.model(), "{name}, from its lines");
        joined += batches.len() - store.resume("c", false).unwrap().unwrap().batches.len();
    }
    let kinds = places().len();
    assert!(joined > 300 * kinds, "{joined} joined");
}

#[test]
fn operators_look_through_it_make_it_smaller_and_hand_a_rollout_on() {
    for place in places() {
        let options = place.options();
        let nothing = match &place.location {
            Location::Folder(folder) => format!("no history in {}", folder.display()),
            Location::Postgres(server) => format!("no history in {server}"),
        };
        assert_eq!(command::check(&options).unwrap_err().to_string(), nothing);
        let text = common::recording("rollout");
        let (batches, timeline) = (batches(&text), Recording::read(&text).play());
        let deployment = timeline.model().deployments.values().next().unwrap();
        let now = Now { millis: batches.last().unwrap().1, skew_millis: 0 };
        let mut store = place.open(SMALL);
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        let rollouts = rollout_rows::rollouts("c", &timeline, deployment.uid, now, rollout_rows::LAST);
        store.commit(&[Commit { rollouts, ..recorded(&batches, deployment.uid) }]).unwrap();
        let lines = text.lines().count();
        assert_eq!(
            command::check(&options).unwrap(),
            format!("1 cluster, 3 rollouts, {lines} observations: no damage found")
        );
        assert!(
            command::compact(&options).unwrap_err().to_string().starts_with("another server is using the history in")
        );
        drop(store);
        // The database hears of the end of a connection a moment later.
        let deadline = Instant::now() + Duration::from_secs(20);
        let compacted = loop {
            match command::compact(&options) {
                Err(why) if why.to_string().starts_with("another server") && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5)); // polling with a deadline
                }
                ended => break ended.unwrap(),
            }
        };
        assert!(compacted.contains("compacted from "));
        let wanted = |name: &str, revision| RolloutSelector {
            deployment: DeploymentArgument(name.into()),
            revision,
            namespace: None,
            cluster: None,
            redact: false,
        };
        let mut out = Vec::new();
        command::export(&options, &wanted(&deployment.name, Some(2)), &mut out).unwrap();
        let again = Recording::read(&String::from_utf8(out).unwrap()).play();
        let rollout = again.model().deployments.values().next().unwrap().rollouts.last().unwrap().clone();
        assert_eq!((rollout.revision, rollout.completed_millis), (2, deployment.rollouts[1].completed_millis));
        let why = command::export(&options, &wanted("other", None), &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(
            why,
            "no single rollout matches; choose one with --namespace, --cluster or --revision. The history has: none of that name"
        );
        let why =
            command::export(&options, &wanted(&deployment.name, Some(9)), &mut Vec::new()).unwrap_err().to_string();
        assert!(why.contains("revision 3 in c, "), "{why}");
        place.damage();
        let why = command::check(&options).unwrap_err().to_string();
        assert!(why.starts_with("batch ") && why.contains(" of cluster c: damaged data: "), "{why}");
    }
}

#[test]
fn a_recording_that_is_kept_tells_what_it_told_with_lists_that_may_come_apart() {
    let told = |recording: &Recording| recording.observed.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>();
    for (name, text) in common::recordings() {
        let recording = Recording::read_to_store(&text);
        let again = Recording::read(&recording.lines.join("\n"));
        assert!(again.bad_lines.is_empty(), "{name}: {:?}", again.bad_lines);
        for (again, once) in told(&again).iter().zip(told(&recording)) {
            assert_eq!(*again, once, "{name}");
        }
        assert_eq!(again.observed.len(), recording.observed.len(), "{name}");
        assert!(Recording::read(&text).lines.is_empty(), "{name}: only what is to be kept has lines");
        // Each list by itself tells what it held, whatever was told of its objects elsewhere.
        let lists = recording.lines.iter().zip(told(&recording)).filter(|(line, _)| line.contains("LIST_DONE"));
        for (line, told_then) in lists {
            assert_eq!(told(&Recording::read(line)), [told_then], "{name}");
        }
        let object = text.replace("\"spec\":{", "\"spec\":{\"secret\":\"confidential\",");
        assert!(object.contains("confidential"), "{name}");
        let kept = Recording::read_to_store(&object).lines.join("\n");
        assert!(!kept.contains("confidential"), "{name}: fields that are not decoded are not kept");
    }
}

fn one() -> Commit {
    commit(Some((1, 2, "{\"observedAtMillis\":1,\"kind\":\"Pod\",\"type\":\"LIST_DONE\",\"object\":{}}\n")), None)
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

fn why(folder: &Path) -> String {
    Sqlite::open(folder, SMALL).err().unwrap().to_string()
}

#[test]
fn one_at_a_time_writes() {
    let folder = tempfile::tempdir().unwrap();
    let first = Sqlite::open(folder.path(), SMALL).unwrap();
    assert_eq!(why(folder.path()), format!("another server is using the history in {}", folder.path().display()));
    drop(first);
    assert!(Sqlite::open(folder.path(), SMALL).is_ok());
}
