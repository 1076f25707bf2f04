//! Lists: what a question finds, and what viewers of a list hear.

use axum::http::{Request, header};
use proptest::prelude::*;
use server::web::listing::{ListResult, choose};
use timeline::list::{By, Common, Group, ListCopy, Query, SentRows, Window};

use crate::pages::site::{everything, fetch, send, site};

#[tokio::test]
async fn a_question_finds_what_it_names() {
    let (rollcast, clusters) = site().await;
    let all = everything(&rollcast).await;
    let found = async |query: Query| all.list_now(&query).await;
    let all = found(Query::default()).await;
    assert_eq!(all.overall.clusters.len(), clusters.len());
    assert_eq!(all.overall.all as usize, all.lines.len());
    assert_eq!(all.overall.rows(), all.overall.counts.iter().sum::<u32>());
    let groups: Vec<Group> = all
        .overall
        .heads
        .iter()
        .filter_map(|head| match head.of {
            Common::Group(group) => Some(group),
            Common::Place(..) | Common::Sorted(_) => None,
        })
        .collect();
    assert!(groups.is_sorted() && !groups.is_empty(), "{groups:?}");

    let text = async |text: &str| found(Query { text: text.into(), ..Query::default() }).await.lines.len();
    assert_eq!(text("nginx ROLLOUT complete").await, 1);
    assert_eq!(text("nowhere").await, 0);
    assert!(text("revision 2").await > 1);
    let place = Query { cluster: Some("rollout".into()), namespace: Some("rollout".into()), ..Query::default() };
    assert_eq!(found(place).await.lines.len(), 1);
    let stuck = found(Query { group: Some(Group::InTrouble), ..Query::default() }).await;
    assert_eq!(stuck.overall.counts, all.overall.counts, "chips count all groups");
    assert_eq!(stuck.lines.len() as u32, all.overall.counts[0]);
    let places = found(Query { by: By::Place, ..Query::default() }).await;
    assert_eq!(places.lines.len(), all.lines.len());
    assert_eq!(places.overall.heads.len(), clusters.len());
}

#[tokio::test]
async fn labels_select_rows_and_a_wrong_selector_is_said() {
    let (rollcast, _) = site().await;
    let all = everything(&rollcast).await;
    let found = async |labels: &str| all.list_now(&Query { labels: labels.into(), ..Query::default() }).await;
    let all = found("").await.lines.len();
    assert_eq!(found("app").await.lines.len() + found("!app").await.lines.len(), all);
    let wrong = found("app=web=x").await;
    assert!(wrong.is_wrong && wrong.overall.trouble.contains("is no label selector"));
    assert_eq!(wrong.lines.len(), all, "the list stays");
}

#[tokio::test]
async fn what_makes_no_sense_is_said() {
    let (rollcast, _) = site().await;
    let cases = [
        ("/?show=bad", 400, "expected trouble, moving, finished or stable"),
        ("/?by=colour", 400, "expected namespace or verdict"),
        ("/?sort=colour", 400, "expected status, name, available or since"),
        ("/?sort=name&order=up", 400, "expected asc or desc"),
        ("/?sort=name&order=desc", 200, "aria-sort=\"descending\"><a href=\"/?sort=name\""),
        ("/clusters/rollout?sort=since", 200, "<a href=\"/clusters/rollout?sort=since&amp;order=desc\""),
        ("/?from=-1", 400, "expected a number"),
        ("/clusters/rollout?from=x", 400, "href=\"/clusters/rollout\""),
        ("/?labels=a%3D%3D%3Db", 400, "is no label selector"),
        ("/?q=%FF%00%E2%80%AE", 200, "No matches."),
        ("/?q=nginx&show=trouble", 200, "aria-current=\"true\""),
        ("/?cluster=nowhere", 404, "does not watch a cluster"),
        ("/?namespace=nowhere", 200, "No matches."),
        ("/?from=4000000000", 200, "Lines before"),
    ];
    for (path, status, says) in cases {
        let answer = fetch(&rollcast, path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        assert!(answer.text.contains(says), "{path}: {says}");
    }
}

#[tokio::test]
async fn a_wall_of_a_cluster_that_is_not_there_is_asked_for_again() {
    let (rollcast, _) = site().await;
    for (path, refresh) in [("/wall?cluster=nowhere", Some("30")), ("/?cluster=nowhere", None), ("/wall", None)] {
        let response = send(&rollcast, None, Request::get(path), ()).await;
        let told = response.headers().get(header::REFRESH).map(|seconds| seconds.to_str().unwrap());
        assert_eq!(told, refresh, "{path}");
    }
}

/// Lines of which a few change, come and go.
fn chosen(seed: u64) -> ListResult {
    use std::sync::Arc;
    use timeline::list::Overall;
    use timeline::view::{Summary, Tone, Verdict};

    let rng = &mut fastrand::Rng::with_seed(seed);
    let mut lines = Vec::new();
    for number in 0..30_u128 {
        if rng.u8(..4) == 0 {
            continue;
        }
        let verdict = Verdict {
            badge: "Complete".into(),
            tone: Tone::Ok,
            sentence: format!("Sentence {}.", rng.u8(..3)),
            kubectl: timeline::verdict::KubectlVerdict::Complete,
            ..Verdict::default()
        };
        let summary = Summary {
            uid: timeline::Uid::from_bits(number),
            namespace: "shop".into(),
            name: format!("web-{number}"),
            revision: Some(rng.u64(1..3)),
            images: "web:v1".into(),
            verdict,
            next: format!("Next {}.", rng.u8(..2)),
            pods: [rng.u32(..3), 0, 0, 0, 0],
            desired: 2,
            since_millis: rng.i64(..2),
            ..Summary::default()
        };
        lines.push((rng.u16(..2), Arc::new(server::hub::ListedDeployment::new(summary, Default::default()))));
    }
    rng.shuffle(&mut lines);
    let overall = Overall { all: lines.len() as u32, ..Overall::default() };
    ListResult { overall, lines, ..ListResult::default() }
}

proptest! {
    /// Whatever changes and wherever a viewer looks, its copy is what it would see if it had just come.
    #[test]
    fn a_copy_is_what_is_there(steps in prop::collection::vec((0_u64..40, 0_u32..35, 0_u32..20), 1..25)) {
        let (mut sent, mut copy) = (SentRows::default(), ListCopy::default());
        for (seed, from, length) in steps {
            let now = chosen(seed);
            let window = Window { from, to: from + length };
            let delta = sent.delta(&now.overall, &now.lines, window, ListResult::line);
            if let Some(delta) = delta {
                let bytes = timeline::wire::encode(&delta).unwrap();
                copy.take(timeline::wire::decode(&bytes).unwrap());
            }
            prop_assert!(sent.delta(&now.overall, &now.lines, window, ListResult::line).is_none(), "said once");
            for number in 0..40 {
                let there = now.lines.get(number as usize).filter(|_| (window.from..window.to).contains(&number));
                let known = copy.row(number).map(|entry| (entry.cluster, &entry.summary));
                prop_assert_eq!(known, there.map(|(cluster, listed)| (*cluster, &listed.summary)));
            }
            prop_assert_eq!(copy.overall.all, now.overall.all);
        }
    }
}

/// At every change of every recording a tiny score ends with the pods as they are, in steps that follow each other.
#[test]
fn a_tiny_score_ends_with_the_present() {
    use timeline::Timeline;
    use timeline::view::{LATELY_MILLIS, Now, summary};

    let mut moving = 0;
    for (name, text) in crate::common::recordings() {
        let mut timeline = Timeline::new();
        for observed in server::feed::recording::Recording::read(&text).observed {
            let at = observed.at_millis;
            if let Some(fact) = observed.fact {
                timeline.apply(at, fact);
            }
            timeline.tick(at);
            let model = timeline.model();
            for uid in model.deployments.keys() {
                let Some(now) = summary(model, *uid, Now { millis: at, skew_millis: 0 }) else { continue };
                let (lately, pods) = (&now.lately, now.pods);
                let Some((last, counts)) = lately.steps.last() else { continue };
                moving += 1;
                assert_eq!(*counts, pods, "{name} {at} {}", now.name);
                assert!(lately.steps.len() <= 24 && lately.steps.is_sorted_by_key(|(after, _)| *after));
                assert!(lately.from_millis + i64::from(*last) <= at && lately.from_millis <= at - LATELY_MILLIS);
            }
        }
    }
    assert!(moving > 1_000, "{moving}");
}

#[test]
fn nothing_is_found_where_nothing_is() {
    let none = choose(&[], &Query::default());
    assert!(none.lines.is_empty() && none.overall.heads.is_empty());
}
