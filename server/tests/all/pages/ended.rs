//! Links that have ended, and links whose maker may see nothing any more: their previews, what they open, and streams that are open.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use server::access::cookie::SessionKeys;
use server::access::scope::{LinkScope, WorkloadName};
use server::access::share::{LinkRequest, Shares};
use server::telemetry::clock;
use server::web::state::{Rollcast, Site};
use timeline::Workload;
use timeline::address::Route;
use timeline::wire::{ConnectionState, ServerFrame};
use tokio::time::Instant;

use crate::pages::parts::{next, stream};
use crate::pages::people::{Heard, PROD, Rules, cluster, follow, hear, proxy, rules, site, viewer};
use crate::pages::shared::{Somebody, WEB, by_link, signed_in};
use crate::pages::site::site_of;

const HOUR: i64 = 3_600_000;
/// What is known of a right counts for so long.
const MINUTE: Duration = Duration::from_secs(60);

/// Locks somebody out, and lets them in again.
type Locks = fn(&mut Rules, bool);

/// Whether chats are shown something there: words and picture come and go together.
async fn is_shown(rollcast: &Arc<Rollcast>, address: &str) -> bool {
    let page = Somebody::default().get(rollcast, address).await;
    let picture = Somebody::default().get(rollcast, &format!("{address}/preview.png")).await;
    assert_eq!(page.status, StatusCode::OK, "the way in is the same for every link");
    let has_words = page.text.contains("og:");
    assert!(has_words || !page.text.contains("rollover"), "{}", page.text);
    match picture.status {
        StatusCode::OK => assert!(has_words, "{address}"),
        status => assert!(!has_words && status == StatusCode::NOT_FOUND, "{address}: {status}"),
    }
    has_words
}

#[tokio::test(start_paused = true)]
async fn a_preview_dies_with_its_makers_right_and_with_the_link() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let maker = signed_in("partly");
    for to in [WEB.to_owned(), format!("{WEB}?revision=2")] {
        let (id, address) = maker.make_previewed(&rollcast, &to, "yes").await;
        assert!(is_shown(&rollcast, &address).await, "{to}");
        rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
        tokio::time::sleep(MINUTE).await; // how long a right counts
        assert!(!is_shown(&rollcast, &address).await, "{to}: the right is gone");
        rules.lock().unwrap().allowed.insert(("partly".to_owned(), "rollover".to_owned()));
        tokio::time::sleep(MINUTE).await;
        assert!(is_shown(&rollcast, &address).await, "{to}: the right is there again");
        let locks: [Locks; 2] = [|rules, is_out| rules.is_broken = is_out, |rules, is_out| rules.is_mute = is_out];
        for fails in locks {
            fails(&mut rules.lock().unwrap(), true);
            tokio::time::sleep(MINUTE).await;
            assert!(!is_shown(&rollcast, &address).await, "{to}: the cluster does not say");
            fails(&mut rules.lock().unwrap(), false);
            tokio::time::sleep(MINUTE).await;
            assert!(is_shown(&rollcast, &address).await, "{to}: the cluster says so again");
        }
        let revoked = maker.send(&rollcast, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
        assert_eq!(revoked.status, StatusCode::NO_CONTENT);
        assert!(!is_shown(&rollcast, &address).await, "{to}: it was revoked");
    }
}

/// A wall of whatever its maker may see names no cluster, and no picture is drawn of it.
#[tokio::test(start_paused = true)]
async fn the_preview_of_a_wall_dies_with_its_makers_right() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    for to in ["/wall?namespace=rollover", "/wall?cluster=prod&namespace=rollover"] {
        let (_, address) = signed_in("partly").make_previewed(&rollcast, to, "yes").await;
        let is_named = async || Somebody::default().get(&rollcast, &address).await.text.contains("rollover");
        assert!(is_named().await, "{to}");
        rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
        tokio::time::sleep(MINUTE).await; // how long a right counts
        assert!(!is_named().await, "{to}: the right is gone");
        rules.lock().unwrap().allowed.insert(("partly".to_owned(), "rollover".to_owned()));
        tokio::time::sleep(MINUTE).await;
        assert!(is_named().await, "{to}: the right is there again");
    }
}

#[tokio::test]
async fn a_link_to_a_wall_tells_no_figures_of_the_whole_cluster() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("fully");
    let of_all = "rollcast_facts_total{";
    assert!(maker.get(&rollcast, "/metrics").await.text.contains(of_all));
    let (_, secret) = maker.make(&rollcast, "/wall").await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    let told = visitor.get(&rollcast, "/metrics").await;
    assert_eq!(told.status, StatusCode::OK);
    assert!(told.text.contains("rollcast_deployments{") && !told.text.contains(of_all), "{}", told.text);
}

#[tokio::test]
async fn a_preview_ends_when_its_link_does() {
    let rules = rules(&PROD);
    let shares = Shares::open(SessionKeys::generate(), None).unwrap();
    let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("prod", "rollover", "web")));
    let wanted = LinkRequest { scope, to: WEB.to_owned(), lasts_millis: HOUR, allows_preview: true };
    let made = async |ago: i64| {
        let (share, _) = shares.make(&viewer("partly"), wanted.clone(), clock::now_millis() - ago).await.unwrap();
        format!("/shared/{}", shares.preview_of(&share).unwrap())
    };
    let (going_on, over) = (made(HOUR / 2).await, made(HOUR + 1).await);
    let site = Site { auth: proxy(), shares: Some(shares.clone()), ..Site::default() };
    let rollcast = site_of(vec![cluster("prod", &rules).await], site);
    assert!(is_shown(&rollcast, &going_on).await);
    assert!(!is_shown(&rollcast, &over).await);
}

/// What is seen by a link, at every address that it opens.
async fn sees(rollcast: &Arc<Rollcast>, visitor: &Somebody, to: &str) -> bool {
    let document = format!("/api/v1{WEB}/timeline");
    let mut seen = Vec::new();
    for path in [to, &document, &format!("{WEB}/revisions/2")] {
        let answer = visitor.get(rollcast, path).await;
        let is_there = answer.status == StatusCode::OK;
        assert!(is_there || !answer.text.contains("web:"), "{path}: {}", answer.text);
        seen.push(is_there);
    }
    assert!(seen.iter().all(|is| *is == seen[0]), "{to}: {seen:?}");
    seen[0]
}

/// Waits until a stream says that there is no such cluster, or that nobody says what may be seen of it.
async fn until_hidden(heard: &mut Heard) {
    loop {
        if let ServerFrame::Connection { connection, .. } = hear(heard).await
            && matches!(connection.state, ConnectionState::Unknown | ConnectionState::Stale { .. })
        {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn links_of_somebody_who_is_locked_out_are_dead_within_a_minute() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let locks: [Locks; 3] = [
        // They are nobody to the cluster any more.
        |rules, is_out| match is_out {
            true => rules.allowed.retain(|(user, _)| user != "partly"),
            false => drop(rules.allowed.insert(("partly".to_owned(), "rollover".to_owned()))),
        },
        // Nobody says whether they still are somebody: it is refused, or never answered.
        |rules, is_out| rules.is_broken = is_out,
        |rules, is_out| rules.is_mute = is_out,
    ];
    for (case, lock) in locks.into_iter().enumerate() {
        for to in [WEB.to_owned(), format!("{WEB}?revision=2")] {
            let (_, secret) = signed_in("partly").make(&rollcast, &to).await;
            let (visitor, led) = by_link(&rollcast, &secret).await.unwrap();
            assert!(sees(&rollcast, &visitor, &led).await, "{case} {to}");
            let (said, mut heard) = stream(&rollcast, &visitor).await;
            follow(&said, Workload::deployment("prod", "rollover", "web"));
            assert!(matches!(next(&mut heard).await, ServerFrame::Snapshot(shown) if shown.deployment.is_some()));
            let began = Instant::now();
            lock(&mut rules.lock().unwrap(), true);
            let ended = tokio::time::timeout_at(began + MINUTE, until_hidden(&mut heard)).await;
            assert!(ended.is_ok(), "{case} {to}: the stream goes on");
            tokio::time::sleep_until(began + MINUTE).await;
            assert!(!sees(&rollcast, &visitor, &led).await, "{case} {to}");
            lock(&mut rules.lock().unwrap(), false);
            tokio::time::sleep(MINUTE).await;
            assert!(sees(&rollcast, &visitor, &led).await, "{case} {to}: it opens again");
        }
    }
}
