//! What is let go of, and what is cut out of a past: exactly up to its moment.

use timeline::change::Pruned;
use timeline::fact::{Kind, Seen};
use timeline::workload::WorkloadKind;
use timeline::{Change, Fact, Millis, Uid};

use crate::made::{SECOND, WEB, Web, deployment, meta, next_revision};

/// Revision 1 until 20 s, revision 2 from then on, revision 3 from 40 s on.
fn three() -> Web {
    let mut web = Web::reported().at(40_000);
    next_revision(&mut web, 3, [1, 3]);
    web.wait_until(50_000).report();
    web
}

#[test]
fn what_is_at_the_bound_stays_and_what_is_before_it_goes() {
    let web = three();
    let before = |before_millis: Millis| {
        let mut model = web.timeline.model().clone();
        let pruned = Pruned { before_millis: Some(before_millis), pods: vec![], sets: vec![] };
        model.apply_change(Change::Pruned(Some(WEB), Box::new(pruned)));
        model.deployments.get(&WEB).unwrap().clone()
    };
    let whole = web.timeline.model().deployments.get(&WEB).unwrap();
    let starts: Vec<Option<Millis>> = whole.rollouts.iter().map(|rollout| rollout.started_millis).collect();
    assert_eq!(starts, [Some(0), Some(20_000), Some(40_000)]);
    for (at, revisions) in [(19_999, [1, 2, 3].as_slice()), (20_000, &[2, 3]), (39_999, &[2, 3]), (40_000, &[3])] {
        let cut = before(at);
        let kept: Vec<u64> = cut.rollouts.iter().map(|rollout| rollout.revision).collect();
        assert_eq!(kept, revisions, "before {at}");
        assert_eq!(cut.rollouts_pruned as usize, 3 - revisions.len());
        assert_eq!(cut.kept_since_millis, Some(at));
    }
    // Whatever has a time: what happened at the bound is kept, and of what holds until the next one the last before it as well.
    for at in whole.story.iter().map(|entry| entry.at_millis).chain(whole.verdicts.iter().map(|(at, _)| *at)) {
        let cut = before(at);
        let told: Vec<u64> = whole.story.iter().filter(|entry| entry.at_millis >= at).map(|entry| entry.id).collect();
        assert_eq!(cut.story.iter().map(|entry| entry.id).collect::<Vec<_>>(), told, "before {at}");
        let from = whole.verdicts.iter().rposition(|(since, _)| *since < at).unwrap_or(0);
        assert_eq!(cut.verdicts, whole.verdicts[from..], "before {at}");
        let from = whole.limits.iter().rposition(|(since, _)| *since < at).unwrap_or(0);
        assert_eq!(cut.limits, whole.limits[from..], "before {at}");
    }
}

#[test]
fn what_was_let_go_of_never_comes_back() {
    let mut model = three().timeline.model().clone();
    for (before, since) in [(30_000, 30_000), (20_000, 30_000), (40_000, 40_000)] {
        let pruned = Pruned { before_millis: Some(before), pods: vec![], sets: vec![] };
        model.apply_change(Change::Pruned(Some(WEB), Box::new(pruned)));
        assert_eq!(model.deployments.get(&WEB).unwrap().kept_since_millis, Some(since));
    }
}

#[test]
fn of_very_many_revisions_of_a_replica_set_the_latest_stay() {
    let mut model = three().timeline.model().clone();
    let set = model.sets_of(WEB).next().unwrap().uid;
    let first = model.replica_sets.get(&set).unwrap().revisions[0];
    for number in 0..1_000 {
        model.apply_change(Change::ReplicaSetRevision(set, 10 + number, Some(100_000 + number as Millis)));
    }
    for (before, second, count) in [(100_500, 510, 501), (200_000, 911, 100)] {
        let pruned = Pruned { before_millis: Some(before), pods: vec![], sets: vec![] };
        model.apply_change(Change::Pruned(Some(WEB), Box::new(pruned)));
        let kept = &model.replica_sets.get(&set).unwrap().revisions;
        assert_eq!((kept[0], kept[1].0, kept[count - 1].0, kept.len()), (first, second, 1_009, count));
    }
}

#[test]
fn a_stretch_of_the_past_ends_with_its_last_moment_and_holds_nobody_else() {
    let mut web = three();
    let mut other = deployment();
    other.meta = meta(9, "web", None);
    other.meta.namespace = "cafe".into();
    web.now = 60_000;
    let changes = web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    web.history.note(web.now, &changes);
    web.wait_until(70_000).add_ready_pod(300, 4);
    for (from, to) in [(20_000, 39_999), (20_000, 40_000), (40_000, 60_000), (40_000, 70_000)] {
        let (history, then) = web.history.excerpt(WEB, from, to);
        assert_eq!(history.base_millis(), Some(from));
        assert!(history.changes().all(|(at, _)| at <= to && at >= from), "{from} to {to}");
        assert_eq!(
            history.last_millis().is_some_and(|last| last == to),
            [40_000, 70_000].contains(&to),
            "{from} to {to}"
        );
        assert!(then.deployments.get(&Uid::from_bits(9)).is_none());
        let newest = then.deployments.get(&WEB).unwrap().rollouts.last().unwrap().revision;
        assert_eq!(newest, if to < 40_000 { 2 } else { 3 });
        assert_eq!(then.pods.contains_key(&Uid::from_bits(300)), to == 70_000);
        // The last pod of revision 1 went at 20 s.
        assert_eq!(then.replica_sets.contains_key(&Uid::from_bits(2)), from == 20_000, "{from} to {to}");
        assert!(then.replica_sets.contains_key(&Uid::from_bits(SECOND)));
    }
}

#[test]
fn kinds_have_the_names_that_kubernetes_gives_them() {
    let names = Kind::ALL.map(|kind| (kind.name(), kind.resource()));
    let expected =
        [("Deployment", "deployments.apps"), ("ReplicaSet", "replicasets.apps"), ("Pod", "pods"), ("Event", "events")];
    assert_eq!(names, expected);
}

#[test]
fn a_workload_is_found_by_kind_namespace_and_name() {
    assert_eq!(WorkloadKind::of_resource("deployments"), Some(WorkloadKind::Deployment));
    assert_eq!(WorkloadKind::of_resource("pods"), None);
    let mut web = Web::live(1);
    for (number, namespace, name) in [(9, "cafe", "web"), (10, "shop", "api")] {
        let mut other = deployment();
        other.meta = meta(number, name, None);
        other.meta.namespace = namespace.into();
        web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    }
    let found = |namespace: &str, name: &str| web.timeline.model().find(namespace, name).map(|found| found.uid);
    assert_eq!(found("shop", "web"), Some(WEB));
    assert_eq!(found("cafe", "web"), Some(Uid::from_bits(9)));
    assert_eq!(found("shop", "api"), Some(Uid::from_bits(10)));
    assert_eq!(found("cafe", "api"), None);
}
