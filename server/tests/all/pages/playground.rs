//! The playground's strip over HTTP: only where there is one, only for its own pages, and what is refused is told.

use app::playground::{ActionResponse, Playground as Strip};
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use server::cli::Clusters;
use server::cli::clusters;
use server::cli::config::Config;
use server::feed::playground::{Options, Playground};
use server::telemetry::viewers::Viewers;
use server::web::state::{Rollcast, Site};
use timeline::Retention;

use crate::common;
use crate::common::until::until;
use crate::pages::site;

async fn playground(name: &str) -> Arc<Rollcast> {
    let (playground, kubeconfig) = started(name).await;
    let config = std::fs::read_to_string(&kubeconfig).unwrap();
    std::fs::remove_file(kubeconfig).unwrap();
    assert!(config.contains("http://127.0.0.1:"), "it listens on loopback only: {config}");
    site::site_of(Vec::new(), Site { playground: Some(playground), ..Site::default() })
}

async fn started(name: &str) -> (Arc<Playground>, PathBuf) {
    let kubeconfig = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("playground-{name}"));
    let write_kubeconfig = Some(kubeconfig.clone());
    let options = Options { seed: 7, speed: 1.0, api_port: 0, write_kubeconfig, no_stories: true };
    (Playground::start(&options, false, Viewers::default()).await.unwrap(), kubeconfig)
}

async fn post(rollcast: &Arc<Rollcast>, form: &str, headers: &[(header::HeaderName, &str)]) -> Response {
    let mut request = Request::post("/playground").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    // As browsers do, unless a test says otherwise.
    let is_said = headers.iter().any(|(name, _)| name == header::ORIGIN);
    for (name, value) in headers.iter().chain([(header::ORIGIN, "http://localhost:7440")].iter().filter(|_| !is_said)) {
        request = request.header(name, *value);
    }
    site::send(rollcast, None, request, form.to_owned()).await
}

/// What the strip tells after a form.
async fn told(rollcast: &Arc<Rollcast>, form: &str) -> Strip {
    let response = post(rollcast, form, &[(header::ACCEPT, "application/octet-stream")]).await;
    assert_eq!(response.status(), StatusCode::OK);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    timeline::wire::decode::<ActionResponse>(&bytes).unwrap().playground
}

fn button<'s>(strip: &'s Strip, action: &str) -> &'s app::playground::Button {
    strip.buttons.iter().find(|button| button.action == action).unwrap()
}

#[tokio::test]
async fn real_clusters_have_no_playground() {
    let (name, text) = common::recordings().swap_remove(0);
    let rollcast = site::held(&name, &text).await;
    assert_eq!(post(&rollcast, "action=kill", &[]).await.status(), StatusCode::NOT_FOUND);
    for path in ["/playground", "/playground/events"] {
        let answer = site::send(&rollcast, None, Request::get(path), ()).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn its_address_leads_to_its_page_with_what_was_asked_of_it() {
    let rollcast = playground("address").await;
    for (asked, page) in [("/playground", ""), ("/playground?theme=dark", "?theme=dark")] {
        let response = site::send(&rollcast, None, Request::get(asked), ()).await;
        let location = response.headers()[header::LOCATION].to_str().unwrap();
        assert_eq!(location, format!("/clusters/playground/namespaces/default/deployments/web{page}"));
    }
}

#[tokio::test]
async fn what_the_strip_tells_is_sent_as_it_comes() {
    let rollcast = playground("events").await;
    let event = async {
        let mut body = site::send(&rollcast, None, Request::get("/playground/events"), ()).await.into_body();
        body.frame().await.unwrap().unwrap().into_data().unwrap()
    };
    let event = tokio::time::timeout(std::time::Duration::from_secs(20), event).await.expect("an event comes");
    assert!(event.starts_with(b"data: "), "{event:?}");
}

#[tokio::test]
async fn a_client_of_a_proxy_is_counted_while_it_listens() {
    let (playground, kubeconfig) = started("listeners").await;
    std::fs::remove_file(kubeconfig).unwrap();
    let proxies = vec!["10.0.0.9/32".parse().unwrap()];
    let site = Site { playground: Some(playground), proxies, ..Site::default() };
    let rollcast = site::site_of(Vec::new(), site);
    let own: std::net::IpAddr = "203.0.113.9".parse().unwrap();
    let mut held: Vec<_> = std::iter::from_fn(|| rollcast.connections.serve_client(own)).collect();
    held.pop();
    let listen = async || {
        let request = Request::get("/playground/events").header("x-forwarded-for", "203.0.113.9");
        site::send(&rollcast, Some([10, 0, 0, 9]), request, ()).await
    };
    let listening = listen().await;
    assert_eq!(listening.status(), StatusCode::OK);
    assert_eq!(listen().await.status(), StatusCode::TOO_MANY_REQUESTS, "while the other one listens");
    drop(listening);
    assert_eq!(listen().await.status(), StatusCode::OK);
}

#[tokio::test]
async fn only_pages_of_this_server_may_ask_for_anything() {
    let rollcast = playground("origin").await;
    for origin in ["http://evil.example", "null", "http://localhost:7441"] {
        let response = post(&rollcast, "action=scale&replicas=9", &[(header::ORIGIN, origin)]).await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{origin}");
    }
    let strip = told(&rollcast, "action=pause-story").await;
    assert_eq!(button(&strip, "scale").command, "kubectl scale deployment/web --replicas=6");
}

#[tokio::test]
async fn buttons_do_what_they_say_and_refusals_are_told() {
    let rollcast = playground("buttons").await;
    let after = told(&rollcast, "action=never").await;
    assert_eq!(after.refused, "");
    assert_eq!(button(&after, "version").command, "kubectl set image deployment/web web=web:v3");
    assert_eq!(
        button(&told(&rollcast, "action=scale&replicas=7").await, "scale").command,
        "kubectl scale deployment/web --replicas=9"
    );
    let paused = told(&rollcast, "action=pause").await;
    assert!(!button(&paused, "pause").is_possible && button(&paused, "resume").is_possible);
    for (form, words) in [
        ("action=undo", "This action is not possible right now."),
        ("action=scale&replicas=many", "This action is not possible right now."),
        ("action=scale&replicas=51", "At most 50 pods here; kubectl has no such limit."),
        ("action=kill&pod=nobody", "This action is not possible right now."),
        ("action=%3Cscript%3E", "This action is not possible right now."),
        ("action=speed&speed=NaN", "The speed must be a number from 0.1 to 20."),
        ("action=reset&seed=x", "The seed must be a whole number."),
        ("action=story&story=none", "There is no such story."),
    ] {
        assert_eq!(told(&rollcast, form).await.refused, words, "{form}");
    }
    told(&rollcast, "action=speed&speed=4").await;
    let again = told(&rollcast, "action=reset&seed=9").await;
    assert_eq!(button(&again, "version").command, "kubectl set image deployment/web web=web:v2");
}

#[tokio::test]
async fn forms_work_without_scripts() {
    let rollcast = playground("forms").await;
    let response = post(&rollcast, "action=version", &[]).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()[header::LOCATION], "/clusters/playground/namespaces/default/deployments/web");
}

#[tokio::test]
async fn at_every_speed_its_pages_are_in_the_clusters_time() {
    let (playground, kubeconfig) = started("speed").await;
    let clusters = Clusters { kubeconfig: Some(kubeconfig.clone()), ..Clusters::default() };
    let wanted = clusters::cluster_configs(&clusters, &[], &Config::default()).unwrap().remove(0);
    let (hub, events) = wanted.watch(Retention::default(), None);
    tokio::spawn(playground.clone().send_clock(events));
    let rollcast = site::site_of(vec![hub.clone()], Site { playground: Some(playground), ..Site::default() });
    let rolled_out = async |revision: u64| {
        let is_over = async || {
            let document = hub.document(&timeline::Workload::deployment("", "default", "web")).await.unwrap();
            let document = serde_json::to_value(document).unwrap();
            let last = document.pointer("/deployments/0/rollouts").and_then(|all| all.as_array()?.last());
            last.is_some_and(|last| last["revision"] == revision && last["outcome"] == "complete")
        };
        until("the rollout is over", is_over).await;
    };
    rolled_out(1).await;
    std::fs::remove_file(kubeconfig).unwrap();
    let before = hub.now_millis();
    assert_eq!(told(&rollcast, "action=speed&speed=20").await.refused, "");
    until("the pages know", async || hub.connection().borrow().speed_percent == 2000).await;
    // A minute of the cluster's time: were ours told instead, every object would come from the future.
    until("a minute has passed", async || hub.now_millis() > before + 60_000).await;
    told(&rollcast, "action=version").await;
    rolled_out(2).await;
    told(&rollcast, "action=speed&speed=0.5").await;
    until("the pages know", async || hub.connection().borrow().speed_percent == 50).await;
    let apart = hub.read(|reader| {
        let pods = reader.timeline.model().pods.values();
        pods.map(|pod| pod.first_seen_millis() - pod.created_at_millis).max_by_key(|apart| apart.abs()).unwrap()
    });
    let apart = apart.await.unwrap();
    // A busy machine delivers late, twenty times as late here.
    assert!((-1_000..30_000).contains(&apart), "a pod was seen {apart} ms after it was made");
}
