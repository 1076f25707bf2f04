//! What a site answers to HTTP requests, on the recordings of a real control plane.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]
#![recursion_limit = "512"]

#[path = "../common/addresses.rs"]
mod addresses;
mod api;
mod below;
mod clients;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/damage.rs"]
mod damage;
mod damaged;
mod ended;
mod export;
#[path = "../common/fed.rs"]
mod fed;
mod files;
mod frames;
mod guarded;
#[path = "../common/heard.rs"]
mod heard;
mod history;
mod kept;
mod keys;
mod links;
mod lists;
mod losing;
mod metrics;
mod operators;
mod parsers;
mod parts;
mod people;
mod playground;
mod remade;
mod replay;
mod rights;
mod seats;
mod shared;
#[path = "../common/simulated.rs"]
mod simulated;
mod site;
mod strange;
#[path = "../common/strangers.rs"]
mod strangers;
mod tokens;
mod unchecked;
mod unsent;
#[path = "../common/until.rs"]
mod until;
