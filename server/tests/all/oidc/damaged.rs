//! What a provider answers, and tokens that programs show, damaged: nobody gets in by that, and nothing panics.

use axum::http::StatusCode;
use fastrand::Rng;

use super::browser::{Browser, SESSION};
use super::site::own_site;
use crate::common::damage::damaged;

#[tokio::test]
async fn damaged_tokens_are_nobodys() {
    let (own, rollcast) = own_site().await;
    let mut program = Browser::new(&rollcast);
    let good = own.token();
    let mut asked = 0;
    for seed in 0..1_500 {
        let rng = &mut Rng::with_seed(seed);
        let token = String::from_utf8_lossy(&damaged(good.as_bytes(), rng)).into_owned();
        let bearer = format!("Bearer {token}");
        if token.trim() == good || axum::http::HeaderValue::from_str(&bearer).is_err() {
            continue;
        }
        let answer = program.ask("GET", "/api/v1/deployments", &[("authorization", &bearer)]).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "seed {seed}: {token}");
        asked += 1;
    }
    assert!(asked > 500, "{asked}");
    let answer = program.ask("GET", "/api/v1/deployments", &[("authorization", &format!("Bearer {good}"))]).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn damaged_answers_of_a_provider_are_said_in_our_words() {
    let (mut failed, mut good) = (0, 0);
    for seed in 0..120 {
        let (own, rollcast) = own_site().await;
        own.with(|doings| doings.damage = Some(seed));
        let mut browser = Browser::new(&rollcast);
        let start = browser.get("/sign-in/start?to=/").await;
        // What it answers at first may be whole where that is damaged which it answers then.
        if start.status != StatusCode::SEE_OTHER || !start.location().contains("code_challenge=") {
            assert!(start.status.as_u16() < 504 && start.status != StatusCode::INTERNAL_SERVER_ERROR, "seed {seed}");
            own.with(|doings| doings.damage = None);
            failed += 1;
            continue;
        }
        let back = own.led(start.location());
        let answer = browser.get(&back).await;
        assert_ne!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "seed {seed}: {}", answer.text);
        match browser.cookies.contains_key(SESSION) {
            // Damage that changes nothing: white space, or a field that is not looked at.
            true => good += 1,
            false => failed += 1,
        }
    }
    assert!(failed > 60, "{failed} {good}");
}
