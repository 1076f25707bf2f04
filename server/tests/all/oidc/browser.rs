//! A browser by hand: it keeps cookies, follows what leads on, and fills a form.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use server::web::http::router;
use server::web::state::Rollcast;
use tower::ServiceExt;

use crate::common::until::until;

/// Where the browser reaches Rollcast.
pub const HOST: &str = "127.0.0.1:7440";

/// The session's cookie, and the one of somebody who is on their way.
pub const SESSION: &str = "__Host-rollcast";
pub const START: &str = "__Host-rollcast-start";

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// Where it leads.
    pub fn location(&self) -> &str {
        self.headers.get(header::LOCATION).map(|to| to.to_str().unwrap()).unwrap_or_default()
    }

    /// It is a page that says this, with a way to try again.
    #[track_caller]
    pub fn check_namespace(&self, status: StatusCode, sentence: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(sentence), "{sentence}: {}", self.text);
        assert!(self.text.contains("href=\"/sign-in/start?to="), "{}", self.text);
    }
}

#[derive(Clone)]
pub struct Browser {
    pub rollcast: Arc<Rollcast>,
    /// Cookies of Rollcast.
    pub cookies: BTreeMap<String, String>,
    /// The host that it asks.
    pub host: &'static str,
    /// Its own address; without one, limits do not count it.
    pub peer: Option<SocketAddr>,
}

impl Browser {
    pub fn new(rollcast: &Arc<Rollcast>) -> Self {
        Self { rollcast: rollcast.clone(), cookies: BTreeMap::new(), host: HOST, peer: None }
    }

    /// A page of Rollcast.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[("accept", "text/html")]).await
    }

    /// What Rollcast answers.
    pub async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, self.host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let mut request = request.body(Body::empty()).unwrap();
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        let response = router(self.rollcast.clone()).oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        keep(&mut self.cookies, &head.headers);
        for cookie in head.headers.get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.len() <= 4_000 && cookie.contains("HttpOnly") && cookie.contains("Secure"), "{cookie}");
        }
        let text = String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned();
        Answer { status: head.status, headers: head.headers, text }
    }

    pub async fn sign_out(&mut self) -> Answer {
        self.ask("POST", "/sign-out", &[("origin", &format!("http://{HOST}"))]).await
    }

    /// Rollcast's list of Deployments is answered, and what it holds.
    pub async fn list(&mut self) -> (StatusCode, String) {
        let answer = self.ask("GET", "/api/v1/deployments", &[]).await;
        (answer.status, answer.text)
    }

    /// Looks at the list until the session was renewed.
    pub async fn until_renewed(&mut self) {
        let before = self.cookies[SESSION].clone();
        until("the session is renewed", async || {
            assert_eq!(self.list().await.0, StatusCode::OK);
            self.cookies[SESSION] != before
        })
        .await;
    }

    /// Looks at the list until it is shown no more; returns the status.
    pub async fn until_refused(&mut self) -> StatusCode {
        let mut last = StatusCode::OK;
        until("the list is not shown", async || {
            last = self.list().await.0;
            last != StatusCode::OK
        })
        .await;
        last
    }
}

/// Keeps the cookies of an answer.
fn keep(cookies: &mut BTreeMap<String, String>, headers: &HeaderMap) {
    for cookie in headers.get_all(header::SET_COOKIE) {
        let cookie = cookie.to_str().unwrap();
        let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        if value.is_empty() || cookie.contains("Max-Age=0") {
            cookies.remove(name);
        } else {
            cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Goes from the provider's first page, over its form, to where it leads back.
pub async fn at_provider(address: &str, login: &str, password: &str) -> String {
    let client: Client<_, Full<bytes::Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let origin: String = address.split('/').take(3).collect::<Vec<_>>().join("/");
    let (mut cookies, mut address, mut form) = (BTreeMap::new(), address.to_owned(), None);
    for _ in 0..12 {
        let own: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::builder().uri(&address).header(header::COOKIE, own.join("; "));
        let request = match form.take() {
            None => request.body(Full::default()),
            Some(form) => request
                .method("POST")
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(Full::from(form)),
        };
        let (head, body) = client.request(request.unwrap()).await.unwrap().into_parts();
        keep(&mut cookies, &head.headers);
        let text = String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned();
        let whole = |to: &str| if to.starts_with('/') { format!("{origin}{to}") } else { to.to_owned() };
        if let Some(to) = head.headers.get(header::LOCATION) {
            address = whole(to.to_str().unwrap());
            if let Some(back) = address.strip_prefix(&format!("http://{HOST}")) {
                return back.to_owned();
            }
            continue;
        }
        let action = text.split("action=\"").nth(1).unwrap_or_else(|| panic!("{} {text}", head.status));
        address = whole(&action.split('"').next().unwrap().replace("&amp;", "&"));
        let fields = [("login", login), ("password", password)];
        form = Some(form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish());
    }
    panic!("the provider does not lead back");
}

pub fn parameter(address: &str, name: &str) -> String {
    let query = address.split_once('?').unwrap().1;
    let found = form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}
