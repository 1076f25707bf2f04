//! What may happen to a server while history is written to it: nobody waits for it, why nothing is written is told in its words, and
//! afterwards everything is there.

use std::time::{Duration, Instant};

use server::database::address::DatabaseServer;
use timeline::wire::Unwritten;

use super::{open, told_while, until_failing, why};
use crate::common::postgres::shared;

/// A database of which a role that is nobody special has the schema: superusers are refused nothing.
fn of_a_guest() -> (String, String, DatabaseServer) {
    let database = shared().database();
    let guest = format!("keeper_{database}");
    shared().sql(&database, &format!("CREATE ROLE {guest} LOGIN; CREATE SCHEMA rollcast AUTHORIZATION {guest}"));
    let server = shared().address(&database, &guest).parse().unwrap();
    (database, guest, server)
}

/// Waits until writing fails for that reason.
async fn until_told(archive: &server::history::Archive, why: &str) {
    let is_told =
        |unwritten: &Option<Unwritten>| unwritten.as_ref().is_some_and(|unwritten| unwritten.why.ends_with(why));
    let mut unwritten = archive.unwritten.clone();
    let told = tokio::time::timeout(Duration::from_secs(30), unwritten.wait_for(is_told)).await;
    told.unwrap_or_else(|_| panic!("{why} is never told; told is {:?}", archive.unwritten.borrow())).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly"]
async fn a_server_that_has_no_connection_left_is_told_and_nothing_is_lost() {
    let (database, guest, server) = of_a_guest();
    told_while(&server, async |archive| {
        shared().sql("postgres", &format!("ALTER DATABASE {database} CONNECTION LIMIT 0"));
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{guest}'");
        shared().sql("postgres", &end);
        until_failing(archive).await;
        until_told(archive, &format!("too many connections for database \"{database}\"")).await;
        shared().sql("postgres", &format!("ALTER DATABASE {database} CONNECTION LIMIT -1"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly"]
async fn a_right_that_is_taken_away_is_told_and_once_it_is_back_nothing_is_lost() {
    let (database, guest, server) = of_a_guest();
    told_while(&server, async |archive| {
        shared().sql(&database, &format!("REVOKE INSERT ON rollcast.batches FROM {guest}"));
        assert!(until_failing(archive).await.ends_with(": permission denied for table batches"));
        shared().sql(&database, &format!("GRANT INSERT ON rollcast.batches TO {guest}"));
    })
    .await;
}

/// As after a failover, where the connection led to a standby for a while.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly"]
async fn a_server_that_is_read_only_is_told_and_left_for_the_one_that_is_not() {
    let (database, guest, server) = of_a_guest();
    told_while(&server, async |archive| {
        let read_only = |is_on: &str| format!("ALTER DATABASE {database} SET default_transaction_read_only = {is_on}");
        shared().sql("postgres", &read_only("on"));
        // Sessions keep the setting that they began with.
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{guest}'");
        shared().sql("postgres", &end);
        until_failing(archive).await;
        until_told(archive, ": cannot execute INSERT in a read-only transaction").await;
        shared().sql("postgres", &read_only("off"));
        let mut unwritten = archive.unwritten.clone();
        let written = tokio::time::timeout(Duration::from_secs(30), unwritten.wait_for(Option::is_none)).await;
        assert!(written.is_ok(), "still {:?}", archive.unwritten.borrow());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly"]
async fn a_server_that_takes_its_time_is_told_of_meanwhile_and_nothing_is_there_twice() {
    let (database, server) = shared().named_server();
    told_while(&server, async |archive| {
        let slow = "CREATE FUNCTION rollcast.slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(6); RETURN NEW; END';
             CREATE TRIGGER slow BEFORE INSERT ON rollcast.batches FOR EACH ROW EXECUTE FUNCTION rollcast.slow()";
        shared().sql(&database, slow);
        assert_eq!(until_failing(archive).await, "the history database does not respond");
        // Once what is under way is over.
        shared().sql(&database, "DROP FUNCTION rollcast.slow() CASCADE");
    })
    .await;
}

#[test]
#[ignore = "nightly"]
fn one_that_finds_another_one_making_the_tables_says_so_and_does_not_wait_for_long() {
    let (database, server) = shared().named_server();
    // "Roll", as the number of the lock that whoever makes the tables holds.
    let holder = database.clone();
    let holding = std::thread::spawn(move || {
        let lock =
            format!("BEGIN; SELECT pg_advisory_xact_lock({}); SELECT pg_sleep(20); COMMIT", 0x526f_6c6c_i64 << 32);
        // It is ended below.
        std::panic::catch_unwind(|| shared().sql(&holder, &lock)).is_err()
    });
    let held = format!(
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND l.granted AND d.datname = '{database}'"
    );
    while shared().sql(&database, &held) != "1" {}
    let began = Instant::now();
    assert_eq!(why(&server), format!("{server}: another server is upgrading the tables"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let end = format!(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND d.datname = '{database}'"
    );
    shared().sql(&database, &end);
    assert!(holding.join().unwrap());
    drop(open(&server));
}
