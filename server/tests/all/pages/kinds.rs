//! Episodes without a rollout on the page of history, in the API and by their links.

use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use server::history::options::Limits;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store};
use server::hub::Handle;
use server::web::state::Site;
use timeline::episodes::EpisodeRow;
use timeline::{EpisodeKind, Retention, address};

use crate::common;
use crate::pages::api::assert_described;
use crate::pages::kept::{archive, found, json, keep_rollouts};
use crate::pages::site::{fetch, site_of};

/// Keeps the episodes of a recording in a folder, as of cluster "c".
pub fn keep(folder: &Path, name: &str) {
    let text = common::recording(name);
    let episodes = crate::history::episodes(&text);
    let heard_millis = episodes.iter().map(|episode| episode.to_millis).max().unwrap_or_default();
    let commit = Commit { cluster: "c".into(), episodes, heard_millis, ..Commit::default() };
    Sqlite::open(folder, Limits::default()).unwrap().commit(&[commit]).unwrap();
}

#[tokio::test]
async fn episodes_without_a_rollout_are_listed_narrowed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    keep_rollouts(folder.path());
    keep(folder.path(), "kill-pod");
    let (hub, _) = Handle::start("c", Arc::default(), Retention::default());
    let site = Site { archive: Some(archive(folder.path())), ..Site::default() };
    let rollcast = site_of(vec![hub], site);
    let all = found(&rollcast, "").await;
    let recoveries = found(&rollcast, "kind=recovery,failure").await;
    let [recovery] = &recoveries[..] else { panic!("{recoveries:?}") };
    assert_eq!((recovery.episode, all.contains(recovery)), (EpisodeKind::Recovery, true));
    assert!(all.is_sorted_by_key(|row| std::cmp::Reverse(row.started_millis)));
    assert_eq!(found(&rollcast, "q=kind:rollout").await.len(), all.len() - 1);
    assert_eq!(found(&rollcast, "q=deleted").await, recoveries, "words are searched in titles");
    let (status, wrong) = json(&rollcast, "/api/v1/rollouts?kind=recovery,other").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(wrong["error"].as_str().unwrap().contains("rollout, scaling, recovery, failure"), "{wrong}");
    let (_, answer) = json(&rollcast, "/api/v1/rollouts?kind=recovery").await;
    let (_, description) = json(&rollcast, "/api/v1/openapi.json").await;
    assert_described(&description, "/api/v1/rollouts", StatusCode::OK, &answer);

    let page = fetch(&rollcast, "/history").await.text;
    assert!(page.contains(&recovery.title) && page.contains("4 episodes."), "{page}");
    assert!(fetch(&rollcast, "/history?kind=rollout").await.text.contains("3 rollouts."));
    assert!(fetch(&rollcast, "/history?kind=scaling").await.text.contains("No episodes match."));

    // Its own link, and that to a moment of it that nothing else knows any more.
    let opened = fetch(&rollcast, &recovery.play_address()).await;
    assert_eq!(opened.status, StatusCode::OK, "{}", opened.text);
    assert!(opened.text.contains(&format!(": {}.", recovery.title)) && opened.text.contains("Recording ("));
    let moment = |at_millis| address::moment(&recovery.workload(), recovery.uid, at_millis);
    let redirected = |at_millis| {
        let address = address::workload(&recovery.by_itself());
        let rollcast = &rollcast;
        async move {
            let answer = fetch(rollcast, &moment(at_millis)).await;
            answer.location.strip_prefix(&format!("{address}&at=")).unwrap().parse::<i64>().unwrap()
        }
    };
    let during = recovery.started_millis + 500;
    assert_eq!(redirected(during).await, during);
    assert_eq!(redirected(recovery.started_millis - 86_400_000).await, recovery.started_millis, "the nearest one");
    let file = fetch(&rollcast, &address::recording(&recovery.by_itself())).await;
    assert_eq!(file.status, StatusCode::OK);
    let file = fetch(&rollcast, &address::file(&recovery.by_itself(), None)).await;
    assert_eq!(file.status, StatusCode::OK, "{}", file.text);
    assert!(all.iter().filter(|row| !EpisodeRow::is_rollout(row)).all(|row| row.is_kept));
}
