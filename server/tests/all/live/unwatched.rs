//! What is not watched any more, or may not be read any more: nobody is told that it is how it was.

use serde_json::{Value, json};
use server::history::RestoreResult;
use timeline::fact::Kind;

use crate::common::until::until;
use crate::live::kept::{archive, model};
use crate::live::support::{FakeApi, Fault, Verb, Watched, deployment, shop, until_live, watched_shop};

fn in_edge() -> Value {
    let mut web = deployment(30, 2);
    web["metadata"]["namespace"] = json!("edge");
    web
}

async fn both() -> FakeApi {
    let api = shop().await;
    api.put(in_edge());
    api
}

/// Namespaces of the Deployments that exist.
fn namespaces(model: &timeline::Model) -> Vec<&str> {
    let there = model.deployments.values().filter(|known| known.deleted_millis.is_none());
    let mut there: Vec<&str> = there.map(|known| known.namespace.as_str()).collect();
    there.sort_unstable();
    there
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_watched_no_more_leaves_nothing_behind() {
    let (api, folder) = (both().await, tempfile::tempdir().unwrap());
    // Killed each time: no run but the first puts away what it knows.
    for (watched_namespaces, there) in
        [(&[][..], &["edge", "shop"][..]), (&["shop"], &["shop"]), (&["shop"], &["shop"])]
    {
        let archive = archive(folder.path());
        let watched = Watched::kept_of(&api, &archive, watched_namespaces);
        until_live(&watched.hub).await;
        watched.until_pods(&["web-a", "web-b"]).await;
        let model = model(&watched).await;
        assert_eq!(namespaces(&model), there, "{watched_namespaces:?}");
        if watched_namespaces.is_empty() {
            archive.checkpoint().await;
        } else {
            let ended = model.deployments.values().find(|known| known.namespace == "edge").unwrap();
            assert_eq!(ended.gaps.len(), 1, "nobody looked when it ended");
        }
        archive.close().await;
    }
    // Another version has no use for the checkpoint, and makes everything from the lines.
    let archive = archive(folder.path());
    let RestoreResult::Restored(resumed) = archive.restore_later("fake", false).await.unwrap() else { panic!() };
    assert_eq!(namespaces(resumed.timeline.model()), ["shop"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_namespaces_does_not_matter() {
    let (api, folder) = (both().await, tempfile::tempdir().unwrap());
    let mut before = None;
    for order in [["shop", "edge"], ["edge", "shop"]] {
        let archive = archive(folder.path());
        let watched = Watched::kept_of(&api, &archive, &order);
        until_live(&watched.hub).await;
        let model = model(&watched).await;
        assert_eq!(namespaces(&model), ["edge", "shop"], "{order:?}");
        let seen: Vec<_> = model.deployments.values().map(|known| known.first_seen_millis).collect();
        assert_eq!(*before.get_or_insert(seen.clone()), seen, "it goes on from what was kept");
        archive.checkpoint().await;
        archive.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clusters_of_one_name_do_not_mix() {
    let (first, folder) = (shop().await, tempfile::tempdir().unwrap());
    let run = async |api: &FakeApi| {
        let archive = archive(folder.path());
        let watched = Watched::kept(api, &archive);
        until_live(&watched.hub).await;
        (watched, archive)
    };
    let (watched, archive) = run(&first).await;
    watched.until_pods(&["web-a", "web-b"]).await;
    let before = model(&watched).await;
    archive.checkpoint().await;
    archive.close().await;
    // Another cluster has the same name, and its Deployment was there for long.
    let second = FakeApi::start().await;
    second.put(deployment(50, 2));
    let (watched, archive) = run(&second).await;
    let model_of_second = model(&watched).await;
    assert_eq!(namespaces(&model_of_second), ["shop"]);
    assert_eq!(model_of_second.pods.values().count(), 0, "nothing of the first");
    assert!(model_of_second.deployments.values().all(|known| known.gaps.is_empty()));
    let unwritten = watched.hub.connection().borrow().unwritten.clone().unwrap();
    assert!(unwritten.why.contains("belongs to another cluster; give this cluster another name"), "{unwritten:?}");
    archive.checkpoint().await;
    archive.close().await;
    // The first one goes on where it was.
    let (watched, archive) = run(&first).await;
    watched.until_pods(&["web-a", "web-b"]).await;
    let after = model(&watched).await;
    assert!(watched.hub.connection().borrow().unwritten.is_none());
    assert!(before.deployments.keys().eq(after.deployments.keys()), "and nothing of the second");
    archive.close().await;
}

#[tokio::test]
async fn a_kind_that_is_forbidden_later_is_not_seen_until_it_is_granted_again() {
    let (api, watched) = watched_shop(|_| {}).await;
    let unseen = async || model(&watched).await.unseen_since(Kind::Pod, "shop").is_some();
    assert!(!unseen().await);
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "pods", Some(Fault::Status(403)));
    }
    api.hang_up();
    until("not seen", unseen).await;
    let listed = watched.hub.follow_list();
    until("its line says so", async || {
        listed.borrow().iter().all(|row| row.summary.verdict.why.contains("Pods are not seen since"))
    })
    .await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "pods", None);
    }
    until("seen again", async || !unseen().await).await;
}
