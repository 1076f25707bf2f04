//! The strip above the pages of the playground: the story in one line; opened, the whole of it and what can be done.

pub mod controls;
pub mod state;
pub mod strip;
