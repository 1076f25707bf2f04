//! History in a PostgreSQL database, as hubs live with it.

/// Left out as one where there is no PostgreSQL.
mod in_postgres {
    use server::history::Archive;
    use server::history::options::{Limits, Location, Options};
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
    use timeline::wire::Connection;

    use crate::common::postgres::{Postgres, shared};
    use crate::common::until::until;
    use crate::live::kept::{after_a_restart, model, resumed, what_cannot_be_read_at_the_start_is_read_later};
    use crate::live::support::{Watched, pod, shop, until_connection, until_live};

    fn archives() -> impl Fn() -> Archive {
        let location = Location::Postgres(shared().server());
        move || Archive::start(Options { location: location.clone(), limits: Limits::default() })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn after_a_restart_everything_is_as_it_was() {
        after_a_restart(archives()).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn a_server_that_starts_later_than_rollcast_is_read_once_it_is_there() {
        let postgres = std::cell::RefCell::new(Postgres::start());
        let location = Location::Postgres(postgres.borrow().server());
        let archive = || Archive::start(Options { location: location.clone(), limits: Limits::default() });
        let (stop, start) = (|| postgres.borrow_mut().stop(), || postgres.borrow_mut().start_again());
        what_cannot_be_read_at_the_start_is_read_later(archive, stop, "PostgreSQL at ", start).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn tables_of_a_later_version_are_left_alone_and_read_once_they_are_of_this_one() {
        let database = shared().database();
        let location = Location::Postgres(shared().address(&database, "postgres").parse().unwrap());
        let archive = || Archive::start(Options { location: location.clone(), limits: Limits::default() });
        let format = || shared().sql(&database, "SELECT max(version) FROM rollcast._sqlx_migrations");
        let set = |format: &str| {
            let last = "version = (SELECT max(version) FROM rollcast._sqlx_migrations)";
            let change = format!("UPDATE rollcast._sqlx_migrations SET version = {format} WHERE {last}");
            drop(shared().sql(&database, &change))
        };
        let known = std::cell::OnceCell::new();
        let newer = || {
            known.set(format()).unwrap();
            set("99");
        };
        let older = || {
            assert_eq!(format(), "99", "it was left alone");
            set(known.get().unwrap());
        };
        let words = "was written by a later version of Rollcast (format 99";
        what_cannot_be_read_at_the_start_is_read_later(archive, newer, words, older).await;
    }

    /// The number of the lock that whoever makes the tables holds: "Roll" and nothing.
    const MAKING: i64 = 0x526f_6c6c << 32;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn while_another_one_makes_the_tables_the_cluster_is_shown_and_that_is_said() {
        let (api, database) = (shop().await, shared().database());
        let (address, at) = (shared().address(&database, "postgres"), shared().address(&database, "postgres"));
        let mut client = sqlx::PgConnection::connect(&at).await.unwrap();
        client.execute(AssertSqlSafe(format!("SELECT pg_advisory_lock({MAKING})"))).await.unwrap();
        let location = Location::Postgres(address.parse().unwrap());
        let archive = Archive::start(Options { location, limits: Limits::default() });
        let watched = Watched::kept(&api, &archive);
        watched.until_pods(&["web-a", "web-b"]).await;
        let words = "another server is upgrading the tables";
        let is_said = |connection: &Connection| connection.unwritten.as_ref().is_some_and(|of| of.why.contains(words));
        until_connection(&watched.hub, words, is_said).await;
        client.close().await.unwrap();
        until_connection(&watched.hub, "written", |connection| connection.unwritten.is_none()).await;
        archive.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "nightly"]
    async fn of_two_that_watch_the_same_cluster_one_writes_and_when_it_ends_the_other_does() {
        let (api, archive) = (shop().await, archives());
        let (first, second) = (archive(), archive());
        let (one, other) = (Watched::kept(&api, &first), Watched::kept(&api, &second));
        until_live(&one.hub).await;
        until_live(&other.hub).await;
        let writes = |archive: &Archive| archive.counters.commits.load(std::sync::atomic::Ordering::Relaxed) > 0;
        until("one that writes", async || writes(&first) || writes(&second)).await;
        let (writer, follower, watched) =
            if writes(&first) { (&first, &second, &other) } else { (&second, &first, &one) };
        api.put(pod(12, 2, "web-c"));
        for either in [&one, &other] {
            either.until_pods(&["web-a", "web-b", "web-c"]).await;
        }
        assert!(!writes(follower), "what both saw is written once");
        assert!(follower.unwritten.borrow().is_none());
        // The one that writes ends; what happens then is written by the other one.
        writer.close().await;
        api.delete(&pod(12, 2, "web-c"));
        watched.until_pods(&["web-a", "web-b"]).await;
        until("the other one writes", async || writes(follower)).await;
        let seen = model(watched).await;
        follower.close().await;
        // A third one takes up what the two wrote.
        let third = resumed(&archive()).await.unwrap();
        let known = third.timeline.model();
        assert_eq!(known.pods.keys().collect::<Vec<_>>(), seen.pods.keys().collect::<Vec<_>>());
        let gone = |model: &timeline::Model| model.pods.values().filter(|pod| pod.gone_millis().is_some()).count();
        assert_eq!((gone(known), gone(&seen)), (1, 1));
    }
}
