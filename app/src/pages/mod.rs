//! The pages, one component per file.

pub mod deployments;
pub mod detail;
#[cfg(feature = "ssr")]
pub mod missing;
pub mod rollout;
pub mod wall;
