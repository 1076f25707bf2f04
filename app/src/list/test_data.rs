//! Hand-made data for the tests of lists and of the wall.

use timeline::list::ClusterState;
use timeline::verdict::KubectlVerdict;
use timeline::view::{LAYERS, Lately, Summary, Tone, Verdict};
use timeline::wire::{Connection, ConnectionState};

/// A cluster, and how it is reached.
pub fn cluster(name: &str, state: ConnectionState) -> ClusterState {
    ClusterState {
        name: name.into(),
        accent: 0,
        connection: Connection { state, ..Connection::default() },
        now_millis: 0,
    }
}

/// Deployment `web`, of which nothing but the tone is said.
pub fn summary(tone: Tone) -> Summary {
    Summary {
        uid: timeline::Uid::from_bits(1),
        namespace: "shop".into(),
        name: "web".into(),
        revision: Some(2),
        replaces: None,
        images: "web:v2".into(),
        verdict: Verdict {
            badge: String::new(),
            tone,
            sentence: String::new(),
            why: String::new(),
            kubectl: KubectlVerdict::Complete,
        },
        next: String::new(),
        pods: [0; LAYERS],
        desired: 0,
        lately: Lately::default(),
        since_millis: 0,
        finished_millis: None,
    }
}
