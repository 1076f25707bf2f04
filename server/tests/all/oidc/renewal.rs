//! Sessions go on, and end.

use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt;
use futures::future::join_all;
use serde_json::json;
use server::access::cookie::SessionKeys;
use server::access::oidc::options::{Options, Times};
use server::web::server_address::ServerAddress;
use server::web::session::StreamRequest;

use super::browser::{Browser, SESSION};
use super::own::{Answers, Own, key, now};
use super::site::{options, own_site, site, with_keys};
use crate::common::until::until;
use crate::pages::people::open;

/// Asked again every second.
fn hasty(own: &Own) -> Options {
    let options = options(&own.issuer);
    Options { times: Times { refresh_after: Duration::from_secs(1), ..options.times.clone() }, ..options }
}

/// Somebody who signed in where they are asked again every second.
async fn signed_in() -> (Own, Browser) {
    let own = Own::start().await;
    let rollcast = site(hasty(&own)).await;
    let ann = own.signed_in(&rollcast).await;
    (own, ann)
}

#[tokio::test]
async fn a_session_asks_again_once_and_tells_the_browser() {
    let (own, first) = signed_in().await;
    let began = now();
    until("its time is up", async || now() > began + 1).await;
    let all: Vec<Browser> = vec![first.clone(); 20];
    let answers = join_all(all.into_iter().map(|mut browser| async move {
        let status = browser.list().await.0;
        (status, browser.cookies[SESSION].clone())
    }));
    for (status, cookie) in answers.await {
        assert_eq!(status, StatusCode::OK);
        assert_ne!(cookie, first.cookies[SESSION], "each is told");
    }
    own.with(|doings| assert_eq!(doings.refreshed, 1));
}

#[tokio::test]
async fn what_a_browser_holds_goes_on_in_another_rollcast_with_the_same_keys() {
    let own = Own::start().await;
    let keys = || SessionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let rollcast = || async { with_keys(hasty(&own), keys(), ServerAddress::default()).await };
    let mut ann = Browser::new(&rollcast().await);
    own.sign_in(&mut ann).await;
    ann.until_renewed().await;
    // Its refresh token is the newest one.
    ann.rollcast = rollcast().await;
    ann.until_renewed().await;
}

#[tokio::test]
async fn what_the_provider_says_anew_counts() {
    let (own, mut ann) = signed_in().await;
    assert!(ann.list().await.1.contains("rollover"));
    own.with(|doings| doings.groups = json!([]));
    until("the group is gone", async || !ann.list().await.1.contains("rollover")).await;
    own.with(|doings| doings.more = [("sub".to_owned(), json!("eve"))].into());
    until("somebody else is nobody", async || ann.list().await.0 == StatusCode::UNAUTHORIZED).await;
}

#[tokio::test]
async fn a_session_of_somebody_who_is_in_too_many_groups_by_now_ends() {
    let (own, mut ann) = signed_in().await;
    own.with(|doings| {
        doings.groups = json!(null);
        doings.more = [("_claim_names".to_owned(), json!({ "groups": "src1" }))].into();
    });
    assert_eq!(ann.until_refused().await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn who_is_locked_out_is_out() {
    let (own, mut ann) = signed_in().await;
    own.with(|doings| doings.answers = Answers::Refuses);
    until("the session is over", async || ann.list().await.0 == StatusCode::UNAUTHORIZED).await;
    let asked = own.with(|doings| doings.refreshed);
    own.with(|doings| doings.answers = Answers::Well);
    assert_eq!(ann.list().await.0, StatusCode::UNAUTHORIZED);
    own.with(|doings| assert_eq!(doings.refreshed, asked, "it is not asked once more"));
    assert_eq!(ann.get("/").await.location(), "/sign-in?to=%2F");
}

#[tokio::test]
async fn only_the_provider_ends_a_session_and_no_gateway_before_it() {
    let (own, mut ann) = signed_in().await;
    for (status, text) in [
        (StatusCode::OK, r#"{"status":"up"}"#),
        (StatusCode::FORBIDDEN, r#"{"message":"Forbidden"}"#),
        (StatusCode::FORBIDDEN, r#"{"error":{"code":403,"message":"Forbidden"}}"#),
        (StatusCode::NOT_FOUND, r#"{"error":"Not Found"}"#),
        (StatusCode::TOO_MANY_REQUESTS, r#"{"error":"Too Many Requests"}"#),
        (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"Service Unavailable"}"#),
    ] {
        own.with(|doings| {
            doings.asked.clear();
            doings.answers = Answers::Json(status, text);
        });
        until("the gateway is asked", async || {
            assert_eq!(ann.list().await.0, StatusCode::OK, "{status} {text}");
            own.with(|doings| !doings.asked.is_empty())
        })
        .await;
    }
    own.with(|doings| doings.answers = Answers::Well);
    ann.until_renewed().await;
    for (status, text) in [
        (StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#),
        (StatusCode::UNAUTHORIZED, r#"{"error":"invalid_client"}"#),
        (StatusCode::FORBIDDEN, r#"{"error":"invalid_grant"}"#),
        (StatusCode::OK, r#"{"access_token":"a","token_type":"bearer","id_token":"no token"}"#),
    ] {
        let mut ann = own.signed_in(&ann.rollcast).await;
        own.with(|doings| doings.answers = Answers::Json(status, text));
        assert_eq!(ann.until_refused().await, StatusCode::UNAUTHORIZED, "{status} {text}");
        own.with(|doings| doings.answers = Answers::Well);
    }
}

#[tokio::test]
async fn without_a_refresh_token_a_session_ends_with_its_token() {
    let own = Own::start().await;
    own.with(|doings| (doings.can_refresh, doings.valid_for) = (false, 3));
    let rollcast = site(hasty(&own)).await;
    let mut ann = own.signed_in(&rollcast).await;
    let began = std::time::Instant::now();
    until("the session is over", async || ann.list().await.0 == StatusCode::UNAUTHORIZED).await;
    assert!(began.elapsed() > Duration::from_millis(1_500), "not before: {:?}", began.elapsed());
}

#[tokio::test]
async fn a_provider_that_is_silent_for_a_while_costs_nobody_a_session() {
    let own = Own::start().await;
    let mut options = hasty(&own);
    options.times.grace_period = Duration::from_secs(3);
    let rollcast = site(options).await;
    let mut ann = own.signed_in(&rollcast).await;
    own.with(|doings| doings.answers = Answers::Broken);
    let began = std::time::Instant::now();
    assert_eq!(ann.until_refused().await, StatusCode::SERVICE_UNAVAILABLE);
    assert!(began.elapsed() > Duration::from_millis(2_500), "{:?}", began.elapsed());
    own.with(|doings| doings.answers = Answers::Well);
    until("it goes on", async || ann.list().await.0 == StatusCode::OK).await;
}

#[tokio::test]
async fn nobody_waits_for_what_a_provider_says_of_itself_while_that_is_known() {
    let own = Own::start().await;
    let mut options = options(&own.issuer);
    options.times = Times {
        answer: Duration::from_secs(4),
        metadata_refresh_after: Duration::ZERO,
        metadata_expire_after: Duration::from_secs(2),
        ..options.times
    };
    let rollcast = site(options).await;
    let began = std::time::Instant::now();
    let mut ann = Browser::new(&rollcast);
    assert_eq!(ann.get("/sign-in/start?to=/").await.status, StatusCode::SEE_OTHER);
    own.with(|doings| doings.answers = Answers::Never);
    for _ in 0..20 {
        assert_eq!(ann.get("/sign-in/start?to=/").await.status, StatusCode::SEE_OTHER);
    }
    assert!(began.elapsed() < Duration::from_secs(2), "they waited: {:?}", began.elapsed());
    // It is read again meanwhile, once at a time; what is too old is not believed.
    until("it is asked again", async || {
        ann.get("/sign-in/start?to=/").await;
        own.with(|doings| doings.discovered == 2)
    })
    .await;
    let mut last = StatusCode::SEE_OTHER;
    until("it is not believed any more", async || {
        last = ann.get("/sign-in/start?to=/").await.status;
        last != StatusCode::SEE_OTHER
    })
    .await;
    assert_eq!(last, StatusCode::SERVICE_UNAVAILABLE);
    own.with(|doings| doings.answers = Answers::Well);
    until("it goes on", async || ann.get("/sign-in/start?to=/").await.status == StatusCode::SEE_OTHER).await;
}

#[tokio::test]
async fn keys_that_are_new_are_read_and_not_too_often() {
    let own = Own::start().await;
    let mut options = options(&own.issuer);
    options.times.min_key_refresh_interval = Duration::from_millis(1_500);
    let rollcast = site(options).await;
    own.sign_in(&mut Browser::new(&rollcast)).await;
    own.with(|doings| assert_eq!(doings.keys_read, 1));
    own.with(|doings| doings.shows = key(2, "two"));
    own.with(|doings| doings.change = Box::new(|header, _| header["kid"] = json!("two")));
    let mut ann = Browser::new(&rollcast);
    until("the new key is known", async || {
        let back = own.back(&mut ann, "/").await;
        ann.get(&back).await.status == StatusCode::SEE_OTHER
    })
    .await;
    own.with(|doings| assert_eq!(doings.keys_read, 2));
    // Tokens with keys that nobody knows do not make us ask for each.
    own.with(|doings| doings.change = Box::new(|header, _| header["kid"] = json!("three")));
    let bearer = format!("Bearer {}", own.token());
    for _ in 0..20 {
        let asked = Browser::new(&rollcast).ask("GET", "/api/v1/deployments", &[("authorization", &bearer)]).await;
        assert_eq!(asked.status, StatusCode::UNAUTHORIZED);
    }
    own.with(|doings| assert!(doings.keys_read <= 3, "{}", doings.keys_read));
}

#[tokio::test]
async fn who_signs_out_takes_back_what_the_provider_gave() {
    let (own, mut ann) = signed_in().await;
    let first = ann.clone();
    ann.until_renewed().await;
    let (mut old, mut new) = (first, ann.clone());
    ann.sign_out().await;
    assert_eq!(old.list().await.0, StatusCode::UNAUTHORIZED, "each cookie of it");
    assert_eq!(new.list().await.0, StatusCode::UNAUTHORIZED);
    until("its token is taken back", async || {
        own.with(|doings| doings.revoked.iter().any(|token| token != "refresh-0"))
    })
    .await;
    for _ in 0..5 {
        assert_eq!(new.clone().sign_out().await.status, StatusCode::SEE_OTHER);
    }
    own.signed_in(&ann.rollcast).await.sign_out().await;
    let revoked = || own.with(|doings| doings.revoked.len());
    until("another one is taken back", async || revoked() >= 2).await;
    assert_eq!(revoked(), 2, "each session once, however often its cookie is shown");
    let page = ann.get("/sign-in?left").await;
    assert!(!page.text.contains("provider-end"), "it has no such address");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let (own, rollcast) = own_site().await;
    let mut ann = own.signed_in(&rollcast).await;
    let cookie = format!("{SESSION}={}", ann.cookies[SESSION]).parse().unwrap();
    let headers = HeaderMap::from_iter([(header::COOKIE, cookie)]);
    let (_said, mut heard) = open(&rollcast, StreamRequest { headers, ..StreamRequest::default() }).await;
    assert!(matches!(heard.next().await, Some(Message::Binary(_))), "it says hello");
    ann.sign_out().await;
    let closed = async {
        loop {
            if let Message::Close(frame) = heard.next().await? {
                return frame.map(|frame| frame.code);
            }
        }
    };
    let code = tokio::time::timeout(Duration::from_secs(35), closed).await.unwrap();
    assert_eq!(code, Some(timeline::wire::SIGN_IN_REQUIRED));
}
