//! Serves pages, the API, streams, previews and files over HTTP.
//! Owns routes, connections, TLS, the limits on clients, and the lists that viewers follow.
//! Must not know types of Kubernetes or SQL.
//!
//! ```text
//!   connections (with tls) ──► http/guard ──► http: the handler of a route ──► http/buffer, send_queue
//!                                │ ClientView    │
//!                                │               └──► session: one stream ──► followed_list, listing
//!                                └── state: Rollcast, with limits, previews and everything that requests share
//! ```

pub mod client_view;
pub mod connections;
mod followed_list;
pub mod http;
pub mod limits;
pub mod listing;
pub mod previews;
mod rollouts;
pub mod send_queue;
pub mod server_address;
pub mod session;
pub mod state;
pub mod tls;
