//! A list of Deployments: which rows of it are made ([`part`]), what they say ([`row`], [`words`]), what its page follows ([`board`]),
//! and what keeps that right in the browser ([`screen`]).
//!
//! ```text
//!   address ─► query ─► screen: asks for the rows around those in view
//!                          │ news (known)
//!                          ▼
//!   headings and rows by number  ─► part: those in view, with room before and after ─► board: a signal per row ─► components
//! ```

pub mod ages;
pub mod board;
pub mod keys;
mod known;
#[cfg(test)]
pub(crate) mod made;
pub mod memory;
pub mod part;
pub mod row;
pub mod screen;
pub mod tiny;
pub mod words;

pub use ages::Ages;
pub use known::Known;
pub use words::{heading, summary, title};
