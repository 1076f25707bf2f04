//! The size of the history in a database: how often it is measured, and what happens if that takes too long.

use server::history::options::{Limits, Location};
use server::history::store::Commit;

use super::{batches, commit, open, thirds};
use crate::common::postgres::shared;

#[test]
fn what_is_too_old_is_evicted_where_the_size_cannot_be_measured() {
    let (database, server) = shared().named_server();
    let mut store = Location::Postgres(server).open(Limits { age_millis: 1_000, ..Limits::default() }).unwrap();
    let third = &thirds()[0];
    store.commit(&[commit(1, third)]).unwrap();
    shared().sql(&database, "ALTER TABLE rollcast.rollouts RENAME COLUMN text TO words");
    assert!(store.bytes().is_err());
    while store.tidy(third.1 + 60_000).unwrap() {}
    assert_eq!(batches(&database), "0");
}

#[test]
fn a_size_that_is_not_too_much_is_measured_again_after_a_while_only() {
    let (database, server) = shared().named_server();
    let open = || Location::Postgres(server.clone()).open(Limits { bytes: 1, ..Limits::default() }).unwrap();
    let mut store = open();
    assert!(!store.tidy(0).unwrap());
    store.commit(&[Commit { checkpoint: Some(vec![0]), ..commit(1, &thirds()[0]) }]).unwrap();
    assert!(!store.tidy(0).unwrap());
    assert_eq!(batches(&database), "1");
    drop(store);
    while open().tidy(0).unwrap() {}
    assert_eq!(batches(&database), "0");
}

#[test]
#[ignore = "nightly"]
fn compacting_waits_for_a_statement_that_takes_long() {
    let (database, server) = shared().named_server();
    drop(open(&server));
    let blocker = database.clone();
    let blocking = std::thread::spawn(move || {
        shared().sql(&blocker, "BEGIN; LOCK TABLE rollcast.rollouts; SELECT pg_sleep(7); COMMIT");
    });
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'rollcast.rollouts'::regclass";
    while shared().sql(&database, locked) != "1" {}
    let mut store = Location::Postgres(server).open_alone(Limits::default()).unwrap();
    assert_eq!(store.bytes().unwrap(), 0);
    blocking.join().unwrap();
}
