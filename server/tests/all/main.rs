//! Every test of the server, in one program: linking the server once takes less time than all other work on most tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]
#![recursion_limit = "512"]

mod architecture;
mod arithmetic;
mod chaos;
mod chosen;
mod circles;
mod cli;
mod common;
mod documents;
mod faithful;
mod history;
mod imports;
mod invariants;
mod joined;
mod kubelet;
mod live;
mod moments;
mod oidc;
mod order;
mod pages;
mod replicas;
mod signed;
mod stories;
mod told;
mod words;
