//! Shows rollouts in the terminal, waits for them, and prints reports of them.
//! Owns the picture in the terminal, the exit codes, and the client of a running server.
//! Must not know the web.
//!
//! `rollcast trace` shows one rollout live; `rollcast wait` waits for rollouts, and explains why one is not complete.
//!
//! ```text
//!   a cluster (list and watch here)  ─┐                     ┌─► trace: a picture (terminal) or lines (pipe)
//!                                     ├─► feed ─► follower ─┤
//!   a running Rollcast (--server)  ───┘   frames   copy     └─► wait: an exit code and the reason
//! ```
//! Both sources send the same frames as for pages, so the terminal shows the sentences of the page. Text from a cluster becomes a
//! part of a line only through [`plain`], and lines reach the terminal only through [`print`](crate::telemetry::print).

mod decide;
mod feed;
mod follower;
pub mod options;
mod origin;
mod picture;
mod server;
mod settle;
mod share;
mod trace;
mod wait;

use timeline::words::{clock, moment};

pub(super) use decide::UNREACHABLE_AFTER;
pub use origin::{cluster, file, page, path};
pub use share::share;
pub use trace::trace;
pub use wait::wait;

/// Converts a text to a part of one line.
fn plain(text: &str) -> String {
    timeline::words::visible(text).collect()
}
