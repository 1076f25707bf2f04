//! HTTP: pages, the stream, the read API, health and metrics. One router, one guard in front of everything.

mod api;
mod badge;
mod buffer;
mod compare;
mod details;
mod export;
mod extract;
mod files;
mod guard;
mod health;
mod history;
mod history_query;
mod links;
mod metrics;
mod pages;
mod playground;
mod preview;
mod qr;
mod respond;
mod routes;
mod share_entry;
mod shares;
mod sign_in;
mod status;
mod stream;

pub use self::routes::router;
