//! Lists and watches a cluster through the API of Kubernetes, and translates its objects to facts.
//! Owns credentials, connections to API servers, liveness, decoding, and reviews of permissions.
//! Must not know the hub, the history or the web: it puts events into a queue and does not know who takes them.
//!
//! Everything arrives at the hub in one bounded queue, as [`SourceEvent`]s; recordings (`feed`) fill the same queue. Where
//! history is stored, a tap stands between the two (`history/tap.rs`).
//!
//! ```text
//!   one task per kind and namespace          one task per cluster
//!   list ─► watch ─► (410, failures) ─► list      liveness probe      (all ask through one `Access`: client and credentials)
//!      └──────────────┴──────────┬───────────────────┘
//!                                ▼
//!                      mpsc "source" (bounded: a slow hub slows the watches down, nothing is dropped)
//! ```

pub mod access;
pub mod backoff;
pub mod check;
mod cluster;
mod counters;
pub mod credentials;
mod decode;
pub mod error;
mod event;
pub mod kubeconfig;
pub mod line;
mod list;
mod liveness;
pub mod loopback;
mod observed;
pub mod odd;
mod pace;
mod plugin;
pub mod proxy;
mod reason;
pub mod request;
pub mod review;
mod stream;
pub mod translate;
mod watch;

pub use self::cluster::Cluster;
pub use self::counters::{ByKind, Counters, KindCounters, RelistReason};
pub use self::event::{Health, QUEUE, SourceEvent};
pub use self::observed::{InitialState, Observed};
pub use self::pace::Pace;
pub use self::watch::start;
