//! What is wrong on the operator's side is told in words to those who see everything, and to nobody else: errors name folders, databases,
//! kubeconfigs, and what certificates hold.

use axum::http::{Method, StatusCode};
use server::access::cookie::SessionKeys;
use server::access::share::Shares;
use server::history::Archive;
use server::history::options::{Limits, Location, Options};
use server::kube::SourceEvent;
use server::web::state::Site;
use timeline::address::Route;
use timeline::wire::ConnectionState;

use crate::pages::people::{PROD, proxy, rules, watched_cluster};
use crate::pages::shared::{WEB, by_link, signed_in};
use crate::pages::site::site_of;

/// A place that is the operator's business.
const WHY: &str = "cannot read /etc/operators/kubeconfig";

#[tokio::test]
async fn why_something_is_wrong_is_told_to_those_who_see_everything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operators-file");
    std::fs::write(&file, "no folder").unwrap();
    let place = Location::Folder(file.join("history"));
    let archive = Archive::start(Options { location: place, limits: Limits::default() });
    archive.unwritten.clone().wait_for(Option::is_some).await.unwrap();
    let rules = rules(&PROD);
    let (hub, events) = watched_cluster("prod", &rules).await;
    events.send(SourceEvent::Answers { silent: Some((1, WHY.to_owned())) }).await.unwrap();
    let is_stale = |state: &ConnectionState| matches!(state, ConnectionState::Stale { why, .. } if why == WHY);
    hub.connection().wait_for(|connection| is_stale(&connection.state)).await.unwrap();
    let shares = Some(Shares::open(SessionKeys::generate(), None).unwrap());
    let site = Site { auth: proxy(), shares, archive: Some(archive), has_public_pictures: true, ..Site::default() };
    let rollcast = site_of(vec![hub], site);
    let fully = signed_in("fully");
    let page = fully.get(&rollcast, WEB).await.text;
    assert!(page.contains(WHY), "{page}");
    let history = fully.get(&rollcast, "/history").await;
    assert_eq!(history.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(history.text.contains("Cannot read the history: ") && history.text.contains("operators-file"));
    assert!(!history.text.contains("No rollouts match"), "{}", history.text);
    // What is kept is not told as what never was.
    let uid = "6f1d3c1e-0000-4000-8000-000000000001";
    let other = WEB.replace("/web", "/other");
    let kept = ["/export?revision=99&", "/compare?"].map(|page| format!("{other}{page}uid={uid}"));
    let known = [format!("/deployments/{uid}"), format!("{WEB}?uid={uid}"), format!("{WEB}/export?revision=99")];
    for path in known.into_iter().chain(kept) {
        let answer = fully.get(&rollcast, &path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(answer.text.contains("Cannot read the history: "), "{path}: {}", answer.text);
    }
    for to in [format!("{WEB}?revision=99"), format!("{WEB}?at=1000"), format!("{other}?uid={uid}&rollout=2")] {
        for path in [Route::Shares.pattern(), Route::ApiShares.pattern()] {
            let answer = fully.send(&rollcast, Method::POST, path, &[("to", &to)]).await;
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path} {to}");
            assert!(answer.text.contains("Cannot read the history: "), "{path} {to}: {}", answer.text);
        }
    }
    // Nor is something wider offered in its place.
    for to in [format!("{WEB}?revision=99"), format!("{WEB}?at=1000"), format!("{WEB}/revisions/99")] {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", &to).finish();
        let answer = fully.get(&rollcast, &format!("/shares?{query}")).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{to}");
        assert!(answer.text.contains("Cannot read the history: "), "{to}: {}", answer.text);
        assert!(!answer.text.contains("It opens"), "{to}: {}", answer.text);
    }
    let mut others = vec![signed_in("partly"), Default::default()];
    for to in [WEB, "/wall"] {
        let (_, secret) = fully.make(&rollcast, to).await;
        others.push(by_link(&rollcast, &secret).await.unwrap().0);
    }
    let mut told = String::new();
    for somebody in &others {
        for path in [
            WEB,
            "/",
            "/wall",
            "/history",
            "/status",
            "/api/v1/status",
            "/api/v1/rollouts",
            "/api/v1/deployments",
            "/metrics",
            "/readyz",
        ] {
            told.push_str(&somebody.get(&rollcast, path).await.text);
        }
        for end in ["badge.svg", "preview.png", "timeline", "export", "export?format=jsonl", "compare"] {
            told.push_str(&somebody.get(&rollcast, &format!("{WEB}/{end}")).await.text);
        }
    }
    for said in ["the cluster does not respond", "The cluster does not respond.", "Cannot read the history right now."]
    {
        assert!(told.contains(said), "{said}");
    }
    assert_eq!((told.find("operators"), told.find("kubeconfig")), (None, None));
}
