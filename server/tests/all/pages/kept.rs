//! What every recording comes to, kept in a store: for tests that look at it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use server::access::permissions::Permissions;
use server::feed::recording::Recording;
use server::history::Archive;
use server::history::batch::Batch;
use server::history::options::{Limits, Location, Options};
use server::history::recorder::Recorder;
use server::history::sql::Reader;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store};
use server::web::state::{Rollcast, Site};
use timeline::address::Route;
use timeline::episodes::{EpisodeRow, Search, UNKNOWN_CAUSE, rollout_rows};
use timeline::rollout::Outcome;
use timeline::view::Now;
use timeline::{Millis, Timeline, Uid};

use crate::common;
use crate::pages::site::{fetch, site_of};

/// What every recording comes to, and its rollouts.
pub struct Kept {
    pub rollcast: Arc<Rollcast>,
    pub whole: Vec<(String, Timeline)>,
    pub rollouts: Vec<EpisodeRow>,
    _folder: tempfile::TempDir,
}

/// An archive in a folder, for which recordings are never too old.
pub fn archive(folder: &Path) -> Archive {
    let limits = Limits { age_millis: i64::MAX / 4, ..Limits::default() };
    Archive::start(Options { location: Location::Folder(folder.to_owned()), limits })
}

/// Every recording in a store, and no cluster that is watched.
pub fn kept() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let (mut whole, mut count) = (Vec::new(), 0);
    for (name, text) in common::recordings() {
        let (commit, timeline) = commit(&name, &text);
        let beside = commit.episodes.iter().flat_map(|episode| [&episode.row_before, &episode.row]).flatten();
        count += commit.rollouts.len() + beside.count();
        store.commit(&[commit]).unwrap();
        whole.push((name, timeline));
    }
    drop(store);
    let site = Site { archive: Some(archive(folder.path())), ..Site::default() };
    let rollcast = site_of(Vec::new(), site);
    let rollouts = Reader::new(&Location::Folder(folder.path().to_owned()))
        .search(&Search::default(), &Permissions::All, None, 10_000)
        .unwrap()
        .rollouts;
    assert_eq!(rollouts.len(), count, "each once");
    Kept { rollcast, whole, rollouts, _folder: folder }
}

/// A recording as a cluster of that name, at its end.
fn commit(name: &str, text: &str) -> (Commit, Timeline) {
    let recording = Recording::read(text);
    let (from_millis, heard_millis) = recording.span().unwrap();
    let (timeline, rollouts) = play(name, recording);
    let lines = Some(Batch::pack(from_millis, heard_millis, text).unwrap());
    let mut recorder = Recorder::default();
    recorder.record(text);
    timeline.model().deployments.keys().for_each(|uid| recorder.begin_episode(*uid));
    let episodes = timeline.model().deployments.keys().filter_map(|uid| recorder.settle(*uid)).collect();
    (Commit { cluster: name.into(), lines, heard_millis, rollouts, episodes, ..Commit::default() }, timeline)
}

/// Keeps three rollouts of one Deployment in a folder, as of cluster "c".
pub fn keep_rollouts(folder: &Path) {
    let text = common::recording("rollout");
    Sqlite::open(folder, Limits::default()).unwrap().commit(&[commit("c", &text).0]).unwrap();
}

/// Keeps the rows of 150 later rollouts of a Deployment in a folder, as of cluster "c".
pub fn keep_rows_after(folder: &Path, of: &EpisodeRow) {
    let row = |later: u64| {
        let started_millis = of.started_millis + later as Millis * 60_000;
        EpisodeRow {
            namespace: of.namespace.clone(),
            name: of.name.clone(),
            uid: of.uid,
            revision: of.revision + later,
            started_millis,
            ended_millis: Some(started_millis + 1_000),
            outcome: Outcome::Complete,
            ..EpisodeRow::default()
        }
    };
    let commit = Commit { cluster: "c".into(), rollouts: (1..=150).map(row).collect(), ..Commit::default() };
    Sqlite::open(folder, Limits::default()).unwrap().commit(&[commit]).unwrap();
}

/// The Deployment `web` of the UID 1 before its first rollout.
pub fn unrolled() -> EpisodeRow {
    EpisodeRow { namespace: "shop".to_owned(), name: "web".to_owned(), uid: Uid::from_bits(1), ..EpisodeRow::default() }
}

/// Plays a recording, and takes down its rollouts once a second as a hub does.
fn play(name: &str, recording: Recording) -> (Timeline, Vec<EpisodeRow>) {
    let (mut timeline, mut rollouts, mut next) = (Timeline::new(), BTreeMap::new(), 0);
    let last = recording.observed.len() - 1;
    for (number, observed) in recording.observed.into_iter().enumerate() {
        let at_millis = observed.at_millis;
        observed.apply(&mut timeline);
        if at_millis < next && number < last {
            continue;
        }
        next = at_millis + 1_000;
        let (model, now) = (timeline.model(), Now { millis: at_millis, skew_millis: timeline.skew_millis() });
        for rollout in model
            .deployments
            .keys()
            .flat_map(|uid| rollout_rows::rollouts(name, &timeline, *uid, now, rollout_rows::LAST))
        {
            let known: Option<EpisodeRow> = rollouts.remove(&(rollout.uid, rollout.revision, rollout.started_millis));
            // As the store does it: the last known cause stays.
            let is_news = !rollout.cause.is_empty() && rollout.cause != UNKNOWN_CAUSE;
            let cause = known.map(|known| known.cause).filter(|known| !is_news && !known.is_empty());
            let cause = cause.unwrap_or_else(|| rollout.cause.clone());
            rollouts.insert((rollout.uid, rollout.revision, rollout.started_millis), EpisodeRow { cause, ..rollout });
        }
    }
    (timeline, rollouts.into_values().collect())
}

pub async fn json(rollcast: &Arc<Rollcast>, path: &str) -> (StatusCode, Value) {
    let answer = fetch(rollcast, path).await;
    (answer.status, serde_json::from_str(&answer.text).unwrap_or(Value::Null))
}

pub async fn found(rollcast: &Arc<Rollcast>, query: &str) -> Vec<EpisodeRow> {
    let (status, answer) = json(rollcast, &format!("{}?limit=500&{query}", Route::ApiRollouts.pattern())).await;
    assert_eq!(status, StatusCode::OK, "{query}: {answer}");
    serde_json::from_value(answer["rollouts"].clone()).unwrap()
}
