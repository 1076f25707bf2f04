//! Links whose database does not answer: what they open, and what is said of it, until it answers again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use futures::StreamExt;
use server::access::cookie::SessionKeys;
use server::access::share::{LinkChanges, LinkStore, LinkStoreError, POLICY, Share, Shares};
use server::history::store::StoreError;
use server::web::state::Site;
use timeline::Workload;
use timeline::address::Route;
use timeline::wire::ServerFrame;
use tokio::time::Instant;

use crate::common::until::until;
use crate::pages::parts::{next, stream};
use crate::pages::people::{follow, prod, proxy};
use crate::pages::shared::{Somebody, WEB, by_link, signed_in};

/// A database that does not answer when that is wanted.
#[derive(Clone, Default)]
struct Database(Arc<Mutex<(bool, Vec<Share>)>>);

impl Database {
    fn is_away(&self, is_away: bool) {
        self.0.lock().unwrap().0 = is_away;
    }

    fn ask<T>(&self, act: impl FnOnce(&mut Vec<Share>) -> T) -> Result<T, LinkStoreError> {
        let (is_away, all) = &mut *self.0.lock().unwrap();
        let why = "PostgreSQL at db.internal:5432/rollcast: it does not answer";
        if *is_away { Err(StoreError::Failed(why.to_owned()).into()) } else { Ok(act(all)) }
    }
}

impl LinkStore for Database {
    fn changes(&mut self) -> Result<LinkChanges, LinkStoreError> {
        self.ask(|all| LinkChanges { are_all: true, made: all.clone(), gone: Vec::new() })
    }

    fn add(&mut self, link: &Share, has_room: &mut dyn FnMut(LinkChanges) -> bool) -> Result<bool, LinkStoreError> {
        self.ask(|all| {
            let is_added = has_room(LinkChanges::default());
            all.extend(is_added.then(|| link.clone()));
            is_added
        })
    }

    fn prolong(&mut self, _: &Share) -> Result<(), LinkStoreError> {
        self.ask(|_| ())
    }

    fn remove(&mut self, id: &str) -> Result<(), LinkStoreError> {
        self.ask(|all| all.retain(|link| link.id != id))
    }
}

#[tokio::test(start_paused = true)]
async fn links_that_cannot_be_checked_for_a_minute_open_nothing_until_they_can() {
    let database = Database::default();
    let shares = Shares::open_shared(SessionKeys::generate(), Box::new(database.clone()), POLICY);
    let rollcast = prod(Site { auth: proxy(), shares: Some(shares.clone()), ..Site::default() }).await;
    until("links are known", async || shares.check_current().is_ok()).await;
    let maker = signed_in("partly");
    let (id, secret) = maker.make(&rollcast, WEB).await;
    let (_, revoked_secret) = maker.make(&rollcast, WEB).await;
    let (_, preview) = maker.make_previewed(&rollcast, WEB, "yes").await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    let (said, mut heard) = stream(&rollcast, &visitor).await;
    follow(&said, Workload::deployment("prod", "rollover", "web"));
    assert!(matches!(next(&mut heard).await, ServerFrame::Snapshot(shown) if shown.deployment.is_some()));

    database.is_away(true);
    tokio::time::advance(Duration::from_millis(1)).await; // the last word on links is older than each question from here on
    let began = Instant::now();
    // Known links open; nothing is made.
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::OK);
    assert!(by_link(&rollcast, &revoked_secret).await.is_some());
    for path in ["/shares", Route::ApiShares.pattern()] {
        let refused = maker.send(&rollcast, Method::POST, path, &[("to", WEB)]).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {}", refused.text);
        assert_eq!(refused.again.as_deref(), Some("5"), "{path}");
        assert!(refused.text.contains("database does not respond") && !refused.text.contains("db.internal"), "{path}");
        let listed = maker.get(&rollcast, path).await;
        assert_eq!((listed.status, listed.again.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("5")), "{path}");
        assert!(listed.text.contains("The link database does not respond"), "{path}: {}", listed.text);
        assert!(path == Route::ApiShares.pattern() || listed.text.contains(&id), "what is known is shown");
    }
    // An open stream ends once nobody can tell any more, and so does everything else.
    let closed = async { while heard.next().await.is_some() {} };
    tokio::time::timeout_at(began + Duration::from_secs(65), closed).await.expect("the stream ends");
    assert!(began.elapsed() > Duration::from_secs(50), "{:?}", began.elapsed());
    for path in [WEB.to_owned(), format!("/api/v1{WEB}/timeline"), "/".to_owned(), "/api/v1/stream".to_owned()] {
        let refused = visitor.get(&rollcast, &path).await;
        assert_eq!((refused.status, refused.again.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("5")), "{path}");
        assert!(
            refused.text.starts_with("Cannot check right now whether this link is still valid"),
            "{}",
            refused.text
        );
    }
    let handed_in = Somebody::default().send(&rollcast, Method::POST, "/shared", &[("secret", &secret)]).await;
    assert_eq!((handed_in.status, handed_in.again.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("5")));
    assert!(handed_in.text.contains("Cannot check right now whether this link is still valid"), "{}", handed_in.text);
    let picture = Somebody::default().get(&rollcast, &format!("{preview}/preview.png")).await;
    assert_eq!(picture.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!Somebody::default().get(&rollcast, &preview).await.text.contains("og:"));
    // What is not sealed here needs no database, and who signed in sees what they see.
    let foreign = Somebody::default().send(&rollcast, Method::POST, "/shared", &[("secret", "x")]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert_eq!(maker.get(&rollcast, WEB).await.status, StatusCode::OK);
    let metrics = signed_in("fully").get(&rollcast, "/metrics").await.text;
    assert!(metrics.contains("rollcast_links_unchecked 1"), "{metrics}");

    // Another one took a link away meanwhile.
    database.0.lock().unwrap().1.retain(|link| link.id == id);
    database.is_away(false);
    until("links are known", async || shares.check_current().is_ok()).await;
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::OK, "it opens again by itself");
    assert!(by_link(&rollcast, &revoked_secret).await.is_none());
    let listed = maker.get(&rollcast, "/shares").await;
    assert_eq!(listed.status, StatusCode::OK);
    assert!(!listed.text.contains("does not respond"), "{}", listed.text);
    assert!(signed_in("fully").get(&rollcast, "/metrics").await.text.contains("rollcast_links_unchecked 0"));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_signed_in_is_not_kept_out_by_the_cookie_of_a_link_that_is_over() {
    let database = Database::default();
    let shares = Shares::open_shared(SessionKeys::generate(), Box::new(database.clone()), POLICY);
    let rollcast = prod(Site { auth: proxy(), shares: Some(shares.clone()), ..Site::default() }).await;
    let answers = async |is_answering: bool| {
        database.is_away(!is_answering);
        until("the links are as the database says", async || shares.check_current().is_ok() == is_answering).await;
    };
    answers(true).await;
    let (_, secret) = signed_in("partly").make(&rollcast, WEB).await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    let mut both = signed_in("fully");
    both.cookie = visitor.cookie.clone();
    let shown = both.get(&rollcast, WEB).await;
    assert!(shown.text.contains("You are viewing with a link from ") && shown.cookie.is_none());
    answers(false).await;
    assert_eq!(both.get(&rollcast, WEB).await.status, StatusCode::SERVICE_UNAVAILABLE, "the link is what they see by");

    answers(true).await;
    database.0.lock().unwrap().1.clear();
    until("it is revoked", async || shares.refresh().await.is_ok()).await;
    answers(false).await;
    let own = both.get(&rollcast, "/").await;
    assert_eq!((own.status, own.cookie), (StatusCode::OK, None));
    let left = both.send(&rollcast, Method::POST, "/sign-out", &[]).await;
    assert_eq!(left.cookie.as_deref(), Some("__Host-rollcast="), "their session ends");
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::SERVICE_UNAVAILABLE, "it may be new");

    answers(true).await;
    let own = both.get(&rollcast, "/").await;
    assert_eq!((own.status, own.cookie.as_deref()), (StatusCode::OK, Some("__Host-rollcast-link=")));
    assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_five_seconds_after_its_link_was_revoked_at_another_rollcast() {
    let (database, keys) = (Database::default(), SessionKeys::generate());
    let one = |keys: &SessionKeys| Shares::open_shared(keys.clone(), Box::new(database.clone()), POLICY);
    let (shares, other) = (one(&keys), one(&keys));
    for shares in [&shares, &other] {
        until("links are known", async || shares.check_current().is_ok()).await;
    }
    let site = async |shares| prod(Site { auth: proxy(), shares: Some(shares), ..Site::default() }).await;
    let (rollcast, other) = (site(shares).await, site(other).await);
    for at in 0..4 {
        let maker = signed_in("partly");
        let (id, secret) = maker.make(&rollcast, WEB).await;
        // What was made at one is handed in at the other, and looked at here.
        let (visitor, _) = by_link(&other, &secret).await.unwrap();
        let (said, mut heard) = stream(&rollcast, &visitor).await;
        follow(&said, Workload::deployment("prod", "rollover", "web"));
        assert!(matches!(next(&mut heard).await, ServerFrame::Snapshot(shown) if shown.deployment.is_some()));
        tokio::time::sleep(Duration::from_millis(700 * at)).await; // at another time between two looks
        assert!(maker.get(&other, "/shares").await.text.contains(&id), "it is listed there");
        let revoked = maker.send(&other, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
        assert_eq!(revoked.status, StatusCode::NO_CONTENT, "{}", revoked.text);
        let ended = async { while heard.next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(5), ended).await.expect("the stream ends");
        assert_eq!(visitor.get(&rollcast, WEB).await.status, StatusCode::UNAUTHORIZED);
        assert!(by_link(&rollcast, &secret).await.is_none());
    }
}
