//! The live connection between page and server.

pub mod client;
pub mod clock;
pub mod link;
pub mod question;
