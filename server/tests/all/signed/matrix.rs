//! Every address and every sort of frame, for four people whom the cluster's RBAC lets see nothing, something else, a part, and all.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use timeline::list::{Query, Window};
use timeline::wire::{Scope, ViewerFrame};
use timeline::{Uid, Workload};

use crate::common::addresses::named;
use crate::common::heard::{SORTS, sort};
use crate::common::side::text;
use crate::signed::{A_MINUTE, Cluster, KEY, Program, cluster, within_a_minute};

impl Cluster {
    /// Lets it list pods everywhere; returns what has to be deleted again.
    async fn allow_everywhere(&self, account: &str) -> [String; 2] {
        let name = format!("{account}-of-{}", self.0.namespace);
        let of = |resource: &str| format!("/apis/rbac.authorization.k8s.io/v1/{resource}");
        let role = json!({ "metadata": { "name": name }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] });
        self.post(&of("clusterroles"), role).await;
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": self.0.namespace }],
        });
        self.post(&of("clusterrolebindings"), binding).await;
        ["clusterrolebindings", "clusterroles"].map(|resource| format!("{}/{name}", of(resource)))
    }

    /// The UIDs of its Deployment, ReplicaSets and pods, as answers and frames have them.
    async fn uids(&self) -> Vec<Uid> {
        let seen = self.0.seen().await.unwrap();
        let all = [&seen.deployment].into_iter().chain(&seen.sets).chain(&seen.pods);
        all.map(|object| text(object, "/metadata/uid").parse().unwrap()).collect()
    }
}

/// Addresses that tell everybody the same, and nothing of a cluster.
const EVERYBODYS: [&str; 8] = [
    "/healthz",
    "/readyz",
    "/sign-in",
    "/sign-in/start",
    "/sign-in/callback",
    "/shared",
    "/shared/{preview}",
    "/shared/{preview}/preview.png",
];

#[tokio::test]
#[ignore = "needs a control plane: `cargo xtask test --only cluster`"]
async fn every_address_and_every_frame_tells_four_viewers_what_rbac_lets_them_see() {
    let kubeconfig = std::env::var("ROLLCAST_TEST_KUBECONFIG").unwrap();
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let [seen_name, hidden_name, other_name] =
        ["matrix-seen", "matrix-hidden", "matrix-other"].map(|place| format!("{place}-{started}"));
    let (seen, hidden, other) = (
        cluster(&kubeconfig, &seen_name).await,
        cluster(&kubeconfig, &hidden_name).await,
        cluster(&kubeconfig, &other_name).await,
    );
    // Pages say as whom somebody signed in: their accounts are in neither of the two namespaces.
    let (partly, foreign, fully) =
        (other.account("partly").await, other.account("foreign").await, other.account("fully").await);
    seen.allow("partly", &other_name).await;
    other.allow("foreign", &other_name).await;
    let everywhere = other.allow_everywhere("fully").await;
    let mut keys = tempfile::NamedTempFile::new().unwrap();
    writeln!(keys, "{KEY}").unwrap();
    let program = Program::start(&kubeconfig, keys.path());
    within_a_minute("all are listed", async || {
        let listed = program.get("/api/v1/deployments", &fully).await.1;
        [&seen_name, &hidden_name, &other_name].iter().all(|place| listed.contains(place.as_str()))
    })
    .await;
    let listed: Value = serde_json::from_str(&program.get("/api/v1/deployments", &fully).await.1).unwrap();
    let name = listed["clusters"][0]["name"].as_str().unwrap().to_owned();
    let (of_seen, of_hidden) = (seen.uids().await, hidden.uids().await);
    assert!(of_seen.len() >= 3 && of_hidden.len() >= 3);
    // Of each viewer: what they may see, and what they may not.
    let viewers =
        [("foreign", &foreign, false, false), ("partly", &partly, true, false), ("fully", &fully, true, true)];

    let (mut asked, mut told) = (0, [0; 3]);
    for pattern in crate::common::addresses::patterns() {
        for place in [&seen_name, &hidden_name] {
            let path = named(&pattern, &name, place);
            let (nobody, _, text) = program.ask("GET", &path, &[], "").await;
            let is_everybodys = EVERYBODYS.contains(&pattern.as_str()) || nobody == 405;
            assert!(is_everybodys || [401, 303].contains(&nobody), "{path}: {nobody}");
            assert!(of_seen.iter().chain(&of_hidden).all(|uid| !text.contains(&uid.to_string())), "{path}: {text}");
            for (at, (viewer, token, sees_seen, sees_hidden)) in viewers.iter().enumerate() {
                let (status, text) = program.get(&path, token).await;
                let may_see = if *place == seen_name { *sees_seen } else { *sees_hidden };
                if !may_see && pattern.contains("{namespace}") && pattern.contains("{name}") {
                    let never = program.get(&named(&pattern, &name, "never-was"), token).await.0;
                    assert_eq!(status, never, "{viewer} {path}");
                }
                for (uids, of, sees) in [(&of_seen, &seen_name, sees_seen), (&of_hidden, &hidden_name, sees_hidden)] {
                    let is_told = uids.iter().any(|uid| text.contains(&uid.to_string()));
                    assert!(*sees || !is_told, "{viewer} {path}");
                    // That something is not there is said of what was asked for.
                    assert!(*sees || path.contains(of.as_str()) || !text.contains(of.as_str()), "{viewer} {path}");
                    told[at] += usize::from(is_told);
                }
                asked += 1;
            }
        }
    }
    println!("{asked} answers; with objects in them: {told:?} (foreign, partly, fully)");
    assert!(told[0] == 0 && told[1] > 0 && told[2] > told[1], "{told:?}");

    for (viewer, token, sees_seen, sees_hidden) in viewers {
        let mut socket = program.stream(token).await;
        let list = Scope::List { query: Query::default(), window: Window { from: 0, to: 50 } };
        let of = |place: &str| Scope::Workload(Workload::deployment(&name, place.to_owned(), "web".to_owned()));
        let mut heard: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let wanted = if sees_seen { 7 } else { 6 };
        let began = Instant::now();
        for (round, scope) in [list, Scope::Nothing, of(&hidden_name), of(&seen_name)].into_iter().enumerate() {
            socket.follow(scope).await;
            socket.say(&ViewerFrame::Moment { at_millis: server::telemetry::clock::now_millis() - 1_000 }).await;
            if round == 3 {
                for side in [&seen, &hidden] {
                    let replicas = if viewer == "partly" { 2 } else { 3 };
                    side.0.merge(&side.0.web(), json!({ "spec": { "replicas": replicas } })).await.unwrap();
                }
            }
            let mut until = Instant::now() + Duration::from_secs(2);
            // The last round goes on until each sort was heard, and a sign of life comes in time.
            while Instant::now() < until || (round == 3 && heard.len() < wanted && began.elapsed() < A_MINUTE) {
                let told = tokio::time::timeout(Duration::from_millis(500), socket.next()).await;
                if let Ok(told) = told {
                    let told = told.expect("the stream goes on");
                    heard.entry(sort(&told)).or_default().push(format!("{told:?}"));
                    until = until.max(Instant::now() + Duration::from_millis(300)).min(began + A_MINUTE);
                }
            }
        }
        let sorts: Vec<&str> = heard.keys().copied().collect();
        println!("{viewer}: {sorts:?} after {:?}", began.elapsed());
        let expected: Vec<&str> = SORTS.into_iter().filter(|sort| sees_seen || *sort != "delta").collect();
        assert_eq!(sorts, expected, "{viewer}");
        for (uids, place, sees) in [(&of_seen, &seen_name, sees_seen), (&of_hidden, &hidden_name, sees_hidden)] {
            for (sort, frames) in &heard {
                for told in frames.iter().filter(|_| !sees) {
                    assert!(uids.iter().all(|uid| !told.contains(&format!("{uid:?}"))), "{viewer} {sort}: {told}");
                    assert!(*sort != "list" || !told.contains(place.as_str()), "{viewer}: {told}");
                }
            }
            let is_told = heard["snapshot"].iter().any(|told| told.contains(&format!("{:?}", uids[0])));
            assert_eq!(is_told, sees, "{viewer} {place}");
        }
    }
    for path in everywhere {
        seen.delete(&path).await;
    }
    for side in [seen, hidden, other] {
        side.0.end().await;
    }
}
