//! The state of a Deployment's page: what its components follow ([`board`], [`picture`]), and what keeps that right ([`screen`]).

pub mod board;
pub mod controls;
pub mod panel;
pub mod picture;
mod pointer;
pub mod screen;
mod scroll;
mod time;
