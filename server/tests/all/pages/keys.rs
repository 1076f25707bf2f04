//! Keys that change: browsers are given their cookies anew, so that the old keys can be taken out.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use server::access::Auth;
use server::access::cookie::{SealPurpose, SessionKeys};
use server::access::scope::{LinkScope, WorkloadName};
use server::access::share::{LinkRequest, Shares};
use server::access::token::TokenAuth;
use server::web::state::{Rollcast, Site};
use timeline::Workload;

use crate::pages::damaged::reviewer;
use crate::pages::people::{prod, proxy, viewer};
use crate::pages::site::send;

const OLD: &str = "0123456789abcdef0123456789abcdef";
const NEW: &str = "fedcba9876543210fedcba9876543210";
const PAGE: &str = "/clusters/prod/namespaces/rollover/deployments/web";

fn keys(lines: &[&str]) -> SessionKeys {
    SessionKeys::parse(&lines.join("\n")).unwrap()
}

fn cookie(of: &HeaderValue) -> HeaderValue {
    HeaderValue::from_str(of.to_str().unwrap().split(';').next().unwrap()).unwrap()
}

/// Status and headers of an answer to who shows that cookie.
async fn ask(rollcast: &Arc<Rollcast>, path: &str, cookie: &HeaderValue) -> (StatusCode, HeaderMap) {
    let answer = send(rollcast, Some([10, 0, 0, 9]), Request::get(path).header(header::COOKIE, cookie), ()).await;
    (answer.status(), answer.headers().clone())
}

/// The cookie is good, is given anew once, and then opens with the new key alone.
async fn is_given_anew(rollcast: &Arc<Rollcast>, path: &str, name: SealPurpose, sealed: HeaderValue) {
    let (status, headers) = ask(rollcast, path, &cookie(&sealed)).await;
    assert_eq!(status, StatusCode::OK, "{name:?}");
    let anew = cookie(&headers[header::SET_COOKIE]);
    let shown = HeaderMap::from_iter([(header::COOKIE, anew.clone())]);
    assert!(keys(&[NEW]).open(name, &shown).is_some(), "{name:?}: the old key is not needed");
    let (status, headers) = ask(rollcast, path, &anew).await;
    assert_eq!((status, headers.get(header::SET_COOKIE)), (StatusCode::OK, None), "{name:?}: once is enough");
}

#[tokio::test]
async fn tokens_and_links_that_an_older_key_sealed_are_given_anew() {
    let (old, both) = (keys(&[OLD]), keys(&[NEW, OLD]));
    let answer = br#"{"metadata":{},"spec":{},"status":{"authenticated":true,"user":{"username":"ann"}}}"#;
    let auth = Auth::Token(TokenAuth::new(both.clone(), vec![("prod".to_owned(), reviewer(answer.to_vec()))]));
    let rollcast = prod(Site { auth, has_public_pictures: true, ..Site::default() }).await;
    let session = TokenAuth::new(old.clone(), Vec::new()).begin("a.good.token", &viewer("ann")).unwrap();
    is_given_anew(&rollcast, "/api/v1/deployments", SealPurpose::Session, session.clone()).await;
    // What caches may hand to others has nobody's cookie.
    let (status, headers) = ask(&rollcast, &format!("{PAGE}/badge.svg"), &cookie(&session)).await;
    assert_eq!((status, headers.get(header::SET_COOKIE)), (StatusCode::OK, None));

    let shares = Shares::open(both, None).unwrap();
    let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "rollover", "web")));
    let wanted = LinkRequest { scope, to: PAGE.to_owned(), lasts_millis: 86_400_000, allows_preview: false };
    let (share, _) = shares.make(&viewer("partly"), wanted, server::telemetry::clock::now_millis()).await.unwrap();
    let rollcast = prod(Site { auth: proxy(), shares: Some(shares), ..Site::default() }).await;
    is_given_anew(&rollcast, PAGE, SealPurpose::Link, old.seal(SealPurpose::Link, &share.id).unwrap()).await;
}
