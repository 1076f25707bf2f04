//! People who show a Kubernetes token: in a browser they sign out, and strangers who make tokens up keep nobody out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use futures::StreamExt;
use serde_json::json;
use server::access::cookie::SessionKeys;
use server::access::token::TokenAuth;
use server::access::{Auth, Subjects, Viewer};
use server::kube::Pace;
use server::kube::review::{Reviewer, Subject};
use server::web::client_view::ClientView;
use server::web::limits::Limit;
use server::web::session::StreamRequest;
use server::web::state::{Rollcast, Site};

use crate::common::reviewer::{self, Answer, answered};
use crate::pages::people::{answer_pings, prod, serve};
use crate::pages::site::{send, text_of};

/// A cluster that takes the token "good" for somebody's, and never says anything of another one.
fn reviewer() -> Reviewer {
    reviewer::reviewer(Pace::default(), |asked| async move {
        if asked["spec"]["token"] != "good" {
            std::future::pending::<()>().await;
        }
        answered(&json!({ "authenticated": true, "user": { "username": "fully" } }))
    })
}

fn tokens() -> Arc<TokenAuth> {
    TokenAuth::new(SessionKeys::generate(), vec![("prod".to_owned(), reviewer())])
}

async fn token_site(tokens: Arc<TokenAuth>) -> Arc<Rollcast> {
    prod(Site { auth: Auth::Token(tokens), ..Site::default() }).await
}

/// A cluster that says at once of each token but "good" that it is nobody's, and how often it was asked.
fn quick_reviewer() -> (Reviewer, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let count = asked.clone();
    let reviewer = reviewer::reviewer(Pace::default(), move |asked| {
        count.fetch_add(1, Ordering::Relaxed);
        let is_good = asked["spec"]["token"] == "good";
        std::future::ready(answered(&json!({ "authenticated": is_good, "user": { "username": "fully" } })))
    });
    (reviewer, asked)
}

#[tokio::test]
async fn a_client_does_not_have_clusters_asked_about_made_up_tokens_without_end() {
    let (reviewer, asked) = quick_reviewer();
    let tokens = TokenAuth::new(SessionKeys::generate(), vec![("prod".to_owned(), reviewer)]);
    let rollcast = token_site(tokens).await;
    let session = session(&ask(&rollcast, "POST", "/sign-in", "token=good&to=/", "").await);
    let before = asked.load(Ordering::Relaxed);
    let mut told = Vec::new();
    for number in 0..60 {
        let answer = ask(&rollcast, "POST", "/sign-in", &format!("token=made-up-{number}&to=/"), "").await;
        told.push((answer.status(), answer.headers().contains_key(header::RETRY_AFTER)));
    }
    assert!(told[..20].iter().all(|told| *told == (StatusCode::FORBIDDEN, false)), "{told:?}");
    // A slow machine may earn one or two more meanwhile.
    let late = told.iter().filter(|told| **told == (StatusCode::TOO_MANY_REQUESTS, true)).count();
    assert!((30..=40).contains(&late) && told.len() == 60, "{told:?}");
    assert_eq!(asked.load(Ordering::Relaxed) - before, 60 - late, "the others were not asked about");
    assert_eq!(rollcast.limits.count(Limit::SignIns) as usize, late);
    // Who is known comes from the same address.
    assert_eq!(ask(&rollcast, "GET", "/api/v1/deployments", "", &session).await.status(), StatusCode::OK);
    let again = ask(&rollcast, "POST", "/sign-in", "token=good&to=/", "").await;
    assert_eq!(again.status(), StatusCode::SEE_OTHER, "so does who shows a token that is known");
}

#[tokio::test]
async fn a_token_that_fits_into_no_cookie_is_good_for_programs() {
    let reviewer = reviewer::reviewer(Pace::default(), |_| {
        std::future::ready(answered(&json!({ "authenticated": true, "user": { "username": "fully" } })))
    });
    let tokens = TokenAuth::new(SessionKeys::generate(), vec![("prod".to_owned(), reviewer)]);
    let long = "a".repeat(3_500);
    assert!(tokens.authenticate(&long, None).await.is_ok());
    for wrong in [String::new(), "a".repeat(13_000)] {
        assert!(tokens.authenticate(&wrong, None).await.is_err());
    }
    let rollcast = token_site(tokens).await;
    let answer = ask(&rollcast, "POST", "/sign-in", &format!("token={long}&to=/"), "").await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    assert!(text_of(answer).await.contains("This token is too long for a browser cookie."));
}

async fn ask(rollcast: &Arc<Rollcast>, method: &str, path: &str, body: &str, cookie: &str) -> Response<Body> {
    let request = Request::builder().method(method).uri(path).header(header::COOKIE, cookie);
    let request = request.header(header::ORIGIN, "http://localhost:7440");
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    send(rollcast, Some([10, 0, 0, 9]), request, body.to_owned()).await
}

fn session(answer: &Response<Body>) -> String {
    let is_session = |cookie: &&HeaderValue| cookie.as_bytes().starts_with(b"__Host-rollcast=");
    let cookie = answer.headers().get_all(header::SET_COOKIE).iter().find(is_session).unwrap().to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn who_signed_out_is_out_whoever_kept_the_cookie() {
    let rollcast = token_site(tokens()).await;
    let sign_in = async || session(&ask(&rollcast, "POST", "/sign-in", "token=good&to=/", "").await);
    let list = async |cookie: &str| ask(&rollcast, "GET", "/api/v1/deployments", "", cookie).await.status();
    let (first, second) = (sign_in().await, sign_in().await);
    assert_eq!((list(&first).await, list(&second).await), (StatusCode::OK, StatusCode::OK));
    let left = ask(&rollcast, "POST", "/sign-out", "", &first).await;
    assert_eq!(left.status(), StatusCode::SEE_OTHER);
    assert_eq!(list(&first).await, StatusCode::UNAUTHORIZED);
    assert_eq!(list(&second).await, StatusCode::OK, "that is another session");
    assert_eq!(list(&sign_in().await).await, StatusCode::OK);
    assert_eq!(list(&first).await, StatusCode::UNAUTHORIZED, "it is still over");
}

#[tokio::test]
async fn who_is_signed_in_by_another_window_is_asked_for_no_token() {
    let rollcast = token_site(tokens()).await;
    let page = async |cookie: &str| ask(&rollcast, "GET", "/sign-in?to=%2Fwall%3Frotate%3D5", "", cookie).await;
    assert_eq!(page("").await.status(), StatusCode::OK);
    let session = session(&ask(&rollcast, "POST", "/sign-in", "token=good&to=/", "").await);
    let known = page(&session).await;
    assert_eq!(known.status(), StatusCode::SEE_OTHER);
    assert_eq!(known.headers()[header::LOCATION], "/wall?rotate=5");
    ask(&rollcast, "POST", "/sign-out", "", &session).await;
    assert_eq!(page(&session).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_browser_that_drops_the_cookie_is_told_so() {
    let dropped = "This browser did not keep the cookie of your session.";
    let keys = SessionKeys::generate();
    let site =
        async |reviewer: Reviewer| token_site(TokenAuth::new(keys.clone(), vec![("prod".to_owned(), reviewer)])).await;
    let rollcast = site(reviewer()).await;
    let signed_in = ask(&rollcast, "POST", "/sign-in", "token=good&to=%2Fwall%3Frotate%3D5", "").await;
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
    let check = signed_in.headers()[header::LOCATION].to_str().unwrap();
    assert_eq!(check, "/sign-in?to=%2Fwall%3Frotate%3D5&check-cookie");
    let cookie = session(&signed_in);
    let page = async |rollcast: &Arc<Rollcast>, path: &str, cookie: &str| {
        let answer = ask(rollcast, "GET", path, "", cookie).await;
        let to = answer.headers().get(header::LOCATION).map(|to| to.to_str().unwrap().to_owned());
        (to, text_of(answer).await)
    };
    let (to, text) = page(&rollcast, check, "").await;
    assert!(to.is_none() && text.contains(dropped), "{to:?} {text}");
    assert!(text.contains("value=\"/wall?rotate=5\""), "{text}");
    let (to, text) = page(&rollcast, "/sign-in?to=%2Fwall", "").await;
    assert!(to.is_none() && !text.contains(dropped), "{to:?} {text}");
    let wanted = Some("/wall?rotate=5".to_owned());
    assert_eq!(page(&rollcast, check, &cookie).await.0, wanted);
    // The cookie is there, but no cluster reviews its token.
    let silent = reviewer::reviewer(Pace::default(), |_| std::future::ready((500, Vec::new())));
    assert_eq!(page(&site(silent).await, check, &cookie).await.0, wanted);
    // The browser kept the cookie, but its session has ended, or another server made it.
    ask(&rollcast, "POST", "/sign-out", "", &cookie).await;
    for kept in [cookie.as_str(), "__Host-rollcast=another"] {
        let (to, text) = page(&rollcast, check, kept).await;
        assert!(to.is_none() && !text.contains(dropped), "{kept}: {to:?} {text}");
    }
    let request = Request::get(check).header(header::AUTHORIZATION, "Bearer bad");
    let answer = send(&site(quick_reviewer().0).await, Some([10, 0, 0, 9]), request, ()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(!text_of(answer).await.contains(dropped));
}

#[tokio::test]
async fn who_signs_out_with_many_tokens_ends_nobody_elses_session() {
    let tokens = tokens();
    let session = |token: &str, cluster: &str, user: &str| {
        let subject = Subject { user: user.to_owned(), ..Subject::default() };
        let subjects = Subjects::Each(BTreeMap::from([(cluster.to_owned(), subject)]));
        let cookie = tokens.begin(token, &Viewer::signed_in(user.into(), subjects)).unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(pair).unwrap())])
    };
    let (own, others) = (session("good", "prod", "ann lee"), session("good", "prod", "fully"));
    // More than there may be owners.
    for number in 0..4_200 {
        tokens.end(&session(&format!("token-{number}"), "prod", "ann lee"));
    }
    // More than are remembered one by one, of somebody who has that name in another cluster.
    for number in 0..100 {
        tokens.end(&session(&format!("token-{number}"), "other", "fully"));
    }
    assert!(tokens.viewer(&others, None).await.is_ok());
    assert!(tokens.viewer(&own, None).await.is_err(), "of one person, all that began before have ended");
}

#[tokio::test(start_paused = true)]
async fn who_is_known_does_not_wait_for_strangers_who_make_tokens_up() {
    let tokens = tokens();
    assert_eq!(&*tokens.authenticate("good", None).await.unwrap().name, "fully");
    for stranger in 0..64 {
        let tokens = tokens.clone();
        tokio::spawn(async move {
            for number in 0.. {
                assert!(tokens.authenticate(&format!("{stranger}.{number}"), None).await.is_err());
            }
        });
    }
    // Somebody who looks all the time, and one who comes back after what was said of them is not good any more.
    for pause in [1; 120].into_iter().chain([50, 300]) {
        tokio::time::sleep(Duration::from_secs(pause)).await; // in the test's own time, which passes at once
        let began = tokio::time::Instant::now();
        assert!(tokens.authenticate("good", None).await.is_ok());
        assert_eq!(began.elapsed(), Duration::ZERO, "after {pause} s");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_known_does_not_wait_for_a_cluster_that_does_not_say_whose_token_it_is() {
    let speaks = Arc::<AtomicBool>::default();
    let does_speak = speaks.clone();
    let other = reviewer::reviewer(Pace::default(), move |_| {
        let speaks = does_speak.load(Ordering::Relaxed);
        async move {
            if !speaks {
                std::future::pending::<()>().await;
            }
            answered(&json!({ "authenticated": true, "user": { "username": "other" } }))
        }
    });
    let clusters = vec![("prod".to_owned(), reviewer()), ("other".to_owned(), other)];
    let tokens = TokenAuth::new(SessionKeys::generate(), clusters);
    let ask = async || tokens.authenticate("good", None).await.unwrap();
    let is_seen = |viewer: &Viewer, cluster| viewer.subjects.as_ref().unwrap().of(cluster).is_some();
    let viewer = ask().await;
    assert!(!is_seen(&viewer, "other") && viewer.is_unchecked);
    for second in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await; // in the test's own time, which passes at once
        let began = tokio::time::Instant::now();
        assert!(is_seen(&ask().await, "prod"));
        assert_eq!(began.elapsed(), Duration::ZERO, "after {second} s");
    }
    speaks.store(true, Ordering::Relaxed);
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask().await;
    }
    let viewer = ask().await;
    assert!(is_seen(&viewer, "other") && !viewer.is_unchecked, "it is asked meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_while_one_of_the_clusters_does_not_say_whose_token_it_is() {
    let mute = reviewer::reviewer(Pace::default(), |_| std::future::pending::<Answer>());
    let clusters = vec![("prod".to_owned(), reviewer()), ("mute".to_owned(), mute)];
    let rollcast = token_site(TokenAuth::new(SessionKeys::generate(), clusters)).await;
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static("Bearer good"))]);
    let (viewer, _) = rollcast.authenticate(&headers, None, None).await.unwrap();
    let view = ClientView::new(&rollcast, viewer).await.unwrap();
    assert!(view.permissions().is_silent(), "the other one is not told as one that is not watched");
    let (said, mut heard) = serve(view, StreamRequest { headers, ..StreamRequest::default() });
    answer_pings(said);
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(180) {
        let before = tokio::time::Instant::now();
        heard.next().await.expect("the stream goes on");
        assert!(before.elapsed() < Duration::from_secs(5), "silent for {:?}", before.elapsed());
    }
}
