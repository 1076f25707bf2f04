//! The parts of the list of Deployments.

pub mod clusters;
pub mod columns;
pub mod filter;
pub mod head;
pub mod nothing;
pub mod pages;
pub mod row;
pub mod rows;
pub mod tiny_score;
