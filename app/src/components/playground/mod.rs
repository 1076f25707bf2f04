//! The strip above the pages of the playground: the story in one line; opened, the whole story and the controls.

pub mod controls;
pub mod state;
pub mod strip;
