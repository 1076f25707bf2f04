//! The pages: a file for each, with the parts that only it has.

#[cfg(feature = "ssr")]
pub mod compare;
pub mod deployments;
pub mod detail;
pub mod exported;
#[cfg(feature = "ssr")]
pub mod history;
#[cfg(feature = "ssr")]
pub mod missing;
mod panel;
pub mod rollout;
#[cfg(feature = "ssr")]
pub mod shares;
#[cfg(feature = "ssr")]
pub mod sign_in;
#[cfg(feature = "ssr")]
pub mod status;
pub mod wall;
