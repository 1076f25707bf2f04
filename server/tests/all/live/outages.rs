//! `rollcast wait --server` while the cluster, the server or its answers are away: nothing old decides, and nothing is waited for
//! without an end.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::routing::{any, get};
use server::web::state::{Rollcast, Site};
use timeline::wire::{self, PROTOCOL, ServerFrame};

use crate::common::until::until;
use crate::live::program::{FOLLOWED, Running, Serving, kubeconfig, last, serve, serve_router};
use crate::live::support::{FakeApi, Fault, Verb, Watched, until_live};
use crate::live::wait::web;

fn over(address: &str, more: &[&str]) -> Vec<String> {
    let server = ["--server".to_owned(), format!("http://{address}")];
    server.into_iter().chain(more.iter().map(|&argument| argument.to_owned())).collect()
}

async fn watched(api: &FakeApi) -> Watched {
    let watched = Watched::start(api, &[], |_| {});
    until_live(&watched.hub).await;
    watched
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_answers_again_decides_from_its_new_list() {
    let api = FakeApi::start().await;
    api.put(web(1, 2));
    let watched = watched(&api).await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "deployments", Some(Fault::Status(500)));
    }
    api.hang_up();
    until("stale", async || watched.hub.connection().borrow().state.is_stale()).await;
    api.put(web(1, 1)); // what was applied meanwhile
    let running = Running::wait(&over(&serve(&watched).await.to_string(), &["--timeout", "60s"]));
    running.until("No data from the cluster").await;
    for verb in [Verb::List, Verb::Watch] {
        api.stand(verb, "deployments", None);
    }
    running.until(FOLLOWED).await;
    assert!(!running.ended.is_finished());
    api.put(web(1, 2));
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(last(&ended.out).starts_with("complete after"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_started_again_is_given_time_to_list() {
    let api = FakeApi::start().await;
    api.put(web(1, 1));
    let file = kubeconfig(&api, "here");
    let serving = Serving::start(&file, "127.0.0.1:0");
    let address = serving.address.clone();
    let running = Running::wait(&over(&address, &["--timeout", "60s"]));
    running.until(FOLLOWED).await;
    api.stand(Verb::List, "deployments", Some(Fault::Status(503)));
    drop(serving);
    running.until("No connection to the server").await;
    let lists = api.requests(Verb::List, "deployments");
    let _serving = Serving::start(&file, &address);
    until("a list that fails", async || api.requests(Verb::List, "deployments") > lists).await;
    api.put(web(1, 2));
    assert!(!running.ended.is_finished());
    api.stand(Verb::List, "deployments", None);
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_has_another_name_after_a_restart_is_not_watched() {
    let api = FakeApi::start().await;
    api.put(web(1, 1));
    let serving = Serving::start(&kubeconfig(&api, "here"), "127.0.0.1:0");
    let address = serving.address.clone();
    let running = Running::wait(&over(&address, &["--timeout", "60s"]));
    running.until(FOLLOWED).await;
    drop(serving);
    let _serving = Serving::start(&kubeconfig(&api, "renamed"), &address);
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(last(&ended.error).contains("cannot watch shop/web in here: the server does not watch"), "{ended:?}");
    let ended = Running::wait(&over(&address, &["--cluster", "here"])).ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(last(&ended.error).contains("does not watch a cluster named \"here\". It watches: renamed."), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_opens_no_stream_says_why() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "a.stale.token").unwrap();
    let file = file.path().display().to_string();
    let (none, token): (&[&str], &[&str]) = (&[], &["--token-file", &file]);
    let other_host =
        "Rollcast does not serve the host \"here\". Start it with --allow-host and this name to allow it.\n";
    for (status, text, more, why) in [
        (StatusCode::MISDIRECTED_REQUEST, other_host, none, other_host.trim_end().trim_end_matches('.')),
        (StatusCode::BAD_GATEWAY, "", none, "it responded 502 Bad Gateway"),
        (StatusCode::UNAUTHORIZED, "Sign in.\n", none, "it requires sign-in"),
        (StatusCode::UNAUTHORIZED, "Sign in.\n", token, "it does not accept the token of --token-file"),
    ] {
        let router = Router::new().fallback(get(move || async move { (status, text) }));
        let address = serve_router(router).await.to_string();
        let ended = Running::wait(&over(&address, more)).ended.await.unwrap();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(last(&ended.error).contains(why), "{why}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_does_not_come_leaves_the_exit_code_alone() {
    let api = FakeApi::start().await;
    api.put(web(1, 1));
    let watched = watched(&api).await;
    let path = "/api/v1/clusters/{cluster}/namespaces/{namespace}/deployments/{name}/timeline";
    let hangs = get(|| async { std::future::pending::<()>().await });
    let is_none = get(|| async { "<html>" });
    for (answer, why) in [(hangs, "no response within 5 s"), (is_none, "the response is not a timeline document")] {
        let rollcast = Rollcast::new(vec![watched.hub.clone()], "build", watched.viewers.clone(), Site::default());
        let router = Router::new().route(path, answer).fallback_service(server::web::http::router(rollcast));
        let address = serve_router(router).await.to_string();
        let began = Instant::now();
        let ended = Running::wait(&over(&address, &["--timeout", "2s", "--output", "json"])).ended.await.unwrap();
        assert_eq!((ended.code, ended.out.as_str()), (Some(124), "null\n"), "{ended:?}");
        assert!(ended.error.contains(&format!("cannot fetch the document of shop/web: {why}")), "{ended:?}");
        assert!(last(&ended.error).starts_with("timed out after"), "{ended:?}");
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_asked_for_again_of_a_server_that_makes_others() {
    let api = FakeApi::start().await;
    api.put(web(1, 1));
    let watched = watched(&api).await;
    let asked = Arc::<AtomicUsize>::default();
    let busy = get(move || {
        let is_busy = asked.fetch_add(1, Ordering::Relaxed) == 0;
        let (status, text) =
            if is_busy { (StatusCode::SERVICE_UNAVAILABLE, "busy") } else { (StatusCode::OK, "<html>") };
        std::future::ready((status, [(header::RETRY_AFTER, "1")], text))
    });
    let rollcast = Rollcast::new(vec![watched.hub.clone()], "build", watched.viewers.clone(), Site::default());
    let path = "/clusters/{cluster}/namespaces/{namespace}/deployments/{name}/export";
    let router = Router::new().route(path, busy).fallback_service(server::web::http::router(rollcast));
    let address = serve_router(router).await.to_string();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.html");
    let arguments = ["--timeout", "2s", "--export", file.to_str().unwrap()];
    let ended = Running::wait(&over(&address, &arguments)).ended.await.unwrap();
    assert_eq!(ended.code, Some(124), "{ended:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "<html>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_of_its_clusters_is_not_waited_for() {
    // It takes connections and answers nothing.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let silent = Running::wait(&over(&address, &["--timeout", "1s", "--output", "json"]));
    // It speaks, but never of its clusters.
    let router = Router::new().route(
        "/api/v1/stream",
        any(async |upgrade: WebSocketUpgrade| {
            upgrade.on_upgrade(async |mut socket| {
                let hello = ServerFrame::Hello { protocol: PROTOCOL, build: String::new() };
                let mut next = hello;
                let mut beat = tokio::time::interval(Duration::from_millis(200));
                while socket.send(Message::Binary(wire::encode(&next).unwrap().into())).await.is_ok() {
                    next = ServerFrame::Heartbeat { now_millis: 1 };
                    beat.tick().await;
                }
            })
        }),
    );
    let chatty = Running::wait(&over(&serve_router(router).await.to_string(), &["--timeout", "60s"]));
    let ended = silent.ended.await.unwrap();
    assert_eq!((ended.code, ended.out.as_str()), (Some(124), "null\n"), "{ended:?}");
    assert!(last(&ended.error).contains(&format!("no data: http://{address} does not respond.")), "{ended:?}");
    let ended = chatty.ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(last(&ended.error).contains("it does not respond"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_told_within_ten_seconds_and_decides_when_it_goes_on() {
    let api = FakeApi::start().await;
    api.put(web(1, 1));
    let serving = Serving::start(&kubeconfig(&api, "hangs"), "127.0.0.1:0");
    let running = Running::wait(&over(&serving.address, &["--timeout", "60s"]));
    running.until(FOLLOWED).await;
    serving.stop();
    let stopped = Instant::now();
    running.until("No connection to the server: it stopped responding").await;
    // It may have spoken a moment before; the rest is for a busy machine.
    assert!(stopped.elapsed() < Duration::from_secs(12), "{:?}", stopped.elapsed());
    serving.go_on();
    api.put(web(1, 2));
    let ended = running.ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_the_server_does_not_watch_is_said_to_be_none() {
    let api = FakeApi::start().await;
    api.put(web(1, 2));
    let serving = Serving::with(&kubeconfig(&api, "narrow"), &["--no-history", "--namespace", "edge"]);
    let ended = Running::wait(&over(&serving.address, &["--timeout", "60s"])).ended.await.unwrap();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let says = "cannot watch shop/web in narrow: the server does not watch namespace shop";
    assert!(last(&ended.error).contains(says), "{ended:?}");
}
