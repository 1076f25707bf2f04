//! Revisions that are written on a Deployment alone: by a manifest, or by hand.

use std::collections::BTreeMap;

use crate::made::{SECOND, WEB, Web, deployment, image, next_revision, set};
use timeline::fact::{Image, Kind, ReplicaSetFact, Seen};
use timeline::model::Rollout;
use timeline::{Fact, Timeline, rollout};

fn rollouts(web: &Web) -> Vec<u64> {
    web.timeline.model().deployments.get(&WEB).unwrap().rollouts.iter().map(|rollout| rollout.revision).collect()
}

#[test]
fn a_revision_that_only_the_annotation_names_is_no_rollout() {
    let mut web = Web::reported();
    let before = (web.told(), web.verdict());
    // One that was never there, one whose ReplicaSet is kept without pods, and the first number that is free.
    for (at, revision) in [(60_000, 77), (70_000, 1), (80_000, 3)] {
        web.wait_until(at).deployment(|deployment| deployment.revision = Some(revision));
        assert_eq!((web.told(), web.verdict()), before, "revision {revision}");
        web.wait_until(at + 20).deployment(|deployment| deployment.revision = Some(2));
        assert_eq!((web.told(), web.verdict(), rollouts(&web)), (before.0.clone(), before.1.clone(), vec![1, 2]));
    }
    next_revision(&mut web, 3, [1, 3]);
    assert_eq!(rollouts(&web), [1, 2, 3]);
}

#[test]
fn a_manifest_that_names_another_clusters_revision_begins_with_its_own() {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let mut made = deployment();
    (made.now.revision, made.now.spec.images) = (Some(37), image("v1"));
    timeline.apply(1_000, Fact::Deployment(Box::new(made.clone()), Seen::Added));
    timeline.apply(1_010, Fact::ReplicaSet(Box::new(set(2, 1, 3, 0)), Seen::Added));
    assert_eq!(rollout::current_revision(timeline.model(), timeline.model().deployments.get(&WEB).unwrap()), Some(1));
    made.now.revision = Some(1);
    timeline.apply(1_020, Fact::Deployment(Box::new(made), Seen::Modified));
    let told: Vec<String> = timeline::story::story(timeline.model(), WEB).into_iter().map(|line| line.text).collect();
    assert_eq!(told[0], "Revision 1 is created with image web:v1.");
    assert!(!told.iter().any(|line| line.contains("37")), "{told:#?}");
    let found = timeline.model().deployments.get(&WEB).unwrap();
    let all: Vec<_> = found.rollouts.iter().map(|one| (one.revision, one.started_millis)).collect();
    assert_eq!((all.as_slice(), found.rollouts_seen()), (&[(1, Some(1_020))][..], 1));
}

/// The stream of ReplicaSets is slower than that of Deployments: of one rollout, or of two that follow each other at once.
#[test]
fn a_rollout_begins_with_its_deployment_however_late_its_replica_set_comes() {
    let mut web = Web::live(3);
    let begin = |web: &mut Web, at, revision: u64| {
        web.wait_until(at).edit(&format!("v{revision}"));
        web.deployment(|deployment| {
            deployment.revision = Some(revision);
            deployment.status.available = 2;
        });
    };
    begin(&mut web, 20_000, 2);
    assert_eq!(rollouts(&web), [1]);
    web.wait_until(20_030).add_set(SECOND, set(SECOND, 2, 1, 0));
    let second = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().rollouts[1].clone();
    let Rollout { started_millis, superseded_millis, min_available, peak_pods, .. } = second(&web);
    assert_eq!((started_millis, superseded_millis, min_available, peak_pods), (Some(20_000), None, 2, 3));
    web.wait_until(30_000).set(SECOND, |set| set.now.counts.desired = 0);
    web.add_set(4, set(4, 3, 0, 0));
    web.add_set(5, set(5, 4, 1, 0));
    begin(&mut web, 30_010, 3);
    begin(&mut web, 30_020, 4);
    assert_eq!(rollouts(&web), [1, 2, 3, 4]);
    assert_eq!(second(&web).superseded_millis, Some(30_010));
}

#[test]
fn where_replica_sets_are_not_seen_an_edit_begins_a_rollout_and_an_annotation_does_not() {
    let mut timeline = Timeline::new();
    let mut made = deployment();
    made.now.revision = Some(4);
    timeline.apply(0, Fact::Deployment(Box::new(made.clone()), Seen::InList));
    let present = vec![WEB];
    timeline.apply(0, Fact::Listed { kind: Kind::Deployment, namespace: None, present, gap_since_millis: None });
    let mut tell = |at, revision, generation| {
        (made.now.revision, made.now.generation) = (Some(revision), generation);
        timeline.apply(at, Fact::Deployment(Box::new(made.clone()), Seen::Modified));
        let found: BTreeMap<_, _> = timeline
            .model()
            .deployments
            .get(&WEB)
            .unwrap()
            .rollouts
            .iter()
            .map(|one| (one.revision, one.started_millis))
            .collect();
        found
    };
    assert_eq!(tell(1_000, 77, 2), BTreeMap::from([(4, None)]));
    assert_eq!(tell(2_000, 4, 2), BTreeMap::from([(4, None)]));
    assert_eq!(tell(3_000, 5, 3), BTreeMap::from([(4, None), (5, Some(3_000))]));
}

#[test]
fn a_restart_is_one_whose_time_became_another() {
    let mut web = Web::live(3);
    let mut begin = |at, revision: u64, restarted_at: Option<&str>| {
        web.wait_until(at).edit_spec(|deployment| deployment.restarted_at = restarted_at.map(str::to_owned));
        let mut made = set(u128::from(revision) + 1, revision, 1, 0);
        (made.images, made.restarted_at) = (image("v1"), restarted_at.map(str::to_owned));
        web.add_set(u128::from(revision) + 1, made);
        web.deployment(|deployment| deployment.revision = Some(revision));
        web.told().into_iter().find(|line| line.starts_with(&format!("Revision {revision} starts"))).unwrap()
    };
    let restart = |revision: u64| format!("Revision {revision} starts: restart with the same image web:v1.");
    assert_eq!(begin(20_000, 2, Some("2026-11-26T07:00:00Z")), restart(2));
    assert_eq!(begin(30_000, 3, Some("2026-11-26T08:00:00Z")), restart(3));
    let changed = "Revision 4 starts: the template changed, with the same image web:v1.";
    assert_eq!(begin(40_000, 4, None), changed, "the annotation went");
}

#[test]
fn containers_that_are_renamed_or_added_with_the_same_image_are_a_change_of_the_template() {
    let mut web = Web::live(3);
    let mut begin = |at, revision: u64, containers: &[[&str; 2]]| {
        let image = |[container, image]: &[&str; 2]| Image { container: (*container).into(), image: (*image).into() };
        let images: Vec<Image> = containers.iter().map(image).collect();
        web.wait_until(at).edit_spec(|deployment| deployment.spec.images.clone_from(&images));
        let number = u128::from(revision) + 1;
        web.add_set(number, ReplicaSetFact { images, ..set(number, revision, 1, 0) });
        web.deployment(|deployment| deployment.revision = Some(revision));
        web.told().into_iter().find(|line| line.starts_with(&format!("Revision {revision} starts"))).unwrap()
    };
    let changed =
        |revision: u64| format!("Revision {revision} starts: the template changed, with the same image web:v1.");
    assert_eq!(begin(20_000, 2, &[["app", "web:v1"]]), changed(2));
    assert_eq!(begin(30_000, 3, &[["app", "web:v1"], ["copy", "web:v1"]]), changed(3));
    let other = "Revision 4 starts: image web:v1, proxy:v2.";
    assert_eq!(begin(40_000, 4, &[["app", "web:v1"], ["copy", "proxy:v2"]]), other);
}

#[test]
fn a_restart_with_another_edit_is_a_change_of_the_template() {
    let mut web = Web::live(3);
    let mut begin = |at, revision: u64, restarted_at: &str, apart: u64| {
        web.wait_until(at).edit_spec(|deployment| {
            (deployment.restarted_at, deployment.template_apart) = (Some(restarted_at.to_owned()), Some(apart))
        });
        let mut made = set(u128::from(revision) + 1, revision, 1, 0);
        (made.images, made.restarted_at) = (image("v1"), Some(restarted_at.to_owned()));
        web.add_set(u128::from(revision) + 1, made);
        web.deployment(|deployment| deployment.revision = Some(revision));
        web.told().into_iter().find(|line| line.starts_with(&format!("Revision {revision} starts"))).unwrap()
    };
    let restart = |revision: u64| format!("Revision {revision} starts: restart with the same image web:v1.");
    assert_eq!(begin(20_000, 2, "2026-11-26T07:00:00Z", 1), restart(2), "the hash before is not known");
    assert_eq!(begin(30_000, 3, "2026-11-26T08:00:00Z", 1), restart(3));
    let changed = "Revision 4 starts: the template changed, with the same image web:v1.";
    assert_eq!(begin(40_000, 4, "2026-11-26T09:00:00Z", 2), changed, "its environment too");
}
