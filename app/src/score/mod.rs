//! Geometry of the score. Pure: model and sizes in, places out.

pub mod lanes;
pub mod places;
pub mod scale;
