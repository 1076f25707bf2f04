//! Links to one rollout and to one moment: who has one sees that, and nothing else at any address or in any frame.

use std::sync::Arc;
use std::time::Duration;

use crate::common::addresses::patterns;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use server::access::cookie::SessionKeys;
use server::access::share::Shares;
use server::feed::recording::Recording;
use server::history::Archive;
use server::hub::Handle;
use server::kube::Observed;
use server::kube::SourceEvent;
use server::web::session::StreamRequest;
use server::web::state::{Rollcast, Site};
use timeline::address::{self, Route};
use timeline::list::{Query, Window};
use timeline::view::Tone;
use timeline::viewer::DeploymentCopy;
use timeline::wire::{PROTOCOL, Scope, ServerFrame, Snapshot, ViewerFrame};
use timeline::{Retention, Uid, Workload};
use tokio::time::Instant;

use crate::common;
use crate::common::addresses::named;
use crate::common::fed::feed;
use crate::pages::kept;
use crate::pages::people::{Heard, PROD, Said, follow, hear, open, proxy, reviewer, rules, say, site, watched_cluster};
use crate::pages::shared::{Somebody, WEB, by_link, signed_in};
use crate::pages::site::site_of;

const TIMELINE: &str = "/api/v1/clusters/prod/namespaces/rollover/deployments/web/timeline";

/// What is known of the Deployment: its UID, and of each rollout the revision and when it began.
async fn rollouts(rollcast: &Arc<Rollcast>) -> (Uid, Vec<(u64, i64)>) {
    let document = signed_in("fully").get(rollcast, TIMELINE).await.text;
    let document: Value = serde_json::from_str(&document).unwrap();
    let deployment = &document["deployments"][0];
    let rollouts = deployment["rollouts"].as_array().unwrap().iter();
    let rollouts =
        rollouts.map(|rollout| (rollout["revision"].as_u64().unwrap(), rollout["startedMillis"].as_i64().unwrap()));
    (deployment["uid"].as_str().unwrap().parse().unwrap(), rollouts.collect())
}

/// Addresses that a link to a part of the Deployment opens, as patterns.
const OPENED: [&str; 6] = [
    "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}",
    "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/revisions/{revision}",
    "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/badge.svg",
    "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.svg",
    "/clusters/{cluster}/namespaces/{namespace}/{resource}/{name}/preview.png",
    Route::ApiTimeline.pattern(),
];

/// Every address but those that everybody may ask: nothing is there but what the link opens.
async fn look_everywhere(rollcast: &Arc<Rollcast>, visitor: &Somebody, revision: u64, hidden: &[&str]) {
    let everybodys = ["/healthz", "/readyz", "/sign-in", "/sign-in/start", "/sign-in/callback", "/sign-out", "/shared"];
    let mut opened = 0;
    for pattern in patterns() {
        let at = pattern.replace("{revision}", &revision.to_string());
        let path = named(&at, "prod", "rollover");
        let answer = visitor.get(rollcast, &path).await;
        for hidden in hidden {
            assert!(!answer.text.contains(hidden), "{path}: {hidden}");
        }
        match pattern.as_str() {
            known if everybodys.contains(&known) || known.starts_with("/shared/") => {}
            known if OPENED.contains(&known) => {
                assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
                opened += 1;
            }
            // The file of a rollout is looked into elsewhere.
            known if known.ends_with("/export") => assert!(answer.status != StatusCode::UNAUTHORIZED, "{path}"),
            // No websocket is asked for here: what is followed over one is looked at below.
            "/api/v1/stream" => assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}"),
            _ => assert!(
                matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED),
                "{path}: {}",
                answer.status
            ),
        }
        let other = visitor.get(rollcast, &named(&at, "prod", "kill-pod")).await;
        assert!(!other.text.contains("web:v"), "{path}");
    }
    assert_eq!(opened, OPENED.len());
    for (method, path) in
        [(Method::POST, Route::ApiShares.pattern()), (Method::POST, "/shares"), (Method::POST, "/shares/revoke")]
    {
        let answer = visitor.send(rollcast, method, path, &[("to", WEB), ("id", "x")]).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}

/// A stream of who came by a link.
pub(crate) async fn stream(rollcast: &Arc<Rollcast>, visitor: &Somebody) -> (Said, Heard) {
    let cookie = HeaderValue::from_str(visitor.cookie.as_ref().unwrap()).unwrap();
    let headers = HeaderMap::from_iter([(header::COOKIE, cookie)]);
    let (said, heard) = open(rollcast, StreamRequest { headers, ..StreamRequest::default() }).await;
    say(&said, &ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() });
    (said, heard)
}

/// The next frame that is about something.
pub(crate) async fn next(heard: &mut Heard) -> ServerFrame {
    loop {
        match hear(heard).await {
            ServerFrame::Hello { .. } | ServerFrame::Heartbeat { .. } | ServerFrame::Connection { .. } => {}
            frame => return frame,
        }
    }
}

async fn snapshot(heard: &mut Heard) -> Snapshot {
    match next(heard).await {
        ServerFrame::Snapshot(snapshot) => *snapshot,
        frame => panic!("{frame:?}"),
    }
}

fn web() -> Workload {
    Workload::deployment("prod", "rollover", "web")
}

#[tokio::test(start_paused = true)]
async fn a_link_to_a_rollout_opens_it_and_nothing_else() {
    let rollcast = site(&rules(&PROD)).await;
    let (uid, known) = rollouts(&rollcast).await;
    assert_eq!(known.iter().map(|(revision, _)| *revision).collect::<Vec<_>>(), [1, 2, 3]);
    let images = ["web:v1", "web:slow-v2", "web:v3"];
    let maker = signed_in("partly");
    for (at, (revision, began)) in known.iter().enumerate() {
        let to = format!("{WEB}?uid={uid}&revision={revision}");
        // Which one bears the name is found out where the address does not say it.
        let (_, secret) = maker.make(&rollcast, &format!("{WEB}?revision={revision}")).await;
        let (visitor, led) = by_link(&rollcast, &secret).await.unwrap();
        assert_eq!(led, to);
        // What came later is nowhere; what was before is seen going.
        let hidden: Vec<&str> = images[at + 1..].to_vec();
        look_everywhere(&rollcast, &visitor, *revision, &hidden).await;
        let page = visitor.get(&rollcast, &to).await;
        assert_eq!(page.status, StatusCode::OK);
        let document: Value = serde_json::from_str(&visitor.get(&rollcast, TIMELINE).await.text).unwrap();
        let shown = document["deployments"][0]["rollouts"].as_array().unwrap();
        assert_eq!(shown.last().unwrap()["revision"], *revision);
        assert!(shown.len() <= 2, "it, and what it took the place of: {shown:?}");
        for within in [format!("{WEB}?at={}", began + 100), format!("{to}&at={}", began + 100)] {
            assert_eq!(visitor.get(&rollcast, &within).await.status, StatusCode::OK, "{within}");
        }
        // One that is over stands still at its end, which is not the time of day.
        if let Some((_, next)) = known.get(at + 1) {
            let to_come = server::telemetry::clock::now_millis() + 3_600_000;
            for (later, says) in
                [(*next, "This link shows"), (next + 60_000, "This link shows"), (to_come, "in the future")]
            {
                let answer = visitor.get(&rollcast, &format!("{to}&at={later}")).await;
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{later}");
                assert!(answer.text.contains(says), "{later}: {}", answer.text);
                assert!(!answer.text.contains("as it is now"), "{later}: {}", answer.text);
            }
        }
        let others = known.iter().filter(|(other, _)| other != revision);
        let others = others.map(|(other, _)| format!("{WEB}?revision={other}"));
        let before = format!("{WEB}?at={}", began - 60_000);
        for beyond in others.chain([
            before,
            format!("{WEB}?uid=00000000-0000-0000-0000-000000000001"),
            format!("{WEB}?uid={uid}&rollout=0"),
            format!("{WEB}/export?format=jsonl&uid={uid}&revision={revision}"),
            format!("{WEB}/compare?uid={uid}"),
            format!("/deployments/{uid}"),
        ]) {
            assert_eq!(visitor.get(&rollcast, &beyond).await.status, StatusCode::NOT_FOUND, "{beyond}");
        }
        let (said, mut heard) = stream(&rollcast, &visitor).await;
        follow(&said, web());
        let told = format!("{:?}", snapshot(&mut heard).await);
        assert!(told.contains(images[at]), "{told}");
        assert!(hidden.iter().all(|image| !told.contains(image)), "{told}");
        for other in [
            web().with_uid(Some(Uid::from_bits(1))),
            Workload { rollout: Some(0), ..web().with_uid(Some(uid)) },
            Workload::deployment("prod", "kill-pod", "web"),
        ] {
            follow(&said, other.clone());
            let told = snapshot(&mut heard).await;
            assert!(told.deployment.is_none() && told.said.view.is_none(), "{other:?}");
        }
        say(
            &said,
            &ViewerFrame::Subscribe {
                scope: Scope::List { query: Query::default(), window: Window { from: 0, to: 50 } },
                since: None,
            },
        );
        let list = next(&mut heard).await;
        assert!(matches!(list, ServerFrame::List(_)) && !format!("{list:?}").contains("web"), "{list:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_to_a_moment_opens_it_and_nothing_else() {
    let rollcast = site(&rules(&PROD)).await;
    let (uid, known) = rollouts(&rollcast).await;
    let at = known[1].1 + 1_000; // of the second revision
    let (_, secret) = signed_in("partly").make(&rollcast, &format!("{WEB}?at={at}")).await;
    let (visitor, led) = by_link(&rollcast, &secret).await.unwrap();
    assert_eq!(led, format!("{WEB}?uid={uid}&at={at}"));
    look_everywhere(&rollcast, &visitor, 2, &["web:v3"]).await;
    let page = visitor.get(&rollcast, &led).await;
    assert_eq!(page.status, StatusCode::OK);
    let document: Value = serde_json::from_str(&visitor.get(&rollcast, TIMELINE).await.text).unwrap();
    assert_eq!(document["observedToMillis"], at);
    for beyond in [
        format!("{WEB}?at={}", at - 1),
        format!("{WEB}?at={}", at + 1),
        format!("{WEB}?revision=2"),
        format!("{WEB}?revision=3"),
        format!("{WEB}/revisions/3?uid={uid}"),
        format!("{WEB}/export?uid={uid}&at={at}"),
        "/".to_owned(),
    ] {
        assert_eq!(visitor.get(&rollcast, &beyond).await.status, StatusCode::NOT_FOUND, "{beyond}");
    }
    let (said, mut heard) = stream(&rollcast, &visitor).await;
    follow(&said, web().with_uid(Some(uid)));
    let told = snapshot(&mut heard).await;
    assert_eq!(told.now_millis, at, "the stream stands there too");
    assert!(!format!("{told:?}").contains("web:v3"));
    for at_millis in [at - 1_000, at + 600_000] {
        say(&said, &ViewerFrame::Moment { at_millis });
        let ServerFrame::Moment(moment) = next(&mut heard).await else { panic!("a moment") };
        assert!(moment.said.is_none() || moment.at_millis == at, "{moment:?}");
    }
    let calm = tokio::time::timeout(Duration::from_secs(60), next(&mut heard)).await;
    assert!(calm.is_err(), "{calm:?}");
    for never in [known[0].1 - 600_000, i64::MAX] {
        let answer = signed_in("partly")
            .send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", &format!("{WEB}?at={never}"))])
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{never}: {}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_to_a_rollout_that_goes_on_shows_it_as_it_was_when_it_was_opened() {
    let text = common::recording("rollover");
    let (_, known) = rollouts(&site(&rules(&PROD)).await).await;
    let mut first = Recording::read(&text).observed;
    let then = first.partition_point(|observed| observed.at_millis <= known[1].1 + 1_000);
    let mut rest = first.split_off(then);
    // The edit is seen before the rollout that comes of it begins.
    let is_next = |observed: &Observed| format!("{:?}", observed.fact).contains("web:v3");
    let edit = rest.iter().position(is_next).unwrap();
    let edit_millis = rest[edit].at_millis;
    assert!(edit_millis < known[2].1, "the recording has it so");
    let mut later = rest.split_off(edit);
    let begun = later.split_off(1);
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, events) = Handle::start("prod", Arc::default(), retention);
    feed(&events, first).await;
    let rules = rules(&PROD);
    hub.follow_list().wait_for(|list| !list.is_empty()).await.unwrap();
    let shares = Some(Shares::open(SessionKeys::generate(), None).unwrap());
    let hubs = vec![hub.clone().with_reviewer(reviewer(&rules))];
    let rollcast = site_of(hubs, Site { auth: proxy(), shares, ..Site::default() });
    let (_, secret) = signed_in("partly").make(&rollcast, &format!("{WEB}?revision=2")).await;
    let (visitor, _) = by_link(&rollcast, &secret).await.unwrap();
    let says = "The rollout goes on: this page shows it as it was when you opened it.";
    let page = visitor.get(&rollcast, WEB).await.text;
    assert!(page.contains(says) && !page.contains("id=\"notify\""), "nothing comes that it could notify of: {page}");
    let open = async || {
        let (said, mut heard) = stream(&rollcast, &visitor).await;
        follow(&said, web());
        let told = snapshot(&mut heard).await;
        assert!(!format!("{told:?}").contains("web:v3"), "nothing of the next one is ever told: {told:?}");
        (told, said, heard)
    };
    let states = |snapshot: &Snapshot| format!("{:?}", snapshot.objects.pods);
    let (before, _said, mut heard) = open().await;
    feed(&events, rest).await;
    let more = tokio::time::timeout(Duration::from_secs(30), next(&mut heard)).await;
    assert!(more.is_err(), "it stands still: {more:?}");
    let (later_told, ..) = open().await;
    assert_ne!(states(&later_told), states(&before), "who comes later is shown more");
    // It ends just before the first sign of the next one.
    for next_one in [later, begun] {
        feed(&events, next_one).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(open().await.0.now_millis, edit_millis - 1);
        let page = visitor.get(&rollcast, WEB).await.text;
        assert!(page.contains("slow-v2") && !page.contains(says), "{page}");
    }
}

/// A site with share links that watches cluster "c", of which it has only what is kept.
fn site_of_kept(archive: &Archive) -> Arc<Rollcast> {
    let (hub, _) = Handle::start("c", Arc::default(), Retention::default());
    let hubs = vec![hub.with_reviewer(reviewer(&rules(&[("fully", "*")])))];
    let shares = Some(Shares::open(SessionKeys::generate(), None).unwrap());
    site_of(hubs, Site { auth: proxy(), shares, archive: Some(archive.clone()), ..Site::default() })
}

#[tokio::test]
async fn a_rollout_that_is_older_than_the_newest_hundred_is_shared_by_its_number() {
    let (folder, unrolled) = (tempfile::tempdir().unwrap(), kept::unrolled());
    kept::keep_rows_after(folder.path(), &unrolled);
    let archive = kept::archive(folder.path());
    let rollcast = site_of_kept(&archive);
    let page = address::permanent(&Workload::deployment("c", "shop", "web"), unrolled.uid, None);
    let share = async |number: u32| {
        let to = format!("{page}&rollout={number}");
        signed_in("fully").send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", &to)]).await
    };
    let oldest = share(0).await;
    let told: Value = serde_json::from_str(&oldest.text).unwrap();
    assert_eq!((oldest.status, &told["to"]), (StatusCode::OK, &Value::from(format!("{page}&revision=1"))));
    assert_eq!(share(150).await.status, StatusCode::BAD_REQUEST, "there is none of that number");
    archive.close().await;
}

#[tokio::test]
async fn a_link_to_what_is_only_kept_opens_that_and_nothing_else_of_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    kept::keep_rollouts(folder.path());
    let archive = kept::archive(folder.path());
    let rollcast = site_of_kept(&archive);
    let maker = signed_in("fully");
    let all: Value = serde_json::from_str(&maker.get(&rollcast, Route::ApiRollouts.pattern()).await.text).unwrap();
    let known = all["rollouts"].as_array().unwrap();
    let [last, before, ..] = &known[..] else { panic!("some rollouts: {all}") };
    let text = |field: &str| before[field].as_str().unwrap();
    let (uid, number, revision) = (text("uid"), &before["number"], &before["revision"]);
    let page = format!("/clusters/c/namespaces/{}/deployments/{}", text("namespace"), text("name"));
    let (_, secret) = maker.make(&rollcast, &format!("{page}?uid={uid}&rollout={number}")).await;
    let (visitor, led) = by_link(&rollcast, &secret).await.unwrap();
    assert_eq!(led, format!("{page}?uid={uid}&revision={revision}"));
    assert_eq!(visitor.get(&rollcast, &led).await.status, StatusCode::OK);
    let document: Value =
        serde_json::from_str(&visitor.get(&rollcast, &format!("/api/v1{page}/timeline")).await.text).unwrap();
    assert_eq!(document["deployments"][0]["rollouts"].as_array().unwrap().last().unwrap()["revision"], *revision);
    for beyond in [
        format!("{page}?uid={uid}&rollout={number}"),
        format!("{page}?uid={uid}&revision={}", last["revision"]),
        format!("{page}?uid={uid}&at={}", last["startedMillis"].as_i64().unwrap() + 60_000),
        format!("{page}/export?format=jsonl&uid={uid}&rollout={number}"),
        format!("{page}/compare?uid={uid}"),
        format!("/api/v1{page}/recording?uid={uid}&rollout={number}"),
        "/history".to_owned(),
        Route::ApiRollouts.pattern().to_owned(),
    ] {
        assert_eq!(visitor.get(&rollcast, &beyond).await.status, StatusCode::NOT_FOUND, "{beyond}");
    }
    let to_come = rollcast.all_hubs().next().unwrap().now_millis() + 3_600_000;
    for never in [to_come, i64::MAX] {
        let to = format!("{page}?uid={uid}&at={never}");
        let answer = maker.send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", &to)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{never}: {}", answer.text);
    }
    archive.close().await;
}

#[tokio::test]
async fn previews_of_links_are_shown_where_their_maker_allowed_it() {
    let rollcast = site(&rules(&PROD)).await;
    let maker = signed_in("fully");
    let nobody = Somebody::default();
    let plain = nobody.get(&rollcast, "/shared").await.text;
    assert_eq!(maker.make_previewed(&rollcast, WEB, "no").await.1, "/shared", "it says nothing");
    let wrong =
        maker.send(&rollcast, Method::POST, Route::ApiShares.pattern(), &[("to", WEB), ("preview", "maybe")]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let mut pictures = Vec::new();
    for (to, says) in [
        (WEB.to_owned(), "Deployment rollover / web in prod"),
        (format!("{WEB}?revision=2"), "The rollout of revision 2 of Deployment rollover / web in prod"),
    ] {
        let (id, address) = maker.make_previewed(&rollcast, &to, "yes").await;
        let page = nobody.get(&rollcast, &address).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text.contains("noindex") && page.text.contains(says), "{}", page.text);
        let picture = format!("{address}/preview.png");
        assert!(page.text.contains(&format!("http://localhost:7440{picture}")), "{}", page.text);
        let drawn = nobody.get(&rollcast, &picture).await;
        assert_eq!(drawn.status, StatusCode::OK, "{}", drawn.text);
        pictures.push(drawn.text);
        // It opens nothing: neither the page, nor another link's preview.
        assert_eq!(nobody.get(&rollcast, &to).await.status, StatusCode::UNAUTHORIZED);
        let revoked = maker.send(&rollcast, Method::POST, Route::ApiRevokeShare.pattern(), &[("id", &id)]).await;
        assert_eq!(revoked.status, StatusCode::NO_CONTENT);
        assert_eq!(nobody.get(&rollcast, &picture).await.status, StatusCode::NOT_FOUND);
        assert!(!nobody.get(&rollcast, &address).await.text.contains("og:"), "it stopped responding");
    }
    assert_ne!(pictures[0], pictures[1]);
    let (_, wall) = maker.make_previewed(&rollcast, "/wall?cluster=prod", "yes").await;
    let page = nobody.get(&rollcast, &wall).await.text;
    assert!(page.contains("The wall of prod") && !page.contains("og:image"), "{page}");
    assert!(!plain.contains("og:"), "{plain}");
}

#[tokio::test]
async fn a_preview_of_a_cluster_that_does_not_respond_ends_with_its_last_response() {
    let (hub, events) = watched_cluster("prod", &rules(&PROD)).await;
    let since_millis = hub.now_millis() - 60_000;
    events.send(SourceEvent::Answers { silent: Some((since_millis, "silent".to_owned())) }).await.unwrap();
    hub.connection().wait_for(|connection| connection.state.is_stale()).await.unwrap();
    let site = Site { auth: proxy(), ..Site::default() };
    let rollcast = site_of(vec![hub.clone()], site);
    let drawn = signed_in("fully").get(&rollcast, &format!("{WEB}/preview.svg")).await.text;
    let workload = Workload::deployment("prod", "rollover", "web");
    let mut copy = DeploymentCopy::from(hub.page(&workload).await.unwrap());
    let verdict = &mut copy.said.view.as_mut().unwrap().verdict;
    verdict.sentence = format!("Last seen: {}", verdict.sentence);
    (verdict.badge, verdict.tone) = ("No data".to_owned(), Tone::Quiet);
    assert_eq!(drawn, app::preview::svg(&copy, since_millis, &workload).unwrap());
    assert!(drawn.contains(">No data<") && drawn.contains(">Last seen: "), "{drawn}");
}

#[tokio::test]
async fn previews_of_links_tell_the_past_as_the_past() {
    let (hub, events) = watched_cluster("prod", &rules(&PROD)).await;
    let shares = Shares::open(SessionKeys::generate(), None).ok();
    let rollcast = site_of(vec![hub.clone()], Site { auth: proxy(), shares, ..Site::default() });
    let (_, known) = rollouts(&rollcast).await;
    let at = known[1].1 + 1_000;
    let maker = signed_in("fully");
    let (_, present) = maker.make_previewed(&rollcast, WEB, "yes").await;
    let (_, moment) = maker.make_previewed(&rollcast, &format!("{WEB}?at={at}"), "yes").await;
    let now = hub.page(&web()).await.unwrap().said.view.unwrap().verdict.sentence;
    let then = hub.moment(&web(), at).await.unwrap().said.unwrap().view.unwrap().verdict.sentence;
    let is_told = async |address: &str, words: String| {
        let page = Somebody::default().get(&rollcast, address).await.text;
        assert!(page.contains(&format!("content=\"{words}")), "{words}: {page}");
    };
    is_told(&present, now.clone()).await;
    is_told(&moment, format!("{} At that moment: ", timeline::say::past(&then))).await;
    let silent = Some((hub.now_millis() - 60_000, "silent".to_owned()));
    events.send(SourceEvent::Answers { silent }).await.unwrap();
    hub.connection().wait_for(|connection| connection.state.is_stale()).await.unwrap();
    is_told(&present, format!("Last seen: {now}")).await;
    is_told(&moment, timeline::say::past(&then)).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_link_opens_no_more_is_asked_for_once_for_all_tabs_and_no_other_link_waits_for_it() {
    let rules = rules(&PROD);
    let (hub, events) = watched_cluster("prod", &rules).await;
    let site =
        Site { auth: proxy(), shares: Some(Shares::open(SessionKeys::generate(), None).unwrap()), ..Site::default() };
    let rollcast = site_of(vec![hub.clone()], site);
    let mut visitors = Vec::new();
    for revision in [1, 2] {
        let (_, secret) = signed_in("partly").make(&rollcast, &format!("{WEB}?revision={revision}")).await;
        visitors.push(by_link(&rollcast, &secret).await.unwrap().0);
    }
    events.send(SourceEvent::Begins(Box::default())).await.unwrap();
    let open = async |visitor| {
        let (said, mut heard) = stream(&rollcast, visitor).await;
        follow(&said, web());
        assert!(snapshot(&mut heard).await.deployment.is_none(), "it is not there any more");
        (said, heard)
    };
    let mut tabs = Vec::new();
    for _ in 0..100 {
        tabs.push(open(&visitors[0]).await);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    for visitor in &visitors {
        let now = Instant::now();
        tabs.push(open(visitor).await);
        assert!(now.elapsed() < Duration::from_secs(1), "{:?}", now.elapsed());
    }
}
