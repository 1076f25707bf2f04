//! The visible parts of the pages: one file each, with the small components that only that part uses.

#[cfg(feature = "ssr")]
pub mod audience;
pub(crate) mod banner;
pub(crate) mod copy;
pub(crate) mod detail;
pub mod header;
#[cfg(feature = "ssr")]
pub(crate) mod history_search;
pub(crate) mod image;
pub(crate) mod list;
pub(crate) mod notices;
pub(crate) mod page_keys;
#[cfg(feature = "ssr")]
pub(crate) mod past_rollout_row;
#[cfg(feature = "ssr")]
pub(crate) mod past_workloads;
pub(crate) mod playground;
pub(crate) mod popup;
pub mod preview;
pub(crate) mod rollout;
pub(crate) mod state_marks;
pub(crate) mod title;
pub mod tokens;
#[cfg(feature = "ssr")]
pub(crate) mod trouble;
pub(crate) mod wall;
