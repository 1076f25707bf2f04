//! HTTP: pages, the stream, the read API, health and metrics. One router, one guard in front of everything.
//!
//! | files | content |
//! |---|---|
//! | `guard`, `routes`, `buffer` | layers that every request passes, in this order; files pass no `buffer` |
//! | `extract`, `respond` | how handlers read requests and make responses |
//! | `sign_in`, `share_entry` | sign-in, and share links that are opened |
//! | `pages`, `links`, `details`, `compare`, `history`, `history_query`, `status`, `shares` | pages, some also as JSON |
//! | `api`, `stream`, `metrics`, `health` | for programs |
//! | `badge`, `preview`, `qr`, `export`, `files` | pictures, one rollout as a file, the program's own files |
//! | `playground` | the strip of the playground |

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
