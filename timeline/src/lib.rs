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
pub mod budget;
pub mod change;
pub mod chosen;
pub mod clock;
pub mod document;
pub mod fact;
pub mod history;
pub mod id;
pub mod list;
pub mod model;
pub mod order;
pub mod past;
pub mod phase;
pub mod playback;
pub mod rollout;
pub mod say;
pub mod stall;
pub mod steps;
pub mod story;
pub mod table;
pub mod verdict;
pub mod view;
pub mod viewer;
pub mod wire;
pub mod words;
pub mod workload;

pub use apply::{Retention, Timeline};
pub use change::Change;
pub use fact::Fact;
pub use history::History;
pub use id::Uid;
pub use model::Model;
pub use workload::{Workload, WorkloadKind};

/// Milliseconds since the epoch. Fields say whose clock it is: arrival here, or the object's own timestamp.
pub type Millis = i64;
