//! Causes that no recording shows, each in its words.

use crate::made::{condition, deployment, pod, set};
use timeline::fact::{
    ConditionStatus, Container, ContainerState, DeploymentNow, Exit, Phase, PodFact, ReplicaSetNow, Role, Seen,
    Strategy,
};
use timeline::model::EndReason;
use timeline::view::{self, Now, Verdict};
use timeline::{Fact, Millis, Timeline, Uid};

/// The scene, changed, and what is said of it after 30 s.
fn said(change: impl FnOnce(&mut DeploymentNow, &mut ReplicaSetNow, &mut Vec<PodFact>)) -> String {
    let mut deployment = deployment();
    let mut new = set(3, 2, 1, 0);
    let mut pods = vec![pod(20, 3, "web-2-newer")];
    change(&mut deployment.now, &mut new.now, &mut pods);
    let mut timeline = Timeline::new();
    for number in 10..13 {
        let mut old = pod(number, 2, &format!("web-1-old{number}"));
        old.ready = Some(condition(ConditionStatus::True, "", ""));
        timeline.apply(0, Fact::Pod(Box::new(old), Seen::Modified));
    }
    timeline.apply(0, Fact::ReplicaSet(Box::new(set(2, 1, 3, 3)), Seen::Modified));
    timeline.apply(0, Fact::ReplicaSet(Box::new(new), Seen::Modified));
    timeline.apply(0, Fact::Deployment(Box::new(deployment), Seen::Modified));
    for pod in pods {
        timeline.apply(1_000, Fact::Pod(Box::new(pod), Seen::Modified));
    }
    let view = view::view(timeline.model(), Uid::from_bits(1), Now { millis: 30_000, skew_millis: 0 }).unwrap();
    let reasons: Vec<String> = view
        .reasons
        .iter()
        .map(|reason| {
            let fatal = if reason.is_fatal {
                "fatal"
            } else if reason.is_fault {
                "fault"
            } else {
                "normal"
            };
            format!("\n  {fatal}: {} <{}>", reason.sentence, reason.evidence.object)
        })
        .collect();
    let remedy = view.remedy.map(|remedy| format!("\n  {}: {}", remedy.what, remedy.command)).unwrap_or_default();
    let Verdict { badge, sentence, why, .. } = view.verdict;
    format!("[{badge}] {sentence}\n  {why}\n  {}{remedy}{}", view.next, reasons.concat())
}

#[test]
fn causes_in_their_words() {
    let crash = |code: i32, reason: &str| Some(Exit { code, reason: reason.into(), ..Exit::default() }.into());
    let waiting =
        |reason: &str, message: &str| Some(ContainerState::Waiting { reason: reason.into(), message: message.into() });
    let mut all = String::new();
    let mut tell = |what: &str, said: String| all.push_str(&format!("{what}\n{said}\n\n"));
    tell(
        "readiness fails",
        said(|_, _, pods| {
            pods[0].ready = Some(condition(
                ConditionStatus::False,
                "ContainersNotReady",
                "containers with unready status: [web proxy]",
            ));
        }),
    );
    tell(
        "out of memory",
        said(|_, _, pods| {
            let web = &mut pods[0].containers[0];
            (web.state, web.restarts, web.last_exit) =
                (waiting("CrashLoopBackOff", "back-off 10s"), 2, crash(137, "OOMKilled"));
        }),
    );
    tell(
        "an init container works",
        said(|_, _, pods| {
            pods[0].phase = Phase::Pending;
            let migrate = Container { name: "migrate".into(), role: Role::Init, ..pods[0].containers[0].clone() };
            pods[0].containers[0].state = waiting("PodInitializing", "");
            pods[0].containers.insert(0, migrate);
        }),
    );
    tell(
        "a configuration error",
        said(|_, _, pods| {
            pods[0].containers[0].state = waiting("CreateContainerConfigError", "secret \"db\" not found");
        }),
    );
    tell(
        "access to the image is denied",
        said(|_, _, pods| {
            pods[0].containers[0].state = waiting("ErrImagePull", "unauthorized: authentication required");
        }),
    );
    tell(
        "evicted",
        said(|_, _, pods| {
            (pods[0].phase, pods[0].reason, pods[0].message) =
                (Phase::Failed, "Evicted".into(), "The node was low on resource: memory.".into());
        }),
    );
    tell("the ReplicaSet controller is silent", said(|_, _, pods| pods.clear()));
    tell("the Deployment controller is silent", said(|deployment, _, _| deployment.generation = 3));
    tell(
        "refused by an admission webhook",
        said(|deployment, _, pods| {
            pods.clear();
            deployment.status.replica_failure = Some(condition(
                ConditionStatus::True,
                "FailedCreate",
                "admission webhook \"policy\" denied the request: no latest tags",
            ));
        }),
    );
    tell(
        "paused",
        said(|deployment, _, _| {
            deployment.spec.paused = true;
        }),
    );
    tell(
        "Recreate, and an old pod that does not go",
        said(|deployment, new, pods| {
            deployment.spec.strategy = Strategy::Recreate;
            new.counts.desired = 0;
            pods.clear();
            let mut late = pod(13, 2, "web-1-stuck");
            late.deletion_at_millis = Some(5_000);
            pods.push(late);
        }),
    );
    tell(
        "an old revision with troubles of its own",
        said(|_, _, pods| {
            let mut old = pod(14, 2, "web-1-worse");
            old.containers[0].state = waiting("CrashLoopBackOff", "");
            pods.push(old);
        }),
    );
    tell(
        "hostile text",
        said(|_, _, pods| {
            pods[0].node = None;
            pods[0].scheduled = Some(condition(
                ConditionStatus::False,
                "Unschedulable",
                &format!("\u{1b}[2J\u{202e}{}", "x".repeat(5_000)),
            ));
        }),
    );
    insta::assert_snapshot!(all);
}

/// Three pods; one goes, `then` follows within the time in which owners may still explain it.
fn end_of_one_of_three(then: &[Fact]) -> Option<EndReason> {
    end_in(&mut Timeline::new(), 300, then)
}

/// Three pods; one goes, and every so many milliseconds something of `then` follows.
fn end_in(timeline: &mut Timeline, every: Millis, then: &[Fact]) -> Option<EndReason> {
    for number in 10..13 {
        timeline.apply(0, watched(pod(number, 3, &format!("web-2-{number}"))));
    }
    timeline.apply(0, Fact::ReplicaSet(Box::new(set(3, 2, 3, 3)), Seen::Modified));
    timeline.apply(0, Fact::Deployment(Box::new(deployment()), Seen::Modified));
    let mut going = pod(10, 3, "web-2-10");
    going.deletion_at_millis = Some(40_000);
    timeline.apply(10_000, watched(going));
    for (index, fact) in (1..).zip(then) {
        timeline.apply(10_000 + index * every, fact.clone());
    }
    timeline.model().pods.get(&Uid::from_bits(10)).and_then(|pod| pod.end_reason)
}

fn watched(pod: PodFact) -> Fact {
    Fact::Pod(Box::new(pod), Seen::Modified)
}

#[test]
fn a_replacement_tells_a_killed_pod_from_one_that_was_scaled_down() {
    let smaller = Fact::ReplicaSet(Box::new(set(3, 2, 2, 2)), Seen::Modified);
    let replacement = watched(pod(14, 3, "web-2-14"));
    let removed = Fact::ReplicaSet(Box::new(set(3, 2, 3, 3)), Seen::Deleted);
    assert_eq!(end_of_one_of_three(&[]), Some(EndReason::DeletedManually));
    assert_eq!(end_of_one_of_three(std::slice::from_ref(&smaller)), Some(EndReason::ScaledDown), "its owner was late");
    assert_eq!(
        end_of_one_of_three(&[replacement.clone(), smaller]),
        Some(EndReason::DeletedManually),
        "it was replaced"
    );
    assert_eq!(
        end_of_one_of_three(&[replacement, removed]),
        Some(EndReason::DeletedManually),
        "and then its owner went"
    );
}

/// Three pods; one is asked to go in version 100 of the cluster's history, then its owner changes in another.
fn end_by_version(owner_first: bool, change: impl Fn(u64) -> Fact, version: u64) -> Option<EndReason> {
    let mut timeline = Timeline::new();
    let mut whole = set(3, 2, 3, 3);
    whole.meta.version = Some(50);
    for number in 10..13 {
        timeline.apply(0, watched(pod(number, 3, &format!("web-2-{number}"))));
    }
    timeline.apply(0, Fact::ReplicaSet(Box::new(whole), Seen::Modified));
    timeline.apply(0, Fact::Deployment(Box::new(deployment()), Seen::Modified));
    let mut going = pod(10, 3, "web-2-10");
    (going.deletion_at_millis, going.meta.version) = (Some(40_000), Some(100));
    let (going, change) = (watched(going), change(version));
    let facts = if owner_first { [change, going] } else { [going, change] };
    for fact in facts {
        timeline.apply(10_000, fact);
    }
    timeline.model().pods.get(&Uid::from_bits(10)).and_then(|pod| pod.end_reason)
}

#[test]
fn what_its_owner_did_after_a_pod_was_asked_to_go_is_not_why() {
    let smaller = |version| {
        let mut smaller = set(3, 2, 2, 2);
        smaller.meta.version = Some(version);
        Fact::ReplicaSet(Box::new(smaller), Seen::Modified)
    };
    let removed = |version| {
        let mut removed = set(3, 2, 3, 3);
        removed.meta.version = Some(version);
        Fact::ReplicaSet(Box::new(removed), Seen::Deleted)
    };
    // It says that it is leaving, or is gone at once.
    for seen in [Seen::Modified, Seen::Deleted] {
        let over = |version| {
            let mut over = deployment();
            (over.meta.version, over.now.deleting) = (Some(version), seen == Seen::Modified);
            Fact::Deployment(Box::new(over), seen)
        };
        for owner_first in [false, true] {
            assert_eq!(end_by_version(owner_first, over, 99), Some(EndReason::DeploymentDeleted), "{seen:?}");
            assert_eq!(end_by_version(owner_first, over, 101), Some(EndReason::DeletedManually), "{seen:?}");
        }
    }
    for owner_first in [false, true] {
        assert_eq!(end_by_version(owner_first, smaller, 99), Some(EndReason::ScaledDown));
        assert_eq!(end_by_version(owner_first, smaller, 101), Some(EndReason::DeletedManually));
        assert_eq!(end_by_version(owner_first, removed, 99), Some(EndReason::ReplicaSetDeleted));
        assert_eq!(end_by_version(owner_first, removed, 101), Some(EndReason::DeletedManually));
    }
}

#[test]
fn what_vanishes_without_its_grace_period_was_forced() {
    let end = |change: fn(&mut PodFact)| {
        let mut timeline = Timeline::new();
        let mut gone = pod(10, 3, "web-2-10");
        change(&mut gone);
        timeline.apply(0, watched(gone.clone()));
        timeline.apply(0, Fact::ReplicaSet(Box::new(set(3, 2, 0, 1)), Seen::Modified));
        timeline.apply(0, Fact::Deployment(Box::new(deployment()), Seen::Modified));
        timeline.apply(10_000, Fact::Pod(Box::new(gone), Seen::Deleted));
        timeline.model().pods.get(&Uid::from_bits(10)).and_then(|pod| pod.end_reason)
    };
    assert_eq!(end(|pod| pod.node = Some("node-1".to_owned())), Some(EndReason::DeletedManually));
    assert_eq!(end(|pod| pod.node = None), Some(EndReason::ScaledDown), "who waits for a node has no grace");
    assert_eq!(end(|pod| pod.is_graceless = true), Some(EndReason::ScaledDown), "its template gives none");
}

#[test]
fn where_time_is_faster_streams_are_later() {
    let [mut usual, mut fast] = [Timeline::new(), Timeline::new()];
    fast.set_speed(1000);
    let smaller = Fact::ReplicaSet(Box::new(set(3, 2, 2, 2)), Seen::Modified);
    let ends = [&mut usual, &mut fast].map(|timeline| end_in(timeline, 9_000, std::slice::from_ref(&smaller)));
    assert_eq!(ends, [Some(EndReason::DeletedManually), Some(EndReason::ScaledDown)]);
}

#[test]
fn pods_that_leave_a_node_together_are_told_together() {
    let mut timeline = Timeline::new();
    timeline.apply(0, Fact::ReplicaSet(Box::new(set(3, 2, 3, 3)), Seen::Modified));
    timeline.apply(0, Fact::Deployment(Box::new(deployment()), Seen::Modified));
    for number in 10..14 {
        timeline.apply(0, watched(pod(number, 3, &format!("web-2-new{number}"))));
    }
    // Two of them at once, another one much later, and one that was on another node.
    for (at, number, node) in
        [(10_000, 10, "node-1"), (10_500, 11, "node-2"), (11_000, 12, "node-1"), (200_000, 13, "node-1")]
    {
        let mut going = pod(number, 3, &format!("web-2-new{number}"));
        going.node = Some(node.into());
        going.disruption = Some("EvictionByEvictionAPI".into());
        going.deletion_at_millis = Some(at + 30_000);
        timeline.apply(at, watched(going));
    }
    let told: Vec<String> = timeline::story::story(timeline.model(), Uid::from_bits(1))
        .into_iter()
        .filter(|line| line.text.contains("evicted"))
        .map(|line| format!("{} {}", line.at_millis, line.text))
        .collect();
    assert_eq!(
        told,
        [
            "10000 2 pods evicted from node node-1; the revision stays.",
            "10500 Pod new11 evicted from node node-2; the revision stays.",
            "200000 Pod new13 evicted from node node-1; the revision stays.",
        ]
    );
}

#[test]
fn why_a_pod_went_and_not_another_one() {
    // Three pods of one ReplicaSet, each on a node of its own, ready for a minute; one of them is changed, and goes.
    let went = |change: &dyn Fn(&mut PodFact)| {
        let mut timeline = Timeline::new();
        timeline.apply(0, Fact::ReplicaSet(Box::new(set(3, 2, 3, 3)), Seen::Modified));
        timeline.apply(0, Fact::Deployment(Box::new(deployment()), Seen::Modified));
        let ready = |number: u128| {
            let mut pod = pod(number, 3, &format!("web-2-new{number}"));
            pod.node = Some(format!("node-{number}"));
            pod.ready = Some(condition(ConditionStatus::True, "", ""));
            pod
        };
        let mut gone = ready(10);
        change(&mut gone);
        for pod in [gone.clone(), ready(11), ready(12)] {
            timeline.apply(1_000, watched(pod));
        }
        timeline.apply(60_000, Fact::ReplicaSet(Box::new(set(3, 2, 2, 2)), Seen::Modified));
        gone.deletion_at_millis = Some(90_000);
        timeline.apply(60_010, watched(gone));
        let pod = timeline.model().pods.get(&Uid::from_bits(10)).unwrap();
        let criteria = timeline::removal_order::Choices::new(timeline.model(), 0).criteria(pod);
        criteria.map(|criteria| timeline::say::choice(&criteria))
    };
    let not_ready = condition(ConditionStatus::False, "ContainersNotReady", "");
    let mut all = String::new();
    for (what, change) in [
        ("like the others", &(|_: &mut PodFact| {}) as &dyn Fn(&mut PodFact)),
        ("no node", &|pod| (pod.node, pod.ready, pod.phase, pod.containers) = (None, None, Phase::Pending, Vec::new())),
        ("starting", &|pod| (pod.ready, pod.phase, pod.containers) = (None, Phase::Pending, Vec::new())),
        ("not ready", &|pod| pod.ready = Some(not_ready.clone())),
        ("cheaper", &|pod| pod.deletion_cost = -1),
        ("dearer, which contradicts it", &|pod| pod.deletion_cost = 1),
        ("on the node of another one", &|pod| pod.node = Some("node-11".into())),
        ("ready later", &|pod| pod.ready.as_mut().unwrap().last_transition_millis = Some(40_000)),
        ("ready for as long, but for a little", &|pod| {
            pod.ready.as_mut().unwrap().last_transition_millis = Some(2_000)
        }),
    ] {
        all.push_str(&format!("{what}: {}\n", went(change).unwrap_or_else(|| "(nothing is told)".to_owned())));
    }
    insta::assert_snapshot!(all);
}
