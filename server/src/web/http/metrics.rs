//! `/metrics` in the text format of OpenMetrics. Counters end in `_total`, which the format adds to their names.

use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use timeline::fact::Kind;
use timeline::list::Group;
use timeline::wire::ConnectionState;
use timeline::{Millis, Workload};

use crate::history::Archive;
use crate::hub::{Handle, List, ListedDeployment, Series};
use crate::kube::{KindCounters, RelistReason};
use crate::web::client_view::ClientView;
use crate::web::limits::Limit;

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type PerCluster = (&'static str, &'static str, fn(&Handle) -> &AtomicU64);

const PER_CLUSTER: [PerCluster; 9] = [
    ("rollcast_list_requests", "Lists started at the API server.", |hub| &hub.sources.lists),
    ("rollcast_watch_requests", "Watches started at the API server.", |hub| &hub.sources.watches),
    ("rollcast_request_failures", "Lists and watches that failed.", |hub| &hub.sources.failures),
    ("rollcast_odd_objects", "Objects with missing or contradictory fields that were used in part.", |hub| {
        &hub.counters().odd
    }),
    ("rollcast_facts", "Facts applied to the timeline.", |hub| &hub.counters().facts),
    ("rollcast_changes", "Changes of the timeline that facts caused.", |hub| &hub.counters().changes),
    ("rollcast_frames_encoded", "Frames encoded for viewers, once for all viewers of a frame.", |hub| {
        &hub.counters().frames
    }),
    ("rollcast_frames_dropped", "Frames not sent to viewers that fell behind.", |hub| &hub.counters().dropped),
    (
        "rollcast_gaps",
        "Lists that ended a stretch of time in which their kind, Events apart, was not observed.",
        |hub| &hub.counters().gaps,
    ),
];

type PerKind = (&'static str, &'static str, fn(&KindCounters) -> &AtomicU64);

const PER_KIND: [PerKind; 3] = [
    ("rollcast_watch_events", "Watch events received.", |kind| &kind.events),
    ("rollcast_malformed_objects", "Objects skipped because they could not be decoded.", |kind| &kind.malformed),
    (
        "rollcast_watch_restarts",
        "Watches started again because the one before failed or its connection was lost.",
        |kind| &kind.restarts,
    ),
];

pub(super) async fn metrics(view: ClientView) -> Response {
    view.throttle().await; // there may be one histogram per Deployment
    let mut registry = Registry::default();
    let lists = join_all(view.hubs().map(|hub| view.list(hub))).await;
    registry.register_collector(Box::new(Figures { view, lists }));
    let mut told = String::new();
    match text::encode(&mut told, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, MEDIA_TYPE)], told).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(), // writing to a string cannot fail
    }
}

/// All metrics, read on each request.
struct Figures {
    view: ClientView,
    lists: Vec<List>,
}

impl Debug for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self { view, lists } = self;
        let rollcast = view.rollcast();
        for (name, help, read) in PER_CLUSTER {
            // They count what is in all namespaces.
            let count = |hub: &Handle| view.sees_all_of(hub.name()).then(|| counter(read(hub)));
            per_cluster(view, &mut encoder, name, help, count)?;
        }
        watches(view, &mut encoder)?;
        queues(view, &mut encoder)?;
        let is_stale = |hub: &Handle| matches!(hub.connection().borrow().state, ConnectionState::Stale { .. });
        let stale = |hub: &Handle| ConstGauge::new(i64::from(is_stale(hub)));
        let help = "Whether the cluster does not respond.";
        per_cluster(view, &mut encoder, "rollcast_cluster_stale", help, |hub| Some(stale(hub)))?;
        deployments(view, lists, &mut encoder)?;
        rollouts(view, &mut encoder)?;
        if !view.sees_all() {
            return Ok(());
        }
        let started = ConstGauge::new(rollcast.started_millis as f64 / 1_000.0);
        let (help, unit) = ("When the server started, in seconds since the epoch.", Unit::Seconds);
        let descriptor = encoder.encode_descriptor("rollcast_start_time", help, Some(&unit), started.metric_type())?;
        started.encode(descriptor)?;
        encode_figure(
            &mut encoder,
            "rollcast_viewers",
            "Viewers connected.",
            &ConstGauge::new(rollcast.viewers.count()),
        )?;
        if let Some(audit) = &rollcast.site.audit {
            let help = "Lines of the audit log that could not be written in time.";
            encode_figure(&mut encoder, "rollcast_audit_lost", help, &counter(&audit.lost))?;
        }
        let connections = ConstGauge::new(rollcast.connections.count());
        encode_figure(&mut encoder, "rollcast_connections", "Open connections.", &connections)?;
        if let Some(shares) = &rollcast.site.shares {
            let unchecked = ConstGauge::new(i64::from(shares.check_current().is_err()));
            let help = "Whether no share link works because the link database does not respond.";
            encode_figure(&mut encoder, "rollcast_links_unchecked", help, &unchecked)?;
        }
        encode_limits(view, &mut encoder)?;
        let lists = ConstGauge::new(rollcast.listings.count());
        encode_figure(&mut encoder, "rollcast_lists", "Different lists that viewers follow.", &lists)?;
        let help = "Viewers that fell behind and received a new snapshot.";
        encode_figure(&mut encoder, "rollcast_viewer_resyncs", help, &counter(&rollcast.resyncs))?;
        view.archive().map_or(Ok(()), |archive| history(&mut encoder, archive))
    }
}

/// Writes the figures of the watches of each kind, which count all namespaces.
fn watches(view: &ClientView, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let hubs: Vec<&Handle> = view.hubs().filter(|hub| view.sees_all_of(hub.name())).collect();
    for (name, help, read) in PER_KIND {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (hub, kind) in kinds(&hubs) {
            let labels = [("cluster", hub.name()), ("kind", kind.name())];
            counter(read(hub.sources.kind(kind))).encode(family.encode_family(&labels)?)?;
        }
    }
    let help = "Times that a kind was listed again.";
    let mut family = encoder.encode_descriptor("rollcast_relists", help, None, MetricType::Counter)?;
    for ((hub, kind), (reason, name)) in kinds(&hubs).flat_map(|known| RelistReason::ALL.map(|reason| (known, reason)))
    {
        let labels = [("cluster", hub.name()), ("kind", kind.name()), ("reason", name)];
        ConstCounter::new(hub.sources.kind(kind).relists(reason)).encode(family.encode_family(&labels)?)?;
    }
    let help = "Seconds from the arrival of an event to its being applied to the timeline.";
    let (name, unit) = ("rollcast_event_lag", Unit::Seconds);
    let mut family = encoder.encode_descriptor(name, help, Some(&unit), MetricType::Histogram)?;
    for (hub, kind) in kinds(&hubs) {
        let labels = [("cluster", hub.name()), ("kind", kind.name())];
        hub.counters().lags.get(kind).histogram.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn kinds<'h>(hubs: &[&'h Handle]) -> impl Iterator<Item = (&'h Handle, Kind)> {
    hubs.iter().flat_map(|hub| Kind::ALL.map(|kind| (*hub, kind)))
}

/// Writes the figures of the queues in front of the hubs, and for how long clusters have not responded. Recordings have
/// neither.
fn queues(view: &ClientView, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let started = |hub: &Handle| hub.sources.started_millis().filter(|_| view.sees_all_of(hub.name()));
    let queue = |hub: &Handle| hub.queue().filter(|_| started(hub).is_some());
    let help = "Events that wait to be applied; a full queue slows the watches down.";
    per_cluster(view, encoder, "rollcast_queue_events", help, |hub| Some(ConstGauge::new(queue(hub)?.0)))?;
    let help = "Events that fit into the queue.";
    per_cluster(view, encoder, "rollcast_queue_capacity_events", help, |hub| Some(ConstGauge::new(queue(hub)?.1)))?;
    let silence = |hub: &Handle| {
        let started_millis = started(hub)?;
        let heard_millis = hub.sources.heard_millis().unwrap_or(started_millis);
        Some(ConstGauge::new((hub.now_millis() - heard_millis).max(0) as f64 / 1_000.0))
    };
    let help = "Seconds since the cluster last responded, or since Rollcast began to ask.";
    per_cluster(view, encoder, "rollcast_cluster_silence_seconds", help, silence)
}

fn deployments(view: &ClientView, lists: &[List], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Deployments by state: trouble, moving or stable.";
    let mut family = encoder.encode_descriptor("rollcast_deployments", help, None, MetricType::Gauge)?;
    for (hub, list) in view.hubs().zip(lists) {
        for group in [Group::InTrouble, Group::InProgress, Group::Stable] {
            let is_of = |listed: &ListedDeployment| Group::of(&listed.summary, Millis::MAX) == group;
            let count = list.iter().filter(|listed| is_of(listed)).count();
            let labels = [("cluster", hub.name()), ("state", group.name())];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_limits(view: &ClientView, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Times that a limit was reached and something was rejected, delayed or left out.";
    let mut family = encoder.encode_descriptor("rollcast_limited", help, None, MetricType::Counter)?;
    for (limit, name) in Limit::ALL {
        let count = ConstCounter::new(view.rollcast().limits.count(limit));
        count.encode(family.encode_family(&[("limit", name)])?)?;
    }
    Ok(())
}

fn rollouts(view: &ClientView, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Seconds from the start of a rollout (Recreate: of its take-down) to its end or progress deadline; only rollouts whose start and end were observed, and that were not scaled to zero.";
    let (name, unit) = ("rollcast_rollout_duration", Unit::Seconds);
    let mut family = encoder.encode_descriptor(name, help, Some(&unit), MetricType::Histogram)?;
    for hub in view.hubs() {
        let all = hub.counters().rollouts.series();
        let is_seen = |(series, _): &(Series, _)| {
            view.can_see(&Workload::deployment(hub.name(), series.namespace.as_str(), series.deployment.as_str()))
        };
        for (series, histogram) in all.into_iter().filter(is_seen) {
            let Series { namespace, deployment, outcome } = &series;
            let labels =
                [("cluster", hub.name()), ("namespace", namespace), ("deployment", deployment), ("outcome", outcome)];
            histogram.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn history(encoder: &mut DescriptorEncoder<'_>, archive: &Archive) -> fmt::Result {
    let counters = &archive.counters;
    for (name, help, count) in [
        ("rollcast_history_commits", "Commits to the history database.", &counters.commits),
        (
            "rollcast_history_failures",
            "Failed commits to the history database, and failed attempts to open it.",
            &counters.failures,
        ),
        (
            "rollcast_history_written_bytes",
            "Compressed bytes of observations written to the history database.",
            &counters.bytes,
        ),
        ("rollcast_history_missed", "Times that observations were left out of the history.", &counters.missed),
    ] {
        encode_figure(encoder, name, help, &counter(count))?;
    }
    let is_failing = archive.unwritten.borrow().is_some();
    let help = "Whether history cannot be written right now.";
    encode_figure(encoder, "rollcast_history_failing", help, &ConstGauge::new(i64::from(is_failing)))
}

fn counter(count: &AtomicU64) -> ConstCounter<u64> {
    ConstCounter::new(count.load(Ordering::Relaxed))
}

/// Writes a figure of each cluster that has one for this viewer.
fn per_cluster<M: EncodeMetric>(
    view: &ClientView,
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    read: impl Fn(&Handle) -> Option<M>,
) -> fmt::Result {
    let figures: Vec<(&str, M)> = view.hubs().filter_map(|hub| Some((hub.name(), read(hub)?))).collect();
    let Some((_, first)) = figures.first() else { return Ok(()) };
    let mut family = encoder.encode_descriptor(name, help, None, first.metric_type())?;
    for (cluster, figure) in &figures {
        figure.encode(family.encode_family(&[("cluster", *cluster)])?)?;
    }
    Ok(())
}

fn encode_figure(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    figure: &impl EncodeMetric,
) -> fmt::Result {
    figure.encode(encoder.encode_descriptor(name, help, None, figure.metric_type())?)
}
