//! The number of connected viewers. What nobody looks at may wait: retries, a story, a recording.

use std::sync::Arc;

use tokio::sync::watch;

/// How many viewers are connected.
#[derive(Debug, Clone, Default)]
pub struct Viewers(Arc<watch::Sender<usize>>);

/// One connected viewer, counted for as long as this lives.
#[derive(Debug)]
pub struct Viewer(Viewers);

impl Viewers {
    /// The one who sits in front of a terminal.
    #[must_use]
    pub fn one() -> Self {
        Self(Arc::new(watch::Sender::new(1)))
    }

    /// Counts a viewer, until the returned value is dropped.
    #[must_use]
    pub fn enter(&self) -> Viewer {
        self.0.send_modify(|count| *count += 1);
        Viewer(self.clone())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until there is one.
    pub async fn wait(&self) {
        // The sender is ours: it cannot be gone.
        let _ = self.0.subscribe().wait_for(|count| *count > 0).await;
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
