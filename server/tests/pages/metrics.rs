//! `/metrics`, read as a scraper reads it.

use axum::body::Body;
use axum::http::{Request, header};
use server::http::router;
use tower::ServiceExt;

use crate::common;
use crate::site::held;

/// Name of the family, its type, and its sample.
const FAMILIES: [(&str, &str, &str); 12] = [
    ("rollcast_list_requests", "counter", "rollcast_list_requests_total"),
    ("rollcast_watch_requests", "counter", "rollcast_watch_requests_total"),
    ("rollcast_request_failures", "counter", "rollcast_request_failures_total"),
    ("rollcast_watch_events", "counter", "rollcast_watch_events_total"),
    ("rollcast_malformed_objects", "counter", "rollcast_malformed_objects_total"),
    ("rollcast_odd_objects", "counter", "rollcast_odd_objects_total"),
    ("rollcast_facts", "counter", "rollcast_facts_total"),
    ("rollcast_changes", "counter", "rollcast_changes_total"),
    ("rollcast_frames_encoded", "counter", "rollcast_frames_encoded_total"),
    ("rollcast_cluster_stale", "gauge", "rollcast_cluster_stale"),
    ("rollcast_viewers", "gauge", "rollcast_viewers"),
    ("rollcast_viewer_resyncs", "counter", "rollcast_viewer_resyncs_total"),
];

#[tokio::test]
async fn every_figure_has_its_type_and_names_of_clusters_are_escaped() {
    let (_, recording) = common::recordings().into_iter().next().unwrap();
    let rollcast = held("a\"b\\c\nd", &recording).await;
    let request = Request::get("/metrics").header("host", "localhost").body(Body::empty()).unwrap();
    let response = router(rollcast.clone()).oneshot(request).await.unwrap();
    let media_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    assert_eq!(media_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut lines = text.lines();
    for (family, kind, sample) in FAMILIES {
        let help = lines.next().unwrap();
        assert!(help.starts_with(&format!("# HELP {family} ")) && help.ends_with('.'), "{help}");
        assert_eq!(lines.next(), Some(format!("# TYPE {family} {kind}").as_str()));
        let (name, value) = lines.next().unwrap().rsplit_once(' ').unwrap();
        let of_cluster = format!(r#"{sample}{{cluster="a\"b\\c\nd"}}"#);
        let is_of_server = family.starts_with("rollcast_viewer");
        assert_eq!(name, if is_of_server { sample } else { of_cluster.as_str() });
        let value: u64 = value.parse().unwrap();
        assert!(value > 0 || !matches!(family, "rollcast_facts" | "rollcast_changes"), "{family} is {value}");
    }
    assert_eq!((lines.next(), lines.next()), (Some("# EOF"), None));
}
