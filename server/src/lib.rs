//! The server of Rollcast: the only crate with input and output.
//!
//! ```text
//!   kube, feed ──► hub (one task, one timeline per cluster) ──► web, export, terminal
//!                   └──► history                                 each reads as far as access allows
//! ```
//! The rooms, each of which may import from those above it:

#![recursion_limit = "512"]

/// Log, audit log, terminal output, signals, clocks and rate limits.
pub mod telemetry;

/// The API of Kubernetes: watches, credentials, decoding, translation to facts, reviews of permissions.
pub mod kube;

/// Connections to SQLite and PostgreSQL: their options, deadlines, migrations and errors.
pub mod database;

/// Recordings and the playground: other producers of the queue that `kube` fills.
pub mod feed;

/// One task for each cluster, which owns its timeline and publishes changes.
pub mod hub;

/// Sign-in, sessions, share links, and what each viewer may see.
pub mod access;

/// The log of the last day, and an episode for each stretch in which a workload was not at rest.
pub mod history;

/// One rollout as one HTML file.
pub mod export;

/// HTTP: pages, API, streams, previews, files; connections, TLS and limits.
pub mod web;

/// Command line and configuration; `trace`, `wait` and reports in the terminal.
pub mod cli;
