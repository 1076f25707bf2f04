//! The parts of a Deployment's page. Walls use the score as well.

pub mod axis;
pub mod bars;
pub mod connection;
pub mod gutter;
pub mod header;
pub mod heads;
pub mod icon;
pub mod keys;
pub mod legend;
pub mod link_bars;
pub mod score;
pub mod story;
pub mod strip;
pub mod table;
pub mod transport;
pub mod verdict;
