//! Notices that the store does not respond: the writer's thread waits for it and cannot say so itself.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use timeline::Millis;
use timeline::wire::Unwritten;
use tokio::sync::watch;

/// Longest time in which the store must respond.
const TIMEOUT: Duration = Duration::from_secs(5);
const NO_RESPONSE: &str = "the history database does not respond";

enum Ping {
    /// A call of the store began; observations since this time are not written until it returns.
    Begin(Millis),
    /// The call returned.
    End,
}

/// The writer's end of the watchdog.
pub(super) struct Watchdog(SyncSender<Ping>);

impl Watchdog {
    /// Starts the watchdog's thread, which ends with the writer.
    pub(super) fn start(status: Arc<watch::Sender<Option<Unwritten>>>) -> Self {
        let (pings, inbox) = sync_channel(2);
        std::thread::spawn(move || run(&inbox, &status));
        Self(pings)
    }

    /// Runs a call of the store under the watchdog.
    pub(super) fn guard<T>(&self, since_millis: Millis, call: impl FnOnce() -> T) -> T {
        let _ = self.0.send(Ping::Begin(since_millis)); // the watchdog ends after the writer
        let returned = call();
        let _ = self.0.send(Ping::End);
        returned
    }
}

fn run(inbox: &Receiver<Ping>, status: &watch::Sender<Option<Unwritten>>) {
    while let Ok(ping) = inbox.recv() {
        let Ping::Begin(since_millis) = ping else { continue };
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
