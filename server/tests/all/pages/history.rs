//! Rollouts that are kept: their page, and the same as JSON.

use axum::http::StatusCode;
use server::feed::recording::Recording;
use server::history::Archive;
use server::history::options::{Limits, Location, Options};
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store};
use server::web::state::Site;
use timeline::Millis;
use timeline::address;
use timeline::address::Route;
use timeline::episodes::{EpisodeRow, Search};
use timeline::rollout::Outcome;

use crate::common;
use crate::pages::api::assert_described;
use crate::pages::kept::{archive, found, json, kept};
use crate::pages::site::{fetch, site_of};

#[tokio::test]
async fn rollouts_are_found_by_what_is_asked_for_page_after_page() {
    let kept = kept();
    let rollcast = &kept.rollcast;
    let all = found(rollcast, "").await;
    assert_eq!(all.len(), kept.rollouts.len());
    assert!(all.len() > 30 && all.is_sorted_by_key(|rollout| std::cmp::Reverse(rollout.started_millis)));
    let like =
        |keep: &dyn Fn(&EpisodeRow) -> bool| all.iter().filter(|rollout| keep(rollout)).cloned().collect::<Vec<_>>();
    let troubled = found(rollcast, "trouble=yes").await;
    assert_eq!(troubled, like(&|rollout| !rollout.trouble().is_empty()));
    assert!(!troubled.is_empty());
    assert_eq!(found(rollcast, "cluster=rollout").await, like(&|rollout| rollout.cluster == "rollout"));
    let crashing = like(&|rollout| rollout.images.contains("crash") || rollout.trouble().contains("crash"));
    assert!(!crashing.is_empty());
    assert_eq!(found(rollcast, "q=CRASH").await, crashing);
    let superseded = like(&|rollout| rollout.outcome == timeline::rollout::Outcome::Superseded);
    assert_eq!(found(rollcast, "outcome=superseded").await, superseded);
    let (from, to) = (all[20].started_millis, all[10].started_millis);
    // What went on then, whenever it began.
    let open = |rollout: &EpisodeRow| {
        let over = rollout.ended_millis.or(rollout.moment_millis.filter(|_| rollout.is_deleted));
        over.map(|over| over.max(rollout.started_millis))
    };
    let goes_on = |rollout: &EpisodeRow, from: Millis, to: Millis| {
        rollout.started_millis < to && open(rollout).is_none_or(|over| over >= from)
    };
    // What is open in a recording was heard of until its end; that is before `from` for some.
    let heard = |rollout: &EpisodeRow| {
        let text = common::recording(&rollout.cluster);
        Recording::read(&text).span().unwrap().1
    };
    // Trouble lasts until the episode is over, that of all of the recording, or until the next rollout begins.
    let is_lasting = |rollout: &EpisodeRow, from: Millis| {
        let is_next = |next: &EpisodeRow| {
            next.is_rollout()
                && (&next.cluster, next.uid) == (&rollout.cluster, rollout.uid)
                && next.number > rollout.number
                && next.started_millis <= from
        };
        rollout.is_rollout() && !rollout.trouble().is_empty() && heard(rollout) >= from && !all.iter().any(is_next)
    };
    let went_on = |rollout: &EpisodeRow, from: Millis, to: Millis| {
        let is_open = open(rollout).is_none();
        let is_before = rollout.started_millis < to;
        (goes_on(rollout, from, to) && (!is_open || rollout.started_millis >= from || heard(rollout) >= from))
            || (is_before && is_lasting(rollout, from))
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
        "type=\"text\" name=\"since\" value=\"2026-11-21 04:54\"",
        "type=\"text\" name=\"until\" value=\"2026-11-21 04:55\"",
        "name=\"q\" value=\"outcome:complete\"",
        ", from 2026-11-21 04:54 to 2026-11-21 04:55 UTC.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    // Page after page there are the same ones.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let (_, answer) = json(rollcast, &format!("{}?limit=7&after={after}", Route::ApiRollouts.pattern())).await;
        paged.extend(serde_json::from_value::<Vec<EpisodeRow>>(answer["rollouts"].clone()).unwrap());
        // The place tells what was told of the last one, and nothing of the rollouts of others.
        let last = answer["rollouts"].as_array().unwrap().last();
        let told = last.map(|last| {
            let uid = last["uid"].as_str().unwrap();
            format!("{}-{}-{uid}-{}", last["startedMillis"], last["number"], last["cluster"].as_str().unwrap())
        });
        assert!(answer["after"].is_null() || answer["after"].as_str() == told.as_deref(), "{}", answer["after"]);
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
    let (_, description) = json(&kept.rollcast, Route::ApiDescription.pattern()).await;
    let (status, answer) = json(&kept.rollcast, Route::ApiRollouts.pattern()).await;
    assert_described(&description, Route::ApiRollouts.pattern(), status, &answer);
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
        "q=outcome:good",
        "q=longer:ever",
        &format!("q={}", "x".repeat(10_000)),
        &format!("q=name:{}", "x".repeat(10_000)),
    ];
    for wrong in wrong {
        let (status, answer) = json(&kept.rollcast, &format!("{}?{wrong}", Route::ApiRollouts.pattern())).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
        assert_described(&description, Route::ApiRollouts.pattern(), status, &answer);
        assert!(answer["error"].as_str().unwrap().contains("is invalid"), "{answer}");
    }
    let nothing = site_of(Vec::new(), Site::default());
    let (status, answer) = json(&nothing, Route::ApiRollouts.pattern()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_described(&description, Route::ApiRollouts.pattern(), status, &answer);
    assert_eq!(fetch(&nothing, "/history").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_time_that_is_none_is_told_as_its_field_has_it_and_the_rest_of_the_search_is_a_link_away() {
    let page = fetch(&kept().rollcast, "/history?q=web&since=yesterday&until=").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    for part in [
        "since=yesterday is invalid: expected a time such as 2026-11-21 02:00",
        "<a href=\"/history?q=web\">This search without since</a>",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let page = fetch(&kept().rollcast, "/history?since=yesterday").await;
    let all = page.text.contains("<a href=\"/history\">All rollouts in the history</a>");
    assert!(all && !page.text.contains("This search without"), "without a rest: {}", page.text);
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
    let status = fetch(&kept.rollcast, "/status").await.text;
    assert!(status.contains("Nothing left out"), "{status}");
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
    let hints = page.matches("placeholder=\"yyyy-mm-dd hh:mm\"").count();
    assert_eq!(hints, 2, "an empty field of a time says how it is written");
    let pictures: Vec<&str> = page.split("data-testid=\"workload\"").skip(1).collect();
    let of_page = found(&kept.rollcast, "").await.into_iter().take(50);
    let workloads: std::collections::BTreeSet<_> = of_page.map(|rollout| (rollout.cluster, rollout.uid)).collect();
    assert_eq!(pictures.len(), workloads.len());
    let more = timeline::words::count(workloads.len() as u32 - 8, "workload").replacen(' ', " more ", 1);
    assert!(page.contains(&format!("<summary>{more}</summary>")), "{more}");
    assert!(pictures[0].contains("&amp;name="), "its link finds no other one: {}", pictures[0]);
    let bars = |picture: &str| picture.split("</svg>").next().unwrap().matches("<rect").count();
    assert!(pictures.iter().all(|picture| bars(picture) > 0));
    let of = "cluster=history-cleanup-and-undo";
    let (all, page) = (found(&kept.rollcast, of).await, fetch(&kept.rollcast, &format!("/history?{of}")).await.text);
    let picture = page.split("data-testid=\"workload\"").nth(1).unwrap();
    assert_eq!(bars(picture), all.len());
    assert!(picture.contains("6 rollouts, median 2."), "{picture}");
    for rollout in all.iter().chain(&kept.rollouts) {
        let played = fetch(&kept.rollcast, &rollout.play_address()).await;
        assert_eq!(played.status, StatusCode::OK, "{}", rollout.play_address());
    }
    for rollout in &all {
        assert!(picture.contains(&rollout.play_address().replace('&', "&amp;")), "{}", rollout.play_address());
    }
}

#[tokio::test]
async fn the_search_field_finds_what_the_parameters_find_and_says_what_is_asked() {
    let kept = kept();
    let rollcast = &kept.rollcast;
    let crash = found(rollcast, "q=crash").await;
    let (cluster, image) = (&crash[0].cluster, &crash[0].images);
    for (written, parameters) in [
        ("outcome:superseded", "outcome=superseded".to_owned()),
        ("outcome:failed", "outcome=failed".to_owned()),
        (&format!("cluster:{cluster}"), format!("cluster={cluster}")),
        (&format!("image:{image}"), format!("image={image}")),
        ("trouble:yes longer:30s crash", "trouble=yes&longer=30s&q=crash".to_owned()),
        ("namespace: crash", "q=crash".to_owned()),
        ("name:\"web\"", "name=web".to_owned()),
    ] {
        let query = written.replace(' ', "+").replace('"', "%22");
        assert_eq!(found(rollcast, &format!("q={query}")).await, found(rollcast, &parameters).await, "{written}");
    }
    // What is written counts, where a parameter says otherwise.
    let complete = found(rollcast, "outcome=complete").await;
    assert_eq!(found(rollcast, "outcome=superseded&q=outcome:complete").await, complete);
    // A page that was asked for with parameters has all of it in its field.
    let page = fetch(rollcast, &format!("/history?cluster={cluster}&trouble=yes&q=crash")).await.text;
    let field = format!("name=\"q\" value=\"cluster:{cluster} trouble:yes crash\"");
    assert!(page.contains(&field), "{field} in {page}");
    assert!(page.contains(&format!("Remove the filter cluster:{cluster}")), "{page}");
    let unknown = fetch(rollcast, "/history?q=namespce:shop").await.text;
    assert!(unknown.contains("\u{201c}namespce:\u{201d} is not a key"), "{unknown}");
}

#[tokio::test]
async fn the_overview_is_of_the_rollouts_that_the_rows_are_of() {
    let kept = kept();
    for query in ["", "trouble=yes", "q=crash", "outcome=superseded", "since=2026-11-21T04:54&until=2026-11-21T04:55"] {
        let rollouts = found(&kept.rollcast, query).await;
        let page = fetch(&kept.rollcast, &format!("/history?{query}")).await.text;
        let rows = page.matches("data-testid=\"past\"").count();
        assert_eq!(rows, rollouts.len().min(50), "{query}");
        let told = if rollouts.len() > 50 { format!("50 of {}", rollouts.len()) } else { rollouts.len().to_string() };
        let summary = page.split("data-testid=\"found\">").nth(1).unwrap();
        let noun = if rollouts.iter().all(EpisodeRow::is_rollout) { "rollout" } else { "episode" };
        assert!(summary.starts_with(&format!("{told} {noun}")), "{query}: {summary}");
        if rollouts.len() > 50 {
            continue; // workloads of other pages are not drawn
        }
        let workloads = page.split("data-testid=\"workload\"").skip(1);
        let bars: usize = workloads.map(|one| one.split("</svg>").next().unwrap().matches("<rect").count()).sum();
        let drawn = rollouts.iter().filter(|rollout| rollout.is_rollout()).count();
        assert_eq!(bars, drawn, "{query}: no workload here has more than 24");
        let troubled = rollouts.iter().filter(|rollout| !rollout.trouble().is_empty()).count();
        let counted: usize = page
            .split("data-testid=\"workload\"")
            .skip(1)
            .filter_map(|one| one.split(" with trouble").next()?.rsplit_once(", ")?.1.parse::<usize>().ok())
            .sum();
        assert_eq!(counted, troubled, "{query}");
    }
}

#[tokio::test]
async fn a_deadline_that_passed_is_found_though_the_rollout_was_superseded() {
    let kept = kept();
    let failed = found(&kept.rollcast, "outcome=failed").await;
    let expected: Vec<&EpisodeRow> = kept.rollouts.iter().filter(|rollout| rollout.deadline_millis.is_some()).collect();
    assert_eq!(failed.iter().collect::<Vec<_>>(), expected);
    let superseded = failed.iter().find(|rollout| rollout.outcome == Outcome::Superseded).unwrap();
    assert!(found(&kept.rollcast, "outcome=superseded").await.contains(superseded), "it is that, too");
    assert!(found(&kept.rollcast, "q=deadline").await.contains(superseded));
    let page = fetch(&kept.rollcast, "/history?q=outcome:failed").await.text;
    assert!(page.contains("Deadline passed") && page.contains("then superseded"), "{page}");
    // The cause is what the page of the rollout says, and not that there is none.
    assert!(failed.iter().any(|rollout| rollout.cause.starts_with("Revision ")), "{failed:?}");
}

#[tokio::test]
async fn rows_whose_pods_are_not_kept_say_so_and_have_no_links_to_them() {
    let kept = kept();
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let rollouts = kept.rollouts.iter().filter(|rollout| rollout.cluster == "rollout").cloned().collect();
    let cluster = "rollout".into();
    let commit = Commit { cluster, rollouts, ..Commit::default() };
    store.commit(&[commit]).unwrap();
    drop(store);
    let site = Site { archive: Some(archive(folder.path())), ..Site::default() };
    let rollcast = site_of(Vec::new(), site);
    let page = fetch(&rollcast, "/history").await.text;
    let rows: Vec<&str> = page.split("data-testid=\"past\"").skip(1).collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row.contains("Its pods are no longer in the history."), "{row}");
        assert!(["rollout=", "/export", "/recording", "/compare"].iter().all(|link| !row.contains(link)), "{row}");
    }
    assert!(!page.contains("play=yes"), "pictures lead nowhere either");
    let told = found(&rollcast, "").await;
    assert!(told.iter().all(|rollout| !rollout.is_kept));
    assert_eq!(fetch(&rollcast, &told[0].play_address()).await.status, StatusCode::NOT_FOUND);
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
        "name=\"since\" value=\"2026-11-21 10:24\"",
        "<time>21 Nov ",
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
    archive.unwritten.clone().wait_for(Option::is_some).await.unwrap();
    let site = Site { archive: Some(archive), ..Site::default() };
    let rollcast = site_of(Vec::new(), site);
    let page = fetch(&rollcast, "/history").await.text;
    assert!(page.contains("History has not been written since ") && page.contains("cannot create "), "{page}");
}
