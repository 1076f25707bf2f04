//! Computes what Kubernetes itself computes from the same objects: pod phase, surge budget, removal order, kubectl's verdict.
//! Owns the arithmetic of the controllers and the meaning of the kubelet's messages; each rule names its source in Kubernetes.
//! Must not know faults, sentences, or times other than those of the objects.

pub mod budget;
pub mod messages;
pub mod phase;
pub mod pulls;
pub mod removal_order;
pub mod rollout;
pub mod verdict;
