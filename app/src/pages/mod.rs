//! The pages: one file each, with the parts that only that page has.

#[cfg(feature = "ssr")]
pub(crate) mod compare;
pub(crate) mod deployments;
pub(crate) mod detail;
pub(crate) mod exported;
#[cfg(feature = "ssr")]
pub(crate) mod history;
#[cfg(feature = "ssr")]
pub(crate) mod missing;
mod panel;
pub(crate) mod rollout;
#[cfg(feature = "ssr")]
pub mod shares;
#[cfg(feature = "ssr")]
pub mod sign_in;
#[cfg(feature = "ssr")]
pub(crate) mod status;
pub(crate) mod wall;
