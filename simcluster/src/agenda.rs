//! Tasks by their due time, then by the order in which they were added. A task exists at most once: adding it again keeps the
//! earlier time, setting it replaces the time.
//!
//! The agenda replaces the work queues of the controllers and the timers of the kubelets.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::NewEvent;
use crate::object::{Key, Resource};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// The Deployment controller syncs a Deployment.
    Deployment(Key),
    /// The ReplicaSet controller syncs a ReplicaSet.
    ReplicaSet(Key),
    /// The scheduler tries to bind a pod.
    Schedule(Key),
    /// A kubelet does the next step of a pod.
    Kubelet(Key),
    /// The garbage collector checks an object whose owner may be gone, or that waits for its dependents.
    Collect(Resource, Key),
    /// The pod garbage collector runs a round.
    CollectPods,
    /// A pod whose node is gone is failed and deleted.
    WriteOff(Key),
    /// A pod that tolerated a taint of its node for some time is deleted.
    TaintEviction(Key),
    /// A pod that does not tolerate a taint of its node is deleted. Nothing cancels this task.
    ImmediateTaintEviction(Key),
    /// A node's kubelet reports for the first time.
    NodeReports(Key),
    /// The autoscaler checks pods that no node fits, and its own nodes.
    Autoscaler,
    /// A node of the autoscaler is added.
    Boot(String),
    /// The quota controller counts the pods of a namespace.
    Quota(String),
    /// The namespace controller deletes the objects of a namespace.
    Namespace(String),
    /// An Event is written.
    Event(Box<NewEvent>),
}

#[derive(Debug, Default)]
pub struct Agenda {
    entries: BTreeSet<(i64, u64, Task)>,
    /// Due time of each task, so that a task exists only once.
    due: BTreeMap<Task, (i64, u64)>,
    count: u64,
}

impl Agenda {
    /// Adds a task, or moves it to an earlier time.
    pub fn add(&mut self, at_millis: i64, task: Task) {
        if self.due_millis(&task).is_none_or(|known| known > at_millis) {
            self.set(at_millis, task);
        }
    }

    /// Sets the due time of a task, and replaces an earlier one.
    pub fn set(&mut self, at_millis: i64, task: Task) {
        self.remove(&task);
        self.count += 1;
        self.due.insert(task.clone(), (at_millis, self.count));
        self.entries.insert((at_millis, self.count, task));
    }

    pub fn remove(&mut self, task: &Task) {
        if let Some((at, number)) = self.due.remove(task) {
            self.entries.remove(&(at, number, task.clone()));
        }
    }

    pub fn due_millis(&self, task: &Task) -> Option<i64> {
        self.due.get(task).map(|(at, _)| *at)
    }

    pub fn next_millis(&self) -> Option<i64> {
        self.entries.first().map(|(at, ..)| *at)
    }

    /// Removes and returns the next task that is due until then, with its time.
    pub fn take(&mut self, until_millis: i64) -> Option<(i64, Task)> {
        if self.next_millis()? > until_millis {
            return None;
        }
        let (at, _, task) = self.entries.pop_first()?;
        self.due.remove(&task);
        Some((at, task))
    }

    /// Removes tasks for which the function returns false.
    pub fn retain(&mut self, is_kept: impl Fn(&Task) -> bool) {
        self.entries.retain(|(_, _, task)| is_kept(task));
        self.due.retain(|task, _| is_kept(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_there_once_at_its_earliest_time_or_the_one_that_is_set() {
        let mut agenda = Agenda::default();
        let task = || Task::Quota("a".to_owned());
        agenda.add(20, task());
        agenda.add(10, task());
        agenda.add(30, task());
        assert_eq!((agenda.entries.len(), agenda.next_millis()), (1, Some(10)));
        assert_eq!(agenda.take(9), None);
        assert_eq!(agenda.take(10), Some((10, task())));
        agenda.add(10, task());
        agenda.set(20, task());
        assert_eq!((agenda.entries.len(), agenda.due_millis(&task())), (1, Some(20)));
        agenda.remove(&task());
        assert_eq!(agenda.next_millis(), None);
    }
}
