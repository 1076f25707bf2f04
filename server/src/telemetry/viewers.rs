//! The number of connected viewers: without any, stories and recordings wait.

use std::sync::Arc;

use tokio::sync::watch;

/// The number of connected viewers.
#[derive(Debug, Clone, Default)]
pub struct Viewers(Arc<watch::Sender<usize>>);

/// A connected viewer, counted until it is dropped.
#[derive(Debug)]
pub struct ViewerGuard(Viewers);

impl Viewers {
    /// Counts a viewer, until the returned value is dropped.
    #[must_use]
    pub fn enter(&self) -> ViewerGuard {
        self.0.send_modify(|count| *count += 1);
        ViewerGuard(self.clone())
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until one is connected.
    pub async fn wait(&self) {
        // The sender is ours, so it is not closed.
        let _ = self.0.subscribe().wait_for(|count| *count > 0).await;
    }
}

impl Drop for ViewerGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
