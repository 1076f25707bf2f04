//! Behind a proxy: from whom a request is, as the proxy says it that is trusted, and nobody else.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::extract::ws::Message;
use axum::http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};
use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use http_body_util::BodyExt;
use serde_json::Value;
use server::access::cookie::SessionKeys;
use server::access::share::Shares;
use server::access::token::TokenAuth;
use server::access::{Auth, Viewer};
use server::history::Archive;
use server::history::options::{Limits, Location, Options};
use server::telemetry::audit::Audit;
use server::web::client_view::ClientView;
use server::web::http::router;
use server::web::limits::Limit;
use server::web::server_address::ServerAddress;
use server::web::state::{Rollcast, Site};
use timeline::address::Route;
use timeline::list::{Query, Window};
use timeline::wire::{self, Scope, ServerFrame, ViewerFrame};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};
use tower::ServiceExt;

use crate::common::heard::sort;
use crate::common::until::until;
use crate::pages::people::{Heard, PROD, hear, prod, proxy, rules, say, site, snapshot, stream, view_of};
use crate::pages::shared::signed_in;

const PAGE: &str = "/clusters/prod/namespaces/rollover/deployments/web";

async fn behind(auth: Auth, audit: Option<&Path>) -> Arc<Rollcast> {
    let proxies = vec!["10.0.0.0/24".parse().unwrap()];
    let audit = audit.map(|path| Audit::open(path).unwrap());
    prod(Site { auth, proxies, audit, ..Site::default() }).await
}

async fn ask(rollcast: &Arc<Rollcast>, peer: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
    ask_at(rollcast, PAGE, peer, headers).await
}

async fn ask_at(
    rollcast: &Arc<Rollcast>,
    path: &str,
    peer: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::get(path).header(header::HOST, "localhost:7440").body(Body::empty()).unwrap();
    for (name, value) in headers {
        request.headers_mut().append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4_000)));
    let (head, body) = router(rollcast.clone()).oneshot(request).await.unwrap().into_parts();
    (head.status, head.headers, String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned())
}

#[tokio::test]
async fn who_looked_is_written_down_as_a_trusted_proxy_says_it_however_people_sign_in() {
    let token = || Auth::Token(TokenAuth::new(SessionKeys::generate(), Vec::new()));
    for (mode, auth) in [("none", Auth::None), ("proxy", proxy()), ("token", token())] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit");
        let rollcast = behind(auth, Some(&file)).await;
        let cases = [
            ("10.0.0.9", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.9", "1.1.1.1, 203.0.113.10", "203.0.113.10"),
            ("10.0.0.9", "203.0.113.11, 10.0.0.8", "203.0.113.11"),
            ("::ffff:10.0.0.9", "2001:db8::1", "2001:db8::1"),
            // Made up by who is no proxy.
            ("198.51.100.1", "203.0.113.9", "198.51.100.1"),
            ("127.0.0.1", "203.0.113.9", "127.0.0.1"),
        ];
        for (peer, said, _) in cases {
            ask(&rollcast, peer, &[("x-forwarded-for", said)]).await;
        }
        let lines = || std::fs::read_to_string(&file).unwrap_or_default();
        until("all is written down", async || lines().lines().count() == cases.len()).await;
        let from: Vec<String> = lines()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["from"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(from, cases.map(|(.., is)| is), "{mode}");
    }
}

#[tokio::test]
async fn browsers_past_the_proxy_read_a_page_and_programs_a_line() {
    let rollcast = behind(proxy(), None).await;
    let why = "This request did not come through the proxy that signs people in, or the proxy sent no valid user name";
    let (status, headers, text) = ask(&rollcast, "10.0.0.7", &[("accept", "*/*")]).await;
    assert_eq!((status, text), (StatusCode::UNAUTHORIZED, format!("{why}.\n")));
    assert_eq!(headers.get(header::REFRESH), None);
    let (status, headers, text) = ask(&rollcast, "10.0.0.7", &[("accept", "text/html,*/*;q=0.8")]).await;
    let kind = headers[header::CONTENT_TYPE].to_str().unwrap();
    assert_eq!((status, kind), (StatusCode::UNAUTHORIZED, "text/html; charset=utf-8"));
    assert!(text.contains("<title>Unauthorized — Rollcast</title>") && text.contains(why), "{text}");
    assert_eq!(headers[header::REFRESH], "30", "nobody reloads a wall");
    // It says nothing of the place.
    assert!(!text.contains("rollover"), "{text}");
}

#[tokio::test]
async fn pages_past_the_proxy_read_in_their_stream_that_they_have_to_sign_in() {
    let served = router(behind(proxy(), None).await).into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, served).await.unwrap() });
    let request = || format!("ws://{address}/api/v1/stream").into_client_request().unwrap();
    let mut of_page = request();
    of_page.headers_mut().insert("origin", format!("http://{address}").parse().unwrap());
    let (mut socket, _) = tokio_tungstenite::connect_async(of_page).await.unwrap();
    let Some(Ok(tungstenite::Message::Close(Some(closed)))) = socket.next().await else { panic!("it stays open") };
    assert_eq!(u16::from(closed.code), wire::SIGN_IN_REQUIRED);
    // A program can read the status of the response.
    let refused = tokio_tungstenite::connect_async(request()).await.err();
    let Some(tungstenite::Error::Http(response)) = refused else { panic!("it is open, or closed otherwise") };
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn moments_and_links_that_are_taken_away_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let (shares, audit) = (Shares::open(SessionKeys::generate(), None).ok(), Audit::open(&file).ok());
    let rollcast = prod(Site { auth: proxy(), shares, audit, ..Site::default() }).await;
    let (said, mut heard) = stream(&rollcast, "partly", "rollover").await;
    snapshot(&mut heard).await;
    say(&said, &ViewerFrame::Moment { at_millis: 1_000 });
    let post = async |path: &str, form: &[(&str, &str)]| {
        let answer = signed_in("partly").send(&rollcast, Method::POST, path, form).await;
        assert!(answer.status.is_success() || answer.status.is_redirection(), "{path}: {}", answer.status);
        answer.text
    };
    let mut ids = Vec::new();
    for revoke in ["/api/v1/shares/revoke", "/shares/revoke"] {
        let made = post("/api/v1/shares", &[("to", PAGE)]).await;
        let id = serde_json::from_str::<Value>(&made).unwrap()["id"].as_str().unwrap().to_owned();
        post(revoke, &[("id", id.as_str())]).await;
        ids.push(id);
    }
    let left = post("/api/v1/shares", &[("to", PAGE)]).now_or_never();
    assert!(left.is_none(), "its client leaves before it is answered");
    let lines = || -> Vec<(String, String)> {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let told = |line: Value| {
            assert_eq!(line["who"], "partly");
            (line["did"].as_str().unwrap().to_owned(), line["at"].as_str().unwrap().to_owned())
        };
        text.lines().map(read).map(told).collect()
    };
    until("all is written down", async || lines().len() == 7).await;
    let did = |what: &str| lines().into_iter().filter(|(did, _)| did == what).map(|(_, at)| at).collect::<Vec<_>>();
    assert_eq!((did("followed"), did("looked at a moment")), (vec![PAGE.to_owned()], vec![PAGE.to_owned()]));
    assert_eq!(did("revoked a link"), [format!("/shares#{}", ids[0]), format!("/shares#{}", ids[1])]);
    assert_eq!(did("made a link").len(), 3);
}

#[tokio::test]
async fn one_client_of_a_proxy_is_limited_by_itself() {
    let rollcast = behind(Auth::None, None).await;
    let greedy: IpAddr = "203.0.113.9".parse().unwrap();
    let held: Vec<_> = std::iter::from_fn(|| rollcast.connections.serve_client(greedy)).collect();
    assert_eq!(held.len(), 256);
    let of = async |peer, said| ask(&rollcast, peer, &[("x-forwarded-for", said)]).await;
    let (status, headers, text) = of("10.0.0.9", "203.0.113.9").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{text}");
    assert_eq!(headers[header::RETRY_AFTER], "5");
    assert_eq!(rollcast.limits.count(Limit::Clients), 2, "the last one that was not held, and this one");
    assert_eq!(of("10.0.0.9", "203.0.113.10").await.0, StatusCode::OK, "another client");
    assert_eq!(of("10.0.0.9", "203.0.113.9, 203.0.113.10").await.0, StatusCode::OK, "who names somebody else");
    assert_eq!(of("198.51.100.1", "203.0.113.9").await.0, StatusCode::OK, "who is no proxy");
    drop(held);
    assert_eq!(of("10.0.0.9", "203.0.113.9").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_client_of_a_proxy_is_counted_until_it_is_answered() {
    let rollcast = behind(Auth::None, None).await;
    let own: IpAddr = "203.0.113.9".parse().unwrap();
    let mut held: Vec<_> = std::iter::from_fn(|| rollcast.connections.serve_client(own)).collect();
    held.pop();
    let said = [("x-forwarded-for", "203.0.113.9")];
    // Its picture is not drawn before another one is.
    let drawing = rollcast.previews.draw_permit().await.unwrap();
    let path = format!("{PAGE}/preview.svg");
    let mut waiting = Box::pin(ask_at(&rollcast, &path, "10.0.0.9", &said));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), &mut waiting).await.is_err());
    assert_eq!(ask(&rollcast, "10.0.0.9", &said).await.0, StatusCode::TOO_MANY_REQUESTS, "while the other one waits");
    drop(drawing);
    assert_eq!(waiting.await.0, StatusCode::OK);
    assert_eq!(ask(&rollcast, "10.0.0.9", &said).await.0, StatusCode::OK, "it was answered");
}

#[tokio::test]
async fn links_begin_with_the_scheme_that_a_trusted_proxy_says() {
    let rollcast = behind(Auth::None, None).await;
    for (peer, said, scheme) in [
        ("10.0.0.9", &["https"][..], "https"),
        ("10.0.0.9", &["http"], "http"),
        ("10.0.0.9", &["https", "https"], "http"),
        ("198.51.100.1", &["https"], "http"),
    ] {
        let headers: Vec<(&str, &str)> = said.iter().map(|value| ("x-forwarded-proto", *value)).collect();
        let (status, _, text) = ask(&rollcast, peer, &headers).await;
        assert_eq!(status, StatusCode::OK);
        let is_secure = text.contains(&format!("\"https://localhost:7440{PAGE}"));
        let is_plain = text.contains(&format!("\"http://localhost:7440{PAGE}"));
        assert_eq!((is_secure, is_plain), (scheme == "https", scheme == "http"), "{peer} {said:?}");
    }
}

#[tokio::test]
async fn pages_that_came_without_tls_lead_to_the_public_url() {
    let server_address = ServerAddress { public: "https://localhost:7440".parse().ok(), ..ServerAddress::default() };
    let proxies = vec!["10.0.0.0/24".parse().unwrap()];
    let rollcast = prod(Site { proxies, server_address, ..Site::default() }).await;
    let (page, plain) = (("accept", "text/html,*/*;q=0.8"), ("x-forwarded-proto", "http"));
    let path = format!("{PAGE}?pod=web-1");
    let (status, headers, _) = ask_at(&rollcast, &path, "10.0.0.9", &[page, plain]).await;
    assert_eq!(status, StatusCode::PERMANENT_REDIRECT);
    assert_eq!(headers[header::LOCATION], format!("https://localhost:7440{path}"));
    assert_eq!(headers[header::CACHE_CONTROL], "private, no-store");
    for (peer, headers) in [
        ("198.51.100.1", &[page, plain][..]),
        ("10.0.0.9", &[page]),
        ("10.0.0.9", &[page, ("x-forwarded-proto", "https")]),
        ("10.0.0.9", &[page, plain, plain]),
        ("10.0.0.9", &[("accept", "*/*"), plain]),
        // The browser used TLS, which another proxy ended.
        ("10.0.0.9", &[page, plain, ("sec-fetch-mode", "navigate")]),
    ] {
        assert_eq!(ask(&rollcast, peer, headers).await.0, StatusCode::OK, "{peer} {headers:?}");
    }
}

/// What the next list that is told says of itself.
async fn trouble(heard: &mut Heard) -> String {
    loop {
        if let ServerFrame::List(delta) = hear(heard).await
            && let Some(overall) = delta.overall
        {
            return overall.trouble;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_follows_too_many_lists_is_told_so_and_shown_the_next_one_when_there_is_room() {
    let rollcast = behind(proxy(), None).await;
    let follow = async |user, n: usize| {
        let (said, mut heard) = stream(&rollcast, user, "rollover").await;
        let query = Query { text: format!("word-{n}"), ..Query::default() };
        let scope = Scope::List { query, window: Window { from: 0, to: 10 } };
        say(&said, &ViewerFrame::Subscribe { scope, since: None });
        let trouble = trouble(&mut heard).await;
        (said, heard, trouble)
    };
    let mut all = Vec::new();
    for n in 0..64 {
        all.push(follow("fully", n).await);
        assert_eq!(all[n].2, "", "list {n}");
    }
    let (_said, mut heard, told) = follow("fully", 64).await;
    assert!(told.contains("too many different lists"), "{told}");
    assert_eq!(rollcast.limits.count(Limit::ClientLists), 1);
    assert_eq!(follow("partly", 64).await.2, "", "somebody else from the same proxy");
    all.pop();
    let told = tokio::time::timeout(Duration::from_secs(30), trouble(&mut heard)).await;
    assert_eq!(told.unwrap(), "", "there is room");
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_client_have_ten_lists_a_second_chosen_and_hold_up_no_other() {
    let rollcast = behind(Auth::None, None).await;
    let ask = async |peer, number: usize| {
        let (rollouts, compared) = (format!("{PAGE}/rollouts"), format!("{PAGE}/compare"));
        let (deployments, metrics) = (Route::ApiDeployments.pattern(), Route::Metrics.pattern());
        let timeline = format!("/api/v1{PAGE}/timeline");
        // Without a UID that names no kept rollout.
        let numbered = format!("{timeline}?rollout=1&with=");
        let path = ["/", "/wall", deployments, metrics, &rollouts, &compared, &timeline, &numbered][number % 8];
        ask_at(&rollcast, &format!("{path}?q=word{number}"), peer, &[]).await.0
    };
    let began = Instant::now();
    let asked = join_all((0..60).map(|number| ask("198.51.100.1", number))).await;
    assert!(asked.iter().all(StatusCode::is_success), "{asked:?}");
    assert_eq!(began.elapsed().as_secs(), 4, "20 at once, then ten a second");
    let now = Instant::now();
    assert!(ask("198.51.100.2", 0).await.is_success() && now.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn details_moments_and_previews_of_one_client_wait_for_each_other_and_hold_up_no_other() {
    let rollcast = behind(Auth::None, None).await;
    let view = ClientView::new(&rollcast, Viewer::anonymous()).await.unwrap();
    let turn = view.from_address(Some("198.51.100.1".parse().unwrap())).moment_turn().await;
    let now_millis = rollcast.all_hubs().next().unwrap().now_millis();
    let moment = format!("{PAGE}?at={}", now_millis - 5_000);
    for path in [format!("{PAGE}/rollouts?part"), moment, format!("{PAGE}/preview.svg")] {
        let ask = async |peer| ask_at(&rollcast, &path, peer, &[]).await.0;
        let waits = tokio::time::timeout(Duration::from_secs(60), ask("198.51.100.1")).await;
        assert!(waits.is_err(), "{path}: {waits:?}");
        assert_eq!(ask("198.51.100.2").await, StatusCode::OK, "{path}");
    }
    drop(turn);
    assert_eq!(ask_at(&rollcast, &format!("{PAGE}/rollouts?part"), "198.51.100.1", &[]).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_moment_that_waits_holds_up_no_heartbeat_and_is_not_sent_once_it_is_hidden() {
    for is_hidden in [false, true] {
        let rules = rules(&PROD);
        let rollcast = site(&rules).await;
        let turn = view_of(&rollcast, "partly").await.moment_turn().await;
        let (said, mut heard) = stream(&rollcast, "partly", "rollover").await;
        snapshot(&mut heard).await;
        say(&said, &ViewerFrame::Moment { at_millis: 1_000 });
        if is_hidden {
            rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
        }
        let mut hear = async |seconds| {
            let (until, mut sorts) = (Instant::now() + Duration::from_secs(seconds), Vec::new());
            while let Ok(message) = tokio::time::timeout_at(until, heard.next()).await {
                if let Message::Binary(bytes) = message.expect("the stream goes on") {
                    sorts.push(sort(&wire::decode(&bytes).unwrap()));
                }
            }
            sorts
        };
        // A right that is taken away ends within a minute. A viewer whose answers to pings are not read stays.
        let waiting = hear(184).await;
        let heartbeats = waiting.iter().filter(|sort| **sort == "heartbeat").count();
        assert!(heartbeats >= 45 && !waiting.contains(&"moment"), "{waiting:?}");
        drop(turn);
        let told = hear(10).await;
        assert_eq!(told.contains(&"moment"), !is_hidden, "{told:?}");
    }
}

#[tokio::test]
async fn rollouts_that_a_history_knows_wait_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Folder(folder.path().into());
    let archive = Archive::start(Options { location, limits: Limits::default() });
    let rollcast = prod(Site { archive: Some(archive.clone()), ..Site::default() }).await;
    let ask = async |path: String| ask_at(&rollcast, &path, "198.51.100.1", &[]).await.0;
    let began = Instant::now();
    let lists = join_all((0..60).map(|number| ask(format!("{}?q=word{number}", Route::ApiDeployments.pattern()))));
    let rollouts = ask(format!("{PAGE}/rollouts?part"));
    tokio::select! {
        biased;
        _ = lists => panic!("each page asks for its rollouts whenever a rollout ends: lists must not wait for that"),
        status = rollouts => assert_eq!(status, StatusCode::OK),
    }
    assert!(began.elapsed() < Duration::from_secs(4), "lists take the turns of four seconds");
    archive.close().await;
}
