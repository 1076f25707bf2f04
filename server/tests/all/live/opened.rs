//! What it costs to open what is kept.

use server::access::permissions::Permissions;
use server::history::options::{Limits, Location};
use server::history::sql::Reader;
use server::history::sqlite::Sqlite;
use timeline::episodes::Search;

use crate::common::day;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::shop;

/// Viewers, each of whom opens an episode of its own at the same time.
const VIEWERS: usize = 20;
/// Most bytes of memory that the server process needs for that, beside those that it has.
const MORE_BYTES: u64 = 50 << 20;

/// One request reads one row, however much its cluster did meanwhile: these are of a cluster with about 100 changes a second.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn twenty_viewers_open_twenty_episodes_and_the_server_needs_little_memory_for_it() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    day::keep(&mut store, 100);
    drop(store);
    let found = Reader::new(&Location::Folder(folder.path().to_owned()))
        .search(&Search::default(), &Permissions::All, None, 100)
        .unwrap()
        .rollouts;
    let pages: Vec<String> = found
        .iter()
        .filter(|rollout| rollout.is_kept)
        .map(|rollout| timeline::address::workload(&rollout.by_itself()))
        .collect();
    assert!(pages.len() > VIEWERS, "{} rollouts", pages.len());
    let serving = Serving::with(
        &kubeconfig(&api, "fake"),
        &["--data-dir", &folder.path().display().to_string(), "--keep-for", "3650d"],
    );
    let open = async |page: &String| {
        let told = get(&serving.address, page).await;
        assert!(told.starts_with("HTTP/1.0 200") && told.contains("Recording of a finished rollout"), "{page}: {told}");
    };
    // What every page needs once is there then.
    open(&pages[VIEWERS]).await;
    let before = serving.private_memory();
    let mut viewers = std::pin::pin!(futures::future::join_all(pages[..VIEWERS].iter().map(open)));
    let mut peak = before;
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(2));
    loop {
        tokio::select! {
            _ = &mut viewers => break,
            _ = looks.tick() => peak = peak.max(serving.private_memory()),
        }
    }
    peak = peak.max(serving.private_memory());
    println!("{} KB more", (peak - before) >> 10);
    assert!(peak < before + MORE_BYTES, "{} MB, and {} MB before", peak >> 20, before >> 20);
}
