//! Connection and watches of each cluster: the content of the status page and of `/api/v1/status`.

use std::collections::BTreeMap;

use serde::Serialize;
use timeline::Millis;
use timeline::fact::Kind;
use timeline::wire::{Connection, ConnectionState};
use timeline::words::{self, sentence_end};

use crate::connection::{cluster_unreachable, forbidden, loading, progress, state_words, unwritten};

/// State of a cluster's connection, as every response of the API has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    /// "connecting", "live", "stale" or "recording".
    pub state: &'static str,
    /// When the connection entered the state; of a stale one, when the cluster last responded. `None` for a recording.
    pub since_millis: Option<Millis>,
    /// The error of a stale connection, in a sentence; else empty.
    pub why: String,
}

impl ConnectionStatus {
    /// Creates the state of a connection that entered it at that time.
    pub fn new(connection: &Connection, entered_millis: Millis) -> Self {
        let of = |state, since_millis| Self { state, since_millis, why: String::new() };
        match &connection.state {
            ConnectionState::Connecting => of("connecting", Some(entered_millis)),
            ConnectionState::Live => of("live", Some(entered_millis)),
            ConnectionState::Stale { since_millis, why, .. } => {
                Self { why: sentence_end(why), ..of("stale", Some(*since_millis)) }
            }
            ConnectionState::Replay { .. } => of("recording", None),
            ConnectionState::Unknown | ConnectionState::OtherNamespaces => of("unwatched", None),
        }
    }
}

/// State of a server, as a viewer may see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusPayload {
    /// The visible clusters, by name.
    pub clusters: Vec<ClusterStatus>,
    /// Errors: a cluster does not report the viewer's permissions, or a restart is needed; empty otherwise.
    pub trouble: String,
    /// Figures of the whole server, for viewers who see everything.
    pub server: Option<ServerStatus>,
}

impl StatusPayload {
    /// Returns the time of the only visible cluster: a playground's may be ahead of this machine's clock. `None` for several clusters, and
    /// for a recording, whose time is past.
    pub fn cluster_millis(&self) -> Option<Millis> {
        match self.clusters.as_slice() {
            [cluster] if cluster.connection.state != "recording" => Some(cluster.now_millis),
            _ => None,
        }
    }
}

/// Figures of the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Viewers connected.
    pub viewers: u64,
    /// Viewers that fell behind and received a new snapshot.
    pub viewer_resyncs: u64,
    /// Number of times that observations were not written to the history; `None` if nothing is stored.
    pub history_missed: Option<u64>,
}

/// State of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Name of the cluster.
    pub name: String,
    /// State of the connection.
    pub connection: ConnectionStatus,
    /// The state in words, as the pages' headers have it.
    pub words: String,
    /// Problems, and what to do about them, as the pages' notices have them.
    pub advice: Vec<String>,
    /// The cluster's time, to which all its times refer.
    pub now_millis: Millis,
    /// Figures of all namespaces together, for viewers who see all of the cluster.
    pub figures: Option<ClusterFigures>,
    /// The watched kinds; empty for a recording.
    pub kinds: Vec<KindStatus>,
}

/// Figures of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFigures {
    /// Host and port of the API server; `None` before there are credentials, and for a recording.
    pub address: Option<String>,
    /// When the cluster last responded; `None` before the first response, and for a recording.
    pub heard_millis: Option<Millis>,
    /// Events that wait to be applied; `None` for a recording.
    pub queued: Option<usize>,
    /// Events that fit into the queue; a full queue slows the watches down, and drops nothing.
    pub queue_capacity: Option<usize>,
    /// Lists that ended a gap: a time in which their kind (not Events) was not observed.
    pub gaps: u64,
    /// Frames that viewers who fell behind did not receive.
    pub frames_dropped: u64,
}

/// State of the watches of one kind, in the visible namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindStatus {
    /// The kind: "Deployment".
    pub kind: Kind,
    /// "connecting", "live", "stale" or "forbidden": the worst of its watches.
    pub state: &'static str,
    /// Last observation of a stale one.
    pub since_millis: Option<Millis>,
    /// The error of a stale one, in a sentence; else empty.
    pub why: String,
    /// "granted", "list refused", "watch refused", or "unknown" while the API server has not said.
    pub permission: &'static str,
    /// Figures of all namespaces together, for viewers who see all of the cluster.
    pub figures: Option<KindFigures>,
}

/// Figures of the watches of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindFigures {
    /// Arrival of the last watch event.
    pub last_event_millis: Option<Millis>,
    /// Time from the arrival of the last applied event until it was applied to the timeline.
    pub lag_millis: Option<Millis>,
    /// Watch events received.
    pub events: u64,
    /// Watches started again because the one before failed or its connection was lost.
    pub restarts: u64,
    /// Number of new lists of the kind, by reason; reasons that never applied are left out.
    pub relists: BTreeMap<&'static str, u64>,
    /// Objects that could not be decoded and were skipped.
    pub skipped: u64,
}

/// Returns the state of a connection in words, and its problems with what to do about them. `stamp` formats times.
pub fn state_and_problems(
    cluster: &str,
    connection: &Connection,
    stamp: &dyn Fn(Millis) -> String,
) -> (String, Vec<String>) {
    let trouble = cluster_unreachable(cluster, connection, false, stamp).or_else(|| loading(cluster, connection));
    let trouble = trouble.map(|said| format!("{said} {} {CHECK}", progress(connection, stamp)));
    let forbidden = Some(forbidden(connection)).filter(|said| !said.is_empty());
    (state_words(connection, stamp), [trouble, forbidden, unwritten(connection, stamp)].into_iter().flatten().collect())
}

/// Advice for a cluster that does not respond.
const CHECK: &str = "If this takes long, run `rollcast check`.";

impl ClusterStatus {
    /// Formats an age: "12 s ago"; a dash for `None`.
    pub fn ago(&self, at_millis: Option<Millis>) -> String {
        let ago = |at_millis| format!("{} ago", words::age(self.now_millis - at_millis));
        at_millis.map_or_else(|| NOTHING.to_owned(), ago)
    }
}

/// Placeholder of a missing figure.
pub const NOTHING: &str = "\u{2013}";

impl KindStatus {
    /// Formats the state: "Live", or "Stale for 12 s: the connection was lost.".
    pub fn words(&self, now_millis: Millis) -> String {
        let state = words::capitalized(self.state.to_owned());
        match self.since_millis {
            Some(since_millis) => format!("{state} for {}: {}", words::age(now_millis - since_millis), self.why),
            None => state,
        }
    }
}

impl KindFigures {
    /// Formats why the kind was listed again: "2 expired, 1 failed".
    pub fn relisted(&self) -> String {
        let counted = self.relists.iter().map(|(reason, count)| format!("{count} {reason}"));
        let counted = counted.collect::<Vec<_>>().join(", ");
        if counted.is_empty() { "0".to_owned() } else { counted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_one_shape() {
        let stale = ConnectionState::Stale { since_millis: 5, retry_at_millis: None, why: "refused".into() };
        for (state, told) in [
            (ConnectionState::Connecting, ("connecting", Some(7), "")),
            (ConnectionState::Live, ("live", Some(7), "")),
            (stale, ("stale", Some(5), "refused.")),
            (ConnectionState::Replay { name: "a".into() }, ("recording", None, "")),
        ] {
            let (state, since_millis, why) =
                (ConnectionStatus::new(&Connection { state, ..Connection::default() }, 7), told.1, told.2.to_owned());
            assert_eq!(state, ConnectionStatus { state: told.0, since_millis, why });
        }
    }

    #[test]
    fn one_cluster_tells_the_time() {
        let cluster = |state| ClusterStatus {
            name: "a".to_owned(),
            connection: ConnectionStatus::new(&Connection { state, ..Connection::default() }, 7),
            words: String::new(),
            advice: Vec::new(),
            now_millis: 60_000,
            figures: None,
            kinds: Vec::new(),
        };
        let told = |states: Vec<ConnectionState>| {
            let clusters = states.into_iter().map(cluster).collect();
            StatusPayload { clusters, ..StatusPayload::default() }.cluster_millis()
        };
        assert_eq!(told(vec![ConnectionState::Live]), Some(60_000));
        assert_eq!(told(vec![ConnectionState::Live, ConnectionState::Live]), None);
        assert_eq!(told(vec![ConnectionState::Replay { name: "r".into() }]), None);
    }

    #[test]
    fn a_problem_says_what_to_do() {
        let state = ConnectionState::Stale { since_millis: 0, retry_at_millis: None, why: "refused".into() };
        let connection = Connection { state, ..Connection::default() };
        let (words, advice) = state_and_problems("prod", &connection, &|at| format!("at {at}"));
        assert_eq!(words, "Stale since at 0");
        assert_eq!(
            advice,
            ["Cluster “prod” unreachable since at 0: refused. Trying again. If this takes long, run `rollcast check`."]
        );
        assert_eq!(
            state_and_problems("prod", &Connection::default(), &|_| String::new()),
            ("Connecting".to_owned(), Vec::new())
        );
    }
}
