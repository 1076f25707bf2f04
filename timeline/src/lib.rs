//! The pure core of Rollcast: facts about Deployments, ReplicaSets and Pods go in, changes come out.
//!
//! ```text
//!   Fact ──► Timeline::apply ──► Vec<Change> ──► Model::apply_change (server and every viewer run the same code)
//!                                                   │
//!                                                   ├─► document   the `rollcast.timeline/1` document
//!                                                   ├─► view       what a page shows of one Deployment
//!                                                   ├─► say        the story: what the controllers did, a sentence each
//!                                                   └─► history    the same at any moment that is kept
//! ```
//!
//! The folders are listed in the order in which data flows. Each imports only from those above it, and no circle of more
//! than two files exists; `server/tests/all/circles.rs` draws both from the imports.
//!
//! | folder | job |
//! |---|---|
//! | [`model`] | everything known, as data: facts, objects, entries of the story, changes |
//! | [`words`] | values as text: durations, counts, images; text of a cluster made safe to show |
//! | [`rules`] | what Kubernetes itself computes: pod phase, surge budget, removal order, kubectl's verdict |
//! | [`apply`] | a fact into changes, with the entries of the story |
//! | [`history`] | the model at a past moment |
//! | [`assess`] | our verdict as data: counts, causes, severity, the way out |
//! | [`say`] | every sentence |
//! | [`view`] | what pages show: one Deployment, a list, a connection |
//! | [`address`] | addresses of pages, files and the API |
//! | [`episodes`] | rows of the index of history, and the search for them |
//! | [`document`] | the `rollcast.timeline/1` document |
//! | [`wire`] | what travels to viewers, and a viewer's copy |
//!
//! [`rules`] is apart from [`assess`] because both [`apply`] and [`assess`] need it: the model records the limits and the
//! verdict of kubectl at the moment in which they change, as Kubernetes computed them. [`apply`] never needs our own
//! verdict. [`words`] is near the bottom because an entry of the story keeps the images of its revision as text.
//!
//! Nothing here knows a clock, randomness, I/O or a Kubernetes type; the current time is an argument. All times are
//! milliseconds since the epoch. Everything is keyed by UID and kept in ordered maps, so equal input gives equal bytes.

pub mod model;

pub mod words;

pub mod rules;

pub mod apply;

pub mod history;

pub mod assess;

pub mod say;

pub mod view;

pub mod address;

pub mod episodes;

pub mod document;

pub mod wire;

// Modules that other crates name without their room.
pub use history::playback;
pub use model::{change, fact, order, workload};
pub use rules::{budget, removal_order, rollout, verdict};
pub use say::story;
pub use view::{list, steps};
pub use wire::viewer;

pub use apply::{Retention, Timeline};
pub use history::History;
pub use model::{Change, EpisodeKind, Fact, Model, Uid, Workload, WorkloadKind};

/// Milliseconds since the epoch. Fields say whose clock it is: arrival here, or the object's own timestamp.
pub type Millis = i64;
