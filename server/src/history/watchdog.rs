//! Detects a store that does not respond: the writer's thread waits for it and cannot report it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use timeline::Millis;
use timeline::wire::Unwritten;
use tokio::sync::watch;

/// Time within which the store must respond.
const TIMEOUT: Duration = Duration::from_secs(5);
const NO_RESPONSE: &str = "the history database does not respond";

/// The writer's end of the watchdog. It sends the time since which observations are not written before each call of the store,
/// and `None` after the call.
pub(super) struct Watchdog(SyncSender<Option<Millis>>);

impl Watchdog {
    /// Starts the watchdog's thread, which ends with the writer.
    pub(super) fn start(status: watch::Sender<Option<Unwritten>>) -> Self {
        let (pings, inbox) = sync_channel(2);
        std::thread::spawn(move || run(&inbox, &status));
        Self(pings)
    }

    /// Runs a call of the store under the watchdog.
    pub(super) fn guard<T>(&self, since_millis: Millis, call: impl FnOnce() -> T) -> T {
        let _ = self.0.send(Some(since_millis)); // the watchdog ends after the writer
        let returned = call();
        let _ = self.0.send(None);
        returned
    }
}

fn run(inbox: &Receiver<Option<Millis>>, status: &watch::Sender<Option<Unwritten>>) {
    while let Ok(began) = inbox.recv() {
        let Some(since_millis) = began else { continue };
        if matches!(inbox.recv_timeout(TIMEOUT), Err(RecvTimeoutError::Timeout)) {
            status.send_if_modified(|status| {
                let is_news = status.is_none();
                if is_news {
                    tracing::warn!("cannot write history: {NO_RESPONSE}");
                    *status = Some(Unwritten { since_millis, why: NO_RESPONSE.to_owned() });
                }
                is_news
            });
        }
    }
}
