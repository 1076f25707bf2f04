//! People sign in by OpenID Connect: at Dex, which is a real provider, and at one of our own that can be wrong in every way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

#[path = "../common/addresses.rs"]
mod addresses;
#[path = "../common/mod.rs"]
mod common;

mod browser;
#[path = "../common/damage.rs"]
mod damage;
mod damaged;
mod dex;
mod faults;
#[path = "../common/fed.rs"]
mod fed;
mod own;
mod real;
mod renewal;
mod site;
