//! The pure core of Rollcast: facts about Deployments, ReplicaSets and Pods go in, changes come out.
//!
//! ```text
//!   Fact ──► Timeline::apply ──► Vec<Change> ──► Model::apply_change (server and every viewer run the same code)
//!                                                   │
//!                                                   ├─► document   the `rollcast.timeline/1` document
//!                                                   ├─► view       what a page shows of one Deployment
//!                                                   ├─► story      what the controllers did, a sentence each
//!                                                   └─► history    the same at any moment that is kept
//! ```
//!
//! Nothing here knows a clock, randomness, I/O or a Kubernetes type; the current time is an argument. All times are
//! milliseconds since the epoch. Everything is keyed by UID and kept in ordered maps, so equal input gives equal bytes.

pub mod apply;
pub mod document;
pub mod history;
pub mod list;
pub mod model;
pub mod past;
pub mod playback;
pub mod rules;
pub mod say;
pub mod stall;
pub mod steps;
pub mod view;
pub mod viewer;
pub mod wire;
pub mod words;

// Modules that other crates name without their room.
pub use model::{change, fact, order, workload};
pub use rules::{budget, phase, removal_order, rollout, verdict};
pub use say::story;

pub use apply::{Retention, Timeline};
pub use history::History;
pub use model::{Change, Fact, Model, Uid, Workload, WorkloadKind};

/// Milliseconds since the epoch. Fields say whose clock it is: arrival here, or the object's own timestamp.
pub type Millis = i64;
