//! How clusters are reached and watched, as `/api/v1/status`, the status page, `/metrics` and `/readyz` tell it.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use server::hub::Handle;
use server::kube::SourceEvent;
use server::web::state::{Rollcast, Site};
use timeline::Retention;

use crate::common::until::until;
use crate::live::program::{Serving, get, kubeconfig};
use crate::live::support::{
    FakeApi, Fault, Verb, Watched, impatient, is_stale, pod, shop, until_connection, until_live, watched_shop,
};
use crate::pages::api::assert_described;
use crate::pages::site::{fetch, site_of};

fn site(watched: &Watched) -> Arc<Rollcast> {
    Rollcast::new(vec![watched.hub.clone()], "build", watched.viewers.clone(), Site::default())
}

async fn json(rollcast: &Arc<Rollcast>, path: &str) -> Value {
    serde_json::from_str(&fetch(rollcast, path).await.text).unwrap()
}

/// The state of the only cluster, as described.
async fn status(rollcast: &Arc<Rollcast>) -> Value {
    let status = json(rollcast, "/api/v1/status").await;
    let description = json(rollcast, "/api/v1/openapi.json").await;
    assert_described(&description, "/api/v1/status", StatusCode::OK, &status);
    status["clusters"][0].clone()
}

fn kind<'s>(cluster: &'s Value, name: &str) -> &'s Value {
    cluster["kinds"].as_array().unwrap().iter().find(|kind| kind["kind"] == name).unwrap()
}

/// The value of a sample.
async fn sample(rollcast: &Arc<Rollcast>, series: &str) -> f64 {
    let text = fetch(rollcast, "/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("no {series}"));
    line.trim().parse().unwrap()
}

#[tokio::test]
async fn a_cluster_that_is_well_has_every_figure() {
    let (api, watched) = watched_shop(|_| {}).await;
    until_live(&watched.hub).await;
    let rollcast = site(&watched);
    until("watched", async || api.requests(Verb::Watch, "pods") > 0).await;
    api.put(pod(12, 2, "web-c"));
    watched.until_pods(&["web-a", "web-b", "web-c"]).await;
    let cluster = status(&rollcast).await;
    assert_eq!((&cluster["connection"]["state"], &cluster["words"]), (&json!("live"), &json!("Live")));
    assert!(cluster["connection"]["sinceMillis"].as_i64().unwrap() <= cluster["nowMillis"].as_i64().unwrap());
    assert_eq!((&cluster["advice"], &cluster["figures"]["queued"]), (&json!([]), &json!(0)));
    let pods = kind(&cluster, "Pod");
    assert_eq!((&pods["state"], &pods["permission"]), (&json!("live"), &json!("granted")));
    let figures = &pods["figures"];
    assert!(figures["lastEventMillis"].is_i64() && figures["lagMillis"].is_i64(), "{figures}");
    assert!(figures["events"].as_u64().unwrap() >= 1 && figures["skipped"] == 0, "{figures}");
    assert!(sample(&rollcast, r#"rollcast_event_lag_seconds_count{cluster="fake",kind="Pod"}"#).await >= 1.0);
    let page = fetch(&rollcast, "/status").await;
    assert_eq!(page.status, StatusCode::OK);
    for words in ["Pods", "ReplicaSets", "Granted", "0 of 1,024 events wait", "<span class=\"chip live\">Live</span>"] {
        assert!(page.text.contains(words), "{words}");
    }
    assert!(page.text.contains("New lists of the kind, by reason. Expired: "), "{}", page.text);
}

#[tokio::test]
async fn a_forbidden_kind_is_said_with_the_permission_to_ask_for() {
    let api = shop().await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "events", Some(Fault::Status(403)));
    }
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a", "web-b"]).await;
    until_connection(&watched.hub, "forbidden", |now| !now.forbidden.is_empty() && now.state.is_live()).await;
    let rollcast = site(&watched);
    let cluster = status(&rollcast).await;
    let events = kind(&cluster, "Event");
    assert_eq!((&events["state"], &events["permission"]), (&json!("forbidden"), &json!("list refused")));
    assert_eq!(kind(&cluster, "Pod")["permission"], "granted");
    const ADVICE: &str =
        "Rollcast has no permission to list events in all namespaces. Ask for list and watch on events.";
    assert!(cluster["advice"][0].as_str().unwrap().starts_with(ADVICE), "{cluster}");
    let page = fetch(&rollcast, "/status").await.text;
    assert!(page.contains(ADVICE) && page.contains("List refused"), "{page}");
    assert!(sample(&rollcast, r#"rollcast_request_failures_total{cluster="fake"}"#).await >= 1.0);
}

#[tokio::test]
async fn a_silent_cluster_is_said_everywhere_with_its_last_response() {
    let (api, watched) = watched_shop(impatient).await;
    until_live(&watched.hub).await;
    let rollcast = site(&watched);
    assert!(fetch(&rollcast, "/readyz").await.status == StatusCode::OK);
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    until_connection(&watched.hub, "silent", |now| is_stale(now, "does not respond")).await;
    // A watch that was lost may have heard the cluster before the probe did.
    until("watches are started again", async || {
        let cluster = status(&rollcast).await;
        cluster["kinds"].as_array().unwrap().iter().all(|kind| kind["figures"]["restarts"] != 0)
    })
    .await;
    let cluster = status(&rollcast).await;
    let connection = &cluster["connection"];
    assert_eq!(
        (&connection["state"], &connection["why"]),
        (&json!("stale"), &json!("the API server does not respond."))
    );
    let since = connection["sinceMillis"].as_i64().unwrap();
    assert!(since < cluster["nowMillis"].as_i64().unwrap(), "{cluster}");
    let advice = cluster["advice"][0].as_str().unwrap();
    assert!(advice.contains("unreachable since") && advice.contains("run `rollcast check`"), "{advice}");
    let page = fetch(&rollcast, "/status").await.text;
    assert!(page.contains("Cluster “fake” unreachable since") && page.contains("chip stale"), "{page}");
    until("silence is measured", async || {
        sample(&rollcast, r#"rollcast_cluster_silence_seconds{cluster="fake"}"#).await >= 0.2
    })
    .await;
    assert!(sample(&rollcast, r#"rollcast_watch_restarts_total{cluster="fake",kind="Pod"}"#).await >= 1.0);
    // Every answer has the same.
    let list = json(&rollcast, "/api/v1/deployments").await;
    assert_eq!(list["clusters"][0]["connection"], *connection);
    let document = json(&rollcast, "/api/v1/clusters/fake/namespaces/shop/deployments/web/timeline").await;
    assert_eq!(document["connection"], *connection);
    let ready = fetch(&rollcast, "/readyz").await;
    let body: Value = serde_json::from_str(&ready.text).unwrap();
    assert_eq!(ready.status, StatusCode::OK, "its sentence is on every page");
    assert_eq!(body, json!({ "ready": true, "clusters": [{ "name": "fake", "connection": connection }] }));
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_is_counted_for_its_kind() {
    let api = shop().await;
    let mut odd = pod(12, 2, "web-odd");
    odd["spec"]["containers"] = json!("not a list");
    api.put(odd);
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a", "web-b"]).await;
    let rollcast = site(&watched);
    let cluster = status(&rollcast).await;
    assert_eq!(kind(&cluster, "Pod")["figures"]["skipped"], 1);
    assert_eq!(kind(&cluster, "Deployment")["figures"]["skipped"], 0);
    assert!(fetch(&rollcast, "/status").await.text.contains("<td data-label=\"Skipped\">1</td>"));
    assert!(sample(&rollcast, r#"rollcast_malformed_objects_total{cluster="fake",kind="Pod"}"#).await == 1.0);
}

#[tokio::test]
async fn a_lost_position_is_a_relist_with_its_reason_and_a_gap() {
    let (api, watched) = watched_shop(|_| {}).await;
    until("watched", async || api.requests(Verb::Watch, "pods") > 0).await;
    let rollcast = site(&watched);
    let expired = r#"rollcast_relists_total{cluster="fake",kind="Pod",reason="expired"}"#;
    assert!(sample(&rollcast, expired).await == 0.0);
    api.fault(Verb::Watch, "pods", Fault::Status(410));
    api.hang_up();
    until("listed again", async || sample(&rollcast, expired).await == 1.0).await;
    until("the gap is counted", async || sample(&rollcast, r#"rollcast_gaps_total{cluster="fake"}"#).await >= 1.0)
        .await;
    let cluster = status(&rollcast).await;
    assert_eq!(kind(&cluster, "Pod")["figures"]["relists"], json!({ "expired": 1 }));
    assert_eq!(kind(&cluster, "Event")["figures"]["relists"], json!({}));
    assert!(fetch(&rollcast, "/status").await.text.contains("1 expired"));
}

#[tokio::test]
async fn readiness_waits_for_the_first_word_of_every_cluster_and_stays() {
    let (first, events) = Handle::start("first", Arc::default(), Retention::default());
    let rollcast = site_of(vec![first.clone()], Site::default());
    let ready = fetch(&rollcast, "/readyz").await;
    let body: Value = serde_json::from_str(&ready.text).unwrap();
    assert_eq!((ready.status, &body["ready"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(false)));
    assert_eq!(body["clusters"][0]["connection"]["state"], "connecting");
    assert_eq!(fetch(&rollcast, "/healthz").await.status, StatusCode::OK, "the process responds");
    let silent = Some((1, "connection refused".to_owned()));
    events.send(SourceEvent::Answers { silent }).await.unwrap();
    until_connection(&first, "unreachable, with a sentence", |now| is_stale(now, "refused")).await;
    assert_eq!(fetch(&rollcast, "/readyz").await.status, StatusCode::OK);
    // It responds, and is listed for a while.
    events.send(SourceEvent::Answers { silent: None }).await.unwrap();
    until_connection(&first, "connecting", |now| !now.state.is_live() && !now.state.is_stale()).await;
    assert_eq!(fetch(&rollcast, "/readyz").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_the_api_server_is_shown_without_what_else_is_in_it() {
    let api: FakeApi = shop().await;
    let file = kubeconfig(&api, "fake");
    let with_user = std::fs::read_to_string(&file).unwrap().replace("http://", "http://ann:secret@");
    std::fs::write(&file, with_user).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::keeping(&file, folder.path());
    let address = format!("{}", api.address);
    until("it is shown", async || get(&serving.address, "/status").await.contains(&address)).await;
    let told = get(&serving.address, "/status").await + &get(&serving.address, "/api/v1/status").await;
    assert!(!told.contains("secret") && !told.contains("ann:"), "{told}");
    serving.end();
}

#[tokio::test]
async fn why_a_restart_is_needed_is_said_by_the_status_page() {
    let (hub, _events) = Handle::start("prod", Arc::default(), Retention::default());
    let (notice, restart_notice) = tokio::sync::watch::channel(String::new());
    let site = Site { restart_notice: Some(restart_notice), ..Site::default() };
    let rollcast = site_of(vec![hub], site);
    assert_eq!(json(&rollcast, "/api/v1/status").await["trouble"], "");
    notice.send_replace("Restart Rollcast.".to_owned());
    assert_eq!(json(&rollcast, "/api/v1/status").await["trouble"], "Restart Rollcast.");
    assert!(fetch(&rollcast, "/status").await.text.contains("Restart Rollcast."));
}
