//! What tests of lists and of the wall are about, made by hand.

use timeline::frame::{Connection, ConnectionState};
use timeline::list::ClusterState;

/// A cluster, and how it is reached.
pub fn cluster(name: &str, state: ConnectionState) -> ClusterState {
    ClusterState {
        name: name.into(),
        accent: 0,
        connection: Connection { state, ..Connection::default() },
        now_millis: 0,
    }
}
