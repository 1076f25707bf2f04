//! Notices that the store does not answer: the writer's thread waits for it and cannot say so itself.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use timeline::Millis;
use tokio::sync::watch;

use super::status::WriteStatus;

/// A store that takes longer than this does not answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Why nothing is written then.
const WHY: &str = "the history database does not respond";

enum Beat {
    /// The store was asked for something; what arrived since then is not written until it answers.
    Asked(Millis),
    /// The store answered.
    Answered,
}

/// The writer's way to whoever looks whether it waits.
pub(super) struct Pulse(SyncSender<Beat>);

impl Pulse {
    /// Begins to look. It ends with the writer.
    pub(super) fn start(keeping: Arc<watch::Sender<WriteStatus>>) -> Self {
        let (beats, inbox) = sync_channel(2);
        std::thread::spawn(move || look(&inbox, &keeping));
        Self(beats)
    }

    /// Asks the store for something that may take long.
    pub(super) fn asking<T>(&self, since_millis: Millis, ask: impl FnOnce() -> T) -> T {
        let _ = self.0.send(Beat::Asked(since_millis)); // whoever looks ends after the writer
        let answer = ask();
        let _ = self.0.send(Beat::Answered);
        answer
    }
}

fn look(inbox: &Receiver<Beat>, keeping: &watch::Sender<WriteStatus>) {
    while let Ok(beat) = inbox.recv() {
        let Beat::Asked(since_millis) = beat else { continue };
        if matches!(inbox.recv_timeout(ANSWER), Err(RecvTimeoutError::Timeout)) {
            keeping.send_if_modified(|keeping| {
                if *keeping != WriteStatus::Healthy {
                    return false; // it is said why already
                }
                tracing::warn!("cannot write history: {WHY}");
                *keeping = WriteStatus::Failing { since_millis, why: WHY.to_owned() };
                true
            });
        }
    }
}
