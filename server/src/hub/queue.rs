//! The bounded queues between the sources of a cluster and its hub: one, or two where a tap stands between them.

use tokio::sync::mpsc;

use super::handle::Handle;
use crate::kube::SourceEvent;

impl Handle {
    /// Adds a queue in front of that of the hub.
    #[must_use]
    pub fn with_queue(mut self, queue: &mpsc::Sender<SourceEvent>) -> Self {
        self.queues.push(queue.downgrade());
        self
    }

    /// Returns how many events of its sources wait to be applied, and how many fit into the queues; `None` without sources.
    #[must_use]
    pub fn queue(&self) -> Option<(usize, usize)> {
        let queues: Vec<_> = self.queues.iter().filter_map(mpsc::WeakSender::upgrade).collect();
        let capacity = queues.iter().map(|queue| queue.max_capacity()).sum::<usize>();
        let room = queues.iter().map(|queue| queue.capacity()).sum::<usize>();
        (capacity > 0).then(|| (capacity.saturating_sub(room), capacity))
    }
}
