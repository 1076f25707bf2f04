//! What tests of live sources share: a fake API server, its objects, and a hub that watches it.

mod fake_api;
mod objects;
mod watched;

pub use fake_api::{EXPIRED, FakeApi, Fault, Verb, WATCHED, added, initial_end};
pub use objects::{deployment, pod, replica_set, shop, shop_of, uid};
pub use watched::{Watched, impatient, is_stale, quick, until_connection, until_live, until_stale, watched_shop};

/// What of a file can be read as it stands: without what is packed, in which any letters may come side by side.
pub fn readable(html: &str) -> String {
    let mut parts = html.split("type=\"application/octet-stream\">");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |read, part| read + part.split_once("</script>").map_or("", |(_, rest)| rest))
}
