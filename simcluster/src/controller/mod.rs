//! The control loops. Each reads objects, writes the differences, and is woken again by its own writes.

pub mod autoscaler;
pub mod deployment;
pub mod gc;
pub mod namespace;
pub mod node;
pub mod quota;
pub mod replicaset;
