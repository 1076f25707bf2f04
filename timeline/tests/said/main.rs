//! What is said of sequences of events, made by hand; many of them were said wrongly once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod annotations;
mod arrivals;
mod causes;
mod certain;
mod choice;
mod counting;
mod cut;
mod days;
mod ends;
mod failing;
mod faults;
mod healthy;
mod leaving;
mod lists;
mod lives;
#[path = "../made/mod.rs"]
mod made;
mod matrix;
mod next;
mod ownership;
mod past;
mod restored;
mod revisions;
mod rollouts;
mod scaling;
mod shown;
mod steps;
mod stuck;
mod told;
mod unseen;
