//! What schedulers, autoscalers and nodes say reaches the sentence, and says no more than it means.

use super::evidence::{causes, command, first, matter, replacing};
use crate::made::{SECOND, Web, condition, crashing, ready, unready, waiting, warning};
use timeline::Millis;
use timeline::fact::{ConditionStatus, ContainerState, EventFact, Phase, PodCondition, PodFact};
use timeline::view::Tone;

/// It has no node, for this reason.
pub fn unplaced(reason: &str, message: &str) -> impl FnOnce(&mut PodFact) {
    move |pod| {
        (pod.node, pod.phase, pod.ready, pod.containers) = (None, Phase::Pending, None, Vec::new());
        pod.scheduled = Some(condition(ConditionStatus::False, reason, message));
    }
}

#[test]
fn a_node_that_is_not_ready_is_named() {
    let mut web = Web::live(3);
    web.now += 60_000;
    for pod in [100, 101] {
        web.pod(pod, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "", ""));
            pod.node = Some("node-7".into());
        });
        web.event(pod, "NodeNotReady", "Node is not ready");
    }
    web.report();
    web.now += 61_000;
    assert_eq!(web.verdict(), "[Degraded] Revision 1 has 1 of 3 available: node node-7 is not ready.");
    let said = "Node node-7 has not been ready for 1 min 1 s: 2 pods on it do not count. Kubernetes replaces them after \
                their tolerationSeconds, by default 300 s.";
    assert_eq!(first(&web), said);
    assert_eq!(command(&web), "describe node node-7");
    // Of a pod that was not ready before there is no Event.
    let mut both = Web::live(3);
    both.wait(60_000).pod(101, unready);
    both.wait(20_000).pod(100, unready);
    both.event(100, "NodeNotReady", "Node is not ready");
    both.wait(61_000).report();
    let two = "Node node-1 has not been ready for 1 min 1 s: 2 pods on it do not count.";
    assert!(first(&both).starts_with(two), "{}", first(&both));
    // A kubelet that reports something is there again, whatever it reports.
    let mut back = Web::live(1);
    back.wait(60_000).pod(100, |pod| pod.ready = Some(condition(ConditionStatus::False, "", "")));
    back.event(100, "NodeNotReady", "Node is not ready");
    back.wait(60_000).event(100, "Unhealthy", "Readiness probe failed: timeout");
    assert!(first(&back).contains("not ready any more"), "{}", first(&back));
    // `ContainersReady` is the kubelet's. Nobody else changes it, and its containers start again not ready.
    let mut started = Web::live(1);
    started.wait(60_000).pod(100, |pod| pod.ready = Some(condition(ConditionStatus::False, "", "")));
    started.event(100, "NodeNotReady", "Node is not ready");
    started.wait(60_000).pod(100, |pod| {
        unready(pod);
        pod.conditions.push(PodCondition {
            kind: "ContainersReady".into(),
            status: ConditionStatus::False,
            reason: "ContainersNotReady".into(),
            message: "containers with unready status: [web]".into(),
        });
    });
    assert!(first(&started).contains("not ready any more"), "{}", first(&started));
    // It is back, and the pods are not.
    web.pod(100, ready);
    web.wait(10_000).pod(100, unready);
    web.now += 20_000;
    assert!(web.view().reasons.iter().any(|reason| reason.sentence.contains("not ready any more")));
}

/// The node controller goes from pod to pod, and each report arrives by itself.
#[test]
fn a_node_is_not_ready_since_the_first_report_of_its_pods() {
    let mut web = Web::live(3);
    for (at, pod, since) in [(60_000, 100, "0.5 s"), (61_400, 101, "1.9 s"), (63_000, 102, "3.5 s")] {
        web.wait_until(at).pod(pod, unready);
        web.event(pod, "NodeNotReady", "Node is not ready");
        web.report();
        web.now = at + 500;
        assert!(first(&web).starts_with(&format!("Node node-1 has not been ready for {since}: ")), "{}", first(&web));
    }
    web.now = 72_000;
    assert!(first(&web).starts_with("Node node-1 has not been ready for 12 s: 3 pods on it do not count."));
    // It was back in between: another pod was found ready.
    let mut again = Web::live(2);
    again.wait_until(60_000).pod(100, unready);
    again.event(100, "NodeNotReady", "Node is not ready");
    again.wait_until(70_000).pod(101, unready);
    again.wait_until(80_000).pod(101, ready);
    again.wait_until(90_000).pod(101, unready);
    again.event(101, "NodeNotReady", "Node is not ready");
    again.report();
    again.now = 102_000;
    assert!(first(&again).starts_with("Node node-1 has not been ready for 12 s: 2 pods on it do not count."));
}

/// The watch of pods is late while all pods of a node change at once.
#[test]
fn a_node_is_named_if_its_pods_arrive_after_its_reports() {
    let lost_after = |millis: i64| {
        let mut web = Web::live(2);
        web.wait_until(60_000);
        (100..102).for_each(|pod| web.event(pod, "NodeNotReady", "Node is not ready"));
        web.wait(millis);
        (100..102).for_each(|pod| web.pod(pod, unready));
        web.report();
        web.wait(11_000);
        first(&web)
    };
    for millis in [2_274, 15_000] {
        let said = lost_after(millis);
        assert!(said.starts_with("Node node-1 has not been ready for 11 s: 2 pods on it do not count."), "{said}");
    }
    let other = "2 pods are running but not ready any more for 11 s.";
    assert!(lost_after(15_001).starts_with(other), "{}", lost_after(15_001));
    // It was ready since the report.
    let mut again = Web::live(1);
    again.wait_until(60_000).pod(100, unready);
    again.event(100, "NodeNotReady", "Node is not ready");
    again.wait_until(66_000).pod(100, ready);
    again.wait_until(70_000).pod(100, unready);
    again.report();
    again.now = 81_000;
    assert!(first(&again).starts_with("1 pod is running but not ready any more for 11 s."), "{}", first(&again));
}

/// They are deleted while their kubelet does not answer and nobody knows that yet: the new pods wait for the same kubelet.
#[test]
fn a_node_is_named_by_reports_of_pods_that_terminate_on_it() {
    let mut web = Web::live(2);
    web.wait_until(60_000);
    for pod in [100, 101] {
        web.kill_pod(pod);
        web.add_pod(pod + 100, 2, |pod| {
            (pod.phase, pod.ready) = (Phase::Pending, None);
            pod.containers[0].state = Some(waiting("ContainerCreating", ""));
        });
    }
    web.report();
    web.wait_until(83_000);
    (100..102).for_each(|pod| web.event(pod, "NodeNotReady", "Node is not ready"));
    web.now = 120_000;
    let said = "Node node-1 has not been ready for 37 s: 2 pods on it do not count.";
    assert!(first(&web).starts_with(said), "{}", first(&web));
    // Its kubelet is back.
    web.event_of(200, "web", "Pulled", "Container image \"web:v1\" already present on machine");
    let starts = "1 pod has been starting for less than 0.1 s since the kubelet had its image; ";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
}

#[test]
fn a_node_that_is_not_ready_does_not_end_the_crash_loop_of_a_pod_on_it() {
    let verdict = |change: fn(&mut PodFact), now: Millis, silent: &str| {
        let mut web = Web::live(3);
        web.wait_until(60_000).pod(100, change);
        web.wait_until(70_000).pod(101, unready);
        web.event(101, "NodeNotReady", "Node is not ready");
        web.report();
        web.now = now;
        let said = format!("Node node-1 has not been ready for {silent}: 2 pods on it");
        assert!(first(&web).starts_with(&said), "{}", first(&web));
        web.verdict()
    };
    let degraded = "[Degraded] Revision 1 has 1 of 3 available: node node-1 is not ready.";
    assert_eq!(verdict(|pod| crashing(2)(pod), 71_000, "1.0 s"), degraded);
    let runs: fn(&mut PodFact) = |pod| {
        crashing(2)(pod);
        unready(pod);
        (pod.containers[0].state, pod.containers[0].started_millis) = (Some(ContainerState::Running), Some(50_000));
    };
    assert_eq!(verdict(runs, 115_000, "45 s"), degraded, "nobody knows whether it has run for a minute");
    let other = verdict(unready, 115_000, "45 s");
    assert!(other.starts_with("[Recovering] "), "{other}");
}

/// Kubernetes sends the Event only about pods that were ready: those of the revision that is replaced.
#[test]
fn a_node_that_is_not_ready_during_a_rollout_is_named_and_not_the_new_revision() {
    let silent_since_60_s = |change: fn(&mut PodFact)| {
        let mut web = replacing(change);
        web.wait_until(30_000).event(
            200,
            "Unhealthy",
            "Readiness probe failed: HTTP probe failed with statuscode: 503",
        );
        web.wait_until(60_000);
        for pod in 100..103 {
            web.pod(pod, unready);
            web.event(pod, "NodeNotReady", "Node is not ready");
        }
        web.report();
        web
    };
    let replaces = "Kubernetes replaces them after their tolerationSeconds, by default 300 s.";
    let mut web = silent_since_60_s(unready).at(72_000);
    assert_eq!(web.verdict(), "[Degraded] Revision 2 is replacing revision 1: no pod is available.");
    let said = "Node node-1 has not been ready for 12 s: 3 old pods and 1 new pod on it do not count.";
    assert_eq!(first(&web), format!("{said} {replaces}"), "a probe's words are older than the silence");
    assert_eq!((web.view().reasons.len(), command(&web).as_str()), (1, "describe node node-1"));
    web.now = 121_000;
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: node node-1 is not ready.");
    assert_eq!(command(&web), "describe node node-1");
    // Its kubelet finds a pod ready: it is back.
    web.wait_until(130_000).pod(100, ready);
    let old = "Revision 1 has problems of its own: 2 pods are running but not ready any more for 1 min 10 s.";
    assert!(first(&web).starts_with(old), "{}", first(&web));
    assert!(web.view().reasons[1].sentence.starts_with("1 new pod is running but not ready for 1 min 50 s."));
    // The progress deadline passes before.
    let mut late = silent_since_60_s(unready).at(72_000);
    late.deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ProgressDeadlineExceeded", ""));
    });
    assert_eq!(late.verdict(), "[Deadline exceeded] Revision 2 makes no progress: node node-1 is not ready.");
    assert_eq!(command(&late), "describe node node-1");
    // Old pods alone are on it: they hold nothing up.
    let old = silent_since_60_s(|pod| {
        unready(pod);
        pod.node = Some("node-2".into());
    });
    let reason = old.at(121_000).view().reasons.swap_remove(1);
    let said = "Node node-1 has not been ready for 1 min 1 s: 3 old pods on it do not count.";
    assert_eq!((reason.sentence, reason.is_fault), (format!("{said} {replaces}"), false));
    // What failed before it was ever ready needs more than its node.
    let failing = silent_since_60_s(|pod| pod.containers[0].state = Some(waiting("ErrImagePull", "web:v2: not found")))
        .at(121_000);
    assert_eq!(failing.verdict(), "[Failing] Revision 2 cannot start: image web:v2 is not found.");
    assert_eq!(command(&failing), "rollout undo deployment/web");
}

#[test]
fn pods_of_any_revision_that_a_drain_left_without_a_node_are_named() {
    let cordoned = "0/1 nodes are available: 1 node(s) were unschedulable. preemption: 0/1 nodes are available.";
    let mut web = replacing(unplaced("Unschedulable", cordoned));
    web.wait(1_000);
    assert_eq!(first(&web), "No node fits pod p0200: 1 node(s) were unschedulable.");
    // The old pods still run: back to them is a way out.
    assert_eq!(command(&web), "rollout undo deployment/web");
    for pod in 100..103 {
        web.delete_pod(pod);
        web.add_pod(pod + 10, 2, unplaced("Unschedulable", cordoned));
    }
    web.report();
    web.wait(5_000);
    assert_eq!(first(&web), "No node fits 3 old pods and 1 new pod: 1 node(s) were unschedulable.");
    assert_eq!((web.view().reasons.len(), command(&web).as_str()), (1, "describe pod web-3-p0200"));
    web.wait(60_000);
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: no node fits its pods.");
    assert_eq!(command(&web), "describe pod web-3-p0200");
    // No node fits them for a reason that is not that of the new one: going back may help.
    let mut other =
        replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 node(s) didn't match Pod's node selector."));
    other.wait(61_000).delete_pod(100);
    other.add_pod(110, 2, unplaced("Unschedulable", cordoned));
    other.report();
    assert_eq!(other.verdict(), "[Blocked] Revision 2 is blocked: no node fits its pods.");
    assert_eq!(command(&other), "rollout undo deployment/web");
    // The new pod has a place: old ones alone hold nothing up.
    web.pod(200, |pod| *pod = crate::made::pod(200, SECOND, "web-3-p0200"));
    let reason = web.view().reasons.swap_remove(0);
    let said = "No node fits 3 old pods: 1 node(s) were unschedulable.";
    assert_eq!((reason.sentence.as_str(), reason.is_fault), (said, false));
    assert_eq!(command(&web), "rollout undo deployment/web");
}

#[test]
fn pods_that_no_node_fits_are_shown_as_soon_as_none_is_available() {
    let mut web = Web::live(1).at(60_000);
    web.delete_pod(100);
    web.add_pod(101, 2, unplaced("Unschedulable", "0/1 nodes are available: 1 node(s) were unschedulable."));
    web.report();
    web.wait(11_000);
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 1.");
    assert_eq!(command(&web), "describe pod web-2-p0101");
}

#[test]
fn pods_that_go_make_room_on_their_nodes() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."));
    web.set(2, |set| set.now.counts.desired = 2);
    web.pod(100, |pod| pod.deletion_at_millis = Some(320_000));
    web.report();
    web.now += 70_000;
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    assert_eq!(
        first(&web),
        "No node fits pod p0200: 1 Insufficient nvidia.com/gpu. 1 pod that terminates may make room."
    );
    web.now = 340_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad, "it should have been gone");
}

/// The scheduler has evicted pods of a lower priority, which need their time to go.
#[test]
fn a_pod_that_is_nominated_for_a_node_waits_for_room_there() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "NotTriggerScaleUp", "no group fits");
    web.pod(200, |pod| pod.nominated_node = Some("node-7".into()));
    web.now += 70_000;
    let waits = "No node fitted pod p0200: 1 Insufficient cpu. It is nominated for node node-7, and waits for room there or to be bound.";
    assert_eq!((first(&web).as_str(), web.view().verdict.tone), (waits, Tone::Busy));
    web.now += 240_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
    // The scheduler nominates a pod also while it binds it to a node that was added.
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "TriggeredScaleUp", "pod triggered scale-up");
    web.wait(360_000).pod(200, |pod| pod.nominated_node = Some("node-7".into()));
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    assert!(first(&web).ends_with("A node is being added (cluster-autoscaler)."), "{}", first(&web));
    // Of a pod that waits for a volume before it is bound the scheduler says nothing else.
    let mut web = replacing(unplaced("Unschedulable", ""));
    web.pod(200, |pod| (pod.scheduled, pod.nominated_node) = (None, Some("node-7".into())));
    web.now += 20_000;
    let waits = "1 new pod has had no node for 20 s. Pod p0200 is nominated for node node-7; it may wait for a volume, a device \
                 or other pods before it is bound.";
    assert_eq!(first(&web), waits);
}

#[test]
fn a_node_that_is_added_for_one_pod_is_for_all() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.add_pod(201, SECOND, unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "TriggeredScaleUp", "pod triggered scale-up");
    // More of the others than are kept.
    for _ in 0..60 {
        web.wait(1_000).event(201, "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.");
    }
    web.now += 10_000;
    let comes = "No node fits 2 pods: 1 Insufficient cpu. A node is being added (cluster-autoscaler).";
    assert_eq!((first(&web).as_str(), web.view().verdict.tone), (comes, Tone::Busy));
    // One that does not come for so long is not being added any more.
    let added_millis = web.now - 70_000;
    web.now = added_millis + 900_000;
    assert_eq!(first(&web), comes);
    web.now += 1;
    assert_eq!(first(&web), "No node fits 2 pods: 1 Insufficient cpu.");
}

/// GKE says so of a pod whose scale-up was triggered.
#[test]
fn a_node_that_could_not_be_added_for_one_pod_does_not_come_for_another() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.add_pod(201, SECOND, unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "TriggeredScaleUp", "pod triggered scale-up");
    let why = "Node scale up in zones us-central1-c associated with this pod failed: GCE out of resources.";
    web.wait(5_000).event(200, "FailedScaleUp", why);
    web.now += 6_000;
    let failed = format!("No node fits pod p0200: 1 Insufficient cpu. No node is added: {why}");
    let blocked = "Can't remove an old pod (maxUnavailable 0) or add a new one (no node fits): the rollout is blocked.";
    assert_eq!(causes(&web), [failed.as_str(), "No node fits pod p0201: 1 Insufficient cpu.", blocked]);
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

/// Lists have Events by name, which tells when each came for the first time.
#[test]
fn the_last_answer_of_an_autoscaler_is_the_newest_by_its_own_time() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.now += 70_000;
    let pod = web.timeline.model().pods.values().find(|pod| pod.name.ends_with("p0200")).unwrap().clone();
    for (number, reason, seconds) in [(900, "NotTriggerScaleUp", 80), (901, "TriggeredScaleUp", 40)] {
        let warning = warning(number, pod.uid.bits(), ("Pod", &pod.name), reason, "max size reached");
        let event = EventFact { is_warning: false, last_millis: Some(seconds * 1_000), ..warning };
        web.timeline.apply(web.now, timeline::Fact::Event(Box::new(event)));
    }
    assert_eq!(first(&web), "No node fits pod p0200: 1 Insufficient cpu. No node is added: max size reached.");
}

#[test]
fn a_node_that_came_for_another_pod_is_not_being_added_any_more() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.add_pod(201, SECOND, unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "Nominated", "Pod should schedule on: nodeclaim/a");
    web.now += 61_000;
    web.pod(200, |pod| *pod = crate::made::pod(200, SECOND, "web-3-p0200"));
    assert!(first(&web).starts_with("No node fits pod p0201: 1 Insufficient cpu."), "{}", first(&web));
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

#[test]
fn a_claim_and_a_scheduler_that_fails_are_no_lack_of_nodes() {
    for (reason, message, said) in [
        (
            "Unschedulable",
            "0/1 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/1 nodes.",
            "persistentvolumeclaim \"data\" not found.",
        ),
        (
            "Unschedulable",
            "pod has unbound immediate PersistentVolumeClaims",
            "pod has unbound immediate PersistentVolumeClaims.",
        ),
        ("SchedulerError", "binding volumes: context deadline exceeded", "the scheduler fails."),
    ] {
        let mut web = replacing(unplaced(reason, message));
        web.now += 70_000;
        assert_eq!(matter(&web), said);
    }
    let mut web = replacing(|pod| {
        (pod.node, pod.phase, pod.ready, pod.scheduled, pod.containers) =
            (None, Phase::Pending, None, None, Vec::new());
    });
    web.now += 70_000;
    assert_eq!(matter(&web), "no scheduler has placed its pods.");
    assert!(first(&web).ends_with("or it waits for a volume or a device."), "{}", first(&web));
    web.event(200, "FailedResourceClaimCreation", "PodResourceClaim gpu: resource claim template \"gpu\" not found");
    assert_eq!(matter(&web), "a ResourceClaim of its pods cannot be created.");
    let claim = "1 new pod has had no node for 1 min 10 s (pod p0200): PodResourceClaim gpu: resource claim template \"gpu\" not found.";
    assert_eq!(first(&web), claim);
}

/// The condition of the gates stays until the scheduler writes another one: the server does not hand it on.
#[test]
fn the_wait_for_a_scheduler_counts_from_the_removal_of_the_gates() {
    let gated = || {
        let mut web = replacing(unplaced("SchedulingGated", "Scheduling is blocked"));
        web.now += 600_000;
        assert_eq!(first(&web), "1 new pod waits for scheduling gates (pod p0200).");
        web
    };
    let mut web = gated();
    web.pod(200, |pod| pod.scheduled = None);
    web.now += 9_000;
    assert_eq!((first(&web).as_str(), web.view().verdict.tone), ("", Tone::Busy));
    web.now += 2_000;
    assert!(first(&web).starts_with("1 new pod has had no node for 11 s, and no scheduler"), "{}", first(&web));
    assert_eq!(web.view().verdict.tone, Tone::Busy);
    web.now += 50_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad);

    let mut web = gated();
    web.pod(200, |pod| pod.scheduled = None);
    web.wait(50).pod(200, unplaced("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu."));
    web.now += 59_000;
    assert_eq!(web.view().verdict.tone, Tone::Busy);
    web.now += 2_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad);
}

#[test]
fn a_node_that_karpenter_has_not_just_added_is_not_being_added() {
    let said = |nodes: &[&str], apart_millis: Millis| {
        let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
        for node in nodes {
            web.wait(apart_millis).event(200, "Nominated", &format!("Pod should schedule on: {node}"));
        }
        first(&web)
    };
    let comes = "No node fits pod p0200: 1 Insufficient cpu. A node is being added (Karpenter).";
    let waits = "No node fitted pod p0200: 1 Insufficient cpu. It is nominated for node b, and waits for room there or to be bound.";
    assert_eq!(said(&["nodeclaim/a"], 1_000), comes);
    assert_eq!(said(&["nodeclaim/a", "nodeclaim/a, node/b"], 900_000), comes, "it has registered since");
    assert_eq!(said(&["nodeclaim/a", "nodeclaim/a, node/b"], 900_001), waits);
    assert_eq!(said(&["nodeclaim/c", "nodeclaim/a, node/b"], 1_000), waits);
    assert_eq!(said(&["node/b"], 1_000), waits);
}

#[test]
fn karpenter_says_that_no_node_comes() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."));
    web.event(200, "Nominated", "Pod should schedule on: nodeclaim/a");
    web.wait(11_000).event(
        200,
        "FailedScheduling",
        "Failed to schedule pod, all available instance types exceed limits for nodepool \"a\"",
    );
    let said = "No node is added: all available instance types exceed limits for nodepool \"a\".";
    assert!(first(&web).contains(said), "{}", first(&web));
}
