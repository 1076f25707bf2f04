//! What a server writes besides lines when it takes a cluster over.

use std::time::{Duration, Instant};

use server::history::batch::pack;
use server::history::options::{Limits, Location};
use server::history::store::{Commit, CommitResult, Episode};
use timeline::episodes::EpisodeRow;
use timeline::rollout::Outcome;
use timeline::{EpisodeKind, Millis, Uid};

use super::{batches, commit, kept, open, thirds, whole, written_at_last};
use crate::common::postgres::shared;
use crate::history::existing;

/// The recovery of a workload, which settles 20 s after its begin.
fn recovery(workload: u128, from_millis: Millis, is_open: bool) -> Episode {
    let uid = Uid::from_bits(workload);
    let (to_millis, outcome) =
        if is_open { (from_millis + 5_000, Outcome::Progressing) } else { (from_millis + 20_000, Outcome::Complete) };
    let row = EpisodeRow {
        episode: EpisodeKind::Recovery,
        uid,
        started_millis: from_millis,
        ended_millis: (!is_open).then_some(to_millis),
        outcome,
        ..EpisodeRow::default()
    };
    let body = pack("").unwrap();
    Episode { uid, from_millis, to_millis, is_open, row_before: None, row: Some(Box::new(row)), body }
}

#[test]
#[ignore = "nightly"]
fn an_episode_that_settled_before_a_takeover_does_not_go_on_after_it() {
    let (database, server) = shared().named_server();
    let (mut first, mut second) = (open(&server), open(&server));
    let thirds = thirds();
    // Both observed both of them. The first one ends before it writes that the first of them settled.
    let episodes = vec![recovery(1, 1_000, true), recovery(2, 1_000, false)];
    first.commit(&[Commit { episodes, ..commit(1, &thirds[0]) }]).unwrap();
    let episodes = vec![recovery(1, 1_300, false), recovery(2, 1_300, false)];
    second.commit(&[Commit { episodes, ..commit(1, &thirds[0]) }]).unwrap();
    drop(first);
    assert!(written_at_last(&mut *second, 2, &thirds[2]).is_takeover);
    let episodes = "SELECT string_agg(right(uid, 1) || ':' || from_millis || ':' || is_open, ' ' ORDER BY uid, from_millis) FROM rollcast.episodes";
    assert_eq!(shared().sql(&database, episodes), "1:1000:0 1:1300:0 2:1000:0", "nothing else is there twice");
    let rows = "SELECT string_agg(right(uid, 1) || ':' || started_millis || ':' || over_millis, ' ' ORDER BY uid, number) FROM rollcast.rollouts";
    assert_eq!(shared().sql(&database, rows), "1:1300:21300 2:1000:21000");
}

/// Ends the connections that hold a lock, and waits until it is free.
fn end_writers(database: &str) {
    let writers = "pg_locks WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    shared().sql(database, &format!("SELECT pg_terminate_backend(pid) FROM {writers}"));
    let began = Instant::now();
    while shared().sql(database, &format!("SELECT count(*) FROM {writers}")) != "0" {
        assert!(began.elapsed() < Duration::from_secs(20), "it has ended");
    }
}

#[test]
fn commits_that_a_failover_lost_are_noticed_and_what_settled_is_written_again() {
    let (database, server) = shared().named_server();
    let mut store = open(&server);
    let thirds = thirds();
    store.commit(&[Commit { episodes: vec![recovery(1, 1_000, true)], ..commit(1, &thirds[0]) }]).unwrap();
    let first = shared().sql(&database, "SELECT last_commit FROM rollcast.clusters");
    store.commit(&[Commit { episodes: vec![recovery(1, 1_000, false)], ..commit(2, &thirds[1]) }]).unwrap();
    // The standby that became the server has the first commit only.
    let lost = format!(
        "UPDATE rollcast.clusters SET last_commit = '{first}', heard_millis = {}; DELETE FROM rollcast.batches WHERE seq = 2;
         UPDATE rollcast.episodes SET is_open = 1, to_millis = 6000",
        thirds[0].1
    );
    shared().sql(&database, &lost);
    end_writers(&database);
    store.commit(&[commit(3, &thirds[2])]).unwrap_err();
    assert!(store.commit(&[commit(3, &thirds[2])]).unwrap().is_takeover);
    assert_eq!(existing(&kept(&mut *store)), existing(whole(&thirds).model()));
    assert_eq!(shared().sql(&database, "SELECT is_open || ':' || to_millis FROM rollcast.episodes"), "0:21000");
}

#[test]
fn the_lock_of_a_lost_connection_is_waited_for() {
    let (database, server) = shared().named_server();
    let mut store = open(&server);
    let thirds = thirds();
    store.commit(&[commit(1, &thirds[0])]).unwrap();
    end_writers(&database);
    // It has the lock and writes nothing.
    let lost = Location::Postgres(server).open_alone(Limits::default()).unwrap();
    store.commit(&[commit(2, &thirds[1])]).unwrap_err();
    let why = store.commit(&[commit(2, &thirds[1])]).unwrap_err().to_string();
    assert_eq!(why, "the history database has not closed a lost connection yet");
    drop(lost);
    assert!(!store.commit(&[commit(2, &thirds[1])]).unwrap().is_takeover);
    assert_eq!(batches(&database), "2");
}

#[test]
#[ignore = "nightly"]
fn a_takeover_is_one_though_its_response_was_lost() {
    let (database, server) = shared().named_server();
    let (mut first, mut second) = (open(&server), open(&server));
    let thirds = thirds();
    second.commit(&[commit(1, &thirds[0])]).unwrap();
    let name = shared().sql(&database, "SELECT last_commit FROM rollcast.clusters");
    end_writers(&database);
    written_at_last(&mut *first, 1, &thirds[0]);
    second.commit(&[commit(2, &thirds[1])]).unwrap_err();
    assert_eq!(second.commit(&[commit(2, &thirds[1])]).unwrap(), CommitResult::default(), "another one writes");
    drop(first);
    // Its third commit was written, and nothing told it so.
    let third = name.replace(":1", ":3");
    shared().sql(&database, &format!("UPDATE rollcast.clusters SET last_commit = '{third}'"));
    let deadline = Instant::now() + Duration::from_secs(20);
    let written = loop {
        let written = second.commit(&[commit(3, &thirds[2])]).unwrap();
        if written != CommitResult::default() {
            break written;
        }
        assert!(Instant::now() < deadline, "never written");
    };
    assert!(written.is_takeover && written.bytes == 0, "{written:?}");
}
