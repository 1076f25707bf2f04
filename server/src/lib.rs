//! The server of Rollcast: the only crate with input and output.
//!
//! ```text
//!   kube, feed ──► hub (one task, one timeline per cluster) ──► web, export, terminal
//!                   └──► history                                 each reads as far as access allows
//! ```
//! The rooms, in the order in which data flows:

#![recursion_limit = "512"]

/// Command line, configuration, and the entry points of the commands.
pub mod cli;

/// The API of Kubernetes: watches, credentials, decoding, translation to facts, reviews of permissions.
pub mod kube;

/// Connections to SQLite and PostgreSQL: their options, deadlines, migrations and errors.
pub mod database;

/// Recordings and the playground: other producers of the queue that `kube` fills.
pub mod feed;

/// One task for each cluster, which owns its timeline and publishes changes.
pub mod hub;

/// The event log of past rollouts, in SQLite or PostgreSQL.
pub mod history;

/// Sign-in, sessions, share links, and what each viewer may see.
pub mod access;

/// HTTP: pages, API, streams, previews, files; connections, TLS and limits.
pub mod web;

/// One rollout as one HTML file.
pub mod export;

/// `trace`, `wait` and reports in the terminal.
pub mod terminal;

/// Log, audit log, terminal output, signals and clocks.
pub mod telemetry;
