//! Links for people without an account: who has one sees what it opens and nothing else, for as long as its maker may see it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use serde_json::Value;
use server::access::Auth;
use server::access::cookie::SessionKeys;
use server::access::scope::LinkScope;
use server::access::share::{LinkRequest, Shares};
use server::access::token::TokenAuth;
use server::telemetry::clock;
use server::web::state::{Rollcast, Site};
use timeline::address::Route;

use crate::common::addresses::{named, patterns};
use crate::pages::api::assert_described_as;
use crate::pages::people::{PROD, proxy, rules, site, viewer};
use crate::pages::site::{send, site_of, text_of};

/// Somebody: signed in under a name, or with the cookie of a link.
#[derive(Clone, Default)]
pub(crate) struct Somebody {
    user: Option<&'static str>,
    pub(crate) cookie: Option<String>,
}

pub(crate) fn signed_in(user: &'static str) -> Somebody {
    Somebody { user: Some(user), cookie: None }
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    to: String,
    pub(crate) cookie: Option<String>,
    /// When they may come again, in seconds.
    pub(crate) again: Option<String>,
}

impl Somebody {
    pub(crate) async fn send(
        &self,
        rollcast: &Arc<Rollcast>,
        method: Method,
        path: &str,
        form: &[(&str, &str)],
    ) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = Request::builder()
            .method(&method)
            .uri(path)
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::REFERER, "http://localhost:7440/clusters/prod/namespaces/rollover/deployments/web");
        if method == Method::POST {
            request = request.header(header::ORIGIN, "http://localhost:7440");
        }
        if let Some(user) = self.user {
            request = request.header("x-forwarded-user", user);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        let response = send(rollcast, Some([10, 0, 0, 7]), request, body).await;
        let said = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (status, to, set) =
            (response.status(), said(header::LOCATION).unwrap_or_default(), said(header::SET_COOKIE));
        let again = said(header::RETRY_AFTER);
        let text = text_of(response).await;
        let cookie = set.map(|set| {
            for attribute in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
                assert!(set.contains(attribute), "{set}");
            }
            set.split(';').next().unwrap().to_owned()
        });
        Answer { status, text, to, cookie, again }
    }

    pub(crate) async fn get(&self, rollcast: &Arc<Rollcast>, path: &str) -> Answer {
        self.send(rollcast, Method::GET, path, &[]).await
    }

    /// Makes a link; returns its name and its secret.
    pub(crate) async fn make(&self, rollcast: &Arc<Rollcast>, to: &str) -> (String, String) {
        let answer = self.send(rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", to)]).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let told: Value = serde_json::from_str(&answer.text).unwrap();
        let description = self.get(rollcast, Route::ApiDescription.pattern()).await.text;
        let description = serde_json::from_str(&description).unwrap();
        assert_described_as(&description, Route::ApiShares.pattern(), "post", answer.status, &told);
        let link = told["link"].as_str().unwrap();
        let secret = link.strip_prefix("http://localhost:7440/shared#").unwrap();
        let secret = percent_encoding::percent_decode_str(secret).decode_utf8().unwrap().into_owned();
        (told["id"].as_str().unwrap().to_owned(), secret)
    }

    /// Makes a link with a preview ("yes") or without one; returns its name, and the address of the preview.
    pub(crate) async fn make_previewed(&self, rollcast: &Arc<Rollcast>, to: &str, preview: &str) -> (String, String) {
        let form = [("to", to), ("preview", preview)];
        let answer = self.send(rollcast, Method::POST, Route::ApiShares.pattern(), &form).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let told: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(told["allowsPreview"], preview == "yes");
        let link = told["link"].as_str().unwrap().strip_prefix("http://localhost:7440").unwrap();
        (told["id"].as_str().unwrap().to_owned(), link.split_once('#').unwrap().0.to_owned())
    }
}

/// Somebody who hands a link in, and where it leads them.
pub(crate) async fn by_link(rollcast: &Arc<Rollcast>, secret: &str) -> Option<(Somebody, String)> {
    let answer = Somebody::default().send(rollcast, Method::POST, "/shared", &[("secret", secret)]).await;
    let cookie = answer.cookie?;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    Some((Somebody { user: None, cookie: Some(cookie) }, answer.to))
}

pub(crate) const WEB: &str = "/clusters/prod/namespaces/rollover/deployments/web";

#[tokio::test]
async fn who_has_a_link_sees_what_it_opens_and_nothing_else() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("fully");
    let (_, secret) = maker.make(&rollcast, WEB).await;
    let nobody = Somebody::default().get(&rollcast, WEB).await;
    assert_eq!(nobody.status, StatusCode::UNAUTHORIZED);
    assert!(nobody.text.contains("or the proxy sent no valid user name"), "{}", nobody.text);
    let (visitor, to) = by_link(&rollcast, &secret).await.unwrap();
    assert_eq!(to, WEB);
    let page = visitor.get(&rollcast, WEB).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.text.contains("You are viewing with a link from "),
        "who looks by whose link stands at the foot of pages"
    );
    for hidden in [
        WEB.replace("rollover", "kill-pod"),
        WEB.replace("web", "other"),
        WEB.replace("prod", "secret-eu").replace("rollover", "kill-pod"),
    ] {
        assert_eq!(visitor.get(&rollcast, &hidden).await.status, StatusCode::NOT_FOUND, "{hidden}");
    }
    // Every address: nothing of what its maker sees besides.
    for pattern in patterns() {
        let path = named(&pattern, "prod", "rollover");
        let answer = visitor.get(&rollcast, &path).await;
        assert!(!answer.text.contains("kill-pod") && !answer.text.contains("secret-eu"), "{path}");
        assert_ne!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let list: Value =
        serde_json::from_str(&visitor.get(&rollcast, Route::ApiDeployments.pattern()).await.text).unwrap();
    let clusters = list["clusters"].as_array().unwrap();
    assert_eq!((clusters.len(), clusters[0]["deployments"].as_array().unwrap().len()), (1, 1));
    // They make, see and take away no links.
    for (method, path) in [
        (Method::GET, "/shares"),
        (Method::GET, Route::ApiShares.pattern()),
        (Method::POST, Route::ApiShares.pattern()),
    ] {
        let answer = visitor.send(&rollcast, method, path, &[("to", WEB)]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    // Who signed in and comes by a link sees what it opens until they leave.
    let both = Somebody { user: Some("fully"), cookie: visitor.cookie };
    assert!(!both.get(&rollcast, "/").await.text.contains("kill-pod"));
    let left = both.send(&rollcast, Method::POST, "/sign-out", &[]).await;
    assert_eq!((left.to.as_str(), left.cookie.as_deref()), ("/", Some("__Host-rollcast-link=")));
    assert!(maker.get(&rollcast, "/").await.text.contains("kill-pod"));
}

#[tokio::test]
async fn a_link_opens_whatever_proxies_put_into_the_header_of_tokens() {
    let keys = SessionKeys::generate();
    let token = || Auth::Token(TokenAuth::new(keys.clone(), Vec::new()));
    for (auth, sent, is_link) in [
        (proxy(), "Basic YW5uOndvcmQ=", true),
        (proxy(), "Bearer of.the.proxy", true),
        (token(), "Basic YW5uOndvcmQ=", true),
        (token(), "Bearer own.token", false), // whoever shows one is its owner
    ] {
        let shares = Shares::open(keys.clone(), None).unwrap();
        let scope = LinkScope::Wall { cluster: None, namespace: None };
        let wanted = LinkRequest { scope, to: "/wall".to_owned(), lasts_millis: 86_400_000, allows_preview: false };
        let (_, secret) = shares.make(&viewer("ann"), wanted, clock::now_millis()).await.unwrap();
        let cookie = HeaderValue::from_str(&format!("__Host-rollcast-link={secret}")).unwrap();
        let headers =
            HeaderMap::from_iter([(header::COOKIE, cookie), (header::AUTHORIZATION, HeaderValue::from_static(sent))]);
        let site = Site { auth, shares: Some(shares), ..Site::default() };
        let rollcast = site_of(Vec::new(), site);
        let found = rollcast.authenticate(&headers, None, None).await;
        assert_eq!(found.is_ok_and(|(found, _)| found.link.is_some()), is_link, "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_dies_with_its_makers_right_and_when_it_is_revoked() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let maker = signed_in("partly");
    let (id, secret) = maker.make(&rollcast, WEB).await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::OK);
    rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::NOT_FOUND);
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "rollover".to_owned()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::OK);
    let foreign =
        signed_in("foreign").send(&rollcast, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND, "{}", foreign.text);
    assert!(maker.get(&rollcast, "/shares").await.text.contains(&id));
    let gone = maker.send(&rollcast, Method::POST, "/shares/revoke", &[("id", &id)]).await;
    assert_eq!(gone.status, StatusCode::SEE_OTHER);
    let asked = visitor.send(&rollcast, Method::HEAD, WEB, &[]).await;
    assert_eq!((asked.status, asked.cookie), (StatusCode::UNAUTHORIZED, None), "nobody reads its answer");
    let told = visitor.get(&rollcast, WEB).await;
    assert_eq!((told.status, told.cookie.as_deref()), (StatusCode::UNAUTHORIZED, Some("__Host-rollcast-link=")));
    assert!(told.text.contains("This link does not work: it has expired or was revoked"), "{}", told.text);
    assert!(!told.text.contains("through the proxy") && !told.text.contains("rollover"), "{}", told.text);
    assert!(by_link(&rollcast, &secret).await.is_none());
    let (id, _) = maker.make(&rollcast, WEB).await;
    let gone = signed_in("fully").send(&rollcast, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT, "who sees everything may take every link away");
    assert!(!maker.get(&rollcast, "/shares").await.text.contains(&id));
}

#[tokio::test(start_paused = true)]
async fn one_maker_does_not_use_up_the_places_of_all_by_making_links_and_taking_them_away() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("fully");
    let began = tokio::time::Instant::now();
    for _ in 0..40 {
        let (id, _) = maker.make(&rollcast, WEB).await;
        maker.send(&rollcast, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
    }
    assert!(began.elapsed() >= Duration::from_secs(2), "20 at once, then ten a second: {:?}", began.elapsed());
}

#[tokio::test]
async fn links_lead_to_what_their_maker_may_see_and_to_this_server_only() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("partly");
    for (to, lasts) in [
        (WEB.replace("rollover", "kill-pod").as_str(), "1d"),
        (WEB.replace("prod", "secret-eu").as_str(), "1d"),
        ("/wall?cluster=secret-eu", "1d"),
        ("/wall?q=web", "1d"),
        ("/wall?cluster=prod&labels=app%3Dweb", "1d"),
        ("/", "1d"),
        ("/history", "1d"),
        ("", "1d"),
        ("//evil.example/wall", "1d"),
        ("https://evil.example/wall", "1d"),
        ("/wall\r\nx", "1d"),
        (WEB, "59m"),
        (WEB, "31d"),
        (WEB, "9999999999999999d"),
        (WEB, "-1d"),
        (WEB, "soon"),
    ] {
        for path in ["/shares", Route::ApiShares.pattern()] {
            let answer = maker.send(&rollcast, Method::POST, path, &[("to", to), ("lasts", lasts)]).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {to} {lasts}: {}", answer.text);
            assert!(!answer.text.contains("/shared#"), "{path} {to} {lasts}");
        }
    }
    let offered = maker.get(&rollcast, "/shares").await.text;
    assert!(offered.contains("Deployment rollover / web in prod"), "what they come from is offered");
    assert!(offered.contains("It works only while you may see its page yourself."), "{offered}");
    let made = maker.send(&rollcast, Method::POST, "/shares", &[("to", WEB), ("lasts", "7d")]).await;
    assert!(made.text.contains("http://localhost:7440/shared#"), "{}", made.text);
    let (_, secret) = maker.make(&rollcast, "/wall?cluster=prod").await;
    let (visitor, to) = by_link(&rollcast, &secret).await.unwrap();
    assert_eq!(to, "/wall?cluster=prod");
    let wall = visitor.get(&rollcast, &to).await.text;
    assert!(wall.contains("1 stable") && wall.contains("Deployments of prod"), "{wall}");
    let whole = format!(" http://localhost:7440/shared#{} ", secret.replace('+', "%2B").replace('/', "%2F"));
    assert!(by_link(&rollcast, &whole).await.is_some(), "as people copy it");
    for wrong in ["", "x", &secret[1..], &format!("{secret}{secret}"), "__Host-rollcast-link"] {
        let answer = Somebody::default().send(&rollcast, Method::POST, "/shared", &[("secret", wrong)]).await;
        assert_eq!((answer.status, answer.cookie), (StatusCode::FORBIDDEN, None), "{wrong}");
        assert!(answer.text.contains("This link does not work"), "{wrong}");
    }
    let page = Somebody::default().get(&rollcast, "/shared").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("noindex") && !page.text.contains("og:"), "{}", page.text);
}

#[tokio::test]
async fn a_link_takes_the_place_of_what_somebody_sees_who_is_signed_in_only_if_they_want_it() {
    let rollcast = site(&rules(&PROD)).await;
    let (_, secret) = signed_in("partly").make(&rollcast, WEB).await;
    let hand_in = async |who: &Somebody, confirmed: &str| {
        let form = [("secret", secret.as_str()), ("confirmed", confirmed)];
        who.send(&rollcast, Method::POST, "/shared", &form).await
    };
    // Who may see it themselves sees it as they see everything.
    let seen = hand_in(&signed_in("fully"), "").await;
    assert_eq!((seen.status, seen.to.as_str(), seen.cookie), (StatusCode::SEE_OTHER, WEB, None));
    // Who may not is asked first, and says so with a button.
    let foreign = signed_in("foreign");
    let asked = hand_in(&foreign, "").await;
    assert_eq!((asked.status, asked.cookie), (StatusCode::OK, None));
    for says in ["You are signed in.", "until you leave the link", "name=\"confirmed\" value=\"yes\"", "<button"] {
        assert!(asked.text.contains(says), "{says}: {}", asked.text);
    }
    assert!(!asked.text.contains("shared.js"), "nothing presses it");
    let opened = hand_in(&foreign, "yes").await;
    assert_eq!((opened.status, opened.to.as_str()), (StatusCode::SEE_OTHER, WEB));
    let both = Somebody { user: Some("fully"), cookie: opened.cookie };
    assert_eq!(both.get(&rollcast, WEB).await.status, StatusCode::OK);
    // By another link they would see nothing of what they may see themselves: they are asked.
    let asked = hand_in(&both, "").await;
    assert_eq!((asked.status, asked.cookie), (StatusCode::OK, None));
    // Who is not signed in has nothing that it could take the place of.
    assert!(hand_in(&Somebody::default(), "").await.cookie.is_some());
}

#[tokio::test]
async fn where_nobody_signs_in_there_are_no_links() {
    let (rollcast, _) = crate::pages::site::site().await;
    for path in ["/shares", "/shared", Route::ApiShares.pattern()] {
        assert_eq!(Somebody::default().get(&rollcast, path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let made = Somebody::default().send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", "/wall")]).await;
    assert_eq!(made.status, StatusCode::NOT_FOUND);
}
