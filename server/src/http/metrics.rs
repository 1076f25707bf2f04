//! `/metrics` in Prometheus' text format. Names follow `rollcast_<what>_total` for counters.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use timeline::wire::ConnectionState;

use crate::hub::Handle;
use crate::state::Rollcast;

type PerCluster = (&'static str, &'static str, fn(&Handle) -> &AtomicU64);

const PER_CLUSTER: [PerCluster; 9] = [
    ("rollcast_list_requests_total", "Lists started at the API server.", |hub| &hub.sources().lists),
    ("rollcast_watch_requests_total", "Watches started at the API server.", |hub| &hub.sources().watches),
    ("rollcast_request_failures_total", "Lists and watches that failed.", |hub| &hub.sources().failures),
    ("rollcast_watch_events_total", "Watch events received.", |hub| &hub.sources().events),
    ("rollcast_malformed_objects_total", "Objects skipped because they could not be decoded.", |hub| {
        &hub.sources().malformed
    }),
    ("rollcast_odd_objects_total", "Objects with missing or contradictory fields, used as far as they go.", |hub| {
        &hub.counters().odd
    }),
    ("rollcast_facts_total", "Facts applied to the timeline.", |hub| &hub.counters().facts),
    ("rollcast_changes_total", "Changes that facts made.", |hub| &hub.counters().changes),
    ("rollcast_frames_encoded_total", "Frames encoded for viewers, each once.", |hub| &hub.counters().frames),
];

pub(super) async fn metrics(State(rollcast): State<Arc<Rollcast>>) -> impl IntoResponse {
    let mut text = String::new();
    for (name, help, read) in PER_CLUSTER {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for hub in rollcast.clusters.values() {
            let _ = writeln!(text, "{name}{{cluster=\"{}\"}} {}", label(hub.name()), read(hub).load(Ordering::Relaxed));
        }
    }
    let _ = writeln!(
        text,
        "# HELP rollcast_cluster_stale Whether there is no word from the cluster.\n# TYPE rollcast_cluster_stale gauge"
    );
    for hub in rollcast.clusters.values() {
        let stale = matches!(hub.connection().borrow().state, ConnectionState::Stale { .. });
        let _ = writeln!(text, "rollcast_cluster_stale{{cluster=\"{}\"}} {}", label(hub.name()), u8::from(stale));
    }
    let viewers = rollcast.viewers.count();
    let _ = writeln!(
        text,
        "# HELP rollcast_viewers Viewers connected.\n# TYPE rollcast_viewers gauge\nrollcast_viewers {viewers}"
    );
    let resyncs = rollcast.resyncs.load(Ordering::Relaxed);
    let name = "rollcast_viewer_resyncs_total";
    let _ = writeln!(
        text,
        "# HELP {name} Viewers that lagged and were given a fresh snapshot.\n# TYPE {name} counter\n{name} {resyncs}"
    );
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
