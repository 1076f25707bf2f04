//! What is not as it should be lets nobody in, and shows nobody what the provider says.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use server::access::cookie::SessionKeys;
use server::access::oidc::options::Times;
use server::web::limits::Limit;
use server::web::server_address::ServerAddress;

use super::browser::{Browser, SESSION, START, parameter};
use super::own::{Answers, Own, key, now};
use super::site::{options, own_site, site, with_keys};
use crate::common::addresses::named;

const STRANGE: &str = "This sign-in started in another window, or too long ago.";
const REFUSED: &str = "The provider did not sign you in.";
const SILENT: &str = "The sign-in provider does not respond right now.";

/// Damages a token: its header and its claims.
type Damage = fn(&mut Value, &mut Value);

#[tokio::test]
async fn a_token_that_is_not_all_right_signs_nobody_in() {
    let (own, rollcast) = own_site().await;
    let cases: [(&str, Damage); 19] = [
        ("another issuer", |_, claims| claims["iss"] = json!("http://127.0.0.1:1")),
        ("no issuer", |_, claims| claims["iss"] = Value::Null),
        ("another audience", |_, claims| claims["aud"] = json!("grafana")),
        ("others besides", |_, claims| claims["aud"] = json!(["rollcast", "grafana"])),
        ("no audience", |_, claims| drop(claims.as_object_mut().unwrap().remove("aud"))),
        ("another nonce", |_, claims| claims["nonce"] = json!("another")),
        ("no nonce", |_, claims| drop(claims.as_object_mut().unwrap().remove("nonce"))),
        ("expired", |_, claims| claims["exp"] = json!(now() - 1)),
        ("no end", |_, claims| drop(claims.as_object_mut().unwrap().remove("exp"))),
        ("issued tomorrow", |_, claims| claims["iat"] = json!(now() + 86_400)),
        ("good from tomorrow on", |_, claims| claims["nbf"] = json!(now() + 86_400)),
        ("of nobody", |_, claims| drop(claims.as_object_mut().unwrap().remove("sub"))),
        ("of another access token", |_, claims| claims["at_hash"] = json!("AAAAAAAAAAAAAAAAAAAAAA")),
        ("not signed", |header, _| header["alg"] = json!("none")),
        ("signed with what is no secret", |header, _| header["alg"] = json!("HS256")),
        ("signed in another way", |header, _| header["alg"] = json!("RS256")),
        ("signed with a key of that name that is not there", |header, _| header["kid"] = json!("two")),
        ("for something else", |header, _| header["typ"] = json!("secevent+jwt")),
        ("with what has to be understood", |header, _| header["crit"] = json!(["exp"])),
    ];
    for (name, change) in cases {
        own.with(|doings| doings.change = Box::new(change));
        let mut browser = Browser::new(&rollcast);
        let back = own.back(&mut browser, "/").await;
        let answer = browser.get(&back).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{name}: {}", answer.text);
        assert!(answer.text.contains(REFUSED), "{name}: {}", answer.text);
        assert!(browser.cookies.is_empty(), "{name}: {:?}", browser.cookies);
    }
    own.with(|doings| doings.signs = Some(key(9, "one")));
    own.with(|doings| doings.change = Box::new(|_, _| ()));
    let mut browser = Browser::new(&rollcast);
    let back = own.back(&mut browser, "/").await;
    browser.get(&back).await.check_namespace(StatusCode::FORBIDDEN, REFUSED);
    // And what is all right does, also where a clock is a little wrong.
    own.with(|doings| doings.signs = None);
    own.with(|doings| doings.change = Box::new(|_, claims| claims["iat"] = json!(now() + 30)));
    own.sign_in(&mut browser).await;
    assert_eq!(browser.list().await.0, StatusCode::OK);
}

#[tokio::test]
async fn times_and_booleans_of_claims_may_be_text() {
    let (own, rollcast) = own_site().await;
    let claims = [("updated_at", "2026-11-30T08:15:30.123Z"), ("email_verified", "true")];
    own.with(|doings| doings.more = claims.map(|(name, value)| (name.to_owned(), json!(value))).into());
    let mut browser = own.signed_in(&rollcast).await;
    assert_eq!(browser.list().await.0, StatusCode::OK);
    let bearer = format!("Bearer {}", own.token());
    let answer = Browser::new(&rollcast).ask("GET", "/api/v1/deployments", &[("authorization", &bearer)]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
}

#[tokio::test]
async fn who_comes_back_was_sent_by_this_browser() {
    let (own, rollcast) = own_site().await;
    let mut browser = Browser::new(&rollcast);
    let back = own.back(&mut browser, "/wall").await;
    let state = parameter(&back, "state");
    let other = own.back(&mut Browser::new(&rollcast), "/").await;
    for path in [
        format!("/sign-in/callback?code=good&state={}", parameter(&other, "state")),
        format!("/sign-in/callback?code=good&state={state}x"),
        format!("/sign-in/callback?code=good&state={}", &state[1..]),
        "/sign-in/callback?code=good&state=".to_owned(),
        "/sign-in/callback?code=good".to_owned(),
        "/sign-in/callback".to_owned(),
    ] {
        browser.clone().get(&path).await.check_namespace(StatusCode::BAD_REQUEST, STRANGE);
    }
    for path in [
        format!("/sign-in/callback?state={state}"),
        format!("/sign-in/callback?state={state}&error=access_denied&error_description=%3Cb%3Eown+words"),
        format!("{back}&iss=http%3A%2F%2F127.0.0.1%3A1"),
    ] {
        let answer = browser.clone().get(&path).await;
        answer.check_namespace(StatusCode::FORBIDDEN, REFUSED);
        assert!(!answer.text.contains("own words") && !answer.text.contains("access_denied"));
        assert!(answer.text.contains("href=\"/sign-in/start?to=%2Fwall\""), "{}", answer.text);
    }
    let sealed = browser.cookies[START].clone();
    for wrong in [String::new(), sealed.replace(&sealed[4..6], "__"), sealed[1..].to_owned(), state] {
        let mut browser = browser.clone();
        browser.cookies.insert(START.to_owned(), wrong);
        browser.get(&back).await.check_namespace(StatusCode::BAD_REQUEST, STRANGE);
    }
    // What is on its way is no session, and a session is nothing on its way.
    let mut renamed = browser.clone();
    renamed.cookies = [(SESSION.to_owned(), sealed)].into();
    assert_eq!(renamed.list().await.0, StatusCode::UNAUTHORIZED);
    own.with(|doings| assert!(doings.asked.is_empty(), "the provider was not asked: {:?}", doings.asked));
    let again = own.back(&mut browser, "/wall").await;
    assert_eq!(browser.get(&again).await.location(), "/wall");
    own.with(|doings| assert_eq!(doings.asked["redirect_uri"], "http://127.0.0.1:7440/sign-in/callback"));
}

#[tokio::test]
async fn of_two_windows_in_which_somebody_began_the_later_one_signs_them_in() {
    let (own, rollcast) = own_site().await;
    let mut browser = Browser::new(&rollcast);
    let first = own.back(&mut browser, "/").await;
    let second = own.back(&mut browser, "/wall").await;
    let strange = browser.get(&first).await;
    strange.check_namespace(StatusCode::BAD_REQUEST, STRANGE);
    assert!(strange.text.contains("href=\"/sign-in/start?to=%2Fwall\""), "{}", strange.text);
    assert_eq!(browser.get(&second).await.location(), "/wall");
    // The earlier one is signed in by then, and keeps nobody from going on.
    assert_eq!(browser.get(&first).await.location(), "/");
    let third = own.back(&mut browser, "/history").await;
    for path in [&first, &third] {
        assert_eq!(browser.get(path).await.location(), "/history");
    }
}

#[tokio::test]
async fn who_begins_at_another_name_goes_on_at_the_public_one() {
    let own = Own::start().await;
    let public = "https://rollouts.example.com".parse().ok();
    let server_address = ServerAddress { public, ..ServerAddress::default() };
    let rollcast = with_keys(options(&own.issuer), SessionKeys::generate(), server_address).await;
    let mut browser = Browser::new(&rollcast);
    let start = browser.get("/sign-in/start?to=%2Fwall%3Frotate%3D5").await;
    assert_eq!(start.location(), "https://rollouts.example.com/sign-in/start?to=%2Fwall%3Frotate%3D5");
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
    for host in ["rollouts.example.com", "rollouts.example.com:443"] {
        browser.host = host;
        let back = own.back(&mut browser, "/wall").await;
        assert_eq!(browser.get(&back).await.location(), "/wall", "{host}");
        own.with(|doings| {
            assert_eq!(doings.asked["redirect_uri"], "https://rollouts.example.com/sign-in/callback");
        });
    }
}

#[tokio::test]
async fn why_somebody_is_not_signed_in_is_logged() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let logged = || std::fs::read_to_string(log.path()).unwrap();
    let logger = tracing_subscriber::fmt().with_ansi(false).with_writer(log.reopen().unwrap()).finish();
    // For all threads: what a thread without a subscriber logs first stays off for the others too.
    tracing::subscriber::set_global_default(logger).unwrap();
    tracing::callsite::rebuild_interest_cache();
    let (own, rollcast) = own_site().await;
    let mut browser = Browser::new(&rollcast);
    let state = parameter(&own.back(&mut browser, "/").await, "state");
    let back = format!("/sign-in/callback?state={state}&error=invalid_scope&error_description=no+groups%0Ahere");
    browser.get(&back).await.check_namespace(StatusCode::FORBIDDEN, REFUSED);
    assert!(logged().contains("rejected a sign-in: no code: invalid_scope no groups here\n"), "{}", logged());
    for (claim, value, said) in [
        ("updated_at", json!([1]), "updated_at: data did not match"),
        ("updated_at", json!("ann@example.com"), "Error(\"invalid value"),
        ("phone_number", json!(4_915_112_345_678_u64), "phone_number: invalid value"),
    ] {
        own.with(|doings| doings.more = [(claim.to_owned(), value)].into());
        let back = own.back(&mut browser, "/").await;
        browser.get(&back).await.check_namespace(StatusCode::FORBIDDEN, REFUSED);
        let logged = logged();
        let malformed = logged.lines().filter(|line| line.contains("rejected a sign-in: the response is malformed: "));
        let malformed: Vec<&str> = malformed.collect();
        assert!(malformed.iter().any(|line| line.contains(said)), "{malformed:?}");
        let has_value = |line: &&str| line.contains("ann@example.com") || line.contains("4915112345678");
        assert!(!malformed.iter().any(has_value), "{malformed:?}");
    }
}

#[tokio::test]
async fn a_client_does_not_have_the_provider_asked_about_made_up_codes_without_end() {
    let (own, rollcast) = own_site().await;
    let mut browser = Browser::new(&rollcast);
    browser.peer = Some(([10, 0, 0, 7], 4_000).into());
    let made_up = own.back(&mut browser, "/").await.replace("code=good", "code=made-up");
    let mut told = Vec::new();
    for _ in 0..40 {
        told.push(browser.clone().get(&made_up).await.status);
    }
    assert!(told[..20].iter().all(|status| *status == StatusCode::FORBIDDEN), "{told:?}");
    // A slow machine may earn a few more meanwhile.
    let late = told.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count();
    assert!((10..=20).contains(&late) && told.len() == 40, "{told:?}");
    assert_eq!(rollcast.limits.count(Limit::SignIns) as usize, late);
}

#[tokio::test]
async fn a_provider_that_answers_badly_is_said_in_our_words() {
    for answers in [Answers::Page, Answers::Broken, Answers::Huge, Answers::Elsewhere, Answers::Never] {
        let own = Own::start().await;
        let mut options = options(&own.issuer);
        options.times = Times { answer: Duration::from_millis(500), ..options.times };
        let retry_after = options.times.retry_after;
        let rollcast = site(options).await;
        own.with(|doings| doings.answers = answers);
        let began = Instant::now();
        let mut browser = Browser::new(&rollcast);
        let answer = browser.get("/sign-in/start?to=/").await;
        answer.check_namespace(StatusCode::SERVICE_UNAVAILABLE, SILENT);
        assert!(!answer.text.contains("own words") && browser.cookies.is_empty(), "{answers:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{answers:?}");
        // It is asked again, and not at once.
        browser.get("/sign-in/start?to=/").await.check_namespace(StatusCode::SERVICE_UNAVAILABLE, SILENT);
        let is_later = began.elapsed() >= retry_after;
        own.with(|doings| assert!(doings.discovered == 1 || is_later, "{answers:?}: {}", doings.discovered));
        own.with(|doings| doings.answers = Answers::Well);
        crate::common::until::until("it answers again", async || {
            browser.get("/sign-in/start?to=/").await.status == StatusCode::SEE_OTHER
        })
        .await;
        // The same at the second question.
        let back = own.back(&mut browser, "/").await;
        own.with(|doings| doings.answers = answers);
        let answer = browser.get(&back).await;
        answer.check_namespace(StatusCode::SERVICE_UNAVAILABLE, SILENT);
        assert!(!answer.text.contains("own words"), "{answers:?}");
        own.with(|doings| doings.answers = Answers::Refuses);
        let back = own.back(&mut browser, "/").await;
        let answer = browser.get(&back).await;
        answer.check_namespace(StatusCode::FORBIDDEN, REFUSED);
        assert!(!answer.text.contains("own words") && !answer.text.contains("invalid_grant"));
        own.with(|doings| assert_eq!(doings.strayed, 0, "{answers:?}: nobody is led elsewhere"));
    }
}

#[tokio::test]
async fn who_could_not_be_known_to_a_cluster_is_not_signed_in() {
    let own = Own::start().await;
    let nameless = "The provider sent no user name that the clusters accept.";
    let groups =
        "You are in too many groups. The administrator of the provider can let it send this application fewer.";
    let data = "The provider sent more data about you than a browser cookie can hold.";
    let mut other = options(&own.issuer);
    other.prefixes.user = String::new();
    let rollcast = site(other).await;
    let cases: [(Damage, StatusCode, &str); 7] = [
        (|_, claims| claims["email"] = json!("system:admin"), StatusCode::FORBIDDEN, nameless),
        (|_, claims| claims["email"] = json!(""), StatusCode::FORBIDDEN, nameless),
        (|_, claims| claims["email"] = json!("ann\u{0}"), StatusCode::FORBIDDEN, nameless),
        (|_, claims| claims["email_verified"] = json!(false), StatusCode::FORBIDDEN, nameless),
        (|_, claims| claims["groups"] = long_groups(), StatusCode::BAD_REQUEST, data),
        (|_, claims| claims["groups"] = json!(vec!["team"; 201]), StatusCode::FORBIDDEN, groups),
        (groups_elsewhere, StatusCode::FORBIDDEN, groups),
    ];
    for (change, status, sentence) in cases {
        own.with(|doings| doings.change = Box::new(change));
        let mut browser = Browser::new(&rollcast);
        let back = own.back(&mut browser, "/").await;
        browser.get(&back).await.check_namespace(status, sentence);
        assert!(browser.cookies.is_empty(), "{sentence}");
    }
}

fn long_groups() -> Value {
    (0..190).map(|number| format!("a-group-with-a-long-name-{number}")).collect()
}

fn groups_elsewhere(_: &mut Value, claims: &mut Value) {
    claims.as_object_mut().unwrap().remove("groups");
    claims["_claim_names"] = json!({ "groups": "src1" });
}

#[tokio::test]
async fn programs_show_a_token_of_the_provider() {
    let (own, rollcast) = own_site().await;
    let mut program = Browser::new(&rollcast);
    let mut ask = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let answer = program.ask("GET", "/api/v1/deployments", &[("authorization", &bearer)]).await;
        (answer.status, answer.text)
    };
    let good = own.token();
    let (status, list) = ask(&good).await;
    assert!(status == StatusCode::OK && list.contains("rollover"), "{list}");
    own.with(|doings| doings.change = Box::new(|_, claims| claims["aud"] = json!("grafana")));
    assert_eq!(ask(&own.token()).await.0, StatusCode::UNAUTHORIZED);
    own.with(|doings| doings.change = Box::new(|_, claims| claims["exp"] = json!(now() - 1)));
    assert_eq!(ask(&own.token()).await.0, StatusCode::UNAUTHORIZED);
    for wrong in ["", "a", "a.b.c", &good[..good.len() - 4]] {
        assert_eq!(ask(wrong).await.0, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    assert_eq!(ask(&good).await.0, StatusCode::OK);
}

#[tokio::test]
async fn no_cookie_but_ones_own_shows_anything_at_any_address() {
    let (own, elsewhere) = (Own::start().await, Own::start().await);
    let (rollcast, other) = (site(options(&own.issuer)).await, site(options(&elsewhere.issuer)).await);
    let session = |browser: &Browser| browser.cookies[SESSION].clone();
    let mut good = own.signed_in(&rollcast).await;
    // Of another Rollcast, whose keys are its own.
    let mut anothers = Browser::new(&other);
    elsewhere.sign_in(&mut anothers).await;
    // Of somebody who signed out, and kept it.
    let mut left = own.signed_in(&rollcast).await;
    let replayed = session(&left);
    left.sign_out().await;
    // Of somebody whose time is up, without a way to go on.
    own.with(|doings| (doings.valid_for, doings.can_refresh) = (4, false));
    let late = own.signed_in(&rollcast).await;
    let expired = session(&late);
    crate::common::until::until("it has expired", async || late.clone().list().await.0 == StatusCode::UNAUTHORIZED)
        .await;
    let tampered = {
        let mut bytes = session(&good).into_bytes();
        let at = bytes.len() / 2;
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let cookies = [
        ("nobody's", "bm9ib2R5".to_owned()),
        ("another Rollcast's", session(&anothers)),
        ("expired", expired),
        ("tampered", tampered),
        ("replayed", replayed),
    ];
    let mut asked = 0;
    for pattern in crate::common::addresses::patterns() {
        let path = named(&pattern, "prod", "rollover");
        for (method, accepts) in [("GET", "text/html"), ("GET", "application/json"), ("POST", "application/json")] {
            let origin = ("origin", "http://127.0.0.1:7440");
            let headers = [("accept", accepts), origin];
            let headers = if method == "POST" { &headers[..] } else { &headers[..1] };
            let nobody = Browser::new(&rollcast).ask(method, &path, headers).await;
            let is_open = ["/sign-", "/shared", "/healthz", "/readyz"].iter().any(|open| path.starts_with(open));
            if nobody.status == StatusCode::UNAUTHORIZED {
                let why = "Sign in, or send an ID token that the provider issued";
                assert!(nobody.text.starts_with(why), "{path}: {}", nobody.text);
            } else if method == "GET" && !is_open {
                assert!(nobody.location().starts_with("/sign-in?to="), "{path} {}", nobody.status);
            }
            for (whose, cookie) in &cookies {
                let mut browser = Browser::new(&rollcast);
                browser.cookies.insert(SESSION.to_owned(), cookie.clone());
                let answer = browser.ask(method, &path, headers).await;
                assert!(
                    !answer.text.contains("rollover") && !answer.text.contains("prod"),
                    "{whose} {method} {path}: {}",
                    answer.text
                );
                assert_eq!(answer.status, nobody.status, "{whose} {method} {path}: as without any");
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
    assert!(good.list().await.1.contains("rollover"), "their own shows what they may see");
}
