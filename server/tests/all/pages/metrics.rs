//! `/metrics`, read as a scraper reads it.

use axum::http::{Request, header};
use server::web::limits::Limit;
use timeline::fact::Kind;

use crate::common;
use crate::pages::site::{fetch, held, send, text_of};

/// Name of the family, its type, and its sample.
const FAMILIES: [(&str, &str, &str); 15] = [
    ("rollcast_list_requests", "counter", "rollcast_list_requests_total"),
    ("rollcast_watch_requests", "counter", "rollcast_watch_requests_total"),
    ("rollcast_request_failures", "counter", "rollcast_request_failures_total"),
    ("rollcast_odd_objects", "counter", "rollcast_odd_objects_total"),
    ("rollcast_facts", "counter", "rollcast_facts_total"),
    ("rollcast_changes", "counter", "rollcast_changes_total"),
    ("rollcast_frames_encoded", "counter", "rollcast_frames_encoded_total"),
    ("rollcast_frames_dropped", "counter", "rollcast_frames_dropped_total"),
    ("rollcast_gaps", "counter", "rollcast_gaps_total"),
    ("rollcast_cluster_stale", "gauge", "rollcast_cluster_stale"),
    ("rollcast_start_time_seconds", "gauge", "rollcast_start_time_seconds"),
    ("rollcast_viewers", "gauge", "rollcast_viewers"),
    ("rollcast_connections", "gauge", "rollcast_connections"),
    ("rollcast_lists", "gauge", "rollcast_lists"),
    ("rollcast_viewer_resyncs", "counter", "rollcast_viewer_resyncs_total"),
];

/// Families with a sample for each kind.
const PER_KIND: [&str; 5] = [
    "rollcast_watch_events",
    "rollcast_malformed_objects",
    "rollcast_watch_restarts",
    "rollcast_relists",
    "rollcast_event_lag_seconds",
];

#[tokio::test]
async fn every_figure_has_its_type_and_names_of_clusters_are_escaped() {
    let (_, recording) = common::recordings().into_iter().next().unwrap();
    let rollcast = held("a\"b\\c\nd", &recording).await;
    let response = send(&rollcast, None, Request::get("/metrics"), ()).await;
    let media_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    assert_eq!(media_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = text_of(response).await;
    // Those with a name for each sample are looked at by themselves.
    let apart = ["rollcast_deployments", "rollcast_rollout_", "rollcast_limited", "kind=\"", "# UNIT"];
    let apart = apart.into_iter().chain(PER_KIND);
    let mut lines = text.lines().filter(|line| !apart.clone().any(|family| line.contains(family)));
    for (family, kind) in PER_KIND.into_iter().flat_map(|family| Kind::ALL.map(|kind| (family, kind.name()))) {
        let labels = format!(r#"{{cluster="a\"b\\c\nd",kind="{kind}""#);
        assert!(text.lines().any(|line| line.starts_with(family) && line.contains(&labels)), "{family} {kind}");
    }
    for (limit, name) in Limit::ALL {
        assert!(text.contains(&format!("rollcast_limited_total{{limit=\"{name}\"}} 0\n")), "{limit:?}");
    }
    for (family, kind, sample) in FAMILIES {
        let help = lines.next().unwrap();
        assert!(help.starts_with(&format!("# HELP {family} ")) && help.ends_with('.'), "{help}");
        assert_eq!(lines.next(), Some(format!("# TYPE {family} {kind}").as_str()));
        let (name, value) = lines.next().unwrap().rsplit_once(' ').unwrap();
        let of_cluster = format!(r#"{sample}{{cluster="a\"b\\c\nd"}}"#);
        let is_of_server = ["rollcast_viewer", "rollcast_connections", "rollcast_lists", "rollcast_start_time"]
            .iter()
            .any(|of| family.starts_with(of));
        assert_eq!(name, if is_of_server { sample } else { of_cluster.as_str() });
        let value: f64 = value.parse().unwrap();
        assert!(value > 0.0 || !matches!(family, "rollcast_facts" | "rollcast_changes"), "{family} is {value}");
    }
    assert_eq!((lines.next(), lines.next()), (Some("# EOF"), None));
}

/// Every rollout of every recording that ended is counted once, with the time that it took.
#[tokio::test]
async fn how_long_rollouts_took_and_how_they_ended_is_counted() {
    let mut ended = 0;
    for (name, recording) in common::recordings() {
        let timeline = server::feed::recording::Recording::read(&recording).play();
        let text = fetch(&held(&name, &recording).await, "/metrics").await.text;
        let (mut expected, mut seconds) = (std::collections::BTreeMap::<String, u64>::new(), 0.0);
        for deployment in timeline.model().deployments.values() {
            let mut count = |outcome: &str, started: Option<i64>, at: Option<i64>| {
                let Some((started, at)) = started.zip(at) else { return };
                let labels = format!(
                    r#"cluster="{name}",namespace="{}",deployment="{}",outcome="{outcome}""#,
                    deployment.namespace, deployment.name
                );
                *expected.entry(format!("rollcast_rollout_duration_seconds_count{{{labels}}}")).or_default() += 1;
                seconds += (at - started) as f64 / 1_000.0;
                ended += 1;
            };
            let began = |of| timeline::rollout::began_millis(timeline.model(), deployment, of);
            for rollout in &deployment.rollouts {
                count("complete", began(rollout), rollout.completed_millis);
                count("superseded", began(rollout), rollout.superseded_millis);
                count("deadline-passed", began(rollout), rollout.deadline_exceeded_millis);
            }
            let last = deployment.rollouts.last().filter(|rollout| rollout.is_open());
            count("deleted", last.and_then(began), deployment.deleted_millis);
        }
        let of = |kind: &str| -> Vec<(String, String)> {
            let name = format!("rollcast_rollout_duration_seconds_{kind}{{");
            let lines = text.lines().filter(|line| line.starts_with(&name)).filter_map(|line| line.rsplit_once(' '));
            lines.map(|(series, value)| (series.to_owned(), value.to_owned())).collect()
        };
        let counted = of("count").into_iter().map(|(series, count)| (series, count.parse().unwrap())).collect();
        assert_eq!(expected, counted, "{name}");
        let sum: f64 = of("sum").iter().map(|(_, sum)| sum.parse::<f64>().unwrap()).sum();
        assert!((sum - seconds).abs() < 0.01, "{name}: {sum} {seconds}");
    }
    assert!(ended > 40, "{ended}");
}

#[tokio::test]
async fn the_dashboard_asks_for_figures_that_exist() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/chart/files/grafana-dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let recording = common::recording("rollout");
    let text = fetch(&held("c", &recording).await, "/metrics").await.text;
    let panels = dashboard["panels"].as_array().unwrap();
    let mut asked = 0;
    for panel in panels {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            let names = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for name in names.filter(|name| name.starts_with("rollcast_") && !name.starts_with("rollcast_history_")) {
                let is_there =
                    |line: &str| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "));
                assert!(text.lines().any(is_there), "{}: {name}", panel["title"]);
                asked += 1;
            }
            // The first rollout of a Deployment is the begin of a series, which `increase` alone does not count.
            let count = |text: &str| expression.matches(text).count();
            let counted = count("(increase(rollcast_rollout_") + count("rate(rollcast_rollout_");
            assert_eq!(counted, count("or max_over_time(rollcast_rollout_"), "{expression}");
            // A scrape that failed before the time of the panel does not make a series a new one.
            assert_eq!(counted, count("and last_over_time(rollcast_rollout_"), "{expression}");
        }
    }
    assert!(asked >= 6, "{asked}");
    let panel = |title: &str| panels.iter().find(|panel| panel["title"] == title).unwrap();
    // A Deployment without a rollout in that time is no row: zero divided by zero is not a number.
    let slowest = panel("Slowest Deployments, on average")["targets"][0]["expr"].as_str().unwrap();
    let (_, divisor) = slowest.split_once(" / ").unwrap();
    assert!(divisor.starts_with("(sum by (") && divisor.ends_with(" > 0))"), "{divisor}");
    // Each bar counts at least four scrapes: bars that are nearer to each other would count one rollout several times.
    assert_eq!(panel("Rollouts by how they ended")["interval"], "5m");
}
