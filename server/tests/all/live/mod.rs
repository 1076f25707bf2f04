//! The server against a fake API server on loopback: sources, hub, sessions and HTTP together.

mod behind;
mod certificates;
mod credentials;
mod damaged;
mod demo;
mod deploy;
#[cfg(target_os = "linux")]
mod egress;
mod faults;
mod gaps;
mod kept;
mod left;
mod listening;
mod opened;
mod ordering;
mod outages;
mod planted;
#[cfg(unix)]
mod plugin;
pub mod program;
mod recorded;
mod refused;
mod replicas;
mod requests;
mod returns;
mod reviews;
mod secrets;
mod silence;
mod simulation;
mod skew;
mod slow;
mod status;
mod streams;
mod support;
mod texts;
mod tls;
mod unwatched;
mod versions;
mod viewers;
mod wait;
mod watch;
