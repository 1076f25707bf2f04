//! The visible parts of the pages, one component per file, each named as its file.

pub mod banner;
pub mod brand;
pub mod copy;
pub mod detail;
pub mod elsewhere;
pub mod list;
pub mod notices;
pub mod playground;
pub mod rollout;
pub mod state_marks;
pub mod swatch;
pub mod title;
pub mod tokens;
pub mod wall;
