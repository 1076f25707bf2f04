//! The visible parts of the pages: a file for each, with the small components that only it uses.

#[cfg(feature = "ssr")]
pub mod audience;
pub mod banner;
pub mod copy;
pub mod detail;
pub mod header;
pub mod image;
pub mod list;
pub mod notices;
pub mod page_keys;
#[cfg(feature = "ssr")]
pub mod past_rollout_row;
#[cfg(feature = "ssr")]
pub mod past_workloads;
pub mod playground;
pub mod popup;
pub mod preview;
pub mod rollout;
#[cfg(feature = "ssr")]
pub mod searched;
pub mod state_marks;
pub mod title;
pub mod tokens;
#[cfg(feature = "ssr")]
pub mod trouble;
pub mod wall;
