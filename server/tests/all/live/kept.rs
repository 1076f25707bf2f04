//! What is kept lasts: a Rollcast that is started anew goes on where the last one was.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use server::history::batch::Batch;
use server::history::options::{Limits, Location, Options};
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store, StoreError};
use server::history::{Archive, RestoreResult};
use server::kube::InitialState;
use timeline::model::EndReason;
use timeline::story::Entry;
use timeline::wire::{Connection, ConnectionState};
use timeline::{Millis, Model};

use crate::common;
use crate::common::asking_store::{self, Call};
use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::{
    FakeApi, Fault, Verb, Watched, is_stale, pod, readable, shop, uid, until_connection, until_live,
};

pub fn archive(folder: &Path) -> Archive {
    Archive::start(Options { location: Location::Folder(folder.to_owned()), limits: Limits::default() })
}

pub async fn model(watched: &Watched) -> Model {
    watched.hub.read(|reader| reader.timeline.model().clone()).await.unwrap()
}

/// What was known when the last observation was written.
pub async fn resumed(archive: &Archive) -> Option<InitialState> {
    match archive.restore("fake").await {
        RestoreResult::Restored(resumed) => Some(*resumed),
        RestoreResult::Empty | RestoreResult::Unavailable | RestoreResult::Unusable => None,
    }
}

fn story(model: &Model) -> Vec<Entry> {
    model.deployments.values().next().unwrap().story.clone()
}

/// Watches until a third pod has come and one has gone, and ends as the program does.
async fn first_run(api: &FakeApi, archive: Archive) -> Model {
    let watched = Watched::kept(api, &archive);
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
    api.put(pod(12, 2, "web-c"));
    api.delete(&pod(11, 2, "web-b"));
    watched.until_pods(&["web-a", "web-c"]).await;
    let before = model(&watched).await;
    archive.checkpoint().await;
    archive.close().await;
    before
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_everything_is_as_it_was_and_the_time_between_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    after_a_restart(|| archive(folder.path())).await;
}

/// Runs twice with the same history.
pub async fn after_a_restart(archive: impl Fn() -> Archive) {
    let api = shop().await;
    let before = first_run(&api, archive()).await;
    let ended_millis = server::telemetry::clock::now_millis();
    api.delete(&pod(10, 2, "web-a"));
    api.put(pod(13, 2, "web-d"));
    let began_millis = server::telemetry::clock::now_millis();
    let watched = Watched::kept(&api, &archive());
    watched.until_pods(&["web-c", "web-d"]).await;
    until_live(&watched.hub).await;
    let after = model(&watched).await;
    let told = story(&after);
    assert_eq!(told[..story(&before).len()], story(&before), "what was told stays told");
    let [gap] = after.deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert!(gap.from_millis <= ended_millis && gap.from_millis > ended_millis - 4_000, "{gap:?} {ended_millis}");
    assert!(gap.to_millis >= began_millis, "{gap:?} {began_millis}");
    for pod in before.pods.values() {
        let known = after.pods.get(&pod.uid).unwrap();
        assert_eq!(known.states[..pod.states.len()], pod.states[..], "{}", pod.name);
    }
    let words = after.pods.values().find(|pod| pod.name == "web-a").unwrap().end_reason;
    assert_eq!(words, Some(EndReason::Unknown), "nobody looked when it went");
}

/// Ends a run, and starts again where what is kept cannot be read at first, for a reason with these words. Returns once it was read.
pub async fn what_cannot_be_read_at_the_start_is_read_later(
    archive: impl Fn() -> Archive,
    take_away: impl FnOnce(),
    words: &str,
    give_back: impl FnOnce(),
) {
    let api = shop().await;
    let before = first_run(&api, archive()).await;
    let ended_millis = server::telemetry::clock::now_millis();
    take_away();
    api.delete(&pod(10, 2, "web-a"));
    let second = archive();
    let watched = Watched::kept(&api, &second);
    watched.until_pods(&["web-c"]).await;
    let is_said = |connection: &Connection| connection.unwritten.as_ref().is_some_and(|of| of.why.contains(words));
    until_connection(&watched.hub, words, is_said).await;
    second.checkpoint().await; // must not take the place of the one that was not read
    give_back();
    until("its past", async || model(&watched).await.pods.values().any(|pod| pod.name == "web-b")).await;
    let after = model(&watched).await;
    assert_eq!(story(&after)[..story(&before).len()], story(&before), "what was told stays told");
    let [gap] = after.deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert!(gap.from_millis <= ended_millis && gap.from_millis > ended_millis - 4_000, "{gap:?} {ended_millis}");
    assert!(gap.to_millis >= ended_millis, "{gap:?} {ended_millis}");
    let gone = after.pods.values().find(|pod| pod.name == "web-a").unwrap();
    assert_eq!(gone.end_reason, Some(EndReason::Unknown), "nobody looked when it went");
    api.put(pod(13, 2, "web-d"));
    watched.until_pods(&["web-c", "web-d"]).await;
    let seen = model(&watched).await;
    second.checkpoint().await;
    second.close().await;
    let third = archive();
    let resumed = resumed(&third).await.unwrap();
    third.close().await;
    assert!(*resumed.timeline.model() == seen, "the next start has all of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_another_one_has_at_the_start_is_read_once_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let other = std::cell::RefCell::new(None);
    what_cannot_be_read_at_the_start_is_read_later(
        || archive(folder.path()),
        || *other.borrow_mut() = Some(Sqlite::open(folder.path(), Limits::default()).unwrap()),
        "another server is using the history in",
        || drop(other.borrow_mut().take()),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_past_is_read_late_the_present_is_shown_and_nothing_of_it_is_lost() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let before = first_run(&api, archive(folder.path())).await;
    let (is_slow, is_asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let second = {
        let (place, is_slow, is_asked) = (folder.path().to_owned(), is_slow.clone(), is_asked.clone());
        let options = Options { location: Location::Folder(place.clone()), limits: Limits::default() };
        let mut times = 0;
        Archive::with_store(options, move || {
            times += 1;
            if times == 1 {
                return Err(StoreError::Failed("not now".into()));
            }
            let (is_slow, is_asked) = (is_slow.clone(), is_asked.clone());
            asking_store::open(&place, Limits::default(), move |call| {
                if matches!(call, Call::Resume) {
                    is_asked.store(true, Ordering::Relaxed);
                    while is_slow.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5)); // a server far away
                    }
                }
                Ok(())
            })
        })
    };
    let watched = Watched::kept(&api, &second);
    watched.until_pods(&["web-a", "web-c"]).await;
    until("it is asked", async || is_asked.load(Ordering::Relaxed)).await;
    api.put(pod(13, 2, "web-d"));
    api.delete(&pod(10, 2, "web-a"));
    watched.until_pods(&["web-c", "web-d"]).await; // while nobody answers
    assert!(!model(&watched).await.pods.values().any(|pod| pod.name == "web-b"));
    is_slow.store(false, Ordering::Relaxed);
    until("its past", async || model(&watched).await.pods.values().any(|pod| pod.name == "web-b")).await;
    watched.until_pods(&["web-c", "web-d"]).await;
    let after = model(&watched).await;
    // The pod that came meanwhile takes the place of one that was told to have gone, so that sentences may say more.
    let told = |model: &Model| story(model).iter().map(|entry| (entry.id, entry.at_millis)).collect::<Vec<_>>();
    assert!(told(&after).starts_with(&told(&before)), "what was told stays told");
    let gone = after.pods.values().find(|pod| pod.name == "web-a").unwrap();
    assert_ne!(gone.end_reason, Some(EndReason::Unknown), "it was seen");
    second.close().await;
    let third = archive(folder.path());
    let resumed = resumed(&third).await.unwrap();
    third.close().await;
    assert!(*resumed.timeline.model() == after, "the next start has all of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_answers_once_its_past_was_read_late_has_a_gap_since_it_was_heard() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    first_run(&api, archive(folder.path())).await;
    let ended_millis = server::telemetry::clock::now_millis();
    api.delete(&pod(10, 2, "web-a"));
    api.stand_all(&[Verb::List], Some(Fault::Status(500)));
    let (place, mut times) = (folder.path().to_owned(), 0);
    let options = Options { location: Location::Folder(place.clone()), limits: Limits::default() };
    let second = Archive::with_store(options, move || {
        times += 1;
        if times == 1 {
            return Err(StoreError::Failed("not now".into()));
        }
        Ok(Box::new(Sqlite::open(&place, Limits::default())?) as Box<dyn Store>)
    });
    let watched = Watched::kept(&api, &second);
    until("its past", async || model(&watched).await.pods.values().any(|pod| pod.name == "web-b")).await;
    api.stand_all(&[Verb::List], None);
    until_live(&watched.hub).await;
    watched.until_pods(&["web-c"]).await;
    let after = model(&watched).await;
    let [gap] = after.deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert!(gap.from_millis <= ended_millis && gap.from_millis > ended_millis - 4_000, "{gap:?} {ended_millis}");
    let gone = after.pods.values().find(|pod| pod.name == "web-a").unwrap();
    assert_eq!(gone.end_reason, Some(EndReason::Unknown), "nobody looked when it went");
}

/// The last run ended an hour ahead of this one's clock: nothing goes back in time, and what happens is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_between_two_runs_turns_nothing_round() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    first_run(&api, archive(folder.path())).await;
    let ahead_millis = server::telemetry::clock::now_millis() + 3_600_000;
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let line =
        format!("{{\"observedAtMillis\":{ahead_millis},\"kind\":\"Pod\",\"type\":\"BOOKMARK\",\"object\":{{}}}}\n");
    let lines = Batch::pack(ahead_millis, ahead_millis, &line).unwrap();
    let commit = Commit {
        number: 0,
        cluster: "fake".into(),
        lines: Some(lines),
        heard_millis: ahead_millis,
        ..Commit::default()
    };
    store.commit(&[commit]).unwrap();
    drop(store);
    let archive = archive(folder.path());
    let watched = Watched::kept(&api, &archive);
    until_live(&watched.hub).await;
    api.put(pod(13, 2, "web-d"));
    api.delete(&pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-d"]).await;
    let after = model(&watched).await;
    for pod in after.pods.values() {
        assert!(pod.states.is_sorted_by_key(|(_, at)| *at), "{}: {:?}", pod.name, pod.states);
    }
    let told = story(&after);
    assert!(told.iter().all(|entry| entry.at_millis <= ahead_millis), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_before_the_restart_is_told_as_it_was() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let (said, at_millis) = {
        let archive = archive(folder.path());
        let watched = Watched::kept(&api, &archive);
        until_live(&watched.hub).await;
        watched.until_pods(&["web-a", "web-b"]).await;
        let at_millis = server::telemetry::clock::now_millis();
        api.delete(&pod(11, 2, "web-b"));
        watched.until_pods(&["web-a"]).await;
        let web = timeline::Workload::deployment("fake", "shop", "web");
        let said = watched.hub.moment(&web, at_millis).await.unwrap().said.unwrap();
        archive.checkpoint().await;
        archive.close().await;
        (said, at_millis)
    };
    let archive = archive(folder.path());
    let watched = Watched::kept(&api, &archive);
    until_live(&watched.hub).await;
    let web = timeline::Workload::deployment("fake", "shop", "web");
    assert_eq!(watched.hub.moment(&web, at_millis).await.unwrap().said, Some(said));
}

#[tokio::test(flavor = "multi_thread")]
async fn until_the_cluster_answers_the_page_shows_what_was_and_says_since_when() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let before = first_run(&api, archive(folder.path())).await;
    api.stand_all(&[Verb::List], Some(Fault::Status(500)));
    let archive = archive(folder.path());
    let watched = Watched::kept(&api, &archive);
    let connection = until_connection(&watched.hub, "stale", |connection| connection.state.is_stale()).await;
    let ConnectionState::Stale { since_millis, .. } = connection.state else { panic!("{connection:?}") };
    assert!(since_millis < server::telemetry::clock::now_millis() && since_millis > 0);
    assert_eq!(model(&watched).await, before);
    let listed = watched.hub.follow_list();
    until("the list", async || listed.borrow().len() == 1).await;
    api.stand_all(&[Verb::List], None);
    until_live(&watched.hub).await;
    watched.until_pods(&["web-a", "web-c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_lost_after_a_restart_is_told_since_then_and_not_since_before() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    first_run(&api, archive(folder.path())).await;
    let began_millis = server::telemetry::clock::now_millis();
    let archive = archive(folder.path());
    let watched = Watched::kept(&api, &archive);
    until_live(&watched.hub).await;
    api.stand_all(&[Verb::List, Verb::Watch], Some(Fault::Status(500)));
    api.hang_up();
    let connection = until_connection(&watched.hub, "stale", |connection| connection.state.is_stale()).await;
    let ConnectionState::Stale { since_millis, .. } = connection.state else { panic!("{connection:?}") };
    assert!(since_millis >= began_millis, "{since_millis} {began_millis}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_one_says_that_the_first_writes_and_goes_on_without() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let first = archive(folder.path());
    let watched = Watched::kept(&api, &first);
    until_live(&watched.hub).await;
    let second = archive(folder.path());
    let other = Watched::kept(&api, &second);
    let said = "another server is using the history in";
    until_live(&other.hub).await;
    let connection = until_connection(&other.hub, "unwritten", |connection| connection.unwritten.is_some()).await;
    assert!(connection.unwritten.unwrap().why.contains(said));
    assert!(!is_stale(&watched.hub.connection().borrow(), ""), "the first one writes");
    assert!(first.unwritten.borrow().is_none());
    // Once the first is gone, the second takes over.
    first.close().await;
    until_connection(&other.hub, "written", |connection| connection.unwritten.is_none()).await;
}

/// Kills the program at moments that a seed names, and looks what is there: everything that is older than a second and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_it_keeps_what_is_older_than_a_second_and_invents_nothing() {
    let kills = if common::is_whole() { 200 } else { 1 };
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let kubeconfig = kubeconfig(&api, "fake");
    let mut random = fastrand::Rng::with_seed(7);
    let mut pods: Vec<String> = vec!["web-a".into(), "web-b".into()];
    let mut observed = 0;
    for _ in 0..kills {
        let watches = api.requests(Verb::Watch, "pods");
        let serving = Serving::keeping(&kubeconfig, folder.path());
        until("its watches", async || api.requests(Verb::Watch, "pods") > watches).await;
        let of_this_run = pods.len();
        // When each was seen on its page: it was observed before.
        let mut seen: Vec<Millis> = Vec::new();
        // A single one lives long enough to have something to keep.
        let millis = if common::is_whole() { random.u64(50..2_500) } else { 5_000 };
        let lives = tokio::time::Instant::now() + Duration::from_millis(millis);
        while tokio::time::Instant::now() < lives {
            let number = pods.len() as u64 + 10;
            let name = format!("web-{number}");
            api.put(pod(number, 2, &name));
            api.delete(&pod(number - 1, 2, &pods[pods.len() - 1])); // few at a time, so that lists are short
            pods.push(name);
            while of_this_run + seen.len() < pods.len() {
                let uid = uid((of_this_run + seen.len()) as u64 + 10);
                let page = format!("/clusters/fake/namespaces/shop/deployments/web/pods/{uid}");
                if !get(&serving.address, &page).await.starts_with("HTTP/1.0 200") {
                    break;
                }
                seen.push(server::telemetry::clock::now_millis());
            }
            tokio::time::sleep(Duration::from_millis(20)).await; // a steady stream
        }
        let killed_millis = server::telemetry::clock::now_millis();
        drop(serving); // killed
        let archive = archive(folder.path());
        let resumed = resumed(&archive).await;
        archive.close().await;
        let kept = resumed.map(|resumed| resumed.timeline.model().pods.values().map(|pod| pod.name.clone()).collect());
        let kept: std::collections::BTreeSet<String> = kept.unwrap_or_default();
        let old = pods[of_this_run..].iter().zip(seen).filter(|(_, seen)| *seen <= killed_millis - 1_000);
        for (name, seen_millis) in old {
            observed += 1;
            assert!(kept.contains(name), "{name}, seen at {seen_millis}, is lost at {killed_millis}");
        }
        assert!(kept.iter().all(|name| pods.contains(name)), "{kept:?}");
    }
    println!("{observed} pods were seen more than a second before one of {kills} kills");
    assert!(observed > 0, "none had to keep anything");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_is_said_and_what_happened_meanwhile_is_written_once_there_is_room() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let serving = Serving::on_a_small_disk(&kubeconfig(&api, "fake"), folder.path());
    let page = async || get(&serving.address, "/clusters/fake/namespaces/shop/deployments/web").await;
    until("it is live", async || page().await.contains("2 of 2 available")).await;
    let (filler, other) = (serving.seen(&folder.path().join("filler")), tempfile::tempdir().unwrap());
    // Until not even one byte goes in any more.
    let mut file = std::fs::File::create(&filler).unwrap();
    for size in [4_096, 1] {
        while std::io::Write::write(&mut file, &vec![7; size]).is_ok_and(|written| written > 0) {}
    }
    let mut number = 20;
    until("the page says so", async || {
        number += 1;
        api.put(pod(number, 2, &format!("web-{number}"))); // something to be written
        let page = page().await;
        page.contains("History has not been written since") && page.contains("no disk space left for")
    })
    .await;
    assert!(page().await.contains(&format!("web-{number}")), "what happens is shown");
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    until("it is written again", async || !page().await.contains("History has not been written since")).await;
    // Nothing of that time is missing.
    until("all of it is kept", async || {
        for entry in std::fs::read_dir(serving.seen(folder.path())).unwrap().flatten() {
            std::fs::copy(entry.path(), other.path().join(entry.file_name())).unwrap();
        }
        let archive = archive(other.path());
        let resumed = resumed(&archive).await;
        archive.close().await;
        resumed.is_some_and(|resumed| {
            let model = resumed.timeline.model();
            (21..=number).all(|number| model.pods.values().any(|pod| pod.name == format!("web-{number}")))
        })
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_cannot_be_written_is_said_and_written_to_once_it_can() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let serving = Serving::on_a_read_only_disk(&kubeconfig(&api, "fake"), folder.path());
    let page = async || get(&serving.address, "/clusters/fake/namespaces/shop/deployments/web").await;
    until("the page says so", async || {
        let page = page().await;
        page.contains("2 of 2 available")
            && page.contains("History has not been written since")
            && page.contains("Read-only")
    })
    .await;
    assert!(get(&serving.address, "/history").await.contains("History has not been written since"), "so does History");
    serving.make_writable(folder.path());
    until("it is written", async || !page().await.contains("History has not been written since")).await;
    until("the file is there", async || serving.seen(&folder.path().join("history.db")).exists()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_rollcast_makes_the_file_of_a_rollout_for_the_command_line() {
    let (api, folder) = (shop().await, tempfile::tempdir().unwrap());
    let serving = Serving::keeping(&kubeconfig(&api, "fake"), folder.path());
    let page = async || get(&serving.address, "/clusters/fake/namespaces/shop/deployments/web").await;
    until("it is live", async || page().await.contains("2 of 2 available")).await;
    let export = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_rollcast"));
        let server = format!("http://{}", serving.address);
        command.args(["export", "--server", &server]).args(arguments).output().await.unwrap()
    };
    let made = export(&["deployment/web", "-n", "shop", "--cluster", "fake"]).await;
    let html = String::from_utf8_lossy(&made.stdout);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("shop / web \u{2014} Rollcast</title>"));
    let redacted = export(&["web", "-n", "shop", "--redact"]).await;
    let html = String::from_utf8_lossy(&redacted.stdout);
    assert!(html.contains(" / web \u{2014} Rollcast</title>") && !readable(&html).contains("shop"), "without names");
    for (arguments, why) in [
        (&["web", "-n", "shop", "--revision", "99"][..], "has no such rollout"),
        (&["web", "-n", "shop", "--cluster", "other"], "other"),
        (&["pod/web"], "only Deployments"),
    ] {
        let refused = export(arguments).await;
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains(why), "{arguments:?}: {text}");
    }
}
