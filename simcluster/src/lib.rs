//! A simulated Kubernetes control plane on real `k8s-openapi` objects: deterministic (a seed and a virtual clock), fast, and with
//! the behavior of Deployments in Kubernetes. `docs/faithfulness.md` describes the comparison with a real control plane.
//!
//! ```text
//!   people ─► world (admission) ─► store ─► watch history ─► api ─► any Kubernetes client
//!               ▲                    │ a change
//!               │ writes             ▼
//!   controller/{autoscaler,deployment,gc,namespace,node,quota,replicaset} · scheduler · kubelet     woken by the agenda, in virtual time
//! ```
//!
//! One [`World`] owns everything. Only two things change it: [`World::advance_to`], which runs the agenda's tasks in order of
//! their time, and calls of people, which use the same functions as controllers. The same seed and the same calls at the same
//! times give the same objects.
//!
//! # Modules
//! | modules | subject |
//! |---|---|
//! | [`object`], [`change`], [`store`] | kinds, objects at a resourceVersion, the history that watches read |
//! | [`world`], `defaults`, `validate` | writes, as the API server handles them: admission, quotas, deletion |
//! | `run`, `agenda`, `informers` | time: due tasks, their executors, and wake-ups after a change |
//! | `controller`, `scheduler`, `events` | the control loops, and the Events of all components |
//! | [`kubelet`], `runtime` | the lives of pods, and the state of their containers and programs |
//! | [`api`] | requests of clients over HTTP: [`api::Cluster`] owns a world |
//! | [`action`], [`story`], [`load`] | changes by people, stories of the playground, clusters of many pods |
//!
//! # Not simulated
//! - Caches: controllers read the store itself, so nothing is ever stale and no expectation is awaited (a second status write in
//!   a round is rejected, as with caches). In Kubernetes caches add or save a round; they do not change decisions.
//! - Other kinds than [`Resource`], admission plugins other than defaulting, `DefaultTolerationSeconds` and `ResourceQuota` on
//!   counts of pods, authentication, authorisation (reviews of a client's own rights allow everything), field ownership
//!   (server-side apply merges and never conflicts), deletion of a collection (kubectl deletes its objects one by one),
//!   `kubectl logs`, `exec`.
//! - Services: EndpointSlices can be stored and watched, but no controller fills them.
//! - Containers: a word in an image's tag and arguments decide the behavior of a program (see [`kubelet`]); no program runs. Only
//!   volumes of ConfigMaps are checked, a container's image cannot change in place, hooks and ephemeral containers have no effect.
//! - Scheduling beyond capacity, taints, node selectors and node affinity; preemption.
//! - Heartbeats: a node's conditions never change, because every kubelet keeps reporting.
//! - The `deprecated.deployment.rollback.to` annotation; kubectl does not use it.
//! - Pod disruption budgets (no eviction is refused), evictions by pressure, priorities, horizontal scaling.
//! - The exact hash in a ReplicaSet's name: it is computed as in Kubernetes (FNV-1a, same alphabet) but from JSON instead of Go's
//!   dump, so names differ.

pub mod action;
mod agenda;
pub mod api;
pub mod change;
mod controller;
mod defaults;
pub mod error;
mod events;
mod fields;
mod hash;
mod informers;
pub mod kubelet;
pub mod load;
mod meta;
mod node;
pub mod object;
mod run;
mod runtime;
mod scheduler;
pub mod store;
pub mod story;
mod strategic_patch;
mod strategy;
mod time;
mod validate;
pub mod world;

pub use error::ApiError;
pub use object::{Key, Object, Resource};
pub use world::{DeleteOptions, Propagation, Settings, World, Write};
