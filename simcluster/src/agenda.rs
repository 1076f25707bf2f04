//! Due tasks: in order of time, then of their making. A task that is there already is not added twice: it keeps the earlier time, or
//! gets the one that is set.
//!
//! This is at once the work queues of the controllers and the timers of the kubelets.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::NewEvent;
use crate::object::{Key, Resource};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// The Deployment controller looks at one.
    Deployment(Key),
    /// The ReplicaSet controller looks at one.
    ReplicaSet(Key),
    /// The scheduler looks at a pod.
    Schedule(Key),
    /// A kubelet moves a pod on.
    Kubelet(Key),
    /// The garbage collector looks at an object whose owner may be gone, or that waits for its dependents.
    Collect(Resource, Key),
    /// The pod garbage collector looks around.
    CollectPods,
    /// A pod of a node that is gone is written off.
    WriteOff(Key),
    /// A pod that tolerated a taint of its node for some time is deleted.
    TaintEviction(Key),
    /// A pod that does not tolerate a taint of its node is deleted, which nothing takes back.
    ImmediateTaintEviction(Key),
    /// A node's kubelet reports for the first time.
    NodeReports(Key),
    /// The autoscaler looks at pods that no node fits, and at its nodes.
    Autoscaler,
    /// A node of the autoscaler comes.
    Boot(String),
    /// The quota controller counts a namespace.
    Quota(String),
    /// The namespace controller empties a namespace.
    Namespace(String),
    /// An Event is written.
    Event(Box<NewEvent>),
}

#[derive(Debug, Default)]
pub struct Agenda {
    entries: BTreeSet<(i64, u64, Task)>,
    /// When each task is due, so that it is there once.
    due: BTreeMap<Task, (i64, u64)>,
    count: u64,
}

impl Agenda {
    /// Adds a task, or makes it earlier.
    pub fn add(&mut self, at_millis: i64, task: Task) {
        if self.due_millis(&task).is_none_or(|known| known > at_millis) {
            self.set(at_millis, task);
        }
    }

    /// Sets when a task is due, whatever was planned before.
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

    /// Takes the next task that is due until then, with its time.
    pub fn take(&mut self, until_millis: i64) -> Option<(i64, Task)> {
        if self.next_millis()? > until_millis {
            return None;
        }
        let (at, _, task) = self.entries.pop_first()?;
        self.due.remove(&task);
        Some((at, task))
    }

    /// Lets go of tasks that are not to be kept.
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
