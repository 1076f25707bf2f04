//! Whoever asks for something may leave; what was begun for them and cannot be called off counts until it has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::poll;
use server::history::sql::Reader;

use crate::common::until::until;
use crate::live::kept::archive;

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_read_at_once_when_those_who_asked_have_left() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(folder.path());
    let (running, most, is_free) =
        (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let read = || {
        let (archive, running, most, is_free) = (archive.clone(), running.clone(), most.clone(), is_free.clone());
        Box::pin(async move {
            let reading = move |_: &Reader| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                while !is_free.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5)); // a database that takes its time
                }
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            archive.read(reading).await
        })
    };
    let first: Vec<_> = (0..4).map(|_| tokio::spawn(read())).collect();
    until("four are read", async || running.load(Ordering::SeqCst) == 4).await;
    first.iter().for_each(tokio::task::JoinHandle::abort);
    for one in first {
        assert!(one.await.is_err_and(|error| error.is_cancelled()));
    }
    // Were there room, these would have gone to their threads by now.
    let mut next: Vec<_> = (0..4).map(|_| read()).collect();
    for one in &mut next {
        assert!(poll!(one).is_pending());
    }
    is_free.store(true, Ordering::SeqCst);
    assert!(futures::future::join_all(next).await.into_iter().all(|read| read.is_ok()));
    assert_eq!(most.load(Ordering::SeqCst), 4);
    archive.close().await;
}
