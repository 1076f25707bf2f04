//! Stores that fail, or do not answer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::getpriority_process;
use server::history::activity::ActivityChanges;
use server::history::batch::unpack;
use server::history::journal::JournalEntry;
use server::history::sqlite::{FILE, Sqlite};
use server::history::store::{Store, StoreError};
use server::history::{Archive, RestoreResult, tap};
use server::kube::SourceEvent;
use server::kube::translate::Object;
use sqlx::Row as _;
use timeline::fact::{Kind, Seen};
use timeline::wire::Unwritten;
use timeline::{Millis, Retention};

use crate::common::asking_store::{self, Call};
use crate::common::{sqlite, until};
use crate::history::{SMALL, in_folder};

const FAILS: u8 = 1;
const HANGS: u8 = 2;
const HUNG: u8 = 3;

/// Fails, or does not answer, while it is told to.
fn act(fault: &AtomicU8, call: Call<'_>) -> Result<(), StoreError> {
    if matches!(call, Call::Commit(_)) {
        let _ = fault.compare_exchange(HANGS, HUNG, Ordering::Relaxed, Ordering::Relaxed);
        while fault.load(Ordering::Relaxed) == HUNG {
            std::thread::sleep(Duration::from_millis(5)); // a disk that takes its time
        }
    }
    match (fault.load(Ordering::Relaxed), call) {
        (FAILS, Call::Commit(_) | Call::Tidy) => Err(StoreError::Failed("there is no room left".into())),
        _ => Ok(()),
    }
}

fn faulty(folder: &Path, fault: u8) -> (Archive, Arc<AtomicU8>) {
    let fault = Arc::new(AtomicU8::new(fault));
    let (place, of_store) = (folder.to_owned(), fault.clone());
    let options = in_folder(&place);
    let open = move || {
        let fault = of_store.clone();
        asking_store::open(&place, SMALL, move |call| act(&fault, call))
    };
    (Archive::with_store(options, open), fault)
}

/// A ReplicaSet with a line of some kilobytes: the queue is full of a few thousand of them.
fn set(number: usize, at_millis: Millis) -> SourceEvent {
    let json = format!(
        r#"{{"metadata":{{"uid":"00000000-0000-4000-8000-{number:012}","name":"s{number}","namespace":"{:n>4000}"}}}}"#,
        "n"
    );
    SourceEvent::Object { object: Object::decode(Kind::ReplicaSet, &json).unwrap(), seen: Seen::Added, at_millis }
}

/// All lines that are kept.
fn kept(folder: &Path) -> String {
    let rows = sqlite::rows(&folder.join(FILE), "SELECT body FROM batches ORDER BY seq");
    rows.iter().map(|row| unpack(row.get(0)).unwrap()).collect()
}

fn sets(text: &str) -> usize {
    let names = text.lines().filter_map(|line| line.split("\"name\":\"s").nth(1)?.split('"').next());
    names.collect::<std::collections::BTreeSet<_>>().len()
}

#[tokio::test]
async fn while_nothing_can_be_written_that_is_said_and_afterwards_everything_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), FAILS);
    let mut journal = archive.journal("c");
    (0..100).for_each(|number| journal.note(&set(number, 1_000 + number as Millis)));
    let mut unwritten = archive.unwritten.clone();
    let said = unwritten.wait_for(Option::is_some).await.unwrap().clone();
    assert_eq!(said, Some(Unwritten { since_millis: 1_000, why: "there is no room left".into() }));
    (100..200).for_each(|number| journal.note(&set(number, 1_000 + number as Millis)));
    fault.store(0, Ordering::Relaxed);
    unwritten.wait_for(Option::is_none).await.unwrap();
    until::until("all of them", async || sets(&kept(folder.path())) == 200).await;
    assert!(!kept(folder.path()).contains("LIST_DONE"), "no step is missing");
}

#[tokio::test]
async fn a_store_that_does_not_answer_holds_nobody_up_and_what_was_missed_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), HANGS);
    let mut journal = archive.journal("c");
    journal.note(&set(0, 1_000));
    until::until("its first commit", async || fault.load(Ordering::Relaxed) == HUNG).await;
    // Now the queue fills, and the last of each object is held.
    let mut many = 0;
    while journal.has_room() {
        journal.note(&set(many, 2_000));
        many += 1;
    }
    (many..many + 1_000).for_each(|number| journal.note(&set(number, 2_000)));
    many += 1_000;
    // Events come in any number, and a pod that is gone again is in no list: neither is held.
    let object = |kind: Kind, seen: Seen| {
        let json = r#"{"metadata":{"uid":"00000000-0000-4000-8000-00000000ffff","name":"passed-by","namespace":"n"}}"#;
        SourceEvent::Object { object: Object::decode(kind, json).unwrap(), seen, at_millis: 2_000 }
    };
    for (kind, seen) in [(Kind::Event, Seen::Added), (Kind::Pod, Seen::Added), (Kind::Pod, Seen::Deleted)] {
        journal.note(&object(kind, seen));
    }
    assert!(!journal.can_end_gap(), "the queue is full");
    fault.store(0, Ordering::Relaxed);
    until::until("room", async || journal.can_end_gap()).await;
    let mut at_millis = 3_000;
    until::until("all of them", async || {
        at_millis += 1;
        journal.end_gap(&[]);
        journal.note_response(at_millis);
        sets(&kept(folder.path())) == many
    })
    .await;
    let text = kept(folder.path());
    assert_eq!(text.matches("\"blindSinceMillis\":2000").count(), 3, "of each kind");
    assert!(!text.contains("passed-by"));
}

/// Rows that nobody takes are not made: the hub may have those of all Deployments to make.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn while_the_queue_is_full_the_hub_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), 0);
    let (hub, events) = tap::start(Some(&archive), "c", &[], Arc::default(), Retention::default());
    events.send(set(0, 1_000)).await.unwrap();
    until::until("it", async || archive.counters.commits.load(Ordering::Relaxed) > 0).await;
    fault.store(HANGS, Ordering::Relaxed);
    let mut other = archive.journal("other");
    other.note(&set(1, 1_000));
    until::until("a commit", async || fault.load(Ordering::Relaxed) == HUNG).await;
    let mut number = 0;
    while other.has_room() {
        number += 1;
        other.note(&set(number, 2_000));
    }
    events.send(set(2, 2_000)).await.unwrap();
    let is_taken = || events.capacity() == events.max_capacity();
    until::until("a gap", async || is_taken()).await;
    // A hub that does not answer: who asks it waits.
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let asked = tokio::spawn(async move { hub.read(move |_| blocked.recv().is_err()).await.unwrap() });
    let end = Instant::now() + Duration::from_millis(2_500); // after the next tick
    while Instant::now() < end {
        events.send(set(3, 3_000)).await.unwrap();
        until::until("the event", async || is_taken()).await;
        tokio::time::sleep(Duration::from_millis(5)).await; // the hub takes none, and has room for a thousand
    }
    drop(release);
    assert!(asked.await.unwrap());
    fault.store(0, Ordering::Relaxed);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_told_of_while_it_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, fault) = faulty(folder.path(), HANGS);
    let mut journal = archive.journal("c");
    journal.note(&set(1, 1_000));
    let mut unwritten = archive.unwritten.clone();
    let said = unwritten.wait_for(Option::is_some).await.unwrap().clone();
    let why = "the history database does not respond".to_owned();
    assert_eq!(said, Some(Unwritten { since_millis: 1_000, why }));
    fault.store(0, Ordering::Relaxed);
    unwritten.wait_for(Option::is_none).await.unwrap();
    until::until("it", async || sets(&kept(folder.path())) == 1).await;
    assert_eq!(
        *archive.reopen_count.borrow(),
        0,
        "a store that was slow lacks nothing, and is not told everything anew"
    );
}

#[tokio::test]
async fn a_store_that_was_only_slow_is_told_of_no_more_though_there_is_nothing_to_write() {
    let (folder, is_slow) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(true)));
    let (place, of_store) = (folder.path().to_owned(), is_slow.clone());
    let archive = Archive::with_store(in_folder(folder.path()), move || {
        while of_store.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5)); // a disk that takes its time
        }
        Ok(Box::new(Sqlite::open(&place, SMALL)?) as Box<dyn Store>)
    });
    let mut unwritten = archive.unwritten.clone();
    unwritten.wait_for(Option::is_some).await.unwrap();
    is_slow.store(false, Ordering::Relaxed);
    until::until("it is well", async || archive.unwritten.borrow().is_none()).await;
}

#[tokio::test]
async fn a_store_that_could_not_be_opened_is_opened_and_read_though_there_is_nothing_to_write() {
    let (folder, is_there) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let (began, tries) = (Instant::now(), Arc::new(AtomicU8::new(0)));
    let (place, of_store, counted) = (folder.path().to_owned(), is_there.clone(), tries.clone());
    let archive = Archive::with_store(in_folder(folder.path()), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        if !of_store.load(Ordering::Relaxed) {
            return Err(StoreError::Failed("it is not there yet".into()));
        }
        // Its first tidy makes it fail.
        asking_store::open(&place, SMALL, |call| act(&AtomicU8::new(FAILS), call))
    });
    assert!(archive.read(|reader| reader.clusters()).await.is_err());
    assert!(archive.unwritten.borrow().is_some());
    until::until("three tries", async || tries.load(Ordering::Relaxed) >= 3).await;
    assert!(began.elapsed() < Duration::from_secs(8), "one each 2 s, from the start on");
    is_there.store(true, Ordering::Relaxed);
    // Late restores read the log before it is tidied.
    until::until("it is well", async || archive.unwritten.borrow().is_none()).await;
    assert!(archive.read(|reader| reader.clusters()).await.unwrap().is_empty());
}

/// The program waits for a while at its end, and there may be very many episodes that go on.
#[tokio::test]
async fn the_last_observations_are_written_before_the_episodes_that_go_on() {
    let (folder, commits) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let (place, noted) = (folder.path().to_owned(), commits.clone());
    let archive = Archive::with_store(in_folder(folder.path()), move || {
        let noted = noted.clone();
        asking_store::open(&place, SMALL, move |call| {
            if let Call::Commit(commits) = call {
                let content = commits.iter().map(|commit| (commit.lines.is_some(), commit.episodes.len()));
                noted.lock().unwrap().extend(content);
            }
            Ok(())
        })
    });
    let mut journal = archive.journal("c");
    journal.note(&set(1, 1_000));
    let active = vec!["00000000-0000-4000-8000-000000000001".parse().unwrap()];
    journal.add(JournalEntry::Activity(ActivityChanges { active, ..ActivityChanges::default() }));
    until::until("the first commit", async || !commits.lock().unwrap().is_empty()).await;
    journal.note(&set(1, 2_000));
    archive.close().await;
    assert_eq!(*commits.lock().unwrap(), [(true, 1), (true, 0), (false, 1)]);
}

/// On one processor it would take half of the time, in pieces of several milliseconds, for which viewers wait.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_writer_gives_way_to_hubs_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (place, (sender, priority)) = (folder.path().to_owned(), std::sync::mpsc::channel());
    let ours = getpriority_process(None).unwrap();
    let archive = Archive::with_store(in_folder(folder.path()), move || {
        sender.send(getpriority_process(None).unwrap()).unwrap();
        Ok(Box::new(Sqlite::open(&place, SMALL)?) as Box<dyn Store>)
    });
    assert!(archive.read(|reader| reader.clusters()).await.unwrap().is_empty());
    assert!(priority.recv().unwrap() > ours.min(18), "19 is the last one");
    assert_eq!(getpriority_process(None).unwrap(), ours);
}

#[tokio::test]
async fn what_is_read_late_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let first = Archive::start(in_folder(folder.path()));
    first.journal("c").note(&set(0, 1_000));
    first.close().await;
    let (place, mut times) = (folder.path().to_owned(), 0);
    let second = Archive::with_store(in_folder(folder.path()), move || {
        times += 1;
        if times == 1 {
            return Err(StoreError::Failed("not now".into()));
        }
        Ok(Box::new(Sqlite::open(&place, SMALL)?) as Box<dyn Store>)
    });
    assert!(matches!(second.restore("c").await, RestoreResult::Unavailable));
    second.journal("c").note(&set(1, 9_000));
    until::until("a commit", async || second.counters.commits.load(Ordering::Relaxed) > 0).await;
    let RestoreResult::Restored(resumed) = second.restore_later("c", true).await.unwrap() else { panic!() };
    assert_eq!(resumed.timeline.model().replica_sets.values().count(), 2);
}
