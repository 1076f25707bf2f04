//! Who sees what: every address, for everybody. What may not be seen is answered as what was never there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::common::addresses::patterns;
use axum::http::StatusCode;
use serde_json::Value;
use server::hub::Handle;
use server::web::client_view::ClientView;
use server::web::state::Site;
use timeline::{Retention, Workload};

use crate::common::addresses::named;
use crate::pages::kept;
use crate::pages::people::{
    PROD, ask, cluster, difference, namespaces, proxy, reviewer, rules, site, timeless, viewer,
};
use crate::pages::site::site_of;

/// Every pattern of an address that shows something of one workload, with what stands after the workload's own address.
pub(crate) fn of_workloads() -> Vec<String> {
    patterns().into_iter().filter(|address| address.contains("{name}")).collect()
}

#[tokio::test]
async fn who_sees_no_cluster_is_told_so() {
    let rollcast = site(&rules(&PROD)).await;
    for (user, told) in [("foreign", "No cluster can be shown to you."), ("partly", "It watches: prod.")] {
        let (status, _, text) = ask(&rollcast, Some(user), "/clusters/secret-eu/namespaces/shop").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.contains(told), "{user}: {text}");
    }
}

#[tokio::test]
async fn a_workload_that_may_not_be_seen_was_never_there() {
    let rollcast = site(&rules(&PROD)).await;
    let mut seen = 0;
    for pattern in of_workloads() {
        for more in ["", "?at=1000", "?revision=1", "?part"] {
            let of = |cluster: &str, namespace: &str| format!("{}{more}", named(&pattern, cluster, namespace));
            let own = ask(&rollcast, Some("partly"), &of("prod", "rollover")).await;
            let all = ask(&rollcast, Some("fully"), &of("prod", "rollover")).await;
            assert_eq!((own.0, &own.1), (all.0, &all.1), "{pattern}{more}: who may see it sees it");
            seen += usize::from(own.0 == StatusCode::OK);
            for (user, cluster, namespace) in [
                ("partly", "prod", "kill-pod"),
                ("partly", "secret-eu", "kill-pod"),
                ("foreign", "prod", "rollover"),
                ("foreign", "secret-eu", "kill-pod"),
            ] {
                let hidden = ask(&rollcast, Some(user), &of(cluster, namespace)).await;
                // A cluster is as little there as what is in it.
                let cluster_too = if user == "partly" && cluster == "prod" { "prod" } else { "never-cluster" };
                let never = ask(&rollcast, Some(user), &of(cluster_too, "never-was")).await;
                let masked = |text: &str| text.replace("never-cluster", cluster).replace("never-was", namespace);
                let length = |headers: &[String]| {
                    headers
                        .iter()
                        .filter(|header| !header.starts_with("content-length"))
                        .map(|header| masked(header))
                        .collect::<Vec<_>>()
                };
                assert_eq!(hidden.0, never.0, "{user} {pattern}{more} {cluster} {namespace}");
                assert_eq!(length(&hidden.1), length(&never.1), "{user} {pattern}{more}");
                assert_eq!(
                    difference(&timeless(&hidden.2), &timeless(&masked(&never.2))),
                    None,
                    "{user} {pattern}{more} {cluster} {namespace}"
                );
            }
            let nobody = ask(&rollcast, None, &of("prod", "rollover")).await;
            assert_eq!(nobody.0, StatusCode::UNAUTHORIZED, "{pattern}{more}");
            assert!(!nobody.2.contains("rollover") && !nobody.2.contains("prod"), "{}", nobody.2);
        }
    }
    assert!(seen > 12, "{seen}");
}

/// What shows something of several workloads, or nothing of any.
const OTHERS: [(&str, &str, Option<bool>); 26] = [
    // Pattern, address, whether it tells of workloads; `None` where everybody may ask.
    ("/", "/", Some(true)),
    ("/wall", "/wall", Some(true)),
    ("/clusters/{cluster}", "/clusters/prod", Some(true)),
    ("/clusters/{cluster}/namespaces/{namespace}", "/clusters/prod/namespaces/rollover", Some(true)),
    ("/api/v1/deployments", "/api/v1/deployments", Some(true)),
    ("/metrics", "/metrics", Some(true)),
    ("/status", "/status", Some(true)),
    ("/api/v1/status", "/api/v1/status", Some(true)),
    ("/history", "/history", Some(false)),
    ("/api/v1/rollouts", "/api/v1/rollouts", Some(false)),
    ("/deployments/{uid}", "/deployments/00000000-0000-0000-0000-000000000001", Some(false)),
    ("/api/v1/openapi.json", "/api/v1/openapi.json", Some(false)),
    ("/qr.svg", "/qr.svg?path=/", Some(false)),
    ("/api/v1/stream", "/api/v1/stream", Some(false)),
    ("/playground", "/playground", Some(false)),
    ("/playground/events", "/playground/events", Some(false)),
    ("/healthz", "/healthz", None),
    ("/readyz", "/readyz", None),
    ("/sign-in", "/sign-in", None),
    ("/shares", "/shares", Some(false)),
    ("/api/v1/shares", "/api/v1/shares", Some(false)),
    ("/shared", "/shared", None),
    ("/shared/{preview}", "/shared/AAAA", None),
    ("/shared/{preview}/preview.png", "/shared/AAAA/preview.png", None),
    ("/sign-in/start", "/sign-in/start?to=/", None),
    ("/sign-in/callback", "/sign-in/callback?code=a&state=b", None),
];

#[tokio::test]
async fn every_address_tells_each_viewer_of_what_they_may_see() {
    let rollcast = site(&rules(&PROD)).await;
    let known: BTreeSet<String> = OTHERS
        .iter()
        .map(|(pattern, ..)| (*pattern).to_owned())
        .chain(of_workloads())
        .chain(["/sign-out", "/shares/revoke", "/api/v1/shares/revoke"].map(str::to_owned))
        .collect();
    assert_eq!(known, patterns().into_iter().collect(), "every address that is answered is looked at here");
    for (_, path, tells) in OTHERS {
        let nobody = ask(&rollcast, None, path).await;
        match tells {
            None => assert_ne!(nobody.0, StatusCode::UNAUTHORIZED, "{path}"),
            Some(_) => assert_eq!(nobody.0, StatusCode::UNAUTHORIZED, "{path}"),
        }
        let told = async |user| ask(&rollcast, user, path).await.2;
        for (user, text) in [("nobody", nobody.2), ("foreign", told(Some("foreign")).await)] {
            for hidden in ["kill-pod", "secret-eu", "\"rollover\"", ">rollover<", "cluster=\"prod\"", "\"prod\""] {
                if path.contains(hidden.trim_matches(|c: char| !c.is_ascii_alphabetic())) {
                    continue; // that it is not there is said of what was asked for
                }
                assert!(
                    !text.contains(hidden),
                    "{user} {path}: {hidden} {:?}",
                    text.split(hidden).next().map(|before| before
                        .chars()
                        .rev()
                        .take(200)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                        .collect::<String>())
                );
            }
        }
        let (partly, fully) = (told(Some("partly")).await, told(Some("fully")).await);
        assert!(!partly.contains("kill-pod") && !partly.contains("secret-eu"), "{path}");
        if tells == Some(true) {
            assert!(partly.contains("prod"), "{path}");
            assert_ne!(partly, fully, "{path}");
        }
    }
    let counts = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("rollcast_deployments{cluster=\"prod\",state=\"stable\"}"))
            .map(str::to_owned)
    };
    let metrics = async |user| counts(&ask(&rollcast, Some(user), "/metrics").await.2);
    assert_eq!(metrics("partly").await.as_deref(), Some("rollcast_deployments{cluster=\"prod\",state=\"stable\"} 1"));
    assert_eq!(metrics("fully").await.as_deref(), Some("rollcast_deployments{cluster=\"prod\",state=\"stable\"} 2"));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_in_which_nothing_is_yet_is_seen_by_who_may_see_it() {
    let rules = rules(&PROD);
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "empty".to_owned()));
    let rollcast = site(&rules).await;
    let page = |namespace: &str| format!("/clusters/prod/namespaces/{namespace}/deployments/web");
    let mut said = Vec::new();
    for namespace in ["empty", "kill-pod", "never-was"] {
        let (status, _, text) = ask(&rollcast, Some("partly"), &page(namespace)).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        said.push(text.replace(namespace, "…"));
    }
    assert_eq!(difference(&timeless(&said[1]), &timeless(&said[2])), None);
    let view = ClientView::new(&rollcast, viewer("partly")).await.unwrap();
    for (namespace, may_see) in [("empty", true), ("kill-pod", false), ("never-was", false)] {
        let shows = view
            .clone()
            .with_namespace("prod", namespace)
            .await
            .can_see(&Workload::deployment("prod", namespace, "web"));
        assert_eq!(shows, may_see, "{namespace}");
    }
    // It stays seen without being named again, and somebody without a right in the cluster learns nothing by naming.
    let mut sight = view.watch_permissions().await.unwrap();
    let both = Some(BTreeSet::from(["rollover".to_owned(), "empty".to_owned()]));
    sight.wait_for(|sight| namespaces(sight, "prod") == both).await.unwrap();
    let foreign = ClientView::new(&rollcast, viewer("foreign")).await.unwrap().with_namespace("prod", "rollover").await;
    assert!(!foreign.has_cluster("prod"));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_hidden_takes_as_long_and_costs_as_much_as_one_that_is_not_there() {
    let (prod, secret) = (rules(&PROD), rules(&[("fully", "*")]));
    let hubs = vec![cluster("prod", &prod).await, cluster("secret-eu", &secret).await];
    let rollcast = site_of(hubs, Site { auth: proxy(), ..Site::default() });
    let asked = || [&prod, &secret].map(|rules| rules.lock().unwrap().asked);
    prod.lock().unwrap().takes = Duration::from_millis(3);
    secret.lock().unwrap().takes = Duration::from_millis(250);
    let mut looked = 0;
    for like in ["partly", "foreign"] {
        for pattern in of_workloads().into_iter().chain(["/clusters/{cluster}/namespaces/{namespace}".to_owned()]) {
            // Nobody is asked about any more who looked before.
            tokio::time::sleep(Duration::from_secs(200)).await;
            let mut costs = Vec::new();
            for (cluster, namespace) in
                [("secret-eu", "kill-pod"), ("secret-eu", "never-was"), ("never-there", "kill-pod"), ("SECRET-EU", "x")]
            {
                // Somebody new each time, of whom no answer is known.
                let user = format!("{like}-{looked}");
                if like == "partly" {
                    prod.lock().unwrap().allowed.insert((user.clone(), "rollover".to_owned()));
                }
                ask(&rollcast, Some(&user), "/").await;
                let (before, began) = (asked(), tokio::time::Instant::now());
                ask(&rollcast, Some(&user), &named(&pattern, cluster, namespace)).await;
                let after = asked();
                costs.push(([after[0] - before[0], after[1] - before[1]], began.elapsed()));
                looked += 1;
            }
            let hidden = [usize::from(like == "foreign"), 1];
            assert!(costs.iter().all(|cost| *cost == costs[0] && cost.0 == hidden), "{like} {pattern}: {costs:?}");
            assert!(costs[0].1 >= Duration::from_millis(250), "{like} {pattern}: all that are hidden are waited for");
        }
    }
    assert!(looked > 60, "{looked}");
    // Of a cluster of which something is seen that one alone is asked.
    ask(&rollcast, Some("partly"), "/").await;
    let began = tokio::time::Instant::now();
    ask(&rollcast, Some("partly"), "/clusters/prod/namespaces/never-was").await;
    assert!(began.elapsed() < Duration::from_millis(250), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_uid_leads_to_nothing_of_another_namespace() {
    let rollcast = site(&rules(&PROD)).await;
    let list = serde_json::from_str::<Value>(&ask(&rollcast, Some("fully"), "/api/v1/deployments").await.2).unwrap();
    let of = |namespace: &str| {
        let all = list["clusters"][0]["deployments"].as_array().unwrap();
        let found = all.iter().find(|known| known["namespace"] == namespace).unwrap();
        (found["uid"].as_str().unwrap().to_owned(), found["name"].as_str().unwrap().to_owned())
    };
    let ((own, own_name), (hidden, hidden_name)) = (of("rollover"), of("kill-pod"));
    let nobodys = "00000000-0000-0000-0000-000000000001";
    let mut looked = 0;
    for pattern in of_workloads().into_iter().chain(["/deployments/{uid}".to_owned()]) {
        let of = |uid: &str, name: &str| {
            let address = pattern.replace("{uid}", uid).replace("{name}", name);
            let address = named(&address, "prod", "rollover");
            if pattern.starts_with("/deployments/") { address } else { format!("{address}?uid={uid}") }
        };
        for name in [&own_name, &hidden_name] {
            let led = ask(&rollcast, Some("partly"), &of(&hidden, name)).await;
            let nowhere = ask(&rollcast, Some("partly"), &of(nobodys, name)).await;
            assert_eq!(led.0, nowhere.0, "{pattern}");
            let (led, nowhere) = (led.2.replace(&hidden, "…"), nowhere.2.replace(nobodys, "…"));
            assert_eq!(difference(&timeless(&led), &timeless(&nowhere)), None, "{pattern} {name}");
        }
        looked += usize::from(ask(&rollcast, Some("partly"), &of(&own, &own_name)).await.0 != StatusCode::NOT_FOUND);
    }
    assert!(looked > 8, "{looked}");
}

#[tokio::test]
async fn what_is_kept_is_seen_as_far_as_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    kept::keep_rollouts(folder.path());
    crate::pages::kinds::keep(folder.path(), "kill-pod");
    let archive = kept::archive(folder.path());
    let kept = archive.read(|reader| reader.namespaces()).await.unwrap();
    let cluster = kept.first_key_value().unwrap().0;
    let rules = rules(&[("fully", "*"), ("foreign", "elsewhere")]);
    let (hub, _) = Handle::start(cluster, Arc::default(), Retention::default());
    let hubs = vec![hub.with_reviewer(reviewer(&rules))];
    let rollcast = site_of(hubs, Site { auth: proxy(), archive: Some(archive.clone()), ..Site::default() });
    let told = async |user: &str, path: &str| ask(&rollcast, Some(user), path).await;
    let (_, _, all) = told("fully", "/api/v1/rollouts?kind=rollout").await;
    let rollout = serde_json::from_str::<Value>(&all).unwrap()["rollouts"][0].clone();
    let text = |field: &str| rollout[field].as_str().unwrap().to_owned();
    let namespace = text("namespace");
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), namespace.clone()));
    for path in ["/history", "/api/v1/rollouts"] {
        let ((_, _, fully), (_, _, partly), (_, _, foreign)) =
            (told("fully", path).await, told("partly", path).await, told("foreign", path).await);
        let has_recovery = |text: &str| text.contains("deleted, recovered after");
        assert!(has_recovery(&fully) && !has_recovery(&partly) && !has_recovery(&foreign), "{path}");
        let tells = |text: &str, of: &str| {
            let places = [format!("/namespaces/{of}/"), format!("\"namespace\":\"{of}\"")];
            places.iter().any(|place| text.contains(place))
        };
        assert!(tells(&fully, &namespace) && tells(&partly, &namespace), "{path}");
        for other in &kept[cluster] {
            assert!(!tells(&foreign, other), "{path} {other}");
            assert!(*other == namespace || !tells(&partly, other), "{path} {other}");
        }
    }
    let by_itself = format!("uid={}&rollout={}", text("uid"), rollout["number"]);
    let page = |namespace: &str| format!("/clusters/{cluster}/namespaces/{namespace}/deployments/{}", text("name"));
    for end in
        [format!("?{by_itself}"), format!("/export?format=jsonl&{by_itself}"), format!("/compare?uid={}", text("uid"))]
    {
        let path = format!("{}{end}", page(&text("namespace")));
        assert_eq!(told("fully", &path).await.0, StatusCode::OK, "{path}");
        assert_eq!(told("foreign", &path).await.0, StatusCode::NOT_FOUND, "{path}");
        // By its UID, under the name of a namespace that may be seen.
        let borrowed = format!("{}{end}", page("elsewhere"));
        assert_eq!(told("foreign", &borrowed).await.0, StatusCode::NOT_FOUND, "{borrowed}");
    }
    let path = format!("/api/v1{}/recording?{by_itself}", page(&text("namespace")));
    assert_eq!(told("fully", &path).await.0, StatusCode::OK);
    assert_eq!(told("foreign", &path).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        told("foreign", &format!("/api/v1{}/recording?{by_itself}", page("elsewhere"))).await.0,
        StatusCode::NOT_FOUND
    );
    archive.close().await;
}
