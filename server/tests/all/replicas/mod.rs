//! History and links in a PostgreSQL database: several Rollcasts that watch the same, and what may happen to a server. The server is a real
//! one.

mod links;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::access::permissions::Permissions;
use server::database::address::DatabaseServer;
use server::feed::recording::Recording;
use server::history::batch::Batch;
use server::history::options::{Limits, Location, Options};
use server::history::sql::Reader;
use server::history::store::{Commit, CommitResult, Store, StoreError};
use server::history::{Archive, resume};
use server::kube::SourceEvent;
use server::kube::translate::Object;
use timeline::episodes::{EpisodeRow, Search, rollout_rows};
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::wire::Unwritten;
use timeline::{Millis, Model, Timeline};
use tokio::io::copy_bidirectional;

use crate::common;
use crate::common::postgres::{Postgres, shared};
use crate::common::until::until;
use crate::history::existing;

/// Left out as one where there is no PostgreSQL.
mod in_postgres {
    mod faults;
    mod size;
    mod takeover;
    mod two_clusters;

    use super::*;

    fn open(server: &DatabaseServer) -> Box<dyn Store> {
        Location::Postgres(server.clone()).open(Limits::default()).unwrap()
    }

    fn why(server: &DatabaseServer) -> String {
        Location::Postgres(server.clone()).open(Limits::default()).err().unwrap().to_string()
    }

    /// The recording of a rollout, cut in three.
    fn thirds() -> [(Millis, Millis, String); 3] {
        let text = common::recording("rollout");
        let lines: Vec<&str> = text.lines().collect();
        [0, 1, 2].map(|third| {
            let part = &lines[lines.len() * third / 3..lines.len() * (third + 1) / 3];
            let text = part.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (from, to) = Recording::read(&text).span().unwrap();
            (from, to, text)
        })
    }

    /// What they come to together.
    fn whole(thirds: &[(Millis, Millis, String)]) -> Timeline {
        Recording::read(&thirds.iter().map(|(.., text)| text.as_str()).collect::<String>()).play()
    }

    /// What the index tells of that recording.
    fn rollouts() -> Vec<EpisodeRow> {
        let text = common::recording("rollout");
        let recording = Recording::read(&text);
        let now = Now { millis: recording.span().unwrap().1, skew_millis: 0 };
        let timeline = recording.play();
        let uid = *timeline.model().deployments.keys().next().unwrap();
        rollout_rows::rollouts("c", &timeline, uid, now, rollout_rows::LAST)
    }

    fn commit(number: u64, (from_millis, to_millis, text): &(Millis, Millis, String)) -> Commit {
        let (from_millis, to_millis) = (*from_millis, *to_millis);
        let lines = Some(Batch::pack(from_millis, to_millis, text).unwrap());
        Commit { number, cluster: "c".into(), lines, heard_millis: to_millis, ..Commit::default() }
    }

    fn kept(store: &mut dyn Store) -> Model {
        kept_of(store, "c")
    }

    fn kept_of(store: &mut dyn Store, cluster: &str) -> Model {
        let stored = store.resume(cluster, false).unwrap().unwrap();
        resume::restore(cluster, stored).unwrap().timeline.model().clone()
    }

    fn batches(database: &str) -> String {
        shared().sql(database, "SELECT count(*) FROM rollcast.batches")
    }

    /// Hands in the same batch, with another number each time, until it is written: as soon as nobody else writes.
    fn written_at_last(store: &mut dyn Store, first: u64, third: &(Millis, Millis, String)) -> CommitResult {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut numbers = first..;
        loop {
            let written = store.commit(&[commit(numbers.next().unwrap(), third)]).unwrap();
            if written != CommitResult::default() {
                return written;
            }
            assert!(Instant::now() < deadline, "never written");
        }
    }

    #[test]
    fn of_two_that_watch_the_same_one_writes_and_the_other_goes_on_after_a_gap() {
        let (database, server) = shared().named_server();
        let (mut first, mut second) = (open(&server), open(&server));
        let thirds = thirds();
        let all =
            CommitResult { clusters: ["c".into()].into(), bytes: commit(0, &thirds[0]).bytes(), is_takeover: false };
        assert_eq!(first.commit(&[commit(1, &thirds[0])]).unwrap(), all);
        assert_eq!(second.commit(&[commit(1, &thirds[0])]).unwrap(), CommitResult::default());
        assert_eq!(second.commit(&[commit(2, &thirds[1])]).unwrap(), CommitResult::default());
        assert_eq!(batches(&database), "1", "what both saw is there once");
        // The first one ends without a word, and with it its lock.
        drop(first);
        let heard = thirds[0].1;
        let written = written_at_last(&mut *second, 3, &thirds[2]);
        assert!(written.is_takeover && written.clusters.contains("c"));
        let whole = whole(&thirds);
        let model = kept(&mut *second);
        assert_eq!(existing(&model), existing(whole.model()));
        let gaps: Vec<Millis> =
            model.deployments.values().flat_map(|known| known.gaps.iter().map(|gap| gap.from_millis)).collect();
        assert_eq!(gaps, [heard]);
        // From here on it writes as the first one did.
        let more = second.commit(&[Commit { lines: None, ..commit(99, &thirds[2]) }]).unwrap();
        assert_eq!(more, CommitResult { clusters: ["c".into()].into(), bytes: 0, is_takeover: false });
    }

    #[test]
    #[ignore = "nightly"]
    fn a_tidying_that_fails_lets_go_of_what_it_borrowed() {
        let (database, server) = shared().named_server();
        let mut first = open(&server);
        first.commit(&[commit(1, &thirds()[0])]).unwrap();
        drop(first);
        let held = || {
            shared().sql(
                &database,
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                 WHERE l.locktype = 'advisory' AND d.datname = current_database()",
            )
        };
        // The connection of the first one ends a moment later.
        let began = Instant::now();
        while held() != "0" {
            assert!(began.elapsed() < Duration::from_secs(20), "it has ended");
        }
        let mut second = open(&server);
        shared().sql(&database, "ALTER TABLE rollcast.rollouts RENAME TO elsewhere");
        assert!(second.tidy(0).is_err(), "it cannot be tidied");
        assert_eq!(held(), "0", "another one may write it");
        shared().sql(&database, "ALTER TABLE rollcast.elsewhere RENAME TO rollouts");
        second.tidy(0).unwrap();
        let written = second.commit(&[commit(2, &thirds()[1])]).unwrap();
        assert!(written.clusters.contains("c"));
    }

    #[test]
    #[ignore = "nightly"]
    fn what_was_written_and_not_answered_is_written_once() {
        let (database, server) = shared().named_server();
        let mut store = open(&server);
        let thirds = thirds();
        for number in [1, 1, 2, 2, 2, 3] {
            store.commit(&[commit(number, &thirds[number as usize - 1])]).unwrap();
        }
        assert_eq!(batches(&database), "3");
        let whole = whole(&thirds);
        assert!(kept(&mut *store) == *whole.model());
    }

    #[test]
    #[ignore = "nightly"]
    fn a_rollout_that_both_saw_is_in_the_index_once_with_its_first_begin() {
        let server: DatabaseServer = shared().server();
        let seen = rollouts();
        // A process that came later saw one of them go on, on a clock of its own, and another one that is new.
        let late = |rollout: &EpisodeRow| EpisodeRow {
            started_millis: rollout.started_millis + 900,
            change_cause: Some("nul \0 is a character too".into()),
            ..rollout.clone()
        };
        let after = seen[2].ended_millis.unwrap() + 60_000;
        let again = EpisodeRow { started_millis: after, ended_millis: None, ..seen[2].clone() };
        let mut store = open(&server);
        let tell = |store: &mut dyn Store, number, rollouts| {
            store.commit(&[Commit { lines: None, rollouts, ..commit(number, &thirds()[0]) }]).unwrap();
        };
        tell(&mut *store, 1, seen.clone());
        tell(&mut *store, 2, vec![late(&seen[1]), late(&seen[2]), again]);
        let found = Reader::new(&Location::Postgres(server))
            .search(&Search::default(), &Permissions::All, None, 50)
            .unwrap()
            .rollouts;
        let told: Vec<(u32, u64, Millis)> =
            found.iter().map(|rollout| (rollout.number, rollout.revision, rollout.started_millis)).collect();
        let begun = |index: usize| seen[index].started_millis;
        assert_eq!(told, [(3, 3, after), (2, 3, begun(2)), (1, 2, begun(1)), (0, 1, begun(0))]);
        assert_eq!(found[2].change_cause.as_deref(), Some("nul \0 is a character too"));
    }

    #[test]
    #[ignore = "nightly"]
    fn what_a_server_refuses_is_told_in_its_words() {
        let shared = shared();
        let named = |database: &str| format!("PostgreSQL at {}/{database}", shared.folder().display());
        let at = |database: &str, role: &str| -> DatabaseServer { shared.address(database, role).parse().unwrap() };
        assert_eq!(
            why(&at("nowhere", "postgres")),
            format!("{}: database \"nowhere\" does not exist", named("nowhere"))
        );
        let database = shared.database();
        let place = named(&database);
        assert_eq!(why(&at(&database, "nobody")), format!("{place}: role \"nobody\" does not exist"));
        shared.sql(&database, &format!("CREATE ROLE guest_{database} LOGIN"));
        let guest = at(&database, &format!("guest_{database}"));
        assert_eq!(why(&guest), format!("{place}: permission denied for database {database}"));
        shared.sql(&database, &format!("ALTER DATABASE {database} CONNECTION LIMIT 0"));
        assert_eq!(why(&guest), format!("{place}: too many connections for database \"{database}\""));
        shared.sql(&database, &format!("ALTER DATABASE {database} CONNECTION LIMIT -1"));
        // A schema that was made for us is enough.
        shared.sql(&database, &format!("CREATE SCHEMA rollcast AUTHORIZATION guest_{database}"));
        drop(open(&guest));
        shared.sql(&database, &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"));
        let mut store = open(&guest);
        let refused = store.commit(&[commit(1, &thirds()[0])]).unwrap_err().to_string();
        assert_eq!(refused, format!("{place}: cannot execute INSERT in a read-only transaction"));
        drop(store);
        shared.sql("postgres", &format!("ALTER DATABASE {database} SET default_transaction_read_only = off"));
        shared.sql(&database, "UPDATE rollcast._sqlx_migrations SET version = 99 WHERE version = 2");
        let newer =
            format!("{place} was written by a later version of Rollcast (format 99; this version reads up to 2)");
        assert_eq!(why(&guest), newer);
    }

    #[test]
    #[ignore = "nightly"]
    fn several_that_start_at_once_make_the_tables_once() {
        let server = shared().server();
        let threads: Vec<_> =
            (0..6).map(|_| server.clone()).map(|server| std::thread::spawn(move || drop(open(&server)))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn tables_of_a_version_before_the_first_release_are_left_alone() {
        for table in ["format", "schema_format"] {
            let (database, server) = shared().named_server();
            let tables = format!("CREATE SCHEMA rollcast; CREATE TABLE rollcast.{table} (format BIGINT NOT NULL)");
            shared().sql(&database, &tables);
            let unreleased = format!(
                "{server} was written by a version of Rollcast before the first release and cannot be read; start with another folder or database (`--data-dir`, `--history`), or move it away"
            );
            assert_eq!(why(&server), unreleased);
            let read = Reader::new(&Location::Postgres(server)).clusters().unwrap_err().to_string();
            assert_eq!(read, unreleased);
            let left = "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'rollcast'";
            assert_eq!(shared().sql(&database, left), table);
        }
    }

    #[test]
    fn rollouts_are_found_by_name_image_and_time() {
        let server = shared().server();
        let seen = rollouts();
        open(&server).commit(&[Commit { rollouts: seen.clone(), ..commit(1, &thirds()[0]) }]).unwrap();
        let reader = Reader::new(&Location::Postgres(server));
        let found = |search: Search| {
            let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
            found.into_iter().map(|rollout| rollout.revision).collect::<Vec<_>>()
        };
        let (name, image) = (seen[0].name.clone(), seen[0].images.to_uppercase());
        assert_eq!(found(Search { name: name.clone(), ..Search::default() }), [3, 2, 1]);
        assert!(!found(Search { image, ..Search::default() }).is_empty());
        assert!(found(Search { name: name[1..].to_owned(), ..Search::default() }).is_empty(), "names are whole");
        let middle = seen[1].started_millis.midpoint(seen[1].ended_millis.unwrap());
        assert_eq!(found(Search { from_millis: Some(middle), to_millis: Some(middle + 1), ..Search::default() }), [2]);
    }

    #[test]
    #[ignore = "nightly"]
    fn what_is_locked_is_not_waited_for_long_and_written_later() {
        let (database, server) = shared().named_server();
        let mut store = open(&server);
        let thirds = thirds();
        store.commit(&[commit(1, &thirds[0])]).unwrap();
        // Another program has the table for itself.
        let blocker = database.clone();
        let blocking = std::thread::spawn(move || {
            shared().sql(&blocker, "BEGIN; LOCK TABLE rollcast.batches; SELECT pg_sleep(7); COMMIT");
        });
        let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'rollcast.batches'::regclass";
        while shared().sql(&database, locked) != "1" {}
        let refused = store.commit(&[commit(2, &thirds[1])]).unwrap_err().to_string();
        assert!(refused.ends_with(": canceling statement due to lock timeout"), "{refused}");
        blocking.join().unwrap();
        store.commit(&[commit(2, &thirds[1])]).unwrap();
        assert_eq!(batches(&database), "2");
    }

    fn set(number: usize) -> SourceEvent {
        let json = format!(
            r#"{{"metadata":{{"uid":"00000000-0000-4000-8000-{number:012}","name":"s{number}","namespace":"n"}}}}"#
        );
        let object = Object::decode(Kind::ReplicaSet, &json).unwrap();
        SourceEvent::Object { object, seen: Seen::Added, at_millis: 1_000 + number as Millis }
    }

    /// Tells an archive of ReplicaSets while something happens to its server; they are all there afterwards, each once.
    async fn told_while(server: &DatabaseServer, happens: impl AsyncFnOnce(&Archive)) {
        let location = Location::Postgres(server.clone());
        // They were observed in 1970, and are not too old.
        let ages = Millis::MAX / 4;
        let limits = Limits { age_millis: ages, log_millis: ages, ..Limits::default() };
        let archive = Archive::start(Options { location: location.clone(), limits });
        let mut journal = archive.journal("c");
        let commits = |count: u64| {
            let archive = archive.clone();
            async move || archive.counters.commits.load(Ordering::Relaxed) >= count
        };
        (0..100).for_each(|number| journal.note(&set(number)));
        until("the first commit", commits(1)).await;
        happens(&archive).await;
        (100..200).for_each(|number| journal.note(&set(number)));
        archive.unwritten.clone().wait_for(Option::is_none).await.unwrap();
        archive.close().await;
        let stored = tokio::task::block_in_place(|| {
            let mut store = location.open(Limits::default()).unwrap();
            let stored = store.resume("c", false).unwrap().unwrap();
            drop(store);
            stored
        });
        let text: String = stored.batches.iter().map(|batch| batch.text().unwrap()).collect();
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.split("\"name\":\"").nth(1)?.split('"').next()).collect();
        let expected: Vec<String> = (0..201).map(|number| format!("s{number}")).collect();
        let mut numbered: Vec<&str> = names;
        numbered.sort_by_key(|name| name[1..].parse::<u32>().unwrap());
        assert_eq!(numbered, expected, "none is lost, none is there twice");
        assert!(!text.contains("LIST_DONE"), "nothing was missed");
    }

    /// Tells one more, so that writing is tried; waits until that fails.
    async fn until_failing(archive: &Archive) -> String {
        archive.journal("c").note(&set(200));
        let said = archive.unwritten.clone().wait_for(Option::is_some).await.unwrap().clone().unwrap();
        assert_eq!(said.since_millis, 1_200, "since the first that is not written");
        said.why
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn a_server_that_is_started_anew_is_found_again_and_nothing_is_lost() {
        let mut postgres = Postgres::start();
        let server = postgres.server();
        told_while(&server, async |archive| {
            postgres.stop();
            let why = until_failing(archive).await;
            assert!(why.starts_with("PostgreSQL at ") && why.contains(": "), "{why}");
            postgres.start_again();
        })
        .await;
    }

    /// Lets through what comes to a port to a socket, as long as it is not cut: then it holds everything and says nothing.
    async fn proxy(socket: std::path::PathBuf) -> (u16, Arc<AtomicBool>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, is_cut) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
        let cut = is_cut.clone();
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (socket, cut) = (socket.clone(), cut.clone());
                tokio::spawn(async move {
                    let mut server = tokio::net::UnixStream::connect(socket).await.unwrap();
                    let through = copy_bidirectional(&mut client, &mut server);
                    tokio::select! {
                        _ = through => return,
                        () = async { while !cut.load(Ordering::Relaxed) { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
                    }
                    while cut.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await; // the cable is out
                    }
                });
            }
        });
        (port, is_cut)
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn a_network_that_is_cut_is_noticed_and_nothing_is_lost() {
        let (port, is_cut) = proxy(shared().socket()).await;
        let server = format!("postgres://postgres@127.0.0.1:{port}/{}", shared().database()).parse().unwrap();
        told_while(&server, async |archive| {
            is_cut.store(true, Ordering::Relaxed);
            assert_eq!(until_failing(archive).await, "the history database does not respond");
            // After its own deadline the connection says which server that is.
            let is_named = |unwritten: &Option<Unwritten>| {
                unwritten.as_ref().is_some_and(|unwritten| unwritten.why.ends_with(": it does not respond"))
            };
            archive.unwritten.clone().wait_for(is_named).await.unwrap();
            is_cut.store(false, Ordering::Relaxed);
        })
        .await;
    }

    #[test]
    #[ignore = "nightly"]
    fn one_who_lost_the_lead_meanwhile_follows_and_may_lead_again() {
        let server = shared().server();
        let (mut first, mut second) = (open(&server), open(&server));
        let thirds = thirds();
        first.commit(&[commit(1, &thirds[0])]).unwrap();
        second.commit(&[commit(1, &thirds[0])]).unwrap();
        // The connection of the first one is ended by the server; the second one is faster.
        let (database, end) =
            (format!("{server}"), "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
        let database = database.rsplit('/').next().unwrap();
        let mine = format!("{end} AND database = (SELECT oid FROM pg_database WHERE datname = '{database}')");
        shared().sql(database, &mine);
        written_at_last(&mut *second, 2, &thirds[1]);
        let lost: StoreError = first.commit(&[commit(2, &thirds[1])]).unwrap_err();
        assert!(matches!(lost, StoreError::Failed(_)), "{lost}");
        assert_eq!(first.commit(&[commit(2, &thirds[1])]).unwrap(), CommitResult::default(), "another one writes");
        shared().sql(database, &mine);
        let written = written_at_last(&mut *first, 3, &thirds[2]);
        assert!(written.is_takeover);
        let whole = whole(&thirds);
        assert_eq!(existing(&kept(&mut *first)), existing(whole.model()));
    }

    /// What `rollcast history check` says of a database, with the certificates of authorities of a file.
    fn checked(address: &str, authorities: &std::path::Path) -> String {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rollcast"));
        command.args(["history", "check"]).env("ROLLCAST_HISTORY", address).env("SSL_CERT_FILE", authorities);
        let output = command.env_remove("SSL_CERT_DIR").output().unwrap();
        let said = if output.status.success() { output.stdout } else { output.stderr };
        String::from_utf8(said).unwrap().trim().to_owned()
    }

    #[test]
    #[ignore = "nightly"]
    fn what_leaves_this_machine_is_encrypted_and_the_server_is_who_it_says() {
        let (postgres, port, certificate) = Postgres::with_tls();
        let database = postgres.database();
        let mode = |mode: &str| format!("postgres://postgres:secret@localhost:{port}/{database}?sslmode={mode}");
        let place = format!("PostgreSQL at localhost:{port}/{database}");
        assert_eq!(checked(&mode("require"), &certificate), format!("rollcast: no history in {place}"));
        let others = tempfile::NamedTempFile::new().unwrap();
        let why = checked(&mode("require"), others.path());
        assert_eq!(why, format!("rollcast: {place}: this machine has no trusted certificate authorities"));
        let other = Postgres::with_tls();
        let why = checked(&mode("require"), &other.2);
        assert!(why.starts_with(&format!("rollcast: {place}: ")) && why.contains("certificate"), "{why}");
        assert!(!why.contains("secret"), "{why}");
    }
}
