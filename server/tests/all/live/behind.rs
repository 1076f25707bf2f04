//! A cluster that answers again is live once what was missed is known, and not before.

use std::time::Duration;

use timeline::wire::ConnectionState;

use crate::common::until::until;
use crate::live::program::{get, serve};
use crate::live::support::{Fault, Verb, Watched, pod, shop_of};

fn state(watched: &Watched) -> ConnectionState {
    watched.hub.connection().borrow().state.clone()
}

#[tokio::test]
async fn after_a_lost_position_it_is_live_only_when_it_is_listed_again() {
    let api = shop_of(1, &["web-a"]).await;
    let watched = Watched::start(&api, &[], |pace| pace.answer = Duration::from_millis(500));
    watched.until_pods(&["web-a"]).await;
    until("live", async || state(&watched) == ConnectionState::Live).await;
    until("watch", async || api.requests(Verb::Watch, "pods") == 1).await;
    api.stand(Verb::List, "pods", Some(Fault::Hang));
    api.lose(&pod(10, 2, "web-a"));
    api.say("pods", r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#);
    let is_behind =
        |state: ConnectionState| matches!(state, ConnectionState::Stale { why, .. } if why.contains("listing again"));
    until("behind", async || is_behind(state(&watched))).await;
    assert_eq!(watched.pods().await.len(), 1, "what was known stays, and is not called live");
    api.stand(Verb::List, "pods", None);
    api.hang_up();
    watched.until_pods(&[]).await;
    until("live again", async || state(&watched) == ConnectionState::Live).await;
}

#[tokio::test]
async fn a_watch_that_ends_without_a_word_is_listed_again() {
    let api = shop_of(1, &["web-a"]).await;
    let watched = Watched::start(&api, &[], |pace| {
        pace.watch_seconds = 1;
        pace.bookmark = Duration::from_millis(500);
    });
    watched.until_pods(&["web-a"]).await;
    // As after a restored backup: the server says nothing of what is older than the watch's position.
    api.lose(&pod(10, 2, "web-a"));
    watched.until_pods(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_badge_of_a_cluster_that_is_not_heard_of_says_so() {
    let api = shop_of(1, &["web-a"]).await;
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a"]).await;
    until("live", async || state(&watched) == ConnectionState::Live).await;
    let address = serve(&watched).await.to_string();
    let path = format!("/clusters/{}/namespaces/shop/deployments/web/badge.svg", watched.hub.name());
    let badge = async || get(&address, &path).await;
    assert!(badge().await.contains("Complete"));
    // All kinds lose their connections, and one that came back before another is found lost would be heard of in between.
    api.stand_all(&[Verb::List, Verb::Watch], Some(Fault::Status(500)));
    api.hang_up();
    until("stale", async || state(&watched).is_stale()).await;
    let said = badge().await;
    assert!(said.contains("No data") && !said.contains("Complete"), "{said}");
}
