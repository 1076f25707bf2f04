//! The index of rollouts.

use serde_json::{Value, json};
use server::access::permissions::Permissions;
use server::access::scope::{LinkScope, WorkloadName};
use server::history::index;
use server::history::options::Limits;
use server::history::recorder::Recorder;
use server::history::sql::Reader;
use server::history::store::{Commit, Store};
use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, DeploymentFact, DeploymentNow, DeploymentSpec,
    DeploymentStatus, EventFact, Image, IntOrPercent, Kind, Meta, Phase, PodFact, ReplicaSetCounts, ReplicaSetFact,
    ReplicaSetNow, Role, Seen, Strategy,
};
use timeline::model::{Gap, Pod, PodState};
use timeline::past::{PastRollout, Search, UNKNOWN_CAUSE};
use timeline::rollout::{Outcome, Trigger};
use timeline::view::{self, Now, Tone};
use timeline::{Fact, Millis, Timeline, Uid, Workload, say};

use crate::history::{Indexed, SMALL, commit, indexed, places, play, recorded};

#[test]
fn a_link_to_a_workload_leads_to_its_rollouts_alone() {
    for place in places() {
        let mut store = place.open(SMALL);
        let own = indexed().rollouts;
        let named = |name: &str, namespace: &str, uid: u128| {
            let of = |rollout: &PastRollout| PastRollout {
                uid: Uid::from_bits(uid),
                name: name.into(),
                namespace: namespace.into(),
                change_cause: Some("\"name\":\"web\" nul \0".into()),
                ..rollout.clone()
            };
            own.iter().map(of).collect::<Vec<_>>()
        };
        let place_of = own[0].namespace.clone();
        let rollouts = [own.clone(), named("other", &place_of, 7), named(&own[0].name, "elsewhere", 8)].concat();
        store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        let only = |name: &str| {
            let scope = LinkScope::Workload(WorkloadName::of(&Workload::deployment("c", place_of.as_str(), name)));
            let sight = Permissions::All.limited_to(&scope);
            let reader = Reader::new(&place.location);
            let found = reader.search(&Search::default(), &sight, None, 50).unwrap().rollouts;
            found.into_iter().map(|rollout| (rollout.namespace, rollout.name)).collect::<Vec<_>>()
        };
        for name in [own[0].name.as_str(), "other"] {
            assert_eq!(only(name), vec![(place_of.clone(), name.to_owned()); own.len()]);
        }
        assert_eq!(only("never"), []);
    }
}

#[test]
fn the_last_rollout_of_what_exists_stays_in_the_index_whatever_its_age() {
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let Indexed { now, rollouts, .. } = indexed();
        let revisions = |store: &mut dyn Store, rollouts: Vec<PastRollout>| -> Vec<u64> {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
            while store.tidy(now.millis + 60_000).unwrap() {}
            let found =
                Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 50).unwrap().rollouts;
            found.iter().map(|rollout| rollout.revision).collect()
        };
        assert_eq!(revisions(&mut *store, rollouts.clone()), [3]);
        let deleted = rollouts.into_iter().map(|rollout| PastRollout { is_deleted: true, ..rollout });
        assert_eq!(revisions(&mut *store, deleted.collect()), [0; 0]);
    }
}

/// A rollout that went on when watching began is told as it ended, too.
#[test]
fn what_went_on_when_watching_began_is_told_once_it_is_over() {
    let Indexed { timeline, uid, .. } = indexed();
    let model = timeline.model();
    let told = |completed: Millis| {
        let mut model = model.clone();
        let deployment = model.deployments.get_mut(&uid).unwrap();
        let first = &mut deployment.rollouts[0];
        (first.started_millis, first.superseded_millis) = (None, None);
        first.completed_millis = Some(deployment.first_seen_millis + completed);
        let now = Now { millis: deployment.first_seen_millis + 3_600_000, skew_millis: 0 };
        let timeline = Timeline::from_model(model, 0);
        let told = index::rollouts("c", &timeline, uid, now, 99);
        let revision = timeline.model().deployments.get(&uid).unwrap().rollouts[0].revision;
        told.first().filter(|told| told.revision == revision).cloned()
    };
    let over = told(5_000).unwrap();
    assert_eq!((over.took_millis(), over.outcome), (None, timeline::rollout::Outcome::Complete), "nobody saw it begin");
    assert_eq!(over.ended_millis.map(|ended| ended - over.started_millis), Some(5_000));
    assert!(told(0).is_none(), "what was complete when watching began was not seen");
}

/// A process that restarts in the middle of a rollout, and cannot read its checkpoint, sees it go on: what was seen before stays.
#[test]
fn a_begin_that_was_seen_stays_seen_after_a_restart() {
    let began = indexed().rollouts.last().unwrap().clone();
    let at = began.started_millis;
    let seen = PastRollout {
        ended_millis: None,
        outcome: Outcome::Progressing,
        first_available_millis: Some(700),
        deadline_millis: Some(at + 10_000),
        ..began
    };
    let joined = PastRollout {
        trigger: Trigger::Unknown,
        started_millis: at + 20_000,
        first_available_millis: None,
        deadline_millis: None,
        peak_pods: 0,
        min_available: seen.min_available + 1,
        ..seen.clone()
    };
    let over = PastRollout { ended_millis: Some(at + 30_000), outcome: Outcome::Complete, ..joined.clone() };
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let mut kept = |rollout: &PastRollout| {
            store.commit(&[Commit { rollouts: vec![rollout.clone()], ..commit(None, None) }]).unwrap();
            let mut found = reader.search(&Search::default(), &Permissions::All, None, 9).unwrap().rollouts;
            assert_eq!(found.len(), 1);
            found.remove(0)
        };
        let known = |rollout: PastRollout| {
            (rollout.trigger, rollout.started_millis, rollout.deadline_millis, rollout.first_available_millis)
        };
        let first = known(kept(&seen));
        assert_eq!(known(kept(&joined)), first);
        let last = kept(&over);
        assert_eq!((last.took_millis(), last.outcome), (Some(30_000), Outcome::Complete));
        assert_eq!((last.peak_pods, last.min_available), (seen.peak_pods, seen.min_available));
        assert_eq!(known(last), first);
    }
    // A begin that nobody saw stays unknown, unless another process saw it at that time.
    for (later, trigger) in [(500, seen.trigger), (20_000, Trigger::Unknown)] {
        for place in places() {
            let mut store = place.open(SMALL);
            let listed = PastRollout { trigger: Trigger::Unknown, ..seen.clone() };
            let watched = PastRollout { started_millis: at + later, ..seen.clone() };
            for rollout in [listed, watched] {
                store.commit(&[Commit { rollouts: vec![rollout], ..commit(None, None) }]).unwrap();
            }
            let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 9).unwrap();
            assert_eq!(found.rollouts[0].trigger, trigger);
        }
    }
}

/// After the newest ReplicaSets were deleted, a later rollout gets the revision of an earlier one. Each has its row, however often
/// they are written.
#[test]
fn rollouts_of_the_same_revision_have_one_row_each() {
    let began = |index: Millis| 1_000_000 + index * 60_000;
    let rollouts = indexed().rollouts.into_iter().zip([(0, 1), (1, 2), (2, 1)]).map(|(rollout, (index, revision))| {
        let (started_millis, ended_millis) = (began(index), Some(began(index) + 30_000));
        PastRollout { revision, started_millis, ended_millis, ..rollout }
    });
    let rollouts: Vec<PastRollout> = rollouts.collect();
    for place in places() {
        let mut store = place.open(SMALL);
        for _ in 0..3 {
            store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        }
        let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 50).unwrap();
        let rows = found.rollouts.iter().map(|row| (row.number, row.revision, row.started_millis));
        assert_eq!(rows.collect::<Vec<_>>(), [(2, 1, began(2)), (1, 2, began(1)), (0, 1, began(0))]);
    }
}

/// The cause that is found is the last one that is known, however the rollout ended.
#[test]
fn the_last_known_cause_stays_and_words_find_it() {
    let one = PastRollout { cause: String::new(), ..indexed().rollouts.last().unwrap().clone() };
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let found = |words: &str| {
            let search = Search { text: words.to_owned(), ..Search::default() };
            let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
            found.into_iter().map(|rollout| rollout.cause).collect::<Vec<_>>()
        };
        let mut kept = |cause: &str, deadline_millis| {
            let told = PastRollout { cause: cause.to_owned(), deadline_millis, ..one.clone() };
            store.commit(&[Commit { rollouts: vec![told], ..commit(None, None) }]).unwrap();
            found("").pop().unwrap()
        };
        assert_eq!(kept(UNKNOWN_CAUSE, None), UNKNOWN_CAUSE);
        assert_eq!(kept("Image missing.", None), "Image missing.");
        assert_eq!(kept(UNKNOWN_CAUSE, None), "Image missing.", "that nothing is known any more is no news");
        assert_eq!(kept("Containers crash.", None), "Containers crash.", "the last one says most");
        assert_eq!(kept("", Some(1)), "Containers crash.", "it is over");
        assert_eq!((found("crash"), found("missing")), (vec!["Containers crash.".to_owned()], Vec::new()));
        assert_eq!(found("deadline").len(), 1);
    }
}

#[test]
fn rollouts_are_found_by_the_words_of_refusals_and_by_their_trouble() {
    let own = indexed().rollouts;
    let of = |before: Option<&str>, after: Option<&str>| {
        let [refusal, next_refusal] = [before, after].map(|words| words.map(str::to_owned));
        let cause = String::new();
        PastRollout { cause, refusal, next_refusal, losses: None, ..own.last().unwrap().clone() }
    };
    let before = of(Some("Revision 3 could not start: quota sets was used up."), None);
    let after = of(None, Some("The next revision could not start: webhook policy denied the new ReplicaSet"));
    for (rollout, words, is_trouble) in [(before, "quota sets", true), (after, "webhook policy", false)] {
        for place in places() {
            let mut store = place.open(SMALL);
            store.commit(&[Commit { rollouts: vec![rollout.clone()], ..commit(None, None) }]).unwrap();
            let found = |text: &str, had_trouble| {
                let search = Search { text: format!("\"{text}\""), had_trouble, ..Search::default() };
                let reader = Reader::new(&place.location);
                let found = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
                found.into_iter().map(|row| (row.refusal, row.next_refusal)).collect::<Vec<_>>()
            };
            let told = (rollout.refusal.clone(), rollout.next_refusal.clone());
            assert_eq!(found(words, false), std::slice::from_ref(&told));
            assert_eq!(found(words, true), if is_trouble { vec![told] } else { Vec::new() });
            assert_eq!(found("limit range", false), []);
        }
    }
}

fn meta(number: u128, name: &str, controller: Option<u128>) -> Meta {
    let [uid, controller] = [Some(number), controller].map(|bits| bits.map(Uid::from_bits));
    Meta { uid: uid.unwrap(), namespace: "shop".into(), name: name.into(), controller, ..Meta::default() }
}

/// One replica, of which so many pods are there, of the revision, and available.
fn web(revision: u64, [replicas, updated, available]: [u32; 3]) -> Fact {
    let strategy = Strategy::RollingUpdate { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Int(0) };
    let spec =
        DeploymentSpec { replicas: 1, strategy, progress_deadline_seconds: Some(600), ..DeploymentSpec::default() };
    let status =
        DeploymentStatus { observed_generation: revision, replicas, updated, available, ..DeploymentStatus::default() };
    let now =
        DeploymentNow { generation: revision, revision: Some(revision), spec, status, ..DeploymentNow::default() };
    let seen = if available == 0 && revision == 1 { Seen::Added } else { Seen::Modified };
    Fact::Deployment(Box::new(DeploymentFact { meta: meta(1, "web", None), now }), seen)
}

/// Its ReplicaSet of a revision, which asks for one pod.
fn set(revision: u64, available: u32, seen: Seen) -> Fact {
    let counts = ReplicaSetCounts { desired: 1, replicas: 1, available };
    let fact = ReplicaSetFact {
        meta: meta(u128::from(revision) + 1, &format!("web-{revision}"), Some(1)),
        revision: Some(revision),
        template_hash: revision.to_string(),
        now: ReplicaSetNow { counts, desired_replicas: Some(1), max_replicas: Some(2), ..ReplicaSetNow::default() },
        ..ReplicaSetFact::default()
    };
    Fact::ReplicaSet(Box::new(fact), seen)
}

/// The pod of a revision, which runs.
fn pod(revision: u64, is_ready: bool, seen: Seen) -> Fact {
    let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
    let fact = PodFact {
        meta: meta(u128::from(revision) + 100, &format!("web-{revision}-p"), Some(u128::from(revision) + 1)),
        node: Some("node-1".into()),
        phase: Phase::Running,
        ready: Some(Condition { status, last_transition_millis: Some(0), ..Condition::default() }),
        containers: vec![Container { state: Some(ContainerState::Running), ..Container::new("web".into(), Role::App) }],
        ..PodFact::default()
    };
    Fact::Pod(Box::new(fact), seen)
}

/// A pod of a revision that no node fits.
fn pending(revision: u64) -> Fact {
    let Fact::Pod(mut pending, _) = pod(revision, false, Seen::Added) else { unreachable!() };
    (pending.meta.uid, pending.meta.name) = (Uid::from_bits(300), format!("web-{revision}-q"));
    (pending.node, pending.phase, pending.containers, pending.ready) = (None, Phase::Pending, Vec::new(), None);
    pending.scheduled = Some(Condition {
        status: ConditionStatus::False,
        reason: "Unschedulable".into(),
        message: "0/3 nodes are available: 3 Insufficient cpu.".into(),
        last_transition_millis: Some(20_000),
        ..Condition::default()
    });
    Fact::Pod(pending, Seen::Added)
}

/// A Deployment that is observed from its creation on. Its only pod is available after five seconds.
fn complete() -> Timeline {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let facts = [
        (0, web(1, [1, 1, 0])),
        (0, set(1, 0, Seen::Added)),
        (0, pod(1, false, Seen::Added)),
        (5_000, pod(1, true, Seen::Modified)),
        (5_000, set(1, 1, Seen::Modified)),
        (5_000, web(1, [1, 1, 1])),
    ];
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
    timeline
}

/// The headline of an outage has no cause: the first one of why follows it.
#[test]
fn the_cause_of_an_outage_names_why_nobody_serves() {
    let mut timeline = complete();
    let facts = [
        (20_000, web(2, [2, 1, 1])),
        (20_000, set(2, 0, Seen::Added)),
        (20_000, pod(2, false, Seen::Added)),
        (30_000, pod(1, false, Seen::Modified)),
        (30_000, set(1, 0, Seen::Modified)),
        (30_000, web(2, [2, 1, 0])),
    ];
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
    let row = |millis| {
        let now = Now { millis, skew_millis: 0 };
        index::rollouts("c", &timeline, Uid::from_bits(1), now, 1).pop().unwrap()
    };
    assert_eq!(row(40_000).cause, "");
    let row = row(40_001);
    let view = view::view(timeline.model(), Uid::from_bits(1), Now { millis: 40_001, skew_millis: 0 }).unwrap();
    let headline = "Revision 2 is replacing revision 1: no pod is available.";
    assert_eq!(view.verdict.sentence, headline);
    let leading = &view.reasons[0].sentence;
    let first = leading.split_once(". ").map_or(leading.clone(), |(first, _)| format!("{first}."));
    assert!(first.contains(" running but not ready") && first.ends_with('.'), "{first}");
    assert_eq!(row.cause, format!("{headline} {first}"));
    let over = PastRollout { outcome: Outcome::Superseded, ..row };
    let past = say::past(&first);
    assert_eq!(over.cause_words(), format!("Was replacing revision 1: no pod was available. {past}"));
}

/// An outage before the workload was at rest for a minute is trouble of the rollout, and has its duration once it is over.
#[test]
fn an_outage_right_after_completion_is_told_with_the_rollout() {
    let mut timeline = complete();
    let facts = [(20_000, pod(1, false, Seen::Modified)), (20_000, set(1, 0, Seen::Modified))];
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
    let row = |timeline: &Timeline, millis| {
        let now = Now { millis, skew_millis: 0 };
        index::rollouts("c", timeline, Uid::from_bits(1), now, 1).pop().unwrap()
    };
    assert_eq!(row(&timeline, 30_000).cause, "");
    let during = row(&timeline, 30_001);
    let cause = "No pod of revision 1 is available: 0 of 1. 1 pod is running but not ready any more for 10 s.";
    assert_eq!((during.outcome, during.cause.as_str(), during.losses), (Outcome::Complete, cause, None));
    // The headline of an edited template says less than what is known by then.
    let mut edited = Timeline::from_model(timeline.model().clone(), 0);
    let Fact::Deployment(mut edit, _) = web(1, [1, 1, 0]) else { unreachable!() };
    (edit.now.generation, edit.now.spec.images) = (2, vec![Image { container: "web".into(), image: "web:v2".into() }]);
    edited.apply(31_000, Fact::Deployment(edit, Seen::Modified));
    let view = view::view(edited.model(), Uid::from_bits(1), Now { millis: 31_000, skew_millis: 0 }).unwrap();
    let headline = "The template changed: no pod is available.";
    assert_eq!((view.verdict.sentence.as_str(), row(&edited, 31_000).cause.as_str()), (headline, ""));
    timeline.apply(80_000, pod(1, true, Seen::Modified));
    let after = row(&timeline, 80_000);
    let outage = "Outage of 1 min 0 s (no pod ready) after the rollout was complete";
    assert_eq!((after.cause.as_str(), after.losses.as_deref()), ("", Some(outage)));
}

/// The pods that Recreate takes down for the next rollout are no outage of the one before.
#[test]
fn a_take_down_by_recreate_is_no_outage_of_the_rollout_before() {
    let mut timeline = complete();
    let recreate = |named: u64, counts: [u32; 3]| {
        let Fact::Deployment(mut edit, _) = web(2, counts) else { unreachable!() };
        (edit.now.revision, edit.now.spec.strategy) = (Some(named), Strategy::Recreate);
        edit.now.spec.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
        Fact::Deployment(edit, Seen::Modified)
    };
    let Fact::ReplicaSet(mut taken, _) = set(1, 1, Seen::Modified) else { unreachable!() };
    taken.now.counts.desired = 0;
    let Fact::Pod(mut going, _) = pod(1, true, Seen::Modified) else { unreachable!() };
    going.deletion_at_millis = Some(50_000);
    let Fact::ReplicaSet(mut next, _) = set(2, 0, Seen::Added) else { unreachable!() };
    next.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
    let facts = [
        (20_000, recreate(1, [1, 0, 1])),
        (20_010, Fact::ReplicaSet(taken, Seen::Modified)),
        (20_020, Fact::Pod(going.clone(), Seen::Modified)),
        (32_000, Fact::Pod(going, Seen::Deleted)),
        (32_000, Fact::ReplicaSet(next, Seen::Added)),
    ];
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
    // The ReplicaSet is seen before the Deployment that names its revision.
    let view = view::view(timeline.model(), Uid::from_bits(1), Now { millis: 33_000, skew_millis: 0 }).unwrap();
    assert_ne!((view.verdict.badge.as_str(), view.verdict.tone), ("Degraded", Tone::Bad), "{:?}", view.verdict);
    for (at, fact) in
        [(33_000, recreate(2, [1, 1, 0])), (33_010, pod(2, false, Seen::Added)), (36_000, pod(2, true, Seen::Modified))]
    {
        timeline.apply(at, fact);
    }
    let rows = index::rollouts("c", &timeline, Uid::from_bits(1), Now { millis: 200_000, skew_millis: 0 }, 9);
    let losses = rows.into_iter().map(|row| (row.revision, row.losses));
    assert_eq!(losses.collect::<Vec<_>>(), [(1, None), (2, None)]);
}

/// A pod that a scaling lacks is no trouble of the rollout that was complete before it.
#[test]
fn a_scaling_after_completion_is_no_cause_of_the_rollout() {
    let mut timeline = complete();
    let Fact::Deployment(mut scaled, _) = web(1, [2, 2, 1]) else { unreachable!() };
    (scaled.now.generation, scaled.now.status.observed_generation, scaled.now.spec.replicas) = (2, 2, 2);
    let Fact::ReplicaSet(mut grown, _) = set(1, 1, Seen::Modified) else { unreachable!() };
    (grown.now.counts.desired, grown.now.counts.replicas) = (2, 2);
    (grown.now.desired_replicas, grown.now.max_replicas) = (Some(2), Some(3));
    timeline.apply(20_000, Fact::Deployment(scaled, Seen::Modified));
    timeline.apply(20_000, Fact::ReplicaSet(grown, Seen::Modified));
    timeline.apply(20_000, pending(1));
    let now = Now { millis: 200_000, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = view.verdict.sentence;
    assert!(headline.starts_with("Revision 1 has 1 of 2 available: ") && view.reasons[0].is_fault, "{headline}");
    assert_eq!(index::rollouts("c", &timeline, Uid::from_bits(1), now, 1).pop().unwrap().cause, "");
}

/// The pods of a rollout that was scaled to zero before it had them are its own, whenever they are asked for again.
#[test]
fn a_scaling_after_zero_is_a_cause_of_the_rollout_that_never_had_its_pods() {
    let mut timeline = complete();
    let web_of = |replicas: u32, generation: u64| {
        let Fact::Deployment(mut scaled, _) = web(2, [replicas, replicas, 0]) else { unreachable!() };
        (scaled.now.spec.replicas, scaled.now.generation) = (replicas, generation);
        scaled.now.status.observed_generation = generation;
        Fact::Deployment(scaled, Seen::Modified)
    };
    let set_of = |revision: u64, replicas: u32| {
        let Fact::ReplicaSet(mut scaled, _) = set(revision, 0, Seen::Modified) else { unreachable!() };
        (scaled.now.counts.desired, scaled.now.counts.replicas) = (replicas, replicas);
        scaled.now.desired_replicas = Some(replicas);
        Fact::ReplicaSet(scaled, Seen::Modified)
    };
    let facts = [
        (20_000, web(2, [2, 1, 1])),
        (20_000, set(2, 0, Seen::Added)),
        (20_000, pod(2, false, Seen::Added)),
        (30_000, web_of(0, 3)),
        (30_000, set_of(1, 0)),
        (30_000, set_of(2, 0)),
        (30_000, pod(1, true, Seen::Deleted)),
        (30_000, pod(2, false, Seen::Deleted)),
        (60_000, web_of(1, 4)),
        (60_000, set_of(2, 1)),
        (60_000, pending(2)),
    ];
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
    let now = Now { millis: 200_000, skew_millis: 0 };
    let row = index::rollouts("c", &timeline, Uid::from_bits(1), now, 1).pop().unwrap();
    let cause = "Revision 2 has 0 of 1 available: no node fits its pods.";
    assert_eq!((row.outcome, row.cause.as_str()), (Outcome::ScaledToZero, cause));
}

/// An edit whose ReplicaSet is refused is no trouble of the rollout that was complete before it.
#[test]
fn a_refused_replica_set_of_the_next_revision_is_no_cause_of_the_rollout_before() {
    let mut timeline = complete();
    let Fact::Deployment(mut edit, _) = web(1, [1, 1, 1]) else { unreachable!() };
    (edit.now.generation, edit.now.spec.images) = (2, vec![Image { container: "web".into(), image: "web:v2".into() }]);
    edit.now.status.progressing = Some(Condition {
        status: ConditionStatus::False,
        reason: "ReplicaSetCreateError".into(),
        message: "no".into(),
        last_transition_millis: Some(20_000),
        ..Condition::default()
    });
    timeline.apply(20_000, Fact::Deployment(edit, Seen::Modified));
    let now = Now { millis: 60_000, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "The next revision cannot start: the API server refuses the new ReplicaSet.";
    assert_eq!((view.verdict.sentence.as_str(), view.verdict.tone), (headline, Tone::Bad));
    let row = index::rollouts("c", &timeline, Uid::from_bits(1), now, 1).pop().unwrap();
    assert_eq!((row.outcome, row.cause.as_str()), (Outcome::Complete, ""));
    let refused = "could not start: the API server refused the new ReplicaSet";
    assert_eq!((row.losses, row.next_refusal), (None, Some(format!("The next revision {refused}"))));
    // It is rolled out after all.
    let warning = EventFact {
        uid: Uid::from_bits(900),
        namespace: "shop".into(),
        about: Uid::from_bits(1),
        about_kind: "Deployment".into(),
        about_name: "web".into(),
        reason: "ReplicaSetCreateError".into(),
        message: "no".into(),
        is_warning: true,
        count: 3,
        last_millis: Some(65_000),
        ..EventFact::default()
    };
    timeline.apply(65_000, Fact::Event(Box::new(warning)));
    let Fact::Deployment(mut begun, _) = web(2, [1, 0, 1]) else { unreachable!() };
    begun.now.status.observed_generation = 1;
    timeline.apply(70_000, set(2, 0, Seen::Added));
    timeline.apply(70_000, Fact::Deployment(begun, Seen::Modified));
    for fact in [web(2, [2, 1, 1]), pod(2, true, Seen::Added), web(2, [1, 1, 1])] {
        timeline.apply(80_000, fact);
    }
    let rows = index::rollouts("c", &timeline, Uid::from_bits(1), Now { millis: 90_000, ..now }, 9).into_iter();
    let rows: Vec<_> = rows.map(|row| (row.revision, row.outcome, row.cause, row.refusal)).collect();
    let late = format!("Revision 2 {refused}.");
    let none = String::new();
    assert_eq!(rows, [(1, Outcome::Complete, none.clone(), None), (2, Outcome::Complete, none, Some(late))]);
}

/// The revision that runs has the outage, as nothing is rolled out before the Deployment is resumed.
#[test]
fn an_outage_of_a_paused_deployment_is_told_although_an_edit_waits() {
    let mut timeline = complete();
    for (at, available) in [(15_000, 1), (20_000, 0)] {
        let Fact::Deployment(mut edit, _) = web(1, [1, 0, available]) else { unreachable!() };
        (edit.now.generation, edit.now.status.observed_generation, edit.now.spec.paused) = (2, 2, true);
        edit.now.spec.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
        timeline.apply(at, Fact::Deployment(edit, Seen::Modified));
    }
    timeline.apply(20_000, pod(1, false, Seen::Modified));
    timeline.apply(20_000, set(1, 0, Seen::Modified));
    let now = Now { millis: 30_001, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "Paused: no pod is available.";
    assert_eq!(view.verdict.sentence, headline);
    let leading = &view.reasons[0].sentence;
    let first = leading.split_once(". ").map_or(leading.clone(), |(first, _)| format!("{first}."));
    let row = index::rollouts("c", &timeline, Uid::from_bits(1), now, 1).pop().unwrap();
    assert_eq!((row.outcome, row.cause), (Outcome::Complete, format!("{headline} {first}")));
}

/// The list after a gap tells that a rollout is over. It tells neither when it ended nor how many pods there were until then.
#[test]
fn a_rollout_that_ended_in_a_gap_has_neither_duration_nor_extremes() {
    let listed = |timeline: &mut Timeline, at: Millis, fact: Fact, gap_since_millis: Millis| {
        let Fact::Deployment(fact, _) = fact else { unreachable!() };
        let present = vec![fact.meta.uid];
        timeline.apply(at, Fact::Deployment(fact, Seen::InList));
        let (kind, namespace, gap_since_millis) = (Kind::Deployment, None, Some(gap_since_millis));
        timeline.apply(at + 5, Fact::Listed { kind, namespace, present, gap_since_millis });
    };
    let said = |timeline: &Timeline| {
        let now = Now { millis: 90_000, skew_millis: 0 };
        let row = index::rollouts("c", timeline, Uid::from_bits(1), now, 1).pop().unwrap();
        assert_eq!(row.first_available_millis.is_some(), row.took_millis().is_some());
        (row.ended(), row.took(), row.extremes())
    };
    let replaced = |gap_since_millis: Option<Millis>| {
        let mut timeline = complete();
        for fact in [web(2, [2, 1, 1]), set(2, 0, Seen::Added), pod(2, false, Seen::Added)] {
            timeline.apply(20_000, fact);
        }
        match gap_since_millis {
            Some(since_millis) => {
                timeline.apply(80_000, pod(2, true, Seen::InList));
                listed(&mut timeline, 80_000, web(2, [1, 1, 1]), since_millis);
            }
            None => {
                timeline.apply(80_000, pod(2, true, Seen::Modified));
                timeline.apply(80_000, web(2, [1, 1, 1]));
            }
        }
        said(&timeline)
    };
    let extremes = "1 replica, observed peak 2 pods (ceiling: 2 desired), lowest 1 available (floor: 1)";
    let seen = ("Complete after 1 min 0 s".to_owned(), "1 min 0 s".to_owned(), extremes.to_owned());
    assert_eq!(replaced(None), seen);
    let unseen = ("Complete, part not observed".to_owned(), String::new(), "1 replica".to_owned());
    assert_eq!(replaced(Some(21_000)), unseen);
    assert_eq!(replaced(Some(79_999)), unseen);
    // A gap in between leaves the duration, and a short one everything.
    let with_gap = |gap_since_millis: Millis| {
        let mut timeline = complete();
        for fact in [web(2, [2, 1, 1]), set(2, 0, Seen::Added), pod(2, false, Seen::Added)] {
            timeline.apply(20_000, fact);
        }
        listed(&mut timeline, 40_000, web(2, [2, 1, 1]), gap_since_millis);
        timeline.apply(80_000, pod(2, true, Seen::Modified));
        timeline.apply(80_000, web(2, [1, 1, 1]));
        said(&timeline)
    };
    let (took, replicas) = ("1 min 0 s".to_owned(), "1 replica".to_owned());
    assert_eq!(with_gap(39_005), (format!("Complete after {took}, part not observed"), took, replicas));
    assert_eq!(with_gap(39_006), seen);
    // One that was created in the gap was not complete at once.
    let mut created = Timeline::new();
    for kind in Kind::ALL {
        created.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    created.apply(79_990, set(1, 1, Seen::InList));
    listed(&mut created, 80_000, web(1, [1, 1, 1]), 21_000);
    assert_eq!(said(&created), unseen);
    // The timeline forgets the gap after a while; the row does not.
    let row = indexed().rollouts.pop().unwrap();
    for place in places() {
        let mut store = place.open(SMALL);
        for (is_part_unseen, is_long) in [(false, true), (true, false), (false, false)] {
            let ended_millis = Some(row.started_millis + 60_000);
            let rollouts = vec![PastRollout { is_part_unseen, ended_millis, ..row.clone() }];
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
            let longer = Search { longer_millis: Some(60_000), ..Search::default() };
            let found = Reader::new(&place.location).search(&longer, &Permissions::All, None, 9).unwrap();
            assert_eq!(found.rollouts.len(), usize::from(is_long));
        }
        // A process that began to watch in the middle of it tells of the same one.
        let [started_millis, ended_millis] = [50_000, 60_000].map(|millis| row.started_millis + millis);
        let late = PastRollout { started_millis, ended_millis: Some(ended_millis), ..row.clone() };
        store.commit(&[Commit { rollouts: vec![late], ..commit(None, None) }]).unwrap();
        let found = Reader::new(&place.location).search(&Search::default(), &Permissions::All, None, 9).unwrap();
        assert_eq!((found.rollouts.len(), found.rollouts[0].took_millis()), (1, None));
    }
}

/// The page of a rollout ends before the gap in which the next one began. Its losses say that a part was not observed.
#[test]
fn a_rollout_whose_next_one_began_in_a_gap_ends_before_the_gap() {
    let mut timeline = complete();
    let Fact::Pod(mut going, _) = pod(1, true, Seen::Modified) else { unreachable!() };
    going.deletion_at_millis = Some(50_000);
    timeline.apply(20_000, Fact::Pod(going, Seen::Modified));
    let Fact::Deployment(next, _) = web(2, [1, 1, 1]) else { unreachable!() };
    timeline.apply(90_000, Fact::Deployment(next, Seen::InList));
    timeline.apply(90_000, set(2, 1, Seen::InList));
    let (kind, namespace, present) = (Kind::Deployment, None, vec![Uid::from_bits(1)]);
    timeline.apply(90_005, Fact::Listed { kind, namespace, present, gap_since_millis: Some(40_000) });
    let now = Now { millis: 200_000, skew_millis: 0 };
    let rows = index::rollouts("c", &timeline, Uid::from_bits(1), now, 9).into_iter();
    let told = "Pod b-1-p deleted after the rollout was complete (part not observed)".to_owned();
    let rows: Vec<_> = rows.map(|row| (row.revision, row.last_millis, row.losses)).collect();
    assert_eq!(rows, [(1, Some(40_000), Some(told)), (2, None, None)]);
}

/// A crash loop before the workload was at rest for a minute is trouble of the rollout, which stays complete; a later one is not.
#[test]
fn a_crash_loop_right_after_completion_is_the_cause_of_the_rollout() {
    let Indexed { mut batches, timeline, uid, now, rollouts } = indexed();
    let pod = timeline.model().pods.values().find(|pod| pod.gone_millis().is_none()).unwrap();
    let text: String = batches.iter().map(|(.., text)| text.as_str()).collect();
    let is_pod =
        |line: &&str| line.contains("\"kind\":\"Pod\"") && line.contains(&format!("\"name\":\"{}\"", pod.name));
    let line = text.lines().rfind(is_pod).unwrap();
    let mut line: Value =
        serde_json::from_str(&line.replace("\"Ready\",\"status\":\"True\"", "\"Ready\",\"status\":\"False\"")).unwrap();
    let at_millis = now.millis + 40_000;
    (line["observedAtMillis"], line["type"]) = (at_millis.into(), "MODIFIED".into());
    line["object"]["metadata"]["resourceVersion"] = "999999".into();
    line["object"]["status"]["containerStatuses"] = json!([{
        "name": line["object"]["spec"]["containers"][0]["name"],
        "restartCount": 3,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
    }]);
    let crash = format!("{line}\n");
    let mut recorder = Recorder::default();
    for (.., text) in &batches {
        recorder.record(text);
        recorder.begin_episode(uid);
    }
    batches.push((at_millis, at_millis, crash.clone()));
    let (timeline, _) = play(&batches);
    let now = Now { millis: at_millis + 1_000, skew_millis: 0 };
    let last = index::rollouts("c", &timeline, uid, now, index::LAST).pop().unwrap();
    assert!(last.cause.contains("crashes with exit code 1"), "{}", last.cause);
    assert_eq!((last.outcome, last.restarts), (Outcome::Complete, Some(3)));
    assert!(recorder.is_in_episode(&last));
    recorder.settle(uid);
    recorder.record(&crash);
    assert!(!recorder.is_in_episode(&last), "its episode was over");
    for place in places() {
        let mut store = place.open(SMALL);
        // Containers that restart now and then are no trouble, and count until the episode is over.
        let more = PastRollout { cause: String::new(), restarts: Some(8), ..last.clone() };
        let later = PastRollout { cause: String::new(), restarts: None, ..last.clone() };
        for rollouts in [rollouts.clone(), vec![last.clone()], vec![more], vec![later]] {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        }
        let search = Search { had_trouble: true, ..Search::default() };
        let found = Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts;
        let rows = found.iter().map(|row| (row.revision, row.outcome, row.cause.as_str(), row.restarts));
        let expected = [(last.revision, Outcome::Complete, last.cause.as_str(), Some(8))];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }
}

/// A pod that is deleted right after a rollout is named with that rollout, also once its episode is over.
#[test]
fn a_pod_that_is_deleted_right_after_completion_is_a_loss_of_the_rollout() {
    let Indexed { mut batches, timeline, uid, now, rollouts } = indexed();
    assert_eq!(rollouts.last().unwrap().losses, None);
    let is_there = |pod: &&Pod| pod.state() == PodState::Available;
    let pod = timeline.model().pods.values().find(is_there).unwrap();
    let text: String = batches.iter().map(|(.., text)| text.as_str()).collect();
    let is_pod =
        |line: &&str| line.contains("\"kind\":\"Pod\"") && line.contains(&format!("\"name\":\"{}\"", pod.name));
    let mut line: Value = serde_json::from_str(text.lines().rfind(is_pod).unwrap()).unwrap();
    let at_millis = now.millis + 40_000;
    (line["observedAtMillis"], line["type"]) = (at_millis.into(), "MODIFIED".into());
    line["object"]["metadata"]["resourceVersion"] = "999999".into();
    line["object"]["metadata"]["deletionTimestamp"] = line["object"]["metadata"]["creationTimestamp"].clone();
    line["object"]["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    batches.push((at_millis, at_millis, format!("{line}\n")));
    let (mut timeline, _) = play(&batches);
    timeline.tick(at_millis + 5_000);
    let now = Now { millis: at_millis + 5_000, skew_millis: 0 };
    let last = index::rollouts("c", &timeline, uid, now, index::LAST).pop().unwrap();
    // The streams of a cluster whose time runs faster are later in it.
    timeline.set_speed(1_000);
    let losses = |timeline: &Timeline, after_millis: Millis| {
        let now = Now { millis: at_millis + after_millis, skew_millis: 0 };
        index::rollouts("c", timeline, uid, now, 1).pop().unwrap().losses
    };
    assert_eq!((losses(&timeline, 19_999), losses(&timeline, 20_000)), (None, last.losses.clone()));
    // The episode is over after a minute at rest, at any speed.
    timeline.set_speed(10_000);
    assert_eq!((losses(&timeline, 59_999), losses(&timeline, 60_000)), (None, last.losses.clone()));
    // The pod may have gone before a completion that fell into a gap.
    let losses_with_gap = |from_millis: Millis, to_millis: Millis| {
        let mut model = timeline.model().clone();
        let completed_millis = last.ended_millis.unwrap();
        let gap = Gap { from_millis: completed_millis + from_millis, to_millis: completed_millis + to_millis };
        model.deployments.get_mut(&uid).unwrap().gaps.push(gap);
        losses(&Timeline::from_model(model, 0), 5_000)
    };
    assert_eq!((losses_with_gap(-9_000, 0), losses_with_gap(1_000, 9_000)), (None, None));
    let name = &pod.name[pod.name.len() - 5..];
    let told = format!("Pod {name} deleted after the rollout was complete");
    assert_eq!(losses_with_gap(-9_000, -1), last.losses);
    // Others may have gone in a gap after it.
    assert_eq!(losses_with_gap(1_001, 9_000), Some(format!("{told} (part not observed)")));
    assert_eq!((last.title.as_str(), last.losses.as_ref()), ("", Some(&told)));
    for place in places() {
        let mut store = place.open(SMALL);
        let later = PastRollout { losses: None, ..last.clone() };
        for rollouts in [rollouts.clone(), vec![last.clone()], vec![later]] {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        }
        let search = Search { text: "deleted".to_owned(), ..Search::default() };
        let found = Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts;
        let found: Vec<_> = found.iter().map(PastRollout::cause_words).collect();
        assert_eq!(found, std::slice::from_ref(&told));
    }
}

#[test]
fn what_has_not_come_yet_is_not_told() {
    let Indexed { batches, uid, now, rollouts, .. } = indexed();
    let heard_millis = now.millis;
    let last = rollouts.len() - 1;
    for place in places() {
        let mut store = place.open(SMALL);
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), heard_millis, ..recorded(&batches, uid) }]).unwrap();
        let reader = Reader::new(&place.location);
        let cut = |until_millis| reader.recording("c", uid, last as u32, until_millis).unwrap().unwrap();
        let ahead = cut(Some(heard_millis + 3_600_000));
        assert_eq!((ahead.to_millis, ahead.is_settled), (heard_millis, false), "nobody has seen it");
        // An hour passes in which nothing happens.
        let heard_millis = heard_millis + 3_600_000;
        store.commit(&[Commit { heard_millis, ..commit(None, None) }]).unwrap();
        let then = cut(Some(heard_millis));
        assert_eq!((then.to_millis, then.is_settled), (heard_millis, true));
        let usual = cut(None);
        assert!(usual.is_settled);
        // Whatever is asked for after its last moment, no more is read than without it.
        let last_moment = usual.most_millis;
        store.commit(&[Commit { heard_millis: last_moment + 3_600_000, ..commit(None, None) }]).unwrap();
        assert_eq!(cut(Some(last_moment)).to_millis, last_moment);
        assert_eq!((cut(Some(last_moment + 1)).to_millis, usual.to_millis < last_moment), (usual.to_millis, true));
    }
}
