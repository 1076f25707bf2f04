//! The nodes that a cluster autoscaler may add, and its memory.

use std::collections::BTreeMap;

use super::World;
use crate::agenda::Task;

/// Interval of its rounds while there is something to see (`--scan-interval`).
pub(crate) const ROUND_MILLIS: i64 = 5_000;

/// Nodes that an autoscaler may add.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Its name; its nodes are called by it, with a number.
    pub name: String,
    /// Largest number of nodes.
    pub most: usize,
    /// Time until a new node is there.
    pub boot_millis: i64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { name: "pool".to_owned(), most: 2, boot_millis: 25_000 }
    }
}

#[derive(Debug, Default)]
pub(crate) struct AutoscalerMemory {
    /// The node that is coming.
    pub boots: Option<String>,
    /// Pods that were told already, by their UID.
    pub told: BTreeMap<String, bool>,
    /// Since when a node has been empty.
    pub empty: BTreeMap<String, i64>,
}

impl World {
    /// Wakes the autoscaler soon: a pod found no node.
    pub(crate) fn wake_autoscaler(&mut self) {
        if self.settings.pool.is_some() {
            self.agenda.add(self.now_millis + ROUND_MILLIS, Task::Autoscaler);
        }
    }
}
