//! Links and the pages below that of a Deployment: what a link that is made there opens, and which of them a link to one rollout opens.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use serde_json::Value;
use server::web::state::Rollcast;
use timeline::address::Route;

use crate::pages::export::content;
use crate::pages::people::{PROD, rules, site};
use crate::pages::shared::{Somebody, WEB, by_link, signed_in};

/// The timeline document as somebody sees it.
async fn document(rollcast: &Arc<Rollcast>, who: &Somebody) -> Value {
    let text = who.get(rollcast, &format!("/api/v1{WEB}/timeline")).await.text;
    serde_json::from_str::<Value>(&text).unwrap()["deployments"][0].clone()
}

#[tokio::test]
async fn a_link_made_below_a_page_opens_what_that_page_names() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("partly");
    let known = document(&rollcast, &maker).await;
    let uid = known["uid"].as_str().unwrap();
    let pod = known["pods"][0]["uid"].as_str().unwrap();
    let at = known["rollouts"][1]["startedMillis"].as_i64().unwrap() + 1_000;
    let rollout = |revision: u64| ("rollout", format!("{WEB}?uid={uid}&revision={revision}"));
    let workload = |leads: &str| ("workload", format!("{WEB}{leads}"));
    for (below, (opens, leads)) in [
        ("/revisions/2".to_owned(), rollout(2)),
        (format!("/revisions/2?uid={uid}"), rollout(2)),
        (format!("/revisions/2?uid={uid}&revision=2"), rollout(2)),
        (format!("/revisions/2?at={at}"), ("moment", format!("{WEB}?uid={uid}&at={at}"))),
        (format!("/pods/{pod}"), workload(&format!("/pods/{pod}"))),
        (format!("/pods/{pod}?revision=1"), rollout(1)),
        ("/rollouts".to_owned(), workload("/rollouts")),
        (format!("/rollouts?uid={uid}"), workload(&format!("/rollouts?uid={uid}"))),
        (format!("/compare?uid={uid}"), workload(&format!("/compare?uid={uid}"))),
        (format!("/compare?uid={uid}&revision=3&with=2"), rollout(3)),
        ("/share".to_owned(), workload("")),
        (format!("/share?uid={uid}&revision=2"), rollout(2)),
        ("/export".to_owned(), workload("")),
        (format!("/export?uid={uid}&redact=yes"), workload(&format!("?uid={uid}"))),
        ("/export?revision=2".to_owned(), rollout(2)),
        ("/badge.svg".to_owned(), workload("")),
        ("/preview.png".to_owned(), workload("")),
    ] {
        let to = format!("{WEB}{below}");
        let answer = maker.send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", &to)]).await;
        assert_eq!(answer.status, StatusCode::OK, "{to}: {}", answer.text);
        let told: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!((told["scope"].as_str(), told["to"].as_str()), (Some(opens), Some(leads.as_str())), "{to}");
        // Where it leads is a page that it opens.
        let secret = told["link"].as_str().unwrap().split_once('#').unwrap().1;
        let (visitor, led) = by_link(&rollcast, secret).await.unwrap();
        let answer = visitor.get(&rollcast, &led).await;
        assert_eq!((answer.status, answer.text.starts_with("<!DOCTYPE")), (StatusCode::OK, true), "{to} {led}");
    }
    for nowhere in [
        "/revisions/9",
        "/revisions/x",
        "/revisions/2?revision=3",
        "/revisions/2?revision=x",
        "/revisions",
        "/nothing",
        "/pods",
        &format!("/pods/{pod}/more"),
        "/timeline",
    ] {
        let to = format!("{WEB}{nowhere}");
        let answer = maker.send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", &to)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{to}: {}", answer.text);
    }
    // The page with links offers what the page names first, and what is wider.
    let offered = maker.get(&rollcast, &format!("/shares?to={WEB}/revisions/2")).await.text;
    assert!(offered.contains("The rollout of revision 2 of Deployment rollover / web in prod"), "{offered}");
    assert!(offered.contains(">Deployment rollover / web in prod<"), "{offered}");
    // Of a revision whose rollout is not known its Deployment is left.
    let offered = maker.get(&rollcast, &format!("/shares?to={WEB}/revisions/9")).await.text;
    assert!(offered.contains(">Deployment rollover / web in prod<") && !offered.contains("revision 9"), "{offered}");
}

#[tokio::test]
async fn a_link_to_a_rollout_opens_the_pages_below_it_that_show_it_alone() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("partly");
    let known = document(&rollcast, &maker).await;
    let uid = known["uid"].as_str().unwrap();
    let pods_of = |revision: usize| {
        let set = known["rollouts"][revision - 1]["replicaSet"].as_str().unwrap();
        let pods = known["pods"].as_array().unwrap().iter().filter(move |pod| pod["replicaSet"] == set);
        pods.map(|pod| pod["uid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (_, secret) = maker.make(&rollcast, &format!("{WEB}/revisions/2")).await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    let (_, moment) = maker.make(&rollcast, &format!("{WEB}?at={}", known["rollouts"][1]["startedMillis"])).await;
    let (at_a_moment, _) = by_link(&rollcast, &moment).await.unwrap();
    let own = &pods_of(2)[0];
    for below in [
        format!("/pods/{own}"),
        format!("/pods/{own}?uid={uid}&revision=2"),
        format!("/pods/{own}?part"),
        "/revisions/2".to_owned(),
        "/revisions/2?part".to_owned(),
        format!("/badge.svg?uid={uid}"),
        "/preview.svg".to_owned(),
        format!("/preview.png?uid={uid}&revision=2"),
    ] {
        let answer = visitor.get(&rollcast, &format!("{WEB}{below}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{below}: {}", answer.text);
        assert!(!answer.text.contains("web:v3") && !answer.text.contains("evision 3"), "{below}: {}", answer.text);
    }
    for below in ["", "?revision=2", &format!("?uid={uid}&format=html")] {
        let answer = visitor.get(&rollcast, &format!("{WEB}/export{below}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{below}: {}", answer.text);
        let content = format!("{:?}", content(&answer.text));
        assert!(content.contains("web:slow-v2") && !content.contains("web:v3"), "{below}: {content}");
    }
    let later = &pods_of(3)[0];
    for below in [
        format!("/pods/{later}"),
        format!("/pods/{own}?revision=3"),
        format!("/pods/{own}?rollout=1"),
        "/revisions/3".to_owned(),
        "/revisions/2?revision=3".to_owned(),
        "/rollouts".to_owned(),
        "/share".to_owned(),
        format!("/compare?uid={uid}&revision=2"),
        "/export?revision=3".to_owned(),
        "/export?revision=1".to_owned(),
        "/export?format=jsonl".to_owned(),
        "/export?format=JSONL".to_owned(),
        "/export?rollout=1".to_owned(),
        "/badge.svg?revision=3".to_owned(),
        "/preview.png?revision=3".to_owned(),
        "/nothing".to_owned(),
    ] {
        let answer = visitor.get(&rollcast, &format!("{WEB}{below}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{below}");
        assert!(!answer.text.contains("web:v3"), "{below}: {}", answer.text);
        // Where a page asks for what is to stand beside its picture, it is told in words.
        let mark = if below.contains('?') { '&' } else { '?' };
        let part = visitor.get(&rollcast, &format!("{WEB}{below}{mark}part")).await;
        assert_eq!(part.status, StatusCode::NOT_FOUND, "{below}");
        assert!(below == "/nothing" || !part.text.contains('<'), "{below}: {}", part.text);
    }
    assert_eq!(at_a_moment.get(&rollcast, &format!("{WEB}/export")).await.status, StatusCode::NOT_FOUND);
}
