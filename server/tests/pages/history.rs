//! Rollouts that are kept: their page, the same as JSON, and each of them made again.

use std::collections::BTreeMap;
use std::sync::Arc;

use app::address;
use app::compare::Course;
use app::history::{PastRollout, Search};
use axum::http::StatusCode;
use serde_json::Value;
use server::history::batch::pack;
use server::history::options::{Limits, Location, Options};
use server::history::sql::Reader;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Lines, Store};
use server::history::{Archive, index};
use server::http::api;
use server::recording::Recording;
use server::sight::Sight;
use server::state::{Rollcast, Site};
use server::viewers::Viewers;
use timeline::phase::PodState;
use timeline::rollout::{Outcome, Trigger};
use timeline::view::Now;
use timeline::{Millis, Timeline};

use crate::api::assert_described;
use crate::common;
use crate::site::{everything, fetch};

/// What every recording comes to, and its rollouts.
pub struct Kept {
    pub rollcast: Arc<Rollcast>,
    whole: Vec<(String, Timeline)>,
    pub rollouts: Vec<PastRollout>,
    _folder: tempfile::TempDir,
}

/// Every recording in a store, and no cluster that is watched.
pub fn kept() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let (mut whole, mut count) = (Vec::new(), 0);
    for (name, text) in common::recordings() {
        let recording = Recording::read(&text);
        let (from_millis, to_millis) = recording.span().unwrap();
        let (timeline, of) = play(&name, recording);
        let lines = Some(Lines { from_millis, to_millis, body: pack(&text).unwrap() });
        let (cluster, heard_millis) = (name.as_str().into(), to_millis);
        let commit =
            Commit { number: 0, cluster, scope: "".into(), lines, heard_millis, checkpoint: None, rollouts: of };
        count += commit.rollouts.len();
        store.commit(&[commit]).unwrap();
        whole.push((name, timeline));
    }
    drop(store);
    let limits = Limits { age_millis: i64::MAX / 4, ..Limits::default() };
    let archive = Archive::start(Options { location: Location::Folder(folder.path().to_owned()), limits });
    let rollcast =
        Rollcast::with(Vec::new(), "build", Viewers::default(), Site { archive: Some(archive), ..Site::default() });
    let rollouts =
        Reader::of_folder(folder.path()).rollouts(&Search::default(), &Sight::All, None, 10_000).unwrap().rollouts;
    assert_eq!(rollouts.len(), count, "each once");
    Kept { rollcast, whole, rollouts, _folder: folder }
}

/// Plays a recording, and takes down its rollouts once a second as a hub does.
fn play(name: &str, recording: Recording) -> (Timeline, Vec<PastRollout>) {
    let (mut timeline, mut rollouts, mut next) = (Timeline::new(), BTreeMap::new(), 0);
    let last = recording.observed.len() - 1;
    for (number, observed) in recording.observed.into_iter().enumerate() {
        let at_millis = observed.at_millis;
        match observed.fact {
            Some(fact) => timeline.apply(at_millis, fact),
            None => timeline.tick(at_millis),
        };
        if at_millis < next && number < last {
            continue;
        }
        next = at_millis + 1_000;
        let (model, now) = (timeline.model(), Now { millis: at_millis, skew_millis: timeline.skew_millis() });
        for rollout in model.deployments.keys().flat_map(|uid| index::rollouts(name, model, *uid, now, index::LAST)) {
            let known: Option<PastRollout> = rollouts.remove(&(rollout.uid, rollout.revision, rollout.started_millis));
            let cause = known.map(|known| known.cause).filter(|_| rollout.cause.is_empty());
            let cause = cause.unwrap_or_else(|| rollout.cause.clone());
            rollouts.insert((rollout.uid, rollout.revision, rollout.started_millis), PastRollout { cause, ..rollout });
        }
    }
    (timeline, rollouts.into_values().collect())
}

async fn json(rollcast: &Arc<Rollcast>, path: &str) -> (StatusCode, Value) {
    let answer = fetch(rollcast, path).await;
    (answer.status, serde_json::from_str(&answer.text).unwrap_or(Value::Null))
}

async fn found(rollcast: &Arc<Rollcast>, query: &str) -> Vec<PastRollout> {
    let (status, answer) = json(rollcast, &format!("{}?limit=500&{query}", api::ROLLOUTS)).await;
    assert_eq!(status, StatusCode::OK, "{query}: {answer}");
    serde_json::from_value(answer["rollouts"].clone()).unwrap()
}

#[tokio::test]
async fn rollouts_are_found_by_what_is_asked_for_page_after_page() {
    let kept = kept();
    let rollcast = &kept.rollcast;
    let all = found(rollcast, "").await;
    assert_eq!(all.len(), kept.rollouts.len());
    assert!(all.len() > 30 && all.is_sorted_by_key(|rollout| std::cmp::Reverse(rollout.started_millis)));
    let like =
        |keep: &dyn Fn(&PastRollout) -> bool| all.iter().filter(|rollout| keep(rollout)).cloned().collect::<Vec<_>>();
    let troubled = found(rollcast, "trouble=yes").await;
    assert_eq!(troubled, like(&|rollout| !rollout.cause.is_empty()));
    assert!(!troubled.is_empty());
    assert_eq!(found(rollcast, "cluster=rollout").await, like(&|rollout| rollout.cluster == "rollout"));
    let crashing = like(&|rollout| rollout.images.contains("crash") || rollout.cause.contains("crash"));
    assert!(!crashing.is_empty());
    assert_eq!(found(rollcast, "q=CRASH").await, crashing);
    let superseded = like(&|rollout| rollout.outcome == timeline::rollout::Outcome::Superseded);
    assert_eq!(found(rollcast, "outcome=superseded").await, superseded);
    let (from, to) = (all[20].started_millis, all[10].started_millis);
    // What went on then, whenever it began.
    let open = |rollout: &PastRollout| {
        let over = rollout.ended_millis.or(rollout.moment_millis.filter(|_| rollout.is_deleted));
        over.map(|over| over.max(rollout.started_millis))
    };
    let goes_on = |rollout: &PastRollout, from: Millis, to: Millis| {
        rollout.started_millis < to && open(rollout).is_none_or(|over| over >= from)
    };
    // What is open in a recording was heard of until its end; that is before `from` for some.
    let heard = |rollout: &PastRollout| {
        let text = common::recordings().into_iter().find(|(name, _)| *name == rollout.cluster).unwrap().1;
        Recording::read(&text).span().unwrap().1
    };
    let went_on = |rollout: &PastRollout, from: Millis, to: Millis| {
        let is_open = open(rollout).is_none();
        goes_on(rollout, from, to) && (!is_open || rollout.started_millis >= from || heard(rollout) >= from)
    };
    let between = like(&|rollout| went_on(rollout, from, to));
    let began = like(&|rollout| (from..to).contains(&rollout.started_millis));
    assert!(began.iter().all(|rollout| between.contains(rollout)));
    let middle = all.iter().find(|rollout| rollout.took_millis().is_some_and(|took| took > 1_000)).unwrap();
    let (during, id) = (middle.started_millis + 500, (middle.uid, middle.number));
    let then = found(rollcast, &format!("since={during}&until={}", during + 1)).await;
    assert!(then.iter().any(|rollout| (rollout.uid, rollout.number) == id), "it went on then");
    // A name is whole, an image is a part of one.
    assert_eq!(found(rollcast, "name=web").await, like(&|rollout| rollout.name == "web"));
    assert_eq!(found(rollcast, "name=we").await, []);
    let crashing_image = like(&|rollout| rollout.images.contains("crash"));
    assert_eq!(found(rollcast, "image=Crash").await, crashing_image);
    assert_eq!(found(rollcast, &format!("since={from}&until={to}")).await, between);
    // Times as a form's fields write them, which are in UTC and win over a word.
    let minute = "since=2026-11-21T04:54&until=2026-11-21T04:55&when=last-night&outcome=complete";
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let (from, to) = (at("2026-11-21T04:54:00Z"), at("2026-11-21T04:55:00Z"));
    let within = like(&|rollout| went_on(rollout, from, to) && rollout.outcome == Outcome::Complete);
    assert!(!within.is_empty() && within.len() < all.len());
    assert_eq!(found(rollcast, minute).await, within);
    let page = fetch(rollcast, &format!("/history?{minute}")).await.text;
    for part in [
        "type=\"datetime-local\" name=\"since\" value=\"2026-11-21T04:54\"",
        "type=\"datetime-local\" name=\"until\" value=\"2026-11-21T04:55\"",
        "name=\"outcome\" value=\"complete\"",
        ", from 2026-11-21 04:54 to 2026-11-21 04:55 UTC.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    // Page after page there are the same ones.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let (_, answer) = json(rollcast, &format!("{}?limit=7&after={after}", api::ROLLOUTS)).await;
        paged.extend(serde_json::from_value::<Vec<PastRollout>>(answer["rollouts"].clone()).unwrap());
        match answer["after"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => break,
        }
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn answers_are_as_described_and_what_makes_no_sense_is_told() {
    let kept = kept();
    let (_, description) = json(&kept.rollcast, api::DESCRIPTION).await;
    let (status, answer) = json(&kept.rollcast, api::ROLLOUTS).await;
    assert_described(&description, api::ROLLOUTS, status, &answer);
    let wrong = [
        "when=someday",
        "outcome=good",
        "trouble=no",
        "limit=0",
        "limit=501",
        "after=x",
        "since=noon",
        "tz=Berlin",
        "q=1+2+3+4+5+6+7+8+9",
    ];
    for wrong in wrong {
        let (status, answer) = json(&kept.rollcast, &format!("{}?{wrong}", api::ROLLOUTS)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
        assert_described(&description, api::ROLLOUTS, status, &answer);
        assert!(answer["error"].as_str().unwrap().contains("makes no sense"), "{answer}");
    }
    let nothing = Rollcast::new(Vec::new(), "build", Viewers::default(), Vec::new(), None);
    let (status, answer) = json(&nothing, api::ROLLOUTS).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_described(&description, api::ROLLOUTS, status, &answer);
    assert_eq!(fetch(&nothing, "/history").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn metrics_tell_how_history_is_written() {
    let kept = kept();
    let text = fetch(&kept.rollcast, "/metrics").await.text;
    for line in [
        "# TYPE rollcast_history_commits counter",
        "rollcast_history_failures_total 0",
        "rollcast_history_missed_total 0",
        "rollcast_history_written_bytes_total 0",
        "rollcast_history_failing 0",
    ] {
        assert!(text.lines().any(|told| told == line), "{line}: {text}");
    }
}

#[tokio::test]
async fn the_page_tells_of_each_and_has_its_link() {
    let kept = kept();
    let page = fetch(&kept.rollcast, "/history?outcome=superseded").await;
    assert_eq!(page.status, StatusCode::OK);
    let superseded = found(&kept.rollcast, "outcome=superseded").await;
    assert!(!superseded.is_empty());
    for rollout in &superseded {
        assert!(page.text.contains(&rollout.address().replace('&', "&amp;")), "{}", rollout.address());
    }
    assert_eq!(page.text.matches("data-testid=\"past\"").count(), superseded.len());
    let hostile = fetch(&kept.rollcast, "/history?q=%3Cscript%3Ealert(1)%3C/script%3E&cluster=%22%3E%3Cb%3E").await;
    assert!(!hostile.text.contains("<script>alert") && !hostile.text.contains("\"><b>"));
    let search = Search { text: "a b".into(), had_trouble: true, when: "last-night".into(), ..Search::default() };
    assert_eq!(search.address(), "/history?q=a%20b&trouble=yes&when=last-night");
    assert_eq!(fetch(&kept.rollcast, &search.address()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn each_workload_has_its_last_rollouts_as_a_small_picture_that_leads_to_them() {
    let kept = kept();
    let page = fetch(&kept.rollcast, "/history").await.text;
    let pictures: Vec<&str> = page.split("data-testid=\"workload\"").skip(1).collect();
    let of_page = found(&kept.rollcast, "").await.into_iter().take(50);
    let workloads: std::collections::BTreeSet<_> = of_page.map(|rollout| (rollout.cluster, rollout.uid)).collect();
    assert_eq!(pictures.len(), workloads.len());
    let more = timeline::words::count(workloads.len() as u32 - 8, "workload").replacen(' ', " more ", 1);
    assert!(page.contains(&format!("<summary>{more}</summary>")), "{more}");
    assert!(pictures[0].contains("&amp;name="), "its link finds no other one: {}", pictures[0]);
    let bars = |picture: &str| picture.split("</svg>").next().unwrap().matches("<rect").count();
    assert!(pictures.iter().all(|picture| bars(picture) > 0));
    // All of it, whatever is looked for: one that was superseded stands among its others.
    let of = "cluster=history-cleanup-and-undo";
    let (all, page) =
        (found(&kept.rollcast, of).await, fetch(&kept.rollcast, &format!("/history?{of}&q=revision+6")).await.text);
    let picture = page.split("data-testid=\"workload\"").nth(1).unwrap();
    assert_eq!(bars(picture), all.len());
    assert!(picture.contains("6 rollouts, half of those that were complete within 2.1 s"), "{picture}");
    for rollout in all.iter().chain(&kept.rollouts) {
        let played = fetch(&kept.rollcast, &rollout.played()).await;
        assert_eq!(played.status, StatusCode::OK, "{}", rollout.played());
    }
    for rollout in &all {
        assert!(picture.contains(&rollout.played().replace('&', "&amp;")), "{}", rollout.played());
    }
}

#[tokio::test]
async fn every_rollout_is_made_again_as_it_was() {
    let kept = kept();
    let mut pods = 0;
    for rollout in &kept.rollouts {
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
        let recording = fetch(&kept.rollcast, &app::address::recording(&workload)).await;
        assert_eq!(recording.status, StatusCode::OK, "{}", recording.text);
        let recording = Recording::read(&recording.text);
        assert!(recording.bad_lines.is_empty() && recording.play().model().pods.len() == made.pods.len());
        let page = fetch(&kept.rollcast, &app::address::workload(&workload)).await;
        assert_eq!(page.status, StatusCode::OK, "{}: {}", rollout.cluster, page.text);
        assert!(page.text.contains("It is made again from what was kept of it."));
    }
    assert!(pods > 300, "{pods}");
}

/// What is said and drawn of a rollout beside others is the same from what is kept of it as from all that the cluster did.
#[tokio::test]
async fn the_course_of_a_rollout_is_that_of_what_was_seen() {
    let kept = kept();
    let (mut pods, mut complete) = (0, 0);
    for rollout in kept.rollouts.iter().filter(|rollout| !rollout.is_going_on()) {
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
            Course::of(reader.timeline.model(), uid, revision, now)
        });
        let course = course.await.unwrap().unwrap();
        let now = Now { millis: i64::MAX / 4, skew_millis: whole.skew_millis() };
        let all = Course::of(model, uid, revision, now).unwrap();
        if rollout.ended_millis.is_some() {
            assert_eq!(course.available, all.available, "{name} {revision}");
            assert_eq!(course.took_millis, all.took_millis, "{name} {revision}");
        }
        assert_eq!(course.first_available_millis, all.first_available_millis, "{name} {revision}");
        // The picture begins with nothing, and its first step is the first pod.
        assert_eq!(course.available[0].1, 0);
        assert!(course.available.windows(2).all(|pair| pair[0].0 < pair[1].0), "{:?}", course.available);
        let first = course.available.iter().find(|(_, pods)| *pods > 0).map(|(at, _)| *at);
        assert_eq!(
            first.filter(|_| rollout.trigger != Trigger::Unknown),
            course.first_available_millis.filter(|_| first.is_some())
        );
        if rollout.outcome == Outcome::Complete && rollout.trigger == Trigger::Template {
            complete += 1;
            let last = course.available.last().unwrap().1;
            assert!(last >= 1 && last <= rollout.peak_pods, "{name} {revision}: {:?}", course.available);
        }
        let Some(startup) = &course.startup else { continue };
        let (half, slowest) = startup.whole;
        assert!(half <= slowest);
        for (step, later) in startup.steps.iter().zip(startup.steps.iter().skip(1)) {
            assert!(step.pods >= later.pods, "who is ready was started: {startup:?}");
        }
        assert!(startup.steps.iter().all(|step| step.median_millis <= step.slowest_millis));
        for pod in &startup.pods {
            let was = model.pods.get(&pod.uid).unwrap();
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
async fn a_rollout_is_compared_with_those_before_it() {
    let kept = kept();
    let of = |revision: u64| {
        let is = |rollout: &&PastRollout| rollout.cluster == "history-cleanup-and-undo" && rollout.revision == revision;
        kept.rollouts.iter().find(is).unwrap()
    };
    let compare = |revision, with| address::compare(&of(revision).workload(), of(revision).uid, revision, with);
    let page = fetch(&kept.rollcast, &compare(6, None)).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let said = "It took 2.7 s; 3 of the 4 complete ones before it were faster: they took 2.1 s to 2.7 s, half of them at most 2.1 s.";
    assert!(page.text.contains(said), "{}", page.text);
    assert!(page.text.contains("revision 6: took 2.7 s; revision 5: took 2.1 s"), "{}", page.text);
    assert_eq!(page.text.matches("data-testid=\"before\"").count(), 5);
    let with = fetch(&kept.rollcast, &compare(6, Some(2))).await;
    assert!(with.text.contains("revision 6: took 2.7 s; revision 2: took 2.1 s"), "{}", with.text);
    let first = fetch(&kept.rollcast, &compare(1, None)).await;
    assert!(first.text.contains("There is nothing yet to compare it with"), "{}", first.text);
    // The list of rollouts says the same.
    let hub = server::hub::Handle::start("history-cleanup-and-undo", Arc::default(), timeline::Retention::default()).0;
    for observed in common::recordings()
        .into_iter()
        .find(|(name, _)| name == "history-cleanup-and-undo")
        .map(|(_, text)| Recording::read(&text).observed)
        .unwrap()
    {
        hub.observe(observed.at_millis, observed.fact).await.unwrap();
    }
    let archive = everything(&kept.rollcast).await.archive().cloned();
    let rollcast = Rollcast::with(vec![hub], "build", Viewers::default(), Site { archive, ..Site::default() });
    let rollouts = address::below(&of(6).workload(), "rollouts");
    let list = fetch(&rollcast, &rollouts).await.text;
    assert!(list.contains(&format!("Revision 6, the last one: {said}")), "{list}");
    // What makes no sense.
    let page = address::below(&of(6).workload(), "compare");
    for (rest, status, says) in [
        ("?revision=six", 400, "revision"),
        ("?revision=99", 404, "No rollout of web with that revision is kept"),
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
    let (hub, _) = server::hub::Handle::start("rollout", Arc::default(), timeline::Retention::default());
    let archive = everything(&kept.rollcast).await.archive().cloned();
    let rollcast = Rollcast::with(vec![hub], "build", Viewers::default(), Site { archive, ..Site::default() });
    let page = app::address::whatever_bears_the_name(&rollout.workload());
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
    let (hub, _) = server::hub::Handle::start("rollout", Arc::default(), timeline::Retention::default());
    let archive = everything(&kept.rollcast).await.archive().cloned().unwrap();
    let site = Site { archive: Some(archive.clone()), ..Site::default() };
    let rollcast = Rollcast::with(vec![hub], "build", Viewers::default(), site);
    let page = address::permanent(&last.workload(), last.uid, None);
    let by_itself = address::workload(&last.by_itself());
    let hour = 3_600_000;
    let (two, ten) = (last.ended_millis.unwrap() + 2 * hour, last.ended_millis.unwrap() + 10 * hour);
    // Somebody looks at it, and others at moments after it, also before anything was heard of them.
    assert_eq!(fetch(&rollcast, &by_itself).await.status, StatusCode::OK);
    let early = fetch(&rollcast, &format!("{by_itself}&at={two}")).await;
    assert!(early.status == StatusCode::NOT_FOUND && early.text.contains("is shown until"), "{}", early.text);
    let to_come = server::clock::now_millis() + hour;
    let to_come = fetch(&rollcast, &format!("{by_itself}&at={to_come}")).await;
    assert!(to_come.text.contains("That moment is in the future"), "{}", to_come.text);
    archive.journal("rollout", &[]).heard(ten + hour, &timeline::Model::default());
    let written = async || archive.counters().commits.load(std::sync::atomic::Ordering::Relaxed) > 0;
    crate::until::until("it is heard of", written).await;
    let answer = fetch(&rollcast, &format!("{page}&at={two}")).await;
    assert_eq!(answer.location, format!("{by_itself}&at={two}"));
    let shown = fetch(&rollcast, &answer.location).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.text);
    let answer = fetch(&rollcast, &format!("{page}&at={ten}")).await;
    let far = fetch(&rollcast, &answer.location).await;
    assert_eq!(far.status, StatusCode::NOT_FOUND);
    assert!(far.text.contains("is shown until") && !far.text.contains("in the future"), "{}", far.text);
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

#[tokio::test]
async fn rows_whose_pods_are_not_kept_say_so_and_have_no_links_to_them() {
    let kept = kept();
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let rollouts = kept.rollouts.iter().filter(|rollout| rollout.cluster == "rollout").cloned().collect();
    let cluster = "rollout".into();
    let commit =
        Commit { number: 0, cluster, scope: "".into(), lines: None, heard_millis: 0, checkpoint: None, rollouts };
    store.commit(&[commit]).unwrap();
    drop(store);
    let limits = Limits { age_millis: i64::MAX / 4, ..Limits::default() };
    let archive = Archive::start(Options { location: Location::Folder(folder.path().to_owned()), limits });
    let site = Site { archive: Some(archive), ..Site::default() };
    let rollcast = Rollcast::with(Vec::new(), "build", Viewers::default(), site);
    let page = fetch(&rollcast, "/history").await.text;
    let rows: Vec<&str> = page.split("data-testid=\"past\"").skip(1).collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row.contains("Its pods are not kept any more."), "{row}");
        assert!(["rollout=", "/export", "/recording", "/compare"].iter().all(|link| !row.contains(link)), "{row}");
    }
    assert!(!page.contains("play=yes"), "pictures lead nowhere either");
    let told = found(&rollcast, "").await;
    assert!(told.iter().all(|rollout| !rollout.is_kept));
    assert_eq!(fetch(&rollcast, &told[0].played()).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn times_are_told_and_asked_for_in_the_zone_that_the_address_names() {
    let kept = kept();
    let rollcast = &kept.rollcast;
    let minute = "since=2026-11-21T10:24&until=2026-11-21T10:25&tz=%2B05:30";
    let utc = found(rollcast, "since=2026-11-21T04:54&until=2026-11-21T04:55").await;
    assert!(!utc.is_empty());
    assert_eq!(found(rollcast, minute).await, utc);
    let page = fetch(rollcast, &format!("/history?{minute}")).await.text;
    for part in [
        ", from 2026-11-21 10:24 to 2026-11-21 10:25 UTC+05:30.",
        "Times are in UTC+05:30.",
        "name=\"tz\" value=\"+05:30\"",
        "name=\"since\" value=\"2026-11-21T10:24\"",
        "<time>21 Nov 10:2",
        "&amp;tz=%2B05%3A30",
    ] {
        assert!(page.contains(part) || page.contains(&part.replace("%3A", ":")), "{part} in {page}");
    }
    let of = &kept.rollouts[0];
    let compare = address::compare(&of.workload(), of.uid, of.revision, None);
    let compare = fetch(rollcast, &format!("{compare}&tz=-03:30")).await.text;
    assert!(compare.contains(" UTC-03:30. "), "{compare}");
    // The script that asks for the zone of whoever looks is allowed to run, and no other.
    let script = page.split("<script nonce=\"").nth(1).unwrap();
    assert!(script.contains("getTimezoneOffset"), "{script}");
}

#[tokio::test]
async fn the_page_says_since_when_history_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plain"), "").unwrap();
    let location = Location::Folder(folder.path().join("plain").join("below"));
    let archive = Archive::start(Options { location, limits: Limits::default() });
    let mut keeping = archive.keeping();
    keeping.wait_for(|keeping| *keeping != server::history::Keeping::Written).await.unwrap();
    let site = Site { archive: Some(archive), ..Site::default() };
    let rollcast = Rollcast::with(Vec::new(), "build", Viewers::default(), site);
    let page = fetch(&rollcast, "/history").await.text;
    assert!(page.contains("History is not written since ") && page.contains("cannot make "), "{page}");
}
