//! The parts of the wall.

pub mod footer;
pub mod sound;
pub mod tile;
