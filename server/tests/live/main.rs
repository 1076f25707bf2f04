//! The server against a fake API server on loopback: sources, hub, sessions and HTTP together.

mod support;
mod viewers;
mod watch;
