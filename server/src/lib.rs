//! The server of Rollcast: the only crate with input and output.
//!
//! ```text
//!   source (cluster or recording) ──► hub (one task, one timeline per cluster) ──► session (one viewer) / http
//! ```

#![recursion_limit = "512"]

pub mod addressed;
mod allowance;
pub mod assets;
pub mod audit;
pub mod auth;
pub mod budget;
pub mod cli;
pub mod clock;
pub mod clusters;
pub mod commands;
pub mod config;
pub mod connections;
pub mod decode;
mod earlier;
mod excerpt;
pub mod export;
pub mod exports;
mod fetch;
mod flight;
pub mod forwarded;
pub mod history;
pub mod http;
pub mod hub;
mod hub_cache;
pub mod limits;
pub mod listing;
pub mod log;
pub mod odd;
pub mod playground;
pub mod previews;
pub mod print;
pub mod private;
pub mod recording;
pub mod replay;
pub mod run;
pub mod scope;
pub mod session;
mod shelf;
pub mod sight;
pub mod signals;
pub mod source;
pub mod state;
pub mod terminal;
pub mod tls;
pub mod translate;
pub mod unsent;
pub mod view;
pub mod viewers;
