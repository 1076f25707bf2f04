//! The server of Rollcast: the only crate with input and output.
//!
//! ```text
//!   source (cluster or recording) ──► hub (one task, one timeline per cluster) ──► session (one viewer) / http
//! ```

#![recursion_limit = "512"]

pub mod assets;
pub mod cli;
pub mod clock;
pub mod clusters;
pub mod config;
pub mod decode;
pub mod history;
pub mod http;
pub mod hub;
pub mod listing;
pub mod odd;
pub mod playground;
pub mod previews;
pub mod recording;
pub mod replay;
pub mod run;
pub mod session;
pub mod signals;
pub mod source;
pub mod state;
pub mod terminal;
pub mod translate;
pub mod viewers;
