//! The strip above the pages of the playground: the story in one line; opened, the whole of it and what can be done.

pub mod buttons;
pub mod controls;
pub mod do_button;
pub mod group;
pub mod means;
pub mod next_story;
pub mod pods;
pub mod speed;
pub mod state;
pub mod stories;
pub mod strip;
pub mod tale;
