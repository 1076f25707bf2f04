//! Live: how the page keeps up with the server.

pub mod client;
pub mod clock;
pub mod link;
pub mod question;
