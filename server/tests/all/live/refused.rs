//! What is kept cannot be used at the start: what happens is shown, why nothing is written is said, and what was kept is taken up, or given
//! up, by itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use server::history::Archive;
use server::history::options::{Limits, Location, Options};
use server::history::sqlite::FILE;

use crate::common::sqlite;
use crate::common::until::until;
use crate::live::kept::{archive, model, resumed, what_cannot_be_read_at_the_start_is_read_later};
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::{Verb, Watched, pod, shop, until_connection, until_live};

fn format(folder: &Path) -> i64 {
    sqlite::number(&folder.join(FILE), "SELECT max(version) FROM _sqlx_migrations")
}

fn set_format(folder: &Path, format: i64) {
    let last = "version = (SELECT max(version) FROM _sqlx_migrations)";
    sqlite::rows(&folder.join(FILE), &format!("UPDATE _sqlx_migrations SET version = {format} WHERE {last}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_later_version_is_left_alone_and_read_once_it_is_of_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let known = std::cell::Cell::new(0);
    what_cannot_be_read_at_the_start_is_read_later(
        || archive(folder.path()),
        || {
            known.set(format(folder.path()));
            set_format(folder.path(), 99);
        },
        "was written by a later version of Rollcast (format 99; this version reads up to ",
        || {
            assert_eq!(format(folder.path()), 99, "it was left alone");
            set_format(folder.path(), known.get());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_shows_what_happens_beside_a_file_of_a_later_version_and_says_so() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let kubeconfig = kubeconfig(&api, "fake");
    let page = async |serving: &Serving| get(&serving.address, "/clusters/fake/namespaces/shop/deployments/web").await;
    let first = Serving::keeping(&kubeconfig, folder.path());
    until("it is live", async || page(&first).await.contains("2 of 2 available")).await;
    first.end();
    set_format(folder.path(), 99);
    let second = Serving::keeping(&kubeconfig, folder.path());
    until("the page says so", async || {
        let page = page(&second).await;
        page.contains("2 of 2 available")
            && page.contains("History has not been written since")
            && page.contains("was written by a later version of Rollcast (format 99")
    })
    .await;
    let history = get(&second.address, "/history").await;
    assert!(history.contains("was written by a later version of Rollcast (format 99"), "{history}");
    second.end();
}

/// Making large tables those of this version takes its time, and so does a disk far away.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_takes_long_to_open_is_not_waited_for_and_read_once_it_is_open() {
    let (folder, is_slow) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let slow = || {
        let (location, is_slow) = (Location::Folder(folder.path().to_owned()), is_slow.clone());
        let options = Options { location: location.clone(), limits: Limits::default() };
        Archive::with_store(options, move || {
            while is_slow.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5)); // it takes its time
            }
            location.open(Limits::default())
        })
    };
    let words = "the history database does not respond";
    let (begin, end) = (|| is_slow.store(true, Ordering::Relaxed), || is_slow.store(false, Ordering::Relaxed));
    what_cannot_be_read_at_the_start_is_read_later(slow, begin, words, end).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_interrupts_again_does_not_wait_for_a_store_that_does_not_respond() {
    let (api, silent) = (shop().await, std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let database = format!("postgres://rollcast@{}/rollcast", silent.local_addr().unwrap());
    let serving = Serving::with(&kubeconfig(&api, "fake"), &["--history", &database]);
    let took = serving.interrupt();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_found_damaged_at_the_start_is_given_up_said_and_another_one_begun() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let first = archive(folder.path());
    let watched = Watched::kept(&api, &first);
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
    first.checkpoint().await;
    first.close().await;
    drop((watched, first));
    // Of connections that close at the same time each may leave the rest of its log to the other.
    until("the file is closed", async || {
        sqlite::rows(&folder.path().join(FILE), "PRAGMA wal_checkpoint");
        !folder.path().join(format!("{FILE}-wal")).exists()
    })
    .await;
    assert!(fs::metadata(folder.path().join(FILE)).unwrap().len() > 5 * 4_096, "everything is in the file");
    sqlite::spoil(folder.path());
    let second = archive(folder.path());
    let lists = api.requests(Verb::List, "pods");
    let watched = Watched::kept(&api, &second);
    let said = until_connection(&watched.hub, "damaged", |connection| connection.unwritten.is_some()).await;
    let why = said.unwritten.unwrap().why;
    assert!(why.contains(&format!("{FILE} is damaged: ")), "{why}");
    watched.until_pods(&["web-a", "web-b"]).await; // meanwhile
    until_connection(&watched.hub, "written again", |connection| connection.unwritten.is_none()).await;
    assert_eq!(sqlite::put_aside(folder.path()), 1);
    until("what exists is listed for the new file", async || api.requests(Verb::List, "pods") > lists + 1).await;
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
    // Kinds are listed anew each at its own time.
    until("a start now would have all of it", async || {
        second.checkpoint().await;
        let other = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            fs::copy(entry.path(), other.path().join(entry.file_name())).unwrap();
        }
        let third = archive(other.path());
        let resumed = resumed(&third).await;
        third.close().await;
        let seen = model(&watched).await;
        resumed.is_some_and(|resumed| *resumed.timeline.model() == seen)
    })
    .await;
    second.close().await;
    assert_eq!(sqlite::put_aside(folder.path()), 1, "the new file is sound");
}
