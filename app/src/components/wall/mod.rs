//! The parts of the wall.

pub mod below;
pub mod sound;
pub mod tile;
