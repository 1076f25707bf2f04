//! State of a Deployment's page: the signals of its components ([`board`], [`picture`]), and the updates of them ([`screen`]).

pub mod board;
pub mod controls;
pub mod panel;
pub mod picture;
mod pointer;
pub mod screen;
mod scroll;
mod time;
