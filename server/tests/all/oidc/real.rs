//! At Dex.

use std::time::Duration;

use axum::http::StatusCode;
use futures::future::join_all;
use server::access::oidc::options::Times;

use super::browser::{Browser, SESSION, START, at_provider, parameter};
use super::dex::Dex;
use super::site::{options, site};

const SENTENCE: &str = "This sign-in started in another window, or too long ago.";
const REFUSED: &str = "The provider did not sign you in.";

/// Signs somebody in, who wants to see a page.
async fn sign_in(browser: &mut Browser, who: &str, to: &str) {
    let start = browser.get(&format!("/sign-in/start?to={to}")).await;
    assert_eq!(start.status, StatusCode::SEE_OTHER, "{}", start.text);
    let back = at_provider(start.location(), &format!("{who}@example.com"), "password").await;
    let answer = browser.get(&back).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, to), "{}", answer.text);
}

#[tokio::test]
#[ignore = "nightly"]
async fn people_sign_in_and_see_what_their_groups_may_see_at_dex() {
    let dex = Dex::start(3_600);
    let rollcast = site(options(&dex.issuer)).await;
    let mut ann = Browser::new(&rollcast);
    let refused = ann.get("/wall?rotate=5").await;
    assert_eq!(refused.location(), "/sign-in?to=%2Fwall%3Frotate%3D5");
    let page = ann.get(refused.location()).await;
    assert!(page.text.contains("href=\"/sign-in/start?to=%2Fwall%3Frotate%3D5\""), "{}", page.text);
    assert!(!page.text.contains("<form"), "a form would lead nowhere");
    let start = ann.get("/sign-in/start?to=%2Fwall%3Frotate%3D5").await;
    for (name, value) in [("code_challenge_method", "S256"), ("response_type", "code"), ("client_id", "rollcast")] {
        assert_eq!(parameter(start.location(), name), value);
    }
    assert_eq!(parameter(start.location(), "scope"), "openid profile email groups offline_access");
    assert_eq!(parameter(start.location(), "redirect_uri"), "http://127.0.0.1:7440/sign-in/callback");
    for name in ["state", "nonce", "code_challenge"] {
        assert!(parameter(start.location(), name).len() >= 22, "{name}");
    }
    let back = at_provider(start.location(), "ann@example.com", "password").await;
    let answer = ann.get(&back).await;
    assert_eq!(answer.location(), "/wall?rotate=5");
    assert_eq!(ann.cookies.keys().map(String::as_str).collect::<Vec<_>>(), [SESSION], "the other one is gone");
    let wall = ann.get("/wall?rotate=5").await;
    assert_eq!(wall.status, StatusCode::OK);
    assert!(wall.text.contains("oidc:ann@example.com"), "who looks is said");
    let (status, list) = ann.list().await;
    assert!(status == StatusCode::OK && list.contains("rollover"), "{list}");
    // Bob is in no group.
    let mut bob = Browser::new(&rollcast);
    sign_in(&mut bob, "bob", "/").await;
    let (status, list) = bob.list().await;
    assert!(status == StatusCode::OK && !list.contains("rollover"), "{list}");
    assert_eq!(bob.get("/sign-in?to=%2Fwall").await.location(), "/wall", "who is known needs no sign-in");
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_code_is_good_for_the_browser_that_asked_for_it_and_once_at_dex() {
    let dex = Dex::start(3_600);
    let rollcast = site(options(&dex.issuer)).await;
    let (mut ann, mut eve) = (Browser::new(&rollcast), Browser::new(&rollcast));
    let start = ann.get("/sign-in/start?to=/").await;
    let back = at_provider(start.location(), "ann@example.com", "password").await;
    let eves = eve.get("/sign-in/start?to=/").await;
    let (code, state) = (parameter(&back, "code"), parameter(eves.location(), "state"));
    // Somebody else's code, in one's own sign-in: the verifier is another one.
    eve.clone()
        .get(&format!("/sign-in/callback?code={code}&state={state}"))
        .await
        .check_namespace(StatusCode::FORBIDDEN, REFUSED);
    // Somebody else's sign-in, in one's own browser.
    eve.clone().get(&back).await.check_namespace(StatusCode::BAD_REQUEST, SENTENCE);
    eve.cookies.clear();
    eve.get(&back).await.check_namespace(StatusCode::BAD_REQUEST, SENTENCE);
    assert!(eve.cookies.is_empty());
    let mut again = Browser::new(&rollcast);
    let start = again.get("/sign-in/start?to=/").await;
    let back = at_provider(start.location(), "ann@example.com", "password").await;
    let mut replayed = again.clone();
    assert_eq!(again.get(&back).await.location(), "/");
    // Who kept address and cookie has nothing.
    assert!(replayed.cookies.contains_key(START));
    replayed.get(&back).await.check_namespace(StatusCode::FORBIDDEN, REFUSED);
    assert!(!replayed.cookies.contains_key(SESSION));
}

#[tokio::test]
#[ignore = "nightly"]
async fn a_session_goes_on_and_asks_once_however_many_requests_wait_at_dex() {
    let dex = Dex::start(3);
    let rollcast = site(options(&dex.issuer)).await;
    let mut ann = Browser::new(&rollcast);
    sign_in(&mut ann, "ann", "/").await;
    let first = ann.clone();
    for _ in 0..3 {
        ann.until_renewed().await;
        // A refresh token that is used twice is the end of a session at Dex: twenty requests may ask once only.
        let all: Vec<Browser> = vec![first.clone(); 20];
        let answers = join_all(all.into_iter().map(|mut browser| async move { browser.list().await.0 })).await;
        assert!(answers.iter().all(|status| *status == StatusCode::OK), "{answers:?}");
    }
}

#[tokio::test]
#[ignore = "nightly"]
async fn who_signed_out_is_out_whoever_kept_the_cookie_at_dex() {
    let dex = Dex::start(3_600);
    let rollcast = site(options(&dex.issuer)).await;
    let mut ann = Browser::new(&rollcast);
    sign_in(&mut ann, "ann", "/").await;
    let mut kept = ann.clone();
    assert_eq!(kept.list().await.0, StatusCode::OK);
    let left = ann.sign_out().await;
    assert_eq!((left.status, left.location()), (StatusCode::SEE_OTHER, "/sign-in?left"));
    assert!(!ann.cookies.contains_key(SESSION));
    assert_eq!(kept.list().await.0, StatusCode::UNAUTHORIZED);
    let page = ann.get(left.location()).await;
    assert!(page.text.contains(&format!("href=\"{}/logout?client_id=rollcast\"", dex.issuer)), "{}", page.text);
    sign_in(&mut ann, "ann", "/").await;
    assert_eq!(ann.list().await.0, StatusCode::OK);
    assert_eq!(kept.list().await.0, StatusCode::UNAUTHORIZED, "the other session is still over");
}

#[tokio::test]
#[ignore = "nightly"]
async fn without_the_provider_who_is_known_stays_for_a_while_at_dex() {
    let mut dex = Dex::start(3);
    let mut options = options(&dex.issuer);
    options.times = Times { grace_period: Duration::from_secs(3), ..options.times };
    let rollcast = site(options).await;
    let mut ann = Browser::new(&rollcast);
    sign_in(&mut ann, "ann", "/").await;
    dex.stop();
    let began = std::time::Instant::now();
    assert_eq!(ann.until_refused().await, StatusCode::SERVICE_UNAVAILABLE);
    let after = began.elapsed();
    assert!(after >= Duration::from_secs(4) && after <= Duration::from_secs(8), "{after:?}");
    let silent = "The sign-in provider does not respond right now.";
    // It is known where people sign in, but not who comes back.
    let start = ann.get("/sign-in/start?to=/").await;
    let back = format!("/sign-in/callback?code=a&state={}", parameter(start.location(), "state"));
    ann.get(&back).await.check_namespace(StatusCode::SERVICE_UNAVAILABLE, silent);
}
