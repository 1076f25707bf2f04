//! The parts of the pages, one public component per file (small helpers beside it). Each says which of its places change
//! ([`slots::Slots`]); its markup is made by the server alone.

pub mod connection;
pub mod header;
#[cfg(feature = "ssr")]
pub mod legend;
pub mod score;
pub mod slots;
pub mod transport;
pub mod verdict;
