//! A list of Deployments: which rows of it are made ([`part`]), what they say ([`line`], [`words`]), what its page follows ([`board`]),
//! and what keeps that right in the browser ([`screen`]).
//!
//! ```text
//!   address ─► query ─► screen: asks for the lines around those in view
//!                          │ news (known)
//!                          ▼
//!   headings and lines by number ─► part: those in view, with room before and after ─► board: a signal per row ─► components
//! ```

pub mod ages;
pub mod board;
pub mod keys;
mod known;
pub mod line;
#[cfg(test)]
pub(crate) mod made;
pub mod memory;
pub mod part;
pub mod query;
pub mod screen;
pub mod tiny;
pub mod words;

pub use ages::Ages;
pub use known::Known;
pub use words::{heading, summary, title};
