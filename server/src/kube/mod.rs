//! Lists and watches a cluster through the Kubernetes API, and translates its objects to facts.
//! Owns credentials, connections to API servers, liveness, decoding, and reviews of permissions.
//! Must not know the hub, the history or the web: it sends events to a queue without knowing the receiver.
//!
//! All events arrive at the hub in one bounded queue, as [`SourceEvent`]s; recordings (`feed`) fill the same queue. If
//! history is stored, a tap is between the two (`history/tap.rs`).
//!
//! ```text
//!   one task per kind and namespace          one task per cluster
//!   list ─► watch ─► (410, failures) ─► list      liveness probe      (all ask through one `Access`: client and credentials)
//!      └──────────────┴──────────┬───────────────────┘
//!                                ▼
//!                      mpsc "source" (bounded: a slow hub slows the watches down, nothing is dropped)
//! ```

// Access to an API server: its address, credentials and proxy; requests and their errors.
pub mod access;
pub mod credentials;
pub mod error;
pub mod kubeconfig;
pub mod loopback;
mod pace;
mod plugin;
pub mod proxy;
mod reason;
mod renewals;
pub mod request;

// Lists and watches, and their events in the queue.
pub mod backoff;
mod cluster;
mod counters;
mod event;
mod list;
mod liveness;
mod observed;
mod stream;
mod watch;

// Decoding of bytes to facts.
mod decode;
pub mod line;
pub mod odd;
pub mod translate;

// Requests besides lists and watches.
pub mod check;
pub mod review;

pub use self::cluster::Cluster;
pub use self::counters::{ByKind, Counters, KindCounters, RelistReason};
pub use self::event::{Health, QUEUE, SourceEvent};
pub use self::observed::{InitialState, Observed};
pub use self::pace::Pace;
pub use self::watch::start;
