//! The strip above the pages of the playground.

pub mod strip;
