//! Every test of the simulated cluster, in one program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod api;
mod kubectl;
mod lives;
mod told;
mod world;
