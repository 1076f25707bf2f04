//! Rollouts that are kept: their page, the same as JSON, and each of them made again.

use std::collections::BTreeMap;
use std::sync::Arc;

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
use server::state::Rollcast;
use server::viewers::Viewers;
use timeline::view::Now;
use timeline::{Millis, Timeline};

use crate::api::assert_described;
use crate::common;
use crate::site::fetch;

/// What every recording comes to, and its rollouts.
struct Kept {
    rollcast: Arc<Rollcast>,
    whole: Vec<(String, Timeline)>,
    rollouts: Vec<PastRollout>,
    _folder: tempfile::TempDir,
}

/// Every recording in a store, and no cluster that is watched.
fn kept() -> Kept {
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
    let rollcast = Rollcast::keeping(Vec::new(), "build", Viewers::default(), Vec::new(), None, Some(archive));
    let rollouts = Reader::of_folder(folder.path()).rollouts(&Search::default(), None, 10_000).unwrap().rollouts;
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
        for rollout in model.deployments.keys().flat_map(|uid| index::rollouts(name, model, *uid, now)) {
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
    let between = like(&|rollout| (from..to).contains(&rollout.started_millis));
    assert_eq!(found(rollcast, &format!("since={from}&until={to}")).await, between);
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
async fn every_rollout_is_made_again_as_it_was() {
    let kept = kept();
    let mut pods = 0;
    for rollout in &kept.rollouts {
        let (_, whole) = kept.whole.iter().find(|(name, _)| *name == rollout.cluster).unwrap();
        let workload = rollout.by_itself();
        let hub = kept.rollcast.hub(&workload).await.unwrap();
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

#[tokio::test]
async fn a_link_to_what_the_hub_does_not_hold_leads_to_what_is_kept() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollout" && rollout.revision == 2).unwrap();
    // The cluster is watched, by a hub that was just started.
    let (hub, _) = server::hub::Handle::start("rollout", Arc::default(), timeline::Retention::default());
    let archive = kept.rollcast.archive.clone();
    let rollcast = Rollcast::keeping(vec![hub], "build", Viewers::default(), Vec::new(), None, archive);
    let page = app::address::whatever_bears_the_name(&rollout.workload());
    let by_itself = format!("{page}?uid={}&rollout={}", rollout.uid, rollout.number);
    let last = kept.rollouts.iter().filter(|of| of.uid == rollout.uid).map(|of| of.number).max().unwrap();
    let at: Millis = rollout.started_millis + 500;
    for (link, to) in [
        (rollout.address(), format!("{by_itself}&at={}", rollout.moment_millis.unwrap())),
        (format!("{page}?uid={}&revision=2", rollout.uid), by_itself.clone()),
        (format!("{page}?uid={}&at={at}", rollout.uid), format!("{by_itself}&at={at}")),
        (format!("{page}?uid={}", rollout.uid), format!("{page}?uid={}&rollout={last}", rollout.uid)),
    ] {
        let answer = fetch(&rollcast, &link).await;
        assert_eq!((answer.status, answer.location.as_str()), (StatusCode::TEMPORARY_REDIRECT, to.as_str()), "{link}");
        assert_eq!(fetch(&rollcast, &to).await.status, StatusCode::OK, "{to}");
    }
    let unnamed = format!("/api/v1{page}/recording");
    assert_eq!(fetch(&rollcast, &unnamed).await.status, StatusCode::NOT_FOUND);
    for lost in [format!("{page}?uid={}&rollout=99", rollout.uid), format!("{page}?uid={}&revision=99", rollout.uid)] {
        assert_eq!(fetch(&rollcast, &lost).await.status, StatusCode::NOT_FOUND, "{lost}");
    }
}
