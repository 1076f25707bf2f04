//! Every test of the timeline through its public functions, in one program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod addresses;
mod kept_counts;
mod made;
mod properties;
mod said;
mod wire;
