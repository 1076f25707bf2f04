//! The parts of the list of Deployments.

pub mod clusters;
pub mod columns;
pub mod filter;
pub mod rows;
