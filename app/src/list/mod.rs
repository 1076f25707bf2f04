//! A list of Deployments: which rows are rendered ([`visible_rows`]), their texts ([`row`], [`words`]), the signals of its page
//! ([`board`]), and the updates in the browser ([`screen`]).
//!
//! ```text
//!   address ─► query ─► screen: asks for the rows around those in view
//!                          │ news (known)
//!                          ▼
//!   headings and rows by number  ─► visible_rows: those in view, with room before and after ─► board: a signal per row ─► components
//! ```

pub mod board;
pub mod keys;
mod live_list;
pub mod memory;
pub mod row;
pub mod screen;
#[cfg(test)]
pub(crate) mod test_data;
pub mod tiny_score;
pub mod visible_rows;
pub mod words;

pub use live_list::{Ages, LiveList};
pub use words::{heading, is_live, listed_clusters, summary, title};
