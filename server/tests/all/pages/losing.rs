//! Authorizer that come and go, and clusters that do not say: how long what may be seen counts, and what asking for it costs.

use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use futures::StreamExt;
use server::web::client_view::ClientView;
use server::web::state::Site;
use timeline::Workload;
use timeline::list::Query;
use timeline::wire::{self, ConnectionState, ServerFrame};

use crate::pages::people::{
    Heard, PROD, answer_pings, ask, cluster, hear, namespaces, only, proxy, rules, site, snapshot, stream, view_of,
    viewer,
};
use crate::pages::site::site_of;

#[tokio::test(start_paused = true)]
async fn a_right_that_is_taken_away_ends_within_a_minute() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let view = ClientView::new(&rollcast, viewer("partly")).await.unwrap();
    let mut sight = view.watch_permissions().await.unwrap();
    assert_eq!(namespaces(&sight.borrow_and_update(), "prod"), only("rollover"));
    assert_eq!(view.list_now(&Query::default()).await.lines.len(), 1);
    let began = tokio::time::Instant::now();
    rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
    sight.changed().await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(namespaces(&sight.borrow_and_update(), "prod"), None);
    let view = view.with_permissions(sight.borrow().clone());
    assert_eq!(view.list_now(&Query::default()).await.lines.len(), 0);
    assert!(view.hub(&Workload::deployment("prod", "rollover", "web")).await.is_none(), "the cluster is gone with it");
    // And one that is given is there within a minute.
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "*".to_owned()));
    sight.changed().await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(120), "{:?}", began.elapsed());
    assert_eq!(namespaces(&sight.borrow_and_update(), "prod"), only("*"));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_shows_what_it_said_for_a_minute_and_then_nothing() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let mut sight = ClientView::new(&rollcast, viewer("partly")).await.unwrap().watch_permissions().await.unwrap();
    let began = tokio::time::Instant::now();
    rules.lock().unwrap().is_broken = true;
    sight.mark_unchanged();
    sight.changed().await.unwrap();
    let after = began.elapsed();
    assert!(after > Duration::from_secs(40) && after <= Duration::from_secs(60), "{after:?}");
    assert_eq!(namespaces(&sight.borrow_and_update(), "prod"), None);
    assert_eq!(
        sight.borrow().trouble(),
        "Cannot check your permissions on a cluster right now. Its workloads are hidden. If this lasts, see Rollcast's log: its account may lack create on subjectaccessreviews.authorization.k8s.io or tokenreviews.authentication.k8s.io."
    );
    let stranger = ClientView::new(&rollcast, viewer("fully")).await.unwrap();
    assert_eq!(stranger.list_now(&Query::default()).await.lines.len(), 2, "the other one answers");
    let list = stranger.list_now(&Query::default()).await;
    assert!(!list.is_wrong && list.overall.is_unchecked);
    assert!(list.overall.trouble.starts_with("Cannot check your permissions"));
    rules.lock().unwrap().is_broken = false;
    sight.changed().await.unwrap();
    assert_eq!(namespaces(&sight.borrow(), "prod"), only("rollover"));
    assert_eq!(sight.borrow().trouble(), "");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_answers_prolongs_no_right_neither_its_own_nor_anothers() {
    let (rules, other) = (rules(&PROD), crate::pages::people::rules(&[("partly", "kill-pod")]));
    let hubs = vec![cluster("prod", &rules).await, cluster("mute", &other).await];
    let rollcast = site_of(hubs, Site { auth: proxy(), ..Site::default() });
    let view = ClientView::new(&rollcast, viewer("partly")).await.unwrap();
    let mut sight = view.watch_permissions().await.unwrap();
    assert_eq!(namespaces(&sight.borrow_and_update(), "mute"), only("kill-pod"));
    other.lock().unwrap().is_mute = true;
    rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
    let began = tokio::time::Instant::now();
    for cluster in ["prod", "mute"] {
        sight.wait_for(|sight| namespaces(sight, cluster).is_none()).await.unwrap();
        assert!(began.elapsed() <= Duration::from_secs(60), "{cluster}: {:?}", began.elapsed());
    }
    // The one that answers goes on saying what may be seen, and nobody waits for the other one for ever.
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "rollover".to_owned()));
    sight.wait_for(|sight| namespaces(sight, "prod") == only("rollover")).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(120), "{:?}", began.elapsed());
    sight.mark_unchanged();
    let calm = tokio::time::timeout(Duration::from_secs(300), sight.changed()).await;
    assert!(calm.is_err(), "{:?}", sight.borrow());
    let began = tokio::time::Instant::now();
    ClientView::new(&rollcast, viewer("fully")).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(10), "{:?}", began.elapsed());
    for path in ["/", "/wall", "/api/v1/deployments"] {
        let (status, _, text) = ask(&rollcast, Some("partly"), path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(text.contains("Cannot check your permissions on a cluster right now"), "{path}");
    }
    let hidden = "/clusters/mute/namespaces/kill-pod/deployments/web";
    let (status, headers, text) = ask(&rollcast, Some("partly"), hidden).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(headers.contains(&"refresh: 5".to_owned()), "{headers:?}");
    assert!(text.contains("Cannot check your permissions on a cluster right now"), "{text}");
    for path in [format!("/api/v1{hidden}/timeline"), format!("{hidden}/share?part")] {
        let (status, _, text) = ask(&rollcast, Some("partly"), &path).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(text.contains("Cannot check your permissions on a cluster right now"), "{path}: {text}");
    }
    let (status, _, badge) = ask(&rollcast, Some("partly"), &format!("{hidden}/badge.svg")).await;
    assert!(status == StatusCode::OK && badge.contains("No data"), "{status} {badge}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_was_named_is_closed_within_a_minute_of_losing_the_right() {
    // Where the right is gone before the next round asks for it, and where more were named than rounds ask for.
    for before in [0, 64] {
        let rules = rules(&PROD);
        let names: Vec<String> = (0..=before).map(|n| format!("empty-{n}")).collect();
        let rights = names.iter().map(|name| ("partly".to_owned(), name.clone()));
        rules.lock().unwrap().allowed.extend(rights);
        let rollcast = site(&rules).await;
        let (last, others) = names.split_last().unwrap();
        let (said, mut heard) = stream(&rollcast, "partly", last).await;
        answer_pings(said);
        snapshot(&mut heard).await;
        if before > 0 {
            // All places are taken before that one is named again.
            let (_gone, mut first) = stream(&rollcast, "partly", &others[0]).await;
            snapshot(&mut first).await;
            let view = view_of(&rollcast, "partly").await;
            for name in others {
                let named = Workload::deployment("prod", name.as_str(), "web");
                assert!(view.clone().with_namespace("prod", name).await.can_see(&named), "{name}");
            }
            let calm = tokio::time::timeout(Duration::from_secs(50), snapshot(&mut heard)).await;
            assert!(calm.is_err(), "while it may be seen it stays");
        }
        rules.lock().unwrap().allowed.remove(&("partly".to_owned(), last.clone()));
        let began = tokio::time::Instant::now();
        // What knows nothing takes the place of what was seen.
        snapshot(&mut heard).await;
        assert!(began.elapsed() <= Duration::from_secs(60), "{before}: {:?}", began.elapsed());
        let calm = tokio::time::timeout(Duration::from_secs(120), snapshot(&mut heard)).await;
        assert!(calm.is_err(), "{before}: and stays there");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_not_silent_while_a_cluster_does_not_say_whether_a_named_namespace_may_be_seen() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let (_said, mut heard) = stream(&rollcast, "partly", "empty").await;
    rules.lock().unwrap().is_mute = true;
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        let before = tokio::time::Instant::now();
        heard.next().await.expect("the stream goes on");
        assert!(before.elapsed() < Duration::from_secs(5), "silent for {:?}", before.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn who_follows_what_is_hidden_hears_no_more_of_a_cluster_that_is_hidden_with_it() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let (_said, mut heard) = stream(&rollcast, "partly", "kill-pod").await;
    snapshot(&mut heard).await;
    rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
    let unknown = async {
        loop {
            if let ServerFrame::Connection { connection, .. } = hear(&mut heard).await
                && connection.state == ConnectionState::Unknown
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), unknown).await.expect("nothing of the cluster is seen any more");
}

/// Waits until a stream says that what it follows is not watched, or not heard of.
async fn hidden(heard: &mut Heard) -> ConnectionState {
    loop {
        if let ServerFrame::Connection { connection, .. } = hear(heard).await
            && connection.state.is_stale()
        {
            return connection.state;
        }
    }
}

/// Nobody says whether it may be seen.
fn is_unchecked(state: &ConnectionState) -> bool {
    matches!(state, ConnectionState::Stale { why, .. } if why.contains("permissions"))
}

#[tokio::test(start_paused = true)]
async fn a_namespace_of_which_nothing_is_said_any_more_is_not_told_as_empty_while_others_are_seen() {
    let rules = rules(&PROD);
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "empty".to_owned()));
    let rollcast = site(&rules).await;
    let (said, mut heard) = stream(&rollcast, "partly", "rollover").await;
    answer_pings(said);
    snapshot(&mut heard).await;
    let view = view_of(&rollcast, "partly").await;
    // It is asked about later than the other one, so that what is said of it is good for longer.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(view.check_namespace("prod", "empty").await, Some(true));
    tokio::time::sleep(Duration::from_secs(2)).await;
    rules.lock().unwrap().is_broken = true;
    let state = hidden(&mut heard).await;
    let sight = view.watch_permissions().await.unwrap().borrow().clone();
    assert_eq!(namespaces(&sight, "prod"), only("empty"));
    assert!(is_unchecked(&state) && sight.is_silent(), "{state:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_tells_a_cluster_that_does_not_say_from_one_that_says_no() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let (said, mut heard) = stream(&rollcast, "partly", "rollover").await;
    answer_pings(said);
    snapshot(&mut heard).await;
    rules.lock().unwrap().is_broken = true;
    assert!(is_unchecked(&hidden(&mut heard).await));
    rules.lock().unwrap().allowed.remove(&("partly".to_owned(), "rollover".to_owned()));
    rules.lock().unwrap().is_broken = false;
    assert_eq!(hidden(&mut heard).await, ConnectionState::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_did_not_say_did_not_say_no() {
    let rules = rules(&PROD);
    rules.lock().unwrap().allowed.insert(("partly".to_owned(), "empty".to_owned()));
    let rollcast = site(&rules).await;
    let partly = ClientView::new(&rollcast, viewer("partly")).await.unwrap();
    let foreign = ClientView::new(&rollcast, viewer("stranger")).await.unwrap();
    rules.lock().unwrap().is_broken = true;
    assert_eq!(partly.check_namespace("prod", "empty").await, None);
    assert_eq!(foreign.check_namespace("prod", "empty").await, None);
    rules.lock().unwrap().is_broken = false;
    assert_eq!(partly.check_namespace("prod", "empty").await, Some(true), "it says so now");
    // A cluster that is hidden is not asked again at once: how long that takes would tell that it is there.
    let before = rules.lock().unwrap().asked;
    assert_eq!(foreign.check_namespace("prod", "empty").await, None);
    assert_eq!(rules.lock().unwrap().asked, before);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(foreign.check_namespace("prod", "empty").await, Some(false));
}

#[tokio::test(start_paused = true)]
async fn one_viewer_who_names_much_does_not_have_all_of_it_asked_about_at_once() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let views = [
        ClientView::new(&rollcast, viewer("stranger")).await.unwrap(),
        ClientView::new(&rollcast, viewer("other")).await.unwrap(),
    ];
    rules.lock().unwrap().takes = Duration::from_secs(1);
    let began = tokio::time::Instant::now();
    let [names, others] = ["a", "b"].map(|of| (0..12).map(|n| format!("{of}-{n}")).collect::<Vec<_>>());
    let ask = |view: &ClientView, names: &[String]| {
        let all = names.iter().map(|name| (view.clone(), name.clone()));
        futures::future::join_all(
            all.map(async |(view, name)| view.check_namespace("prod", &name).await).collect::<Vec<_>>(),
        )
    };
    let said = futures::future::join(ask(&views[0], &names), ask(&views[1], &others)).await;
    assert!(said.0.into_iter().chain(said.1).all(|said| said == Some(false)));
    // Twelve, four at once; another viewer has turns of their own.
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(3) && took < Duration::from_secs(4), "{took:?}");
    // Who asks the same while another one asks hears what that one heard.
    let before = rules.lock().unwrap().asked;
    let same = vec!["c".to_owned(); 12];
    ask(&views[0], &same).await;
    let asked = rules.lock().unwrap().asked - before;
    assert!(asked <= 4 + 2, "{asked}: and what rounds ask meanwhile");
}

#[tokio::test(start_paused = true)]
async fn many_requests_of_one_viewer_ask_once() {
    let rules = rules(&PROD);
    let rollcast = site(&rules).await;
    let at_once = (0..200).map(|_| ClientView::new(&rollcast, viewer("partly")));
    assert!(futures::future::join_all(at_once).await.iter().all(Option::is_some));
    for _ in 0..200 {
        let _ = ClientView::new(&rollcast, viewer("partly")).await;
    }
    assert_eq!(rules.lock().unwrap().asked, 3, "all namespaces, and each of two");
    // Nobody looks any more: nothing is asked any more.
    tokio::time::sleep(Duration::from_secs(200)).await;
    let asked = rules.lock().unwrap().asked;
    assert!(asked <= 9, "{asked}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(rules.lock().unwrap().asked, asked);
}

#[tokio::test(start_paused = true)]
async fn who_signed_in_is_told_to_open_another_stream_after_a_quarter_of_an_hour() {
    let rollcast = site(&rules(&PROD)).await;
    let (said, mut heard) = stream(&rollcast, "partly", "rollover").await;
    answer_pings(said);
    let began = tokio::time::Instant::now();
    let code = loop {
        if let Message::Close(Some(frame)) = heard.next().await.expect("why it ends is told") {
            break frame.code;
        }
    };
    assert_eq!(code, wire::OPEN_AGAIN);
    let minutes = began.elapsed().as_secs() / 60;
    assert!((15..=18).contains(&minutes), "{minutes}");
}
