//! Properties of the timeline, for arbitrary runs of facts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rmp_serde::{Deserializer, Serializer};
use serde::{Deserialize, Serialize};
use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, DeploymentFact, DeploymentNow, DeploymentSpec,
    DeploymentStatus, Image, IntOrPercent, Kind, Meta, Phase, PodFact, ReplicaSetCounts, ReplicaSetFact, ReplicaSetNow,
    Role, Seen, Strategy as Update,
};
use timeline::model::PodState;
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{self, Delta, Objects, Snapshot};
use timeline::{Change, Fact, Model, Retention, Timeline, Uid};

/// One observation, small enough that runs of them meet each other.
#[derive(Debug, Clone)]
pub enum Event {
    Deployment { number: u8, revision: u8, replicas: u8, paused: bool, deleting: bool, seen: u8 },
    ReplicaSet { number: u8, owner: Option<u8>, revision: u8, wanted: u8, min_ready: u8, seen: u8 },
    Pod { number: u8, owner: Option<u8>, state: u8, seen: u8 },
    Listed { kind: u8, present: Vec<u8> },
}

pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..2u8, 1..4u8, 0..5u8, any::<bool>(), any::<bool>(), 0..4u8).prop_map(
            |(number, revision, replicas, paused, deleting, seen)| Event::Deployment {
                number,
                revision,
                replicas,
                paused,
                deleting,
                seen
            }
        ),
        (0..3u8, proptest::option::of(0..2u8), 1..4u8, 0..4u8, 0..3u8, 0..4u8).prop_map(
            |(number, owner, revision, wanted, min_ready, seen)| Event::ReplicaSet {
                number,
                owner,
                revision,
                wanted,
                min_ready,
                seen
            }
        ),
        (0..6u8, proptest::option::of(0..3u8), 0..8u8, 0..4u8).prop_map(|(number, owner, state, seen)| Event::Pod {
            number,
            owner,
            state,
            seen
        }),
        (0..3u8, proptest::collection::vec(0..6u8, 0..5)).prop_map(|(kind, present)| Event::Listed { kind, present }),
    ]
}

const fn deployment(number: u8) -> Uid {
    Uid::from_bits(0x1000 + number as u128)
}
const fn replica_set(number: u8) -> Uid {
    Uid::from_bits(0x2000 + number as u128)
}
const fn pod(number: u8) -> Uid {
    Uid::from_bits(0x3000 + number as u128)
}

/// Mostly watch events, sometimes lists and deletions.
fn seen(seen: u8) -> Seen {
    match seen {
        0 => Seen::InList,
        3 => Seen::Deleted,
        1 => Seen::Added,
        _ => Seen::Modified,
    }
}

fn meta(uid: Uid, name: String, controller: Option<Uid>) -> Meta {
    Meta { uid, namespace: "shop".into(), name, controller, ..Meta::default() }
}

fn condition(status: ConditionStatus, at: i64) -> Condition {
    Condition { status, last_transition_millis: Some(at), ..Condition::default() }
}

pub fn fact(event: &Event, at: i64) -> Fact {
    match event {
        Event::Deployment { number, revision, replicas, paused, deleting, seen: how } => {
            let replicas = u32::from(*replicas);
            let share = IntOrPercent::Percent(25);
            Fact::Deployment(
                Box::new(DeploymentFact {
                    meta: meta(deployment(*number), format!("web-{number}"), None),
                    now: DeploymentNow {
                        generation: 1,
                        deleting: *deleting,
                        revision: Some(u64::from(*revision)),
                        spec: DeploymentSpec {
                            replicas,
                            strategy: Update::RollingUpdate { max_surge: share, max_unavailable: share },
                            paused: *paused,
                            progress_deadline_seconds: Some(600),
                            revision_history_limit: 1,
                            images: vec![Image { container: "web".into(), image: format!("web:v{revision}") }],
                            ..DeploymentSpec::default()
                        },
                        status: DeploymentStatus {
                            observed_generation: 1,
                            replicas,
                            updated: replicas,
                            available: replicas,
                            ..Default::default()
                        },
                        ..DeploymentNow::default()
                    },
                }),
                seen(*how),
            )
        }
        Event::ReplicaSet { number, owner, revision, wanted, min_ready, seen: how } => Fact::ReplicaSet(
            Box::new(ReplicaSetFact {
                meta: meta(replica_set(*number), format!("web-{number}"), owner.map(deployment)),
                revision: Some(u64::from(*revision)),
                template_hash: number.to_string(),
                now: ReplicaSetNow {
                    counts: ReplicaSetCounts { desired: u32::from(*wanted), ..Default::default() },
                    min_ready_seconds: u32::from(*min_ready),
                    ..ReplicaSetNow::default()
                },
                ..ReplicaSetFact::default()
            }),
            seen(*how),
        ),
        Event::Pod { number, owner, state, seen: how } => {
            let waiting = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: String::new() };
            let container = match state {
                0 | 1 => None,
                4 => Some(waiting),
                _ => Some(ContainerState::Running),
            };
            Fact::Pod(
                Box::new(PodFact {
                    meta: meta(pod(*number), format!("web-{number}"), owner.map(replica_set)),
                    deletion_at_millis: (*state == 5).then_some(at + 30_000),
                    node: (*state > 0).then(|| "node-1".to_owned()),
                    phase: match state {
                        0 | 1 => Phase::Pending,
                        6 => Phase::Failed,
                        _ => Phase::Running,
                    },
                    ready: matches!(state, 3 | 7).then(|| condition(ConditionStatus::True, at / 1000 * 1000)),
                    containers: vec![Container {
                        state: container,
                        restarts: if *state == 7 { 2 } else { 0 },
                        ..Container::new("web".into(), Role::App)
                    }],
                    ..PodFact::default()
                }),
                seen(*how),
            )
        }
        Event::Listed { kind, present } => {
            let kind = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod][usize::from(*kind)];
            let uid = |number: &u8| match kind {
                Kind::Deployment => deployment(*number),
                Kind::ReplicaSet => replica_set(*number),
                _ => pod(*number),
            };
            Fact::Listed { kind, namespace: None, present: present.iter().map(uid).collect(), gap_since_millis: None }
        }
    }
}

/// Plays events 700 ms apart and returns the timeline with every change it made.
fn play(events: &[Event]) -> (Timeline, Vec<timeline::Change>) {
    let mut timeline = Timeline::new();
    let mut changes = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let at = index as i64 * 700;
        changes.extend(timeline.apply(at, fact(event, at)));
    }
    (timeline, changes)
}

fn existing(model: &Model) -> Vec<(Uid, PodState)> {
    model.pods.values().filter(|pod| pod.gone_millis().is_none()).map(|pod| (pod.uid, pod.state())).collect()
}

/// Deployments in the order of documents.
fn documents(model: &Model) -> Vec<&timeline::model::Deployment> {
    let mut all: Vec<_> = model.deployments.values().collect();
    all.sort_by_key(|deployment| {
        (&deployment.namespace, &deployment.name, deployment.first_seen_millis, deployment.uid)
    });
    all
}

/// A delta that has travelled.
fn travelled(from: u64, to: u64, changes: &[Change]) -> Delta {
    let changes = changes.iter().filter(|change| change.travels()).cloned().collect();
    let delta = Delta { from, to, now_millis: 0, changes, said: None };
    wire::decode(&wire::encode(&delta).unwrap()).unwrap()
}

/// Everything of a model as it arrives at a viewer, in a snapshot of each Deployment and the rest object by object.
fn arrived(model: &Model, seq: u64) -> DeploymentCopy {
    let mut copy = DeploymentCopy::default();
    copy.take_snapshot(Snapshot { epoch: 1, seq, ..Snapshot::default() });
    let deployments = model.deployments.values().map(|known| Change::Deployment(Box::new(known.clone())));
    let sets = model.replica_sets.values().map(|known| Change::ReplicaSet(Box::new(known.clone())));
    let pods = model.pods.values().map(|known| Change::Pod(Box::new(known.clone())));
    let whole: Vec<Change> = deployments.chain(sets).chain(pods).collect();
    assert_eq!(copy.take_delta(travelled(seq, seq, &whole)), Taken::Fits);
    copy
}

/// 400 cases, or as many as `PROPTEST_CASES` says.
pub fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 400 };
    ProptestConfig { cases, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_changes_alone_rebuild_the_model(events in proptest::collection::vec(event(), 0..60)) {
        let (timeline, changes) = play(&events);
        let mut copy = Model::default();
        changes.iter().cloned().for_each(|change| copy.apply_change(change));
        prop_assert_eq!(&copy, timeline.model());
        prop_assert_eq!(timeline.seq(), changes.len() as u64);
    }

    #[test]
    fn a_snapshot_and_the_changes_after_it_equal_the_snapshot_later(
        before in proptest::collection::vec(event(), 0..40),
        after in proptest::collection::vec(event(), 0..20),
    ) {
        let (timeline, _) = play(&before);
        let mut copy = arrived(timeline.model(), timeline.seq());
        let all: Vec<Event> = before.iter().chain(&after).cloned().collect();
        let (later, changes) = play(&all);
        let delta = travelled(timeline.seq(), later.seq(), &changes[timeline.seq() as usize..]);
        prop_assert_eq!(copy.take_delta(delta), Taken::Fits);
        prop_assert_eq!(&copy, &arrived(later.model(), later.seq()));
        for uid in later.model().deployments.keys() {
            let objects: Objects = wire::decode(&wire::encode(&Objects::of(later.model(), *uid)).unwrap()).unwrap();
            prop_assert_eq!(Objects::of(&copy.model, *uid), objects);
        }
    }

    #[test]
    fn a_timeline_that_was_put_away_goes_on_as_if_it_had_not_been(
        before in proptest::collection::vec(event(), 0..40),
        after in proptest::collection::vec(event(), 0..20),
    ) {
        let (mut kept, _) = play(&before);
        let mut bytes = Vec::new();
        kept.serialize(&mut Serializer::new(&mut bytes).with_human_readable()).unwrap();
        let mut again = Timeline::deserialize(&mut Deserializer::from_read_ref(&bytes).with_human_readable()).unwrap();
        prop_assert_eq!(again.model(), kept.model());
        for (index, event) in after.iter().enumerate() {
            let at = (before.len() + index) as i64 * 700;
            prop_assert_eq!(again.apply(at, fact(event, at)), kept.apply(at, fact(event, at)));
        }
        let at = (before.len() + after.len()) as i64 * 700 + 60_000;
        prop_assert_eq!(again.tick(at), kept.tick(at));
        prop_assert_eq!(again.next_due_millis(), kept.next_due_millis());
    }

    #[test]
    fn the_same_fact_again_changes_nothing(events in proptest::collection::vec(event(), 1..40)) {
        let (mut timeline, _) = play(&events);
        let at = (events.len() as i64 - 1) * 700;
        let last = &events[events.len() - 1];
        prop_assert_eq!(timeline.apply(at, fact(last, at)), Vec::new());
    }

    #[test]
    fn a_list_of_what_exists_removes_nothing_and_an_empty_one_everything(events in proptest::collection::vec(event(), 0..60)) {
        let (mut timeline, _) = play(&events);
        let at = events.len() as i64 * 700 + 60_000;
        timeline.tick(at);
        let before = existing(timeline.model());
        let present = before.iter().map(|(uid, _)| *uid).collect();
        timeline.apply(at, Fact::Listed { kind: Kind::Pod, namespace: None, present, gap_since_millis: None });
        prop_assert_eq!(existing(timeline.model()), before);
        timeline.apply(at, Fact::Listed { kind: Kind::Pod, namespace: None, present: Vec::new(), gap_since_millis: None });
        prop_assert_eq!(existing(timeline.model()), Vec::new());
    }

    #[test]
    fn a_pods_states_are_in_order_and_differ_from_their_neighbours(events in proptest::collection::vec(event(), 0..60)) {
        let (timeline, _) = play(&events);
        for pod in timeline.model().pods.values() {
            for pair in pod.states.windows(2) {
                prop_assert!(pair[0].0 != pair[1].0 && pair[0].1 <= pair[1].1, "{:?}", pod.states);
            }
        }
    }

    #[test]
    fn words_never_fail_and_documents_lack_nothing(events in proptest::collection::vec(event(), 0..60)) {
        let (timeline, _) = play(&events);
        let model = timeline.model();
        for uid in model.deployments.keys() {
            let now = timeline::view::Now { millis: 10_000, skew_millis: 0 };
            let view = timeline::view::view(model, *uid, now).unwrap();
            prop_assert!(!view.verdict.sentence.is_empty());
            prop_assert!(timeline::story::story(model, *uid).iter().all(|line| !line.text.is_empty()));
        }
        let document = serde_json::to_value(timeline::document::document(model, Some(1), Some(2))).unwrap();
        for (deployment, said) in documents(model).iter().zip(document["deployments"].as_array().unwrap()) {
            let uids = |key: &str| -> BTreeSet<String> {
                said[key].as_array().unwrap().iter().map(|one| one["uid"].as_str().unwrap().to_owned()).collect()
            };
            prop_assert_eq!(said["uid"].as_str().unwrap(), deployment.uid.to_string());
            let pods = model.pods.values().filter(|pod| {
                let sets = pod.owners.iter().filter_map(|set| model.replica_sets.get(set));
                sets.into_iter().any(|set| set.owners.contains(&deployment.uid))
            });
            prop_assert_eq!(uids("pods"), pods.map(|pod| pod.uid.to_string()).collect());
            let sets = model.replica_sets.values().filter(|set| set.owners.contains(&deployment.uid));
            prop_assert_eq!(uids("replicaSets"), sets.map(|set| set.uid.to_string()).collect());
            prop_assert_eq!(said["rollouts"].as_array().unwrap().len(), deployment.rollouts.len());
        }
        prop_assert_eq!(document["deployments"].as_array().unwrap().len(), model.deployments.len());
    }

    #[test]
    fn letting_go_keeps_what_is_on_screen_and_what_exists(
        events in proptest::collection::vec(event(), 0..80),
        gone_pods in 0..3usize,
        rollouts in 1..3usize,
        steps in 1..4usize,
        screen in 0..8i64,
        age in 0..40i64,
    ) {
        let (mut timeline, mut changes) = play(&events);
        let now = events.len() as i64 * 700;
        let retention = Retention {
            age_millis: age * 1000,
            gone_pods,
            gone_pods_in_all: gone_pods * 2,
            rollouts,
            steps,
            deleted: 0,
            screen_millis: screen * 1000,
        };
        let from = now - retention.screen_millis;
        let before = timeline.model().clone();
        changes.extend(timeline.prune(now, &retention, &BTreeSet::new()));
        let after = timeline.model();
        // What exists, and pods that were there within the screen's time.
        for pod in before.pods.values().filter(|pod| pod.gone_millis().is_none_or(|at| at >= from)) {
            let kept = after.pods.get(&pod.uid);
            prop_assert!(kept.is_some(), "{pod:?}");
            let shown = |states: &[(PodState, i64)]| states.iter().filter(|(_, at)| *at >= from).copied().collect::<Vec<_>>();
            prop_assert_eq!(shown(&pod.states), shown(&kept.unwrap().states));
            prop_assert_eq!(pod.states.last(), kept.unwrap().states.last());
        }
        for set in before.replica_sets.values().filter(|set| set.removed_millis.is_none()) {
            prop_assert!(after.replica_sets.contains_key(&set.uid));
        }
        for deployment in before.deployments.values().filter(|d| d.deleted_millis.is_none()) {
            let kept = after.deployments.get(&deployment.uid).unwrap();
            let steps_of = |model: &Model| {
                let scales = model.sets_of(deployment.uid).flat_map(|set| set.scales.clone());
                scales.filter(|scale| scale.at_millis >= from).collect::<Vec<_>>()
            };
            prop_assert_eq!(steps_of(&before), steps_of(after));
            prop_assert_eq!(deployment.rollouts.last(), kept.rollouts.last());
            prop_assert_eq!(deployment.verdicts.last(), kept.verdicts.last());
            let marks = deployment.marks.iter().filter(|mark| mark.at_millis >= from).count();
            prop_assert_eq!(marks, kept.marks.iter().filter(|mark| mark.at_millis >= from).count());
            prop_assert!(kept.kept_since_millis.is_none_or(|kept| kept <= from));
        }
        // Viewers who follow forget the same, and nothing is forgotten twice.
        let mut copy = Model::default();
        changes.iter().cloned().for_each(|change| copy.apply_change(change));
        prop_assert_eq!(&copy, timeline.model());
        prop_assert_eq!(timeline.prune(now, &retention, &BTreeSet::new()), Vec::new());
    }

    #[test]
    fn history_is_bounded_whatever_happens(events in proptest::collection::vec(event(), 200..400)) {
        let retention = Retention {
            age_millis: 20_000,
            gone_pods: 2,
            gone_pods_in_all: 100,
            rollouts: 2,
            steps: 3,
            deleted: 1,
            screen_millis: 5_000,
        };
        let (mut timeline, _) = play(&events);
        let now = events.len() as i64 * 700 + 60_000;
        timeline.prune(now, &retention, &BTreeSet::new());
        for deployment in timeline.model().deployments.values() {
            prop_assert!(deployment.rollouts.len() <= 2 && deployment.marks.is_empty() && deployment.verdicts.len() <= 1);
            let pods = timeline.model().pods_of_deployment(deployment.uid);
            // The first state, the one in which it was available first, the last one, and one before that where it would stand beside an equal.
            let few = |pod: &&timeline::model::Pod| pod.gone_millis().is_none() && pod.states.len() <= 4;
            prop_assert!(pods.iter().all(few));
        }
    }
}

/// 2,000 ReplicaSets on one Deployment: nothing breaks, and the words still come.
#[test]
fn two_thousand_replica_sets_are_no_trouble() {
    let mut timeline = Timeline::new();
    for number in 0..2_000u32 {
        let at = i64::from(number) * 10;
        let Fact::ReplicaSet(mut set, seen) =
            fact(&Event::ReplicaSet { number: 0, owner: Some(0), revision: 1, wanted: 0, min_ready: 0, seen: 1 }, at)
        else {
            unreachable!()
        };
        set.meta.uid = Uid::from_bits(0x10_0000 + u128::from(number));
        set.revision = Some(u64::from(number) + 1);
        timeline.apply(at, Fact::ReplicaSet(set, seen));
        let Fact::Deployment(mut deployment, seen) = fact(
            &Event::Deployment { number: 0, revision: 1, replicas: 3, paused: false, deleting: false, seen: 1 },
            at,
        ) else {
            unreachable!()
        };
        deployment.now.revision = Some(u64::from(number) + 1);
        timeline.apply(at, Fact::Deployment(deployment, seen));
    }
    let now = timeline::view::Now { millis: 30_000, skew_millis: 0 };
    let view = timeline::view::view(timeline.model(), deployment(0), now).unwrap();
    assert_eq!(view.revision, Some(2_000));
    assert!(!timeline::story::story(timeline.model(), deployment(0)).is_empty());
    assert_eq!(timeline.model().deployments.get(&deployment(0)).unwrap().rollouts.len(), 2_000);
    timeline.prune(3_600_000, &Retention::default(), &BTreeSet::new());
    assert_eq!(timeline.model().deployments.get(&deployment(0)).unwrap().rollouts.len(), 50);
}
