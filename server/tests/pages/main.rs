//! What a site answers to HTTP requests, on the recordings of a real control plane.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]
#![recursion_limit = "512"]

mod api;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod history;
mod links;
mod lists;
mod metrics;
mod playground;
mod replay;
mod site;
#[path = "../common/until.rs"]
mod until;
