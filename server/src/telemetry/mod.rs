//! Shows operators the activity of the process.
//! Owns the log, the audit log, output to the terminal, signals, panics, the clock, rate limits and the number of viewers.
//! Must not know any other room.

pub mod audit;
pub mod clock;
pub mod error_chain;
pub mod log;
pub(crate) mod panics;
pub mod print;
pub(crate) mod rate;
pub mod signals;
pub mod viewers;
