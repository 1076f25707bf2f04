//! Test data for lists and for the wall.

use leptos::prelude::Owner;
use timeline::list::{ClusterState, ListCopy, ListDelta, Overall, Row, RowDelta};
use timeline::verdict::KubectlVerdict;
use timeline::view::{Summary, Tone, Verdict};
use timeline::wire::{Connection, ConnectionState};

use crate::zone::Zone;

/// Returns the zone of a page in UTC, and the owner that disposes it.
pub fn zone() -> (Owner, Zone) {
    let owner = Owner::new();
    owner.set();
    (owner, Zone::of_page())
}

/// Returns a cluster with the state of its connection.
pub fn cluster(name: &str, state: ConnectionState) -> ClusterState {
    ClusterState {
        name: name.into(),
        accent: 0,
        connection: Connection { state, ..Connection::default() },
        now_millis: 0,
        has_deployments: false,
    }
}

/// Returns a summary of Deployment `web` with only a tone.
pub fn summary(tone: Tone) -> Summary {
    Summary {
        uid: timeline::Uid::from_bits(1),
        namespace: "shop".into(),
        name: "web".into(),
        revision: Some(2),
        images: "web:v2".into(),
        verdict: Verdict { tone, kubectl: KubectlVerdict::Complete, ..Verdict::default() },
        ..Summary::default()
    }
}

/// Returns a list with all rows known.
pub fn copy(overall: Overall, rows: &[Row]) -> ListCopy {
    let lines = (0..).zip(rows).map(|(id, row)| (id, RowDelta::Whole(Box::new(row.clone())))).collect();
    let order = Some((0, (0..rows.len() as u32).collect()));
    let mut copy = ListCopy::default();
    copy.take(ListDelta { is_anew: true, now_millis: Vec::new(), overall: Some(overall), order, lines });
    copy
}
