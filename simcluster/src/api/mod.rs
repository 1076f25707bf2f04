//! The cluster over HTTP: the part of the Kubernetes API that clients and kubectl use, on loopback only.
//!
//! [`Cluster`] owns the world and lets its time pass with real time, times a speed. Requests are answered by one router, [`route`], because paths of
//! Kubernetes are regular: group, version, namespace, resource, name, subresource.

mod answer;
mod cluster;
mod discovery;
mod read;
mod route;
mod scale;
mod table;
mod target;
mod unknown;
mod watch;
mod write;

pub use cluster::{Cluster, kubeconfig, listen};
