//! The server against a fake API server on loopback: sources, hub, sessions and HTTP together.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

#[cfg(target_os = "linux")]
#[path = "../common/addresses.rs"]
mod addresses;
mod behind;
mod credentials;
mod damaged;
#[path = "../common/day.rs"]
mod day;
mod demo;
mod deploy;
#[cfg(target_os = "linux")]
mod egress;
mod gaps;
mod kept;
mod left;
mod opened;
mod ordering;
mod outages;
mod planted;
#[path = "../common/postgres.rs"]
mod postgres;
mod program;
mod recorded;
mod refused;
mod replicas;
mod requests;
mod reviews;
mod secrets;
mod silence;
mod skew;
mod slow;
mod support;
mod texts;
mod tls;
#[path = "../common/until.rs"]
mod until;
mod unwatched;
mod versions;
mod viewers;
mod wait;
mod watch;
