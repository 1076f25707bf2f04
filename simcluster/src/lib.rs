//! A simulated Kubernetes control plane on real `k8s-openapi` objects: deterministic (a seed and a virtual clock), fast, and faithful in
//! what a Deployment can do. `docs/faithfulness.md` says how it is measured against a real control plane.
//!
//! ```text
//!   people ─► world (admission) ─► store ─► watch history ─► api ─► any Kubernetes client
//!               ▲                    │ a change
//!               │ writes             ▼
//!   controller/{autoscaler,deployment,gc,namespace,node,quota,replicaset} · scheduler · kubelet     woken by the agenda, in virtual time
//! ```
//!
//! One [`World`] owns everything. Nothing happens in it but by [`World::advance_to`], which lets the agenda's entries happen
//! in order of their time, and by the calls of people, which are the same ones that controllers use. The same seed and the same calls at the same times give the same objects.
//!
//! # Modules
//! | modules | subject |
//! |---|---|
//! | [`object`], [`change`], [`store`] | kinds, objects at a resourceVersion, the history that watches read |
//! | [`world`], `defaults`, `validate` | writes, as the API server treats them: admission, quotas, deletion |
//! | `run`, `agenda`, `informers` | time: what is due, who does it, and who is woken by a change |
//! | `controller`, `scheduler`, `events` | the control loops, and the Events of all components |
//! | [`kubelet`], `runtime` | the lives of pods, and what is known of their containers and programs |
//! | [`api`] | requests of clients over HTTP: [`api::Cluster`] owns a world |
//! | [`action`], [`story`], [`load`] | changes by people, stories of the playground, clusters of many pods |
//!
//! # What it does not simulate
//! - Caches: controllers read the store itself, so nothing is ever stale and no expectation is awaited (a round that writes a status twice is refused, as
//!   with caches). What that does (a round more or less) does not change what is decided.
//! - Other kinds than [`Resource`], admission plugins other than defaulting, `DefaultTolerationSeconds` and `ResourceQuota` on counts of
//!   pods, authentication, authorisation (reviews of a client's own rights allow everything), field ownership (server-side apply merges,
//!   it never conflicts), deletion of a collection (kubectl deletes its objects), `kubectl logs`, `exec`.
//! - Services: EndpointSlices can be stored and watched, nothing fills them.
//! - Containers: a word in an image's tag and arguments decide a program's life (see [`kubelet`]); nothing is run, no volume but ConfigMaps
//!   is looked for, a container's image is not changed in place, hooks and ephemeral containers do nothing.
//! - Scheduling beyond capacity, taints, node selectors and node affinity; preemption.
//! - Heartbeats: a node's conditions stay as they were, because no kubelet falls silent.
//! - The `deprecated.deployment.rollback.to` annotation; kubectl does not use it.
//! - Pod disruption budgets (no eviction is refused), evictions by pressure, priorities, horizontal scaling.
//! - The hash in a ReplicaSet's name is made like Kubernetes' (FNV-1a, same alphabet) but of JSON and not of Go's dump, so names differ.

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
