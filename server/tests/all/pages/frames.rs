//! Who is told what over the stream: every sort of frame that viewers send and hear, for each of four viewers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use futures::StreamExt;
use server::feed::recording::Recording;
use server::hub::Handle;
use server::kube::Observed;
use server::web::client_view::ClientView;
use server::web::session::StreamRequest;
use server::web::state::Site;
use timeline::list::{Query, Window};
use timeline::wire::{self, PROTOCOL, Scope, ViewerFrame};
use timeline::{Retention, Workload};

use crate::common;
use crate::common::fed::feed;
use crate::common::heard::{SORTS, sort};
use crate::pages::people::{PROD, proxy, reviewer, rules, say, serve};
use crate::pages::site::site_of;

/// The sort of a frame that viewers send, with what they may follow. A new one does not compile before it stands here, and is sent below.
const fn sent(frame: &ViewerFrame) -> &'static str {
    match frame {
        ViewerFrame::Hello { .. } => "hello",
        ViewerFrame::Moment { .. } => "moment",
        ViewerFrame::Subscribe { scope: Scope::Nothing, .. } => "nothing",
        ViewerFrame::Subscribe { scope: Scope::List { .. }, .. } => "list",
        ViewerFrame::Subscribe { scope: Scope::Workload(_), .. } => "workload",
    }
}
const SENT: [&str; 5] = ["hello", "list", "moment", "nothing", "workload"];

const PLACES: [&str; 2] = ["rollover", "kill-pod"];

/// What was recorded of two namespaces, as if both had begun at the same time.
fn observed() -> Vec<Observed> {
    let both = common::recordings().into_iter().filter(|(name, _)| PLACES.contains(&name.as_str()));
    let both = both.map(|(_, text)| Recording::read(&text).observed);
    let shifted = both.flat_map(|all| {
        let first = all[0].at_millis;
        let shift = move |one: Observed| Observed { at_millis: one.at_millis - first + 1_000_000, ..one };
        all.into_iter().map(shift)
    });
    let mut all: Vec<Observed> = shifted.collect();
    all.sort_by_key(|one| one.at_millis);
    all
}

/// The UID of the Deployment of a place, and of each of its pods and ReplicaSets, as frames are written out.
async fn known(hub: &Handle, place: &'static str) -> (Workload, BTreeSet<String>) {
    let known = hub.read(move |reader| {
        let model = reader.timeline.model();
        let own = model.deployments.values().find(|deployment| deployment.namespace == place).unwrap();
        let (uid, name) = (own.uid, own.name.as_str());
        let sets = model.sets_of(uid).map(|set| set.uid);
        let pods = model.pods_of_deployment(uid).into_iter().map(|pod| pod.uid);
        (
            Workload::deployment("", place, name).with_uid(Some(uid)),
            [uid].into_iter().chain(sets).chain(pods).map(|uid| format!("{uid:?}")).collect(),
        )
    });
    known.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_frame_tells_each_viewer_of_what_they_may_see() {
    let mut asked = BTreeSet::new();
    for user in [None, Some("foreign"), Some("partly"), Some("fully")] {
        let mut first = observed();
        let rest = first.split_off(first.len() / 2);
        let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
        let hub = |name: &str, allowed: &[(&str, &str)]| {
            let (hub, events) = Handle::start(name, Arc::default(), retention);
            (hub.with_reviewer(reviewer(&rules(allowed))), events)
        };
        let (prod, of_prod) = hub("prod", &PROD);
        let (secret, of_secret) = hub("secret-eu", &[("fully", "*")]);
        for (hub, events) in [(&prod, &of_prod), (&secret, &of_secret)] {
            feed(events, observed().into_iter().take(first.len()).collect()).await;
            hub.follow_list().wait_for(|list| list.len() == 2).await.unwrap();
        }
        let mut hidden = BTreeSet::new();
        let mut deployments = BTreeMap::new();
        for place in PLACES {
            let (own, all) = known(&prod, place).await;
            deployments.insert(place, own);
            if user == Some("foreign") || (user == Some("partly") && place == "kill-pod") {
                hidden.extend(all);
            }
        }
        let site = Site { auth: proxy(), ..Site::default() };
        let rollcast = site_of(vec![prod.clone(), secret.clone()], site);
        let header = HeaderName::from_static("x-forwarded-user");
        let headers: HeaderMap = user.iter().map(|user| (header.clone(), HeaderValue::from_static(user))).collect();
        let peer = Some("10.0.0.7".parse().unwrap());
        let known = rollcast.authenticate(&headers, peer, peer).await;
        let Some(user) = user else {
            assert!(known.is_err(), "nobody has no stream");
            continue;
        };
        let view = ClientView::new(&rollcast, known.unwrap().0).await.unwrap();
        let (said, mut heard) = serve(view, StreamRequest { headers, peer, from: peer });
        let mut frames: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let follow = |workload| ViewerFrame::Subscribe { scope: Scope::Workload(workload), since: None };
        let list = Scope::List { query: Query::default(), window: Window { from: 0, to: 50 } };
        let mut frames_to_say = vec![
            ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() },
            ViewerFrame::Subscribe { scope: list, since: None },
            ViewerFrame::Subscribe { scope: Scope::Nothing, since: None },
        ];
        for (cluster, place) in
            [("prod", "rollover"), ("prod", "kill-pod"), ("secret-eu", "kill-pod"), ("never", "kill-pod")]
        {
            let own = Workload { cluster: cluster.to_owned(), ..deployments[place].clone() };
            for workload in [Workload { uid: None, ..own.clone() }, own] {
                frames_to_say.extend([follow(workload), ViewerFrame::Moment { at_millis: 1_001_000 }]);
            }
        }
        let step = rest.len() / frames_to_say.len();
        let mut rest = rest.into_iter();
        for frame in frames_to_say {
            asked.insert(sent(&frame));
            say(&said, &frame);
            let mut is_played = false;
            // Until nothing comes any more but the sign of life; something happens meanwhile.
            while let Ok(message) = tokio::time::timeout(Duration::from_millis(700), heard.next()).await {
                let Message::Binary(bytes) = message.expect("the stream goes on") else { continue };
                let told = wire::decode(&bytes).unwrap();
                frames.entry(sort(&told)).or_default().push(format!("{told:?}"));
                if !is_played {
                    is_played = true;
                    let part: Vec<Observed> = rest.by_ref().take(step).collect();
                    feed(&of_prod, part.clone()).await;
                    feed(&of_secret, part).await;
                }
            }
        }
        tokio::time::sleep(Duration::from_secs(30)).await; // in no time: the clock of this test stands while nobody waits
        while let Some(Some(Message::Binary(bytes))) = futures::FutureExt::now_or_never(heard.next()) {
            let told = wire::decode(&bytes).unwrap();
            frames.entry(sort(&told)).or_default().push(format!("{told:?}"));
        }
        let sorts: Vec<&str> = frames.keys().copied().collect();
        match user {
            "foreign" => assert_eq!(sorts, ["connection", "heartbeat", "hello", "list"], "{user}"),
            _ => assert_eq!(sorts, SORTS, "{user}"),
        }
        for (sort, all) in &frames {
            for told in all {
                assert!(hidden.iter().all(|uid| !told.contains(uid)), "{user} {sort}: {told}");
                if user != "fully" && *sort == "list" {
                    assert!(!told.contains("kill-pod") && !told.contains("secret-eu"), "{user}: {told}");
                }
            }
        }
        let tells =
            |sort: &str, text: &str| frames.get(sort).is_some_and(|all| all.iter().any(|told| told.contains(text)));
        assert_eq!(tells("list", "rollover"), user != "foreign", "{user}");
        let own = format!("{:?}", deployments["rollover"].uid);
        assert_eq!(tells("snapshot", &own), user != "foreign", "{user}");
        assert_eq!(tells("snapshot", &format!("{:?}", deployments["kill-pod"].uid)), user == "fully", "{user}");
    }
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), SENT);
}
