//! The cluster over HTTP: the part of the Kubernetes API that clients and kubectl use. Listens on loopback only.
//!
//! [`Cluster`] owns the world, and its time passes with real time, multiplied by a speed. One router, [`route`], answers all
//! requests, because paths of Kubernetes are regular: group, version, namespace, resource, name, subresource.

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
