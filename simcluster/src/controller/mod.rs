//! The control loops. Each looks at the objects, writes what is missing, and is woken again by what it wrote.

pub mod autoscaler;
pub mod deployment;
pub mod gc;
pub mod namespace;
pub mod node;
pub mod quota;
pub mod replicaset;
