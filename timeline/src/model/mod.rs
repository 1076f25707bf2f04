//! Holds everything known about a cluster: facts as they arrive, the objects, their story as data, and the changes of them.
//! Owns the types, identity ([`Uid`]), ordered tables, and [`Model::apply_change`], the only way to alter a [`Model`].
//! Must not know what anything means: no Kubernetes rule, no judgement, no sentence.

pub mod change;
pub mod container;
pub mod episode;
pub mod event;
pub mod fact;
pub mod hash;
pub mod id;
pub mod limits;
pub(crate) mod names;
pub mod objects;
pub mod order;
pub mod pod;
pub mod pod_index;
pub mod pod_state;
pub mod queries;
mod server_only;
pub mod story;
pub mod table;
pub mod workload;

pub use change::Change;
pub use episode::EpisodeKind;
pub use event::Event;
pub use fact::{DeploymentNow, Fact, ReplicaSetNow};
pub use id::Uid;
pub use limits::Limits;
pub use objects::{
    Deployment, Gap, KubectlVerdict, Mark, MarkKind, Model, RemovedBecause, ReplicaSet, Rollout, Scale, ScaleCause,
};
pub use pod::{EndReason, Pod, PodNow, Release};
pub use pod_index::{LayerCounts, PodCounts, PodLayer, PodMove};
pub use pod_state::PodState;
pub use story::Trigger;
pub use workload::{Workload, WorkloadKind};
