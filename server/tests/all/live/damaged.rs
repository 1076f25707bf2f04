//! A file of history that is damaged while it is written: what is known goes on, and what comes is kept whole.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use server::feed::recording::Recording;
use server::history::Archive;
use server::history::options::{Limits, Location, Options};
use server::history::store::{EpisodeSelector, StoreError};
use timeline::Model;

use crate::common::asking_store::{self, Call};
use crate::common::until::until;
use crate::live::kept::{archive, model, resumed};
use crate::live::support::{FakeApi, Verb, Watched, deployment, pod, replica_set, shop, until_connection, until_live};

/// Keeps in one folder after the other: the next one once the one before is found damaged.
fn fragile(folder: &Path, is_damaged: &Arc<AtomicBool>) -> Archive {
    let (place, of_store, mut number) = (folder.to_owned(), is_damaged.clone(), 0);
    let options = Options { location: Location::Folder(place.clone()), limits: Limits::default() };
    Archive::with_store(options, move || {
        number += 1;
        let is_damaged = of_store.clone();
        asking_store::open(&place.join(number.to_string()), Limits::default(), move |call| match call {
            Call::Commit(_) if is_damaged.swap(false, Ordering::Relaxed) => {
                Err(StoreError::Damaged { place: "here".into(), why: "a page is torn".into() })
            }
            _ => Ok(()),
        })
    })
}

const LISTED: [&str; 3] = ["deployments", "replicasets", "pods"];

/// A shop that is watched and kept in a second file, as the first one was found damaged: everything was listed for it once more.
async fn in_the_second_file(folder: &Path) -> (FakeApi, Archive, Watched) {
    let (api, is_damaged) = (shop().await, Arc::new(AtomicBool::new(false)));
    let archive = fragile(folder, &is_damaged);
    let watched = Watched::kept(&api, &archive);
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
    until("the first file", async || archive.counters.commits.load(Ordering::Relaxed) > 0).await;
    let lists = || LISTED.map(|resource| api.requests(Verb::List, resource));
    let before = lists();
    is_damaged.store(true, Ordering::Relaxed);
    until_connection(&watched.hub, "damaged", |connection| connection.unwritten.is_some()).await;
    until_connection(&watched.hub, "written again", |connection| connection.unwritten.is_none()).await;
    until("what exists is listed anew", async || lists().iter().zip(before).all(|(now, before)| *now > before)).await;
    assert_eq!(lists(), before.map(|times| times + 1), "once");
    (api, archive, watched)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_known_is_known_after_the_file_was_damaged_and_another_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let before = {
        let (api, archive, watched) = in_the_second_file(folder.path()).await;
        // Each comes after the list of its kind.
        api.put(deployment(1, 3));
        api.put(replica_set(2, 1, 3));
        api.put(pod(12, 2, "web-c"));
        watched.until_pods(&["web-a", "web-b", "web-c"]).await;
        until("three are wanted", async || {
            let model = model(&watched).await;
            let is_wanted = model.deployments.values().all(|known| known.now.spec.replicas == 3);
            is_wanted && model.replica_sets.values().all(|known| known.now.counts.desired == 3)
        })
        .await;
        let before = model(&watched).await;
        archive.close().await; // without a checkpoint
        before
    };
    let archive = archive(&folder.path().join("2"));
    let resumed = resumed(&archive).await.unwrap();
    assert!(*resumed.timeline.model() == before, "{:?}", resumed.timeline.model());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_after_the_file_was_damaged_is_made_again_with_the_pods_that_were_there_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (api, archive, watched) = in_the_second_file(folder.path()).await;
    let second = |mut object: serde_json::Value| {
        object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "2".into();
        object["metadata"]["generation"] = 2.into();
        object["spec"]["template"]["spec"]["containers"][0]["image"] = "web:v2".into();
        object
    };
    let mut set = second(replica_set(3, 1, 2));
    (set["metadata"]["name"], set["metadata"]["labels"]["pod-template-hash"]) = ("web-2".into(), "2".into());
    let mut desired = second(deployment(1, 2));
    desired["status"]["observedGeneration"] = 2.into();
    api.put(desired);
    api.put(set);
    for (number, name, old) in [(12, "web-c", pod(10, 2, "web-a")), (13, "web-d", pod(11, 2, "web-b"))] {
        let mut new = pod(number, 3, name);
        new["metadata"]["ownerReferences"][0]["name"] = "web-2".into();
        api.put(new);
        api.delete(&old);
    }
    api.put(replica_set(2, 1, 0));
    watched.until_pods(&["web-c", "web-d"]).await;
    let begun = |model: &Model| model.deployments.values().next().unwrap().rollouts.last().unwrap().started_millis;
    // Streams of kinds overtake each other: without the ReplicaSet nobody knows whose the new pods are.
    until("the rollout and its ReplicaSets", async || {
        let model = model(&watched).await;
        let mut desired: Vec<u32> = model.replica_sets.values().map(|known| known.now.counts.desired).collect();
        desired.sort_unstable();
        begun(&model).is_some() && desired == [0, 2]
    })
    .await;
    archive.checkpoint().await;
    let told = model(&watched).await;
    archive.close().await;
    let again = crate::live::kept::archive(&folder.path().join("2"));
    let uid = *told.deployments.keys().next().unwrap();
    let cut = again.read(move |reader| {
        let (number, _) = reader.find("fake", uid, EpisodeSelector::Revision(2))?.unwrap();
        reader.recording("fake", uid, number, None)
    });
    let made = Recording::read(&cut.await.unwrap().unwrap().text).play().model().clone();
    again.close().await;
    let lives = |model: &Model| {
        let life = |pod: &timeline::model::Pod| {
            let states: Vec<_> = pod.states.iter().map(|(state, _)| state.name()).collect();
            (pod.name.clone(), states, pod.end_reason)
        };
        model.pods.values().map(life).collect::<Vec<_>>()
    };
    assert_eq!(lives(&made), lives(&told));
    assert_eq!(lives(&told).len(), 4, "two of before and two of now");
}
