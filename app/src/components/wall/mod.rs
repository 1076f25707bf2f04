//! The parts of the wall.

pub mod below;
pub mod calm;
pub mod legend;
pub mod lines;
pub mod sound;
pub mod tile;
