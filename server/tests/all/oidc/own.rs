//! A provider of our own, that does as it is told: it signs what no provider should, falls silent, and forgets its keys.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::extract::{Form, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fastrand::Rng;
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKeyId, PkceCodeChallenge, PkceCodeVerifier, PrivateSigningKey};
use serde_json::{Value, json};
use server::web::state::Rollcast;

use super::browser::{Browser, parameter};
use crate::common::damage::damaged;

/// What stands before the 32 bytes of an Ed25519 key in PKCS #8.
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Well,
    /// With a page, as what stands in front of a provider may do.
    Page,
    /// With status 500.
    Broken,
    /// With more than anybody takes.
    Huge,
    /// That somebody else is to be asked.
    Elsewhere,
    /// Not at all.
    Never,
    /// That it does not want to.
    Refuses,
    /// With this status and JSON.
    Json(StatusCode, &'static str),
}

type Change = Box<dyn Fn(&mut Value, &mut Value) + Send>;

/// What it does, and what was done to it.
pub struct Doings {
    pub answers: Answers,
    /// What is changed in header and claims before they are signed.
    pub change: Change,
    /// Signs tokens instead of the key that is shown.
    pub signs: Option<CoreEdDsaPrivateSigningKey>,
    /// The only key that is shown.
    pub shows: CoreEdDsaPrivateSigningKey,
    /// How long tokens are valid, in seconds.
    pub valid_for: i64,
    /// It gives refresh tokens.
    pub can_refresh: bool,
    pub groups: Value,
    /// Claims of everybody.
    pub more: BTreeMap<String, Value>,
    challenge: String,
    nonce: String,
    refresh: u32,
    pub discovered: u32,
    pub keys_read: u32,
    pub refreshed: u32,
    pub revoked: Vec<String>,
    /// Its answers are damaged, as follows from that seed.
    pub damage: Option<u64>,
    /// Questions that it was never to be asked: where it led to.
    pub strayed: u32,
    /// The form of the last question.
    pub asked: BTreeMap<String, String>,
}

/// A provider that is running.
#[derive(Clone)]
pub struct Own {
    pub issuer: String,
    doings: Arc<Mutex<Doings>>,
}

/// A key that follows from a number.
pub fn key(seed: u8, name: &str) -> CoreEdDsaPrivateSigningKey {
    let text = STANDARD.encode([PKCS8.as_slice(), &[seed; 32]].concat());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(JsonWebKeyId::new(name.to_owned()))).unwrap()
}

pub fn now() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64
}

impl Own {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let doings = Doings {
            answers: Answers::Well,
            change: Box::new(|_, _| ()),
            signs: None,
            shows: key(1, "one"),
            valid_for: 3_600,
            can_refresh: true,
            groups: json!(["team"]),
            more: BTreeMap::new(),
            challenge: String::new(),
            nonce: String::new(),
            refresh: 0,
            discovered: 0,
            keys_read: 0,
            refreshed: 0,
            revoked: Vec::new(),
            damage: None,
            strayed: 0,
            asked: BTreeMap::new(),
        };
        let own = Self { issuer, doings: Arc::new(Mutex::new(doings)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .fallback(strayed)
            .layer(axum::middleware::map_response_with_state(own.clone(), hurt))
            .with_state(own.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        own
    }

    /// Tells it what to do, or looks at what it did.
    pub fn with<T>(&self, with: impl FnOnce(&mut Doings) -> T) -> T {
        with(&mut self.doings.lock().unwrap())
    }

    /// A browser goes there, and is led back with a code: the address that it is led to.
    pub async fn back(&self, browser: &mut Browser, to: &str) -> String {
        let start = browser.get(&format!("/sign-in/start?to={to}")).await;
        assert_eq!(start.status, StatusCode::SEE_OTHER, "{}", start.text);
        self.led(start.location())
    }

    /// The same of somebody who was led there.
    pub fn led(&self, address: &str) -> String {
        let asked = |name: &str| parameter(address, name);
        self.with(|doings| (doings.nonce, doings.challenge) = (asked("nonce"), asked("code_challenge")));
        format!("/sign-in/callback?code=good&state={}", asked("state"))
    }

    pub async fn sign_in(&self, browser: &mut Browser) {
        let back = self.back(browser, "/").await;
        let answer = browser.get(&back).await;
        assert_eq!(answer.location(), "/", "{}", answer.text);
    }

    pub async fn signed_in(&self, rollcast: &Arc<Rollcast>) -> Browser {
        let mut browser = Browser::new(rollcast);
        self.sign_in(&mut browser).await;
        browser
    }

    /// An ID token.
    pub fn token(&self) -> String {
        self.with(|doings| signed(doings, &self.issuer))
    }
}

fn signed(doings: &Doings, issuer: &str) -> String {
    let mut header = json!({ "alg": "EdDSA", "kid": "one" });
    let mut claims = json!({
        "iss": issuer, "aud": "rollcast", "sub": "ann", "email": "ann@example.com", "email_verified": true,
        "iat": now(), "exp": now() + doings.valid_for, "nonce": doings.nonce, "groups": doings.groups,
    });
    for (name, value) in &doings.more {
        claims[name] = value.clone();
    }
    (doings.change)(&mut header, &mut claims);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&header), part(&claims));
    if header["alg"] == "none" {
        return format!("{text}.");
    }
    let key = doings.signs.as_ref().unwrap_or(&doings.shows);
    let signature = key.sign(&CoreJwsSigningAlgorithm::EdDsa, text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Damages an answer, where that is wanted.
async fn hurt(State(own): State<Own>, response: Response) -> Response {
    let Some(seed) = own.with(|doings| {
        let seed = doings.damage;
        doings.damage = seed.map(|seed| seed + 1_000_000); // each answer in its own way
        seed
    }) else {
        return response;
    };
    let rng = &mut Rng::with_seed(seed);
    if rng.bool() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, damaged(&bytes, rng).into())
}

/// What it answers instead of what it should.
async fn instead(own: &Own) -> Option<Response> {
    let answers = own.with(|doings| doings.answers);
    let elsewhere = [(header::LOCATION, format!("{}/stolen", own.issuer))];
    Some(match answers {
        Answers::Well | Answers::Refuses => return None,
        Answers::Page => ([(header::CONTENT_TYPE, "text/html")], "<h1>provider's own words</h1>").into_response(),
        Answers::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "provider's own words").into_response(),
        Answers::Huge => Json(json!({ "padding": "x".repeat(2 << 20) })).into_response(),
        Answers::Json(status, text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Answers::Elsewhere => (StatusCode::TEMPORARY_REDIRECT, elsewhere, "provider's own words").into_response(),
        Answers::Never => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return None;
        }
    })
}

async fn discovery(State(own): State<Own>) -> Response {
    own.with(|doings| doings.discovered += 1);
    if let Some(instead) = instead(&own).await {
        return instead;
    }
    let at = |path: &str| format!("{}/{path}", own.issuer);
    Json(json!({
        "issuer": own.issuer, "authorization_endpoint": at("auth"), "token_endpoint": at("token"),
        "jwks_uri": at("keys"), "revocation_endpoint": at("revoke"), "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        // One that promises what nobody should believe.
        "id_token_signing_alg_values_supported": ["EdDSA", "none", "HS256"],
    }))
    .into_response()
}

async fn keys(State(own): State<Own>) -> Response {
    let key = own.with(|doings| {
        doings.keys_read += 1;
        serde_json::to_value(doings.shows.as_verification_key()).unwrap()
    });
    Json(json!({ "keys": [key] })).into_response()
}

async fn strayed(State(own): State<Own>) -> StatusCode {
    own.with(|doings| doings.strayed += 1);
    StatusCode::NOT_FOUND
}

async fn revoke(State(own): State<Own>, Form(form): Form<BTreeMap<String, String>>) {
    own.with(|doings| doings.revoked.push(form["token"].clone()));
}

async fn token(State(own): State<Own>, Form(form): Form<BTreeMap<String, String>>) -> Response {
    own.with(|doings| doings.asked.clone_from(&form));
    if let Some(instead) = instead(&own).await {
        return instead;
    }
    own.with(|doings| {
        let text = |name: &str| form.get(name).cloned().unwrap_or_default();
        let is_good = match text("grant_type").as_str() {
            "authorization_code" => {
                let verifier = PkceCodeVerifier::new(text("code_verifier"));
                let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
                // A code is good once.
                let is_asked = challenge.as_str() == std::mem::take(&mut doings.challenge);
                is_asked && text("code") == "good"
            }
            "refresh_token" => {
                doings.refreshed += 1;
                let is_newest = text("refresh_token") == format!("refresh-{}", doings.refresh);
                doings.refresh += 1;
                is_newest
            }
            _ => false,
        };
        if !is_good || doings.answers == Answers::Refuses {
            let why = json!({ "error": "invalid_grant", "error_description": "provider's own words" });
            return (StatusCode::BAD_REQUEST, Json(why)).into_response();
        }
        let mut answer = json!({ "access_token": "access", "token_type": "bearer", "expires_in": doings.valid_for });
        answer["id_token"] = signed(doings, &own.issuer).into();
        if doings.can_refresh {
            answer["refresh_token"] = format!("refresh-{}", doings.refresh).into();
        }
        Json(answer).into_response()
    })
}
