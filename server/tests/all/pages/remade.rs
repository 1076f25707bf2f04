//! Rollouts that are kept, each of them made again: as it was, beside others, and by its links.

use std::sync::Arc;

use app::compare::Course;
use axum::http::StatusCode;
use server::access::permissions::Permissions;
use server::feed::recording::Recording;
use server::history::options::Location;
use server::history::rollout_cache;
use server::history::sql::Reader;
use server::hub::Handle;
use server::web::state::Site;
use timeline::address;
use timeline::episodes::course::first_available;
use timeline::episodes::{EpisodeRow, Search};
use timeline::model::PodState;
use timeline::rollout::{Outcome, Trigger};
use timeline::view::Now;
use timeline::wire::{self, ServerFrame, Snapshot};
use timeline::{Millis, Uid, Workload};

use crate::common;
use crate::common::fed::feed;
use crate::pages::kept::{archive, keep_rollouts, keep_rows_after, kept, unrolled};
use crate::pages::site::{everything, fetch, site_of};

#[tokio::test]
async fn every_rollout_is_made_again_as_it_was() {
    let kept = kept();
    let mut pods = 0;
    for rollout in kept.rollouts.iter().filter(|rollout| rollout.is_rollout()) {
        let (_, whole) = kept.whole.iter().find(|(name, _)| *name == rollout.cluster).unwrap();
        let workload = rollout.by_itself();
        let hub = everything(&kept.rollcast).await.hub(&workload).await.unwrap();
        let (made, end_millis) = hub.read(|reader| (reader.timeline.model().clone(), reader.now_millis)).await.unwrap();
        for pod in made.pods_of_deployment(rollout.uid) {
            let was = whole.model().pods.get(&pod.uid).unwrap();
            // What it was when the cut begins is known, and everything since then up to its end.
            let first = pod.states[0];
            let from = was.states.iter().position(|state| *state == first).map(|at| at + 1);
            let from = from.unwrap_or_else(|| was.states.iter().take_while(|(_, at)| *at <= first.1).count());
            let then: Vec<_> = was.states[from..].iter().filter(|(_, at)| *at <= end_millis).collect();
            assert_eq!(
                pod.states[1..].iter().collect::<Vec<_>>(),
                then,
                "{} of {} revision {}",
                pod.name,
                rollout.cluster,
                rollout.revision
            );
            pods += 1;
        }
        let known = made.deployments.get(&rollout.uid).unwrap();
        let again = known.rollouts.iter().rfind(|again| again.revision == rollout.revision).unwrap();
        assert_eq!(again.completed_millis, rollout.ended_millis.filter(|_| again.completed_millis.is_some()));
        // What is handed on as a file is played as it was.
        let recording = fetch(&kept.rollcast, &timeline::address::recording(&workload)).await;
        assert_eq!(recording.status, StatusCode::OK, "{}", recording.text);
        let recording = Recording::read(&recording.text);
        assert!(recording.bad_lines.is_empty() && recording.play().model().pods.len() == made.pods.len());
        let page = fetch(&kept.rollcast, &timeline::address::workload(&workload)).await;
        assert_eq!(page.status, StatusCode::OK, "{}: {}", rollout.cluster, page.text);
        assert!(page.text.contains("Recording of a finished rollout"));
    }
    assert!(pods > 300, "{pods}");
}

/// What is said and drawn of a rollout beside others is the same from what is kept of it as from all that the cluster did.
#[tokio::test]
async fn the_course_of_a_rollout_is_that_of_what_was_seen() {
    let kept = kept();
    let (mut pods, mut complete) = (0, 0);
    for rollout in kept.rollouts.iter().filter(|rollout| rollout.is_rollout() && !rollout.is_going_on()) {
        let (name, revision) = (&rollout.cluster, rollout.revision);
        let (_, whole) = kept.whole.iter().find(|(known, _)| known == name).unwrap();
        let model = whole.model();
        let deployment = model.deployments.get(&rollout.uid).unwrap();
        if deployment.rollouts.iter().filter(|other| other.revision == revision).count() > 1 {
            continue; // an address names the last one
        }
        let hub = everything(&kept.rollcast).await.hub(&rollout.by_itself()).await.unwrap();
        let uid = rollout.uid;
        let course = hub.read(move |reader| {
            let now = Now { millis: reader.now_millis, skew_millis: reader.timeline.skew_millis() };
            Course::from_model(reader.timeline.model(), uid, revision, now)
        });
        let course = course.await.unwrap().unwrap();
        let now = Now { millis: i64::MAX / 4, skew_millis: whole.skew_millis() };
        let all = Course::from_model(model, uid, revision, now).unwrap();
        if rollout.ended_millis.is_some() {
            assert_eq!(course.available, all.available, "{name} {revision}");
            assert_eq!(course.took_millis, all.took_millis, "{name} {revision}");
        }
        // The picture begins with nothing, and its first step is the first pod.
        assert_eq!(course.available[0].1, 0, "{name} {revision}: {:?}", course.available);
        assert!(course.available.windows(2).all(|pair| pair[0].0 < pair[1].0), "{:?}", course.available);
        let first = course.available.iter().find(|(_, pods)| *pods > 0).map(|(at, _)| *at);
        let last = deployment.rollouts.iter().find(|other| other.revision == revision).unwrap();
        assert_eq!(
            first.filter(|_| rollout.trigger != Trigger::Unknown),
            first_available(model, deployment, last).filter(|_| first.is_some())
        );
        if rollout.outcome == Outcome::Complete && rollout.trigger == Trigger::Template {
            complete += 1;
            let last = course.available.last().unwrap().1;
            assert!(last >= 1 && last <= rollout.peak_pods, "{name} {revision}: {:?}", course.available);
        }
        let Some(startup) = &course.startup else { continue };
        assert!(startup.whole.is_none_or(|(half, slowest)| half <= slowest));
        for (step, later) in startup.steps.iter().zip(startup.steps.iter().skip(1)) {
            assert!(step.pods >= later.pods, "who is ready was started: {startup:?}");
        }
        assert!(startup.steps.iter().all(|step| step.median_millis <= step.slowest_millis));
        for pod in &startup.pods {
            let was = model.pods.values().find(|was| was.name == pod.name).unwrap();
            let available = was.states.iter().find(|(state, _)| *state == PodState::Available).map(|(_, at)| *at);
            if pod.steps.len() == 4 {
                assert_eq!(Some(was.first_seen_millis() + pod.whole_millis()), available, "{}", pod.name);
                pods += 1;
            }
        }
    }
    assert_eq!((pods, complete), (164, 15));
}

#[tokio::test]
async fn the_list_of_rollouts_tells_the_trouble_that_the_history_tells() {
    let kept = kept();
    let mut troubled = 0;
    for rollout in kept.rollouts.iter().filter(|rollout| !rollout.is_going_on() && !rollout.trouble().is_empty()) {
        let page = fetch(&kept.rollcast, &address::below(&rollout.by_itself(), "rollouts")).await;
        assert_eq!(page.status, StatusCode::OK, "{}: {}", rollout.cluster, page.text);
        let cause = rollout.cause_words().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(page.text.contains(&cause), "{} {}: {cause}: {}", rollout.cluster, rollout.revision, page.text);
        troubled += 1;
    }
    assert!(troubled > 0);
}

/// A row of the history leads to its comparison, however many rollouts came later.
#[tokio::test]
async fn the_comparison_finds_a_rollout_that_is_older_than_the_newest_hundred() {
    let folder = tempfile::tempdir().unwrap();
    keep_rows_after(folder.path(), &unrolled());
    let rollcast = site_of(Vec::new(), Site { archive: Some(archive(folder.path())), ..Site::default() });
    let of = |revision| address::compare(&Workload::deployment("c", "shop", "web"), Uid::from_bits(1), revision, None);
    let first = fetch(&rollcast, &of(1)).await.text;
    assert!(first.contains("The pods of revision 1 of web are no longer in the history"), "{first}");
    let unknown = fetch(&rollcast, &of(151)).await.text;
    assert!(unknown.contains("The history has no rollout of web with this revision"), "{unknown}");
}

#[tokio::test]
async fn the_list_of_rollouts_compares_one_that_is_older_than_the_newest_hundred() {
    let folder = tempfile::tempdir().unwrap();
    keep_rollouts(folder.path());
    let rows = Reader::new(&Location::Folder(folder.path().to_owned()))
        .search(&Search::default(), &Permissions::All, None, 100)
        .unwrap()
        .rollouts;
    let last = rows.iter().filter(|row| row.is_rollout()).max_by_key(|row| row.number).unwrap();
    keep_rows_after(folder.path(), last);
    let rollcast = site_of(Vec::new(), Site { archive: Some(archive(folder.path())), ..Site::default() });
    let list = fetch(&rollcast, &address::below(&last.by_itself(), "rollouts")).await;
    assert_eq!(list.status, StatusCode::OK, "{}", list.text);
    assert!(list.text.contains(&format!("Revision {}, the last one: ", last.revision)), "{}", list.text);
}

#[tokio::test]
async fn a_rollout_is_compared_with_those_before_it() {
    let kept = kept();
    let of = |revision: u64| {
        let is = |rollout: &&EpisodeRow| rollout.cluster == "history-cleanup-and-undo" && rollout.revision == revision;
        kept.rollouts.iter().find(is).unwrap()
    };
    let compare = |revision, with| address::compare(&of(revision).workload(), of(revision).uid, revision, with);
    let page = fetch(&kept.rollcast, &compare(6, None)).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let said = "Took 2.7 s, slower than 3 of 4 earlier ones: median 2.1 s, 2.1 s to 2.7 s.";
    assert!(page.text.contains(said), "{}", page.text);
    assert!(page.text.contains("revision 6: took 2.7 s; revision 5: took 2.1 s"), "{}", page.text);
    assert_eq!(page.text.matches("data-testid=\"before\"").count(), 5);
    let with = fetch(&kept.rollcast, &compare(6, Some(2))).await;
    assert!(with.text.contains("revision 6: took 2.7 s; revision 2: took 2.1 s"), "{}", with.text);
    let with_later = fetch(&kept.rollcast, &compare(2, Some(6))).await;
    assert!(with_later.text.contains("revision 2: took 2.1 s; revision 6: took 2.7 s"), "{}", with_later.text);
    assert_eq!(with_later.text.matches("data-testid=\"before\"").count(), 1);
    let first = fetch(&kept.rollcast, &compare(1, None)).await;
    assert!(first.text.contains("Its duration is not compared"), "{}", first.text);
    // The list of rollouts says the same.
    let name = "history-cleanup-and-undo";
    let text = common::recording(name);
    let (hub, events) = Handle::start(name, Arc::default(), timeline::Retention::default());
    feed(&events, Recording::read(&text).observed).await;
    let archive = everything(&kept.rollcast).await.archive().cloned();
    let rollcast = site_of(vec![hub], Site { archive, ..Site::default() });
    let rollouts = address::below(&of(6).workload(), "rollouts");
    let list = fetch(&rollcast, &rollouts).await.text;
    assert!(list.contains(&format!("Revision 6, the last one: {}", said.replacen('T', "t", 1))), "{list}");
    // What makes no sense.
    let page = address::below(&of(6).workload(), "compare");
    for (rest, status, says) in [
        ("?revision=six", 400, "revision"),
        ("?revision=99", 404, "The history has no rollout of web with this revision"),
        ("?with=-1", 400, "with"),
        ("?uid=00000000-0000-4000-8000-000000000000", 404, "has not seen a Deployment web"),
    ] {
        let answer = fetch(&rollcast, &format!("{page}{rest}")).await;
        assert_eq!(answer.status.as_u16(), status, "{rest}: {}", answer.text);
        assert!(answer.text.contains(says) && answer.text.contains("href=\"/"), "{rest}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_link_to_what_the_hub_does_not_hold_leads_to_what_is_kept() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollout" && rollout.revision == 2).unwrap();
    // The cluster is watched, by a hub that was just started.
    let (hub, _) = Handle::start("rollout", Arc::default(), timeline::Retention::default());
    let archive = everything(&kept.rollcast).await.archive().cloned();
    let rollcast = site_of(vec![hub], Site { archive, ..Site::default() });
    let page = timeline::address::whatever_bears_the_name(&rollout.workload());
    let by_itself = format!("{page}?uid={}&rollout={}", rollout.uid, rollout.number);
    let last = kept.rollouts.iter().filter(|of| of.uid == rollout.uid).map(|of| of.number).max().unwrap();
    let at: Millis = rollout.started_millis + 500;
    assert_eq!(fetch(&rollcast, &rollout.address()).await.status, StatusCode::OK);
    for (link, to) in [
        (format!("{page}?uid={}&revision=2&at={at}&play=yes", rollout.uid), format!("{by_itself}&at={at}&play=yes")),
        (format!("{page}?uid={}&revision=2", rollout.uid), by_itself.clone()),
        (format!("{page}?uid={}&at={at}", rollout.uid), format!("{by_itself}&at={at}")),
        (format!("{page}?uid={}", rollout.uid), format!("{page}?uid={}&rollout={last}", rollout.uid)),
    ] {
        let answer = fetch(&rollcast, &link).await;
        assert_eq!((answer.status, answer.location.as_str()), (StatusCode::TEMPORARY_REDIRECT, to.as_str()), "{link}");
        assert_eq!(fetch(&rollcast, &to).await.status, StatusCode::OK, "{to}");
    }
    let short = fetch(&rollcast, &format!("/deployments/{}", rollout.uid)).await;
    assert_eq!(short.location, format!("{page}?uid={}", rollout.uid));
    let unnamed = format!("/api/v1{page}/recording");
    assert_eq!(fetch(&rollcast, &unnamed).await.status, StatusCode::NOT_FOUND);
    for lost in [format!("{page}?uid={}&rollout=99", rollout.uid), format!("{page}?uid={}&revision=99", rollout.uid)] {
        assert_eq!(fetch(&rollcast, &lost).await.status, StatusCode::NOT_FOUND, "{lost}");
    }
}

#[tokio::test]
async fn a_moment_between_two_rollouts_is_shown_or_the_nearest_one_is_named() {
    let kept = kept();
    let last = kept.rollouts.iter().filter(|rollout| rollout.cluster == "rollout").max_by_key(|of| of.number).unwrap();
    let (hub, _) = Handle::start("rollout", Arc::default(), timeline::Retention::default());
    let archive = everything(&kept.rollcast).await.archive().cloned().unwrap();
    let site = Site { archive: Some(archive.clone()), ..Site::default() };
    let rollcast = site_of(vec![hub], site);
    let page = address::permanent(&last.workload(), last.uid, None);
    let by_itself = address::workload(&last.by_itself());
    let hour = 3_600_000;
    let (two, ten) = (last.ended_millis.unwrap() + 2 * hour, last.ended_millis.unwrap() + 10 * hour);
    // Somebody looks at it, and others at moments after it, also before anything was heard of them.
    assert_eq!(fetch(&rollcast, &by_itself).await.status, StatusCode::OK);
    let early = fetch(&rollcast, &format!("{by_itself}&at={two}")).await;
    assert_eq!(early.status, StatusCode::NOT_FOUND);
    let ended = timeline::words::date(last.ended_millis.unwrap());
    let told = format!("The history of this rollout of {} ends at {ended} ", last.name);
    assert!(early.text.contains(&told), "{}", early.text);
    let to_come = server::telemetry::clock::now_millis() + hour;
    let to_come = fetch(&rollcast, &format!("{by_itself}&at={to_come}")).await;
    assert!(to_come.text.contains("That moment is in the future"), "{}", to_come.text);
    archive.journal("rollout").note_response(ten + hour);
    let written = async || archive.counters.commits.load(std::sync::atomic::Ordering::Relaxed) > 0;
    crate::common::until::until("it is heard of", written).await;
    let answer = fetch(&rollcast, &format!("{page}&at={two}")).await;
    assert_eq!(answer.location, format!("{by_itself}&at={two}"));
    let shown = fetch(&rollcast, &answer.location).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.text);
    let answer = fetch(&rollcast, &format!("{page}&at={ten}")).await;
    let far = fetch(&rollcast, &answer.location).await;
    assert_eq!(far.status, StatusCode::NOT_FOUND);
    assert!(far.text.contains("The history of this rollout of") && !far.text.contains("in the future"), "{}", far.text);
    let nearest = far.text.split("href=\"").map(|part| part.split('"').next().unwrap());
    let nearest = nearest.filter(|link| link.contains("rollout=")).last().unwrap().replace("&amp;", "&");
    assert_eq!(fetch(&rollcast, &nearest).await.status, StatusCode::OK, "{nearest}");
}

#[tokio::test]
async fn what_was_watched_once_is_found_by_its_links() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollout" && rollout.revision == 2).unwrap();
    let short = fetch(&kept.rollcast, &format!("/deployments/{}?revision=2", rollout.uid)).await;
    let page = address::permanent(&rollout.workload(), rollout.uid, Some(2));
    assert_eq!((short.status, &short.location), (StatusCode::TEMPORARY_REDIRECT, &page));
    let long = fetch(&kept.rollcast, &page).await;
    assert_eq!((long.status, long.location), (StatusCode::TEMPORARY_REDIRECT, address::workload(&rollout.by_itself())));
    let nobody = fetch(&kept.rollcast, "/deployments/00000000-0000-4000-8000-000000000000").await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
}

/// A page is made of a copy, outside of the hub's task, where a stream begins with what the hub says itself.
#[tokio::test]
async fn a_page_says_what_a_stream_begins_with() {
    let mut compared = 0;
    for (name, text) in common::recordings() {
        let recording = Recording::read(&text);
        let (from_millis, to_millis) = recording.span().unwrap();
        for end_millis in [(from_millis + to_millis) / 2, to_millis] {
            let mut recording = Recording::read(&text);
            recording.observed.retain(|observed| observed.at_millis <= end_millis);
            let initial = rollout_cache::play_to_end(recording.observed, end_millis).unwrap();
            let hub = Handle::start_frozen(&name, name.as_str(), initial);
            let all = hub.read(|reader| reader.timeline.model().deployments.values().cloned().collect::<Vec<_>>());
            for known in all.await.unwrap() {
                let workload = Workload::deployment(&name, &known.namespace, &known.name).with_uid(Some(known.uid));
                let begins = hub.subscribe(&workload, None).await.unwrap().0.frame;
                let Ok(ServerFrame::Snapshot(begins)) = wire::decode(&begins) else { panic!("{name}") };
                let page = wire::encode(&hub.page(&workload).await.unwrap()).unwrap();
                let page: Snapshot = wire::decode(&page).unwrap();
                assert_eq!(page, *begins, "{name} {} at {end_millis}", known.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "{compared}");
}
