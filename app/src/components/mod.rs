//! The parts of the pages, one public component per file (small helpers beside it).

pub mod connection;
pub mod header;
pub mod legend;
pub mod score;
pub mod story;
pub mod table;
pub mod token;
pub mod verdict;
