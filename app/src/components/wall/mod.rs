//! The parts of the wall.

pub mod below;
pub mod legend;
pub mod plain;
pub mod sound;
pub mod stable;
pub mod tile;
