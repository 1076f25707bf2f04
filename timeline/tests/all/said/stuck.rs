//! When something holds a rollout up, and when nothing does: each condition on its own.

use crate::made::{SECOND, WEB, Web, condition, crashing, ready, unready, waiting};
use crate::said::evidence::causes;
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, IntOrPercent, Phase, PodFact, Role, Strategy};
use timeline::view::{self, Now};

fn has(web: &Web, beginning: &str) -> bool {
    causes(web).iter().any(|cause| cause.starts_with(beginning))
}

fn unschedulable(pod: &mut PodFact) {
    (pod.node, pod.phase, pod.containers) = (None, Phase::Pending, Vec::new());
    pod.scheduled =
        Some(condition(ConditionStatus::False, "Unschedulable", "0/4 nodes are available: 4 Insufficient cpu."));
}

fn budget(web: &mut Web, surge: u32, unavailable: u32) {
    web.deployment(|deployment| {
        deployment.spec.strategy = Strategy::RollingUpdate {
            max_surge: IntOrPercent::Int(surge),
            max_unavailable: IntOrPercent::Int(unavailable),
        };
    });
}

/// Revision 2 has so many ready pods and one that no node takes; revision 1 has all three, some of which are not ready.
fn half_way(surge: u32, unavailable: u32, new_ready: u32, old_unready: u32) -> Web {
    let mut web = Web::replacing();
    budget(&mut web, surge, unavailable);
    web.set(SECOND, |set| set.now.counts.desired = 1 + new_ready);
    web.add_pod(200, SECOND, unschedulable);
    (0..new_ready).for_each(|number| web.add_ready_pod(201 + u128::from(number), SECOND));
    (0..old_unready).for_each(|number| web.pod(100 + u128::from(number), unready));
    web.report();
    web.now += 60_001; // then it is a fault that no node takes it
    web
}

#[test]
fn a_rollout_is_blocked_where_no_old_pod_may_go_and_no_new_one_fits() {
    let blocked = "Can't remove an old pod";
    assert!(has(&half_way(1, 0, 0, 0), blocked));
    assert!(has(&half_way(2, 0, 0, 0), blocked), "one more may be created, and no node takes it either");
    assert!(!has(&half_way(1, 1, 0, 0), blocked), "an old one may go");
    assert!(!has(&half_way(2, 0, 1, 0), blocked), "one of the new ones is there: an old one may go");
    assert!(!has(&half_way(2, 0, 1, 1), blocked), "an old one that does not work may go");
    assert!(!has(&half_way(3, 0, 1, 0), blocked), "more are available than there must be");
    // Nothing else is in the way of the new pod.
    let mut web = half_way(1, 0, 0, 0);
    web.pod(200, |pod| *pod = crate::made::pod(200, SECOND, "web-3-p0200"));
    assert!(!has(&web, blocked), "a node takes it");
    // The first revision has no old pods.
    let mut web = Web::made(3);
    budget(&mut web, 1, 0);
    web.set(2, |set| set.now.counts.desired = 1);
    web.pod(100, unschedulable);
    web.now += 60_001;
    assert!(has(&web, "No node fits pod p0100"), "{:?}", causes(&web));
    assert!(!has(&web, blocked));
}

#[test]
fn a_rollout_is_blocked_by_what_the_api_server_refuses_too() {
    let mut web = Web::replacing();
    budget(&mut web, 1, 0);
    web.deployment(|deployment| {
        deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", "is forbidden: no"));
    });
    assert_eq!(
        causes(&web),
        [
            "The API server refuses new pods: is forbidden: no.",
            "Can't remove an old pod (maxUnavailable 0) or add a new one (refused): the rollout is blocked."
        ]
    );
    // What is refused is no failure of the ReplicaSet controller.
    web.now = 60_000;
    assert!(!has(&web, "The ReplicaSet controller has been behind"));
    web.deployment(|deployment| {
        deployment.status.replica_failure = Some(condition(ConditionStatus::False, "FailedCreate", "no"));
    });
    assert_eq!(causes(&web), ["The ReplicaSet controller has been behind for 40 s: 1 pod desired, 0 exist."]);
    // Nothing is refused while it is paused: nobody keeps account.
    web.deployment(|deployment| {
        deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", "no"));
        deployment.spec.paused = true;
    });
    assert!(!has(&web, "The API server refuses"));
}

#[test]
fn what_is_refused_is_told_with_its_time_and_its_words() {
    let refused = |reason: &str, at: i64| {
        let mut web = Web::replacing();
        web.deployment(|deployment| {
            let mut failure = condition(ConditionStatus::True, reason, "no");
            failure.last_transition_millis = Some(at);
            deployment.status.replica_failure = Some(failure);
        });
        let reason = web.view().reasons.swap_remove(0);
        let evidence = reason.evidence;
        format!(
            "{} {} {} {} {:?}",
            reason.sentence, evidence.object, evidence.reason, evidence.message, evidence.since_millis
        )
    };
    assert_eq!(
        refused("FailedCreate", 12_000),
        "The API server refuses new pods: no. Deployment web FailedCreate no Some(12000)"
    );
    // A clock that is ahead tells of no future.
    assert_eq!(
        refused("FailedDelete", 99_000),
        "The API server refuses to delete pods: no. Deployment web FailedDelete no Some(20000)"
    );
}

/// Recreate: three pods of revision 1 were asked to go at 20 s and have 30 s.
fn taken_down(change: impl FnOnce(&mut Web)) -> Web {
    let mut web = Web::replacing();
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.set(2, |set| set.now.counts.desired = 0);
    web.set(SECOND, |set| set.now.counts.desired = 0);
    (0..3).for_each(|number| web.kill_pod(100 + number));
    change(&mut web);
    web
}

#[test]
fn old_pods_that_outlive_their_grace_period_hold_recreate_up() {
    let late = "3 old pods have been terminating for longer than the grace period";
    let mut web = taken_down(|_| {});
    let ends = 50_000 + web.timeline.skew_millis();
    // A kubelet needs a moment after the grace period.
    web.now = ends + 10_000;
    assert!(!has(&web, late));
    web.now = ends + 10_001;
    assert!(has(&web, late), "{:?}", causes(&web));
    assert!(web.verdict().starts_with("[Taking down]"), "{}", web.verdict());
    web.now = ends + 60_001;
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: old pods do not go.");
    let at = |change: fn(&mut Web)| {
        let web = taken_down(change).at(65_000);
        causes(&web).into_iter().find(|cause| cause.contains("terminating for longer")).unwrap_or_default()
    };
    assert_eq!(at(|_| {}), format!("{late} and must be gone first (one is p0100)."));
    assert!(at(|web| web.delete_pod(100)).starts_with("2 old pods have"));
    let released = |web: &mut Web| web.pod(100, |pod| pod.meta.controller = None);
    assert!(at(released).starts_with("2 old pods have"), "nobody waits for one that is no ReplicaSet's");
    let one = at(|web| [100, 101].into_iter().for_each(|pod| web.delete_pod(pod)));
    let words = "1 old pod has been terminating for longer than the grace period and must be gone first (pod p0102).";
    assert_eq!(one, words);
    let rolling = |web: &mut Web| budget(web, 1, 0);
    assert_eq!(at(rolling), "", "a rolling update does not wait for them");
    assert_eq!(at(|web| web.deployment(|deployment| deployment.spec.replicas = 0)), "", "nothing is to come");
    let ended = |web: &mut Web| {
        (100..103).for_each(|pod| web.pod(pod, |pod| pod.phase = timeline::fact::Phase::Succeeded));
    };
    assert_eq!(at(ended), "", "the controller does not wait for those that a finalizer holds");
    // Pods of the revision that is scaled up are no old ones.
    let new = |web: &mut Web| {
        (100..103).for_each(|pod| web.delete_pod(pod));
        web.set(SECOND, |set| set.now.counts.desired = 3);
        web.add_ready_pod(200, SECOND);
        web.kill_pod(200);
    };
    assert_eq!(at(new), "");
    // Of a revision that is being taken down before the next one is there, all are.
    let mut web = Web::live(3).at(20_000);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_down(2, 100);
    web.now = 70_000;
    assert!(has(&web, late), "{:?}", causes(&web));
    let old_ones_beside = |web: &mut Web| web.set(SECOND, |set| set.now.counts.desired = 3);
    assert!(at(old_ones_beside).starts_with(late));
}

#[test]
fn pods_that_nobody_makes_are_missed_after_half_a_minute() {
    let behind = |web: &Web| causes(web).into_iter().find(|cause| cause.contains("behind")).unwrap_or_default();
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 5);
    web.now = 90_000;
    assert_eq!(behind(&web), "");
    web.now = 90_001;
    assert_eq!(behind(&web), "The ReplicaSet controller has been behind for 30 s: 5 pods desired, 3 exist.");
    let now = Now { millis: web.now, skew_millis: 0 };
    let pods: Vec<u32> =
        view::Assessment::at(web.timeline.model(), WEB, now).unwrap().causes.iter().map(|cause| cause.pods).collect();
    assert_eq!(pods, [2], "that are missing");
    // One is made: it has half a minute for the next one.
    web.add_pod(103, 2, |_| {});
    assert_eq!(behind(&web), "");
    web.now = 120_002;
    assert_eq!(behind(&web), "The ReplicaSet controller has been behind for 30 s: 5 pods desired, 4 exist.");
    // One that was released, one that failed and one that goes do not count.
    web.pod(100, |pod| pod.meta.controller = None);
    web.pod(101, |pod| pod.phase = Phase::Failed);
    web.kill_pod(102);
    web.now = 160_000;
    assert_eq!(behind(&web), "The ReplicaSet controller has been behind for 39 s: 5 pods desired, 1 exists.");
    web.set(2, |set| set.now.deleting = true);
    assert_eq!(behind(&web), "", "it is being deleted");
}

/// Kubernetes deletes the pods of a namespace first, lets nobody create others, and sends no Event about that.
#[test]
fn pods_that_were_all_deleted_at_once_and_are_not_replaced_accuse_no_controller() {
    let why = "the namespace is being deleted, or the ReplicaSet controller cannot create pods.";
    let lost = format!("No pod has been created since all were deleted at 00:01:00 UTC: {why}");
    let next = "The ReplicaSet controller creates 3 pods, unless the namespace is being deleted.".to_owned();
    let command = |web: &Web| web.view().remedy.map(|remedy| format!("{}: {}", remedy.what, remedy.command));
    let show = "Show the namespace: kubectl get namespace shop";
    let mut web = Web::live(3).at(60_000);
    (100..103).for_each(|pod| web.kill_pod(pod));
    web.report();
    web.now = 65_000;
    assert_eq!((causes(&web).len(), web.view().next.as_str()), (0, "The ReplicaSet controller creates 3 pods."));
    web.now = 65_001;
    assert_eq!((causes(&web), web.view().next), (vec![lost.clone()], next.clone()));
    assert_eq!(command(&web).as_deref(), Some(show));
    // That they are gone changes nothing.
    web.now = 90_000;
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.now = 120_000;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 3.");
    web.now = 120_001;
    assert_eq!(web.verdict(), "[Degraded] Revision 1 has 0 of 3 available: all pods were deleted.");
    assert_eq!((causes(&web), web.view().next), (vec![lost.clone()], next));
    web.add_pod(103, 2, |_| {});
    assert!(!has(&web, "No pod has been created"), "one was created");
    // Of a rollout, the pods of all revisions.
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |_| {});
    web.report();
    web.now = 60_000;
    (100..103).chain([200]).for_each(|pod| web.kill_pod(pod));
    web.report();
    web.now = 65_001;
    let next = "The ReplicaSet controller creates 4 pods, unless the namespace is being deleted; when a new pod becomes \
                available, an old one can be removed (floor 3). Progress deadline: 00:10:00 UTC.";
    assert_eq!((causes(&web), web.view().next.as_str()), (vec![lost], next));
    web.now = 70_001;
    assert_eq!(web.verdict(), "[Degraded] Revision 2 is replacing revision 1: no pod is available.");
    assert_eq!(command(&web).as_deref(), Some(show), "an undo creates no pods either");
    // Who did not see them go says less.
    let mut late = web.first_listed();
    late.now = 75_002;
    assert_eq!(causes(&late), [format!("No pod has been created since all were deleted: {why}")]);
    // So does who began to watch once they were gone.
    let mut web = Web::live(3).at(60_000);
    (100..103).for_each(|pod| web.kill_pod(pod));
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    let mut late = web.first_listed();
    late.now = 90_001;
    assert_eq!(causes(&late), [format!("3 pods are desired, and none has been created for at least 30 s: {why}")]);
    let next = "The ReplicaSet controller creates 3 pods, unless the namespace is being deleted.";
    assert_eq!((late.view().next.as_str(), command(&late).as_deref()), (next, Some(show)));
    // A namespace takes them together. Others are missed, one after the other.
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.now = 70_001;
    (101..103).for_each(|pod| web.kill_pod(pod));
    web.now = 100_002;
    assert_eq!(causes(&web), ["The ReplicaSet controller has been behind for 30 s: 3 pods desired, 0 exist."]);
}

#[test]
fn what_began_before_anybody_looked_lasts_at_least_since_then() {
    let least = |web: &Web| web.view().reasons.into_iter().map(|reason| reason.evidence.is_least).collect::<Vec<_>>();
    // The spec is not observed: when that began is known to those who watched.
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.generation += 1);
    let mut late = web.first_listed();
    (web.now, late.now) = (70_000, 70_000);
    assert_eq!((least(&web), least(&late)), (vec![false], vec![true]));
    assert!(late.verdict().ends_with("has not reacted for 10 s."), "{}", late.verdict());
    // It began while nobody looked.
    let mut web = Web::live(3).at(60_000);
    web.unseen(|deployment, _| deployment.generation += 1);
    web.relisted(30_000);
    web.now = 70_000;
    assert_eq!(least(&web), [true]);
    // Somebody looks, and it begins a moment later.
    let mut late = Web::live(3).first_listed();
    late.wait(1_000).deployment(|deployment| deployment.generation += 1);
    late.now += 10_000;
    assert_eq!(least(&late), [false]);
    // Pods that were missing from the beginning.
    let mut web = Web::replacing().at(60_000);
    let mut late = web.first_listed();
    (web.now, late.now) = (80_000, 100_000);
    assert_eq!((least(&web), least(&late)), (vec![false], vec![true]));
}

/// What keeps an old pod from being ready does not keep the controller from removing it.
#[test]
fn an_old_pod_on_a_silent_node_does_not_explain_that_nothing_moves() {
    let mut web = Web::replacing().at(60_000);
    web.set(SECOND, |set| set.now.counts.desired = 3);
    for pod in 200..203 {
        web.add_pod(pod, SECOND, |pod| {
            ready(pod);
            pod.node = Some("node-2".into());
        });
    }
    web.set(2, |set| set.now.counts.desired = 1);
    (100..102).for_each(|pod| web.delete_pod(pod));
    web.pod(102, unready);
    web.event(102, "NodeNotReady", "Node is not ready");
    web.report();
    web.now = 360_000;
    assert_eq!(web.view().verdict.badge, "Rolling out", "half the deadline");
    web.now = 360_001;
    assert_eq!(web.verdict(), "[Blocked] Revision 2 makes no progress: 3 of 3 new pods available.");
    let why = "Node node-1 has not been ready for 5 min 0 s: 1 old pod on it does not count. Kubernetes replaces it after the \
               toleration of the pod, by default 300 s. Nothing has moved for a while, and nothing says why.";
    assert_eq!(web.view().verdict.why, why);
}

#[test]
fn a_pause_is_told_with_its_time() {
    let mut web = Web::live(3);
    for (now, paused) in [(30_000, true), (40_000, false), (50_000, true)] {
        web.wait_until(now).deployment(|deployment| deployment.spec.paused = paused);
    }
    let evidence = web.view().reasons.swap_remove(0).evidence;
    assert_eq!((evidence.object.as_str(), evidence.reason.as_str()), ("Deployment web", "spec.paused"));
    assert_eq!(evidence.since_millis, Some(50_000));
    web.deployment(|deployment| deployment.spec.paused = false);
    assert_eq!(causes(&web), Vec::<String>::new());
}

#[test]
fn troubles_of_an_old_revision_are_told_beside_the_new_ones() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, crashing(3));
    for pod in [100, 101] {
        web.pod(pod, |pod| {
            unready(pod);
            pod.containers[0].state = Some(waiting("ErrImagePull", ""));
        });
    }
    web.pod(102, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    assert_eq!(
        causes(&web),
        [
            "Container web crashes with exit code 1: 3 restarts so far (pod p0200).",
            "Revision 1 has problems of its own: image web:v1 cannot be pulled: ErrImagePull, why is not known (2 pods, one \
             is p0100). The kubelet tries again."
        ]
    );
    // A ReplicaSet that went to somebody else, or lost its pods, has none of ours.
    (100..102).for_each(|pod| web.pod(pod, |pod| pod.meta.controller = None));
    assert_eq!(causes(&web).len(), 1, "{:?}", causes(&web));
}

#[test]
fn troubles_of_an_old_revision_are_told_as_precisely_as_those_of_the_new_one() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "web:v2: not found")));
    web.wait(10_000);
    for pod in [100, 101] {
        web.event(pod, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500");
        web.event(pod, "Killing", "Container web failed liveness probe, will be restarted");
        web.pod(pod, |pod| {
            unready(pod);
            crashing(3)(pod);
            pod.containers[0].last_exit.as_mut().unwrap().code = 137;
        });
    }
    web.wait(5_000);
    assert_eq!(
        causes(&web),
        [
            "Image web:v2 cannot be pulled: not found (pod p0200).",
            "Revision 1 has problems of its own: container web is killed because its liveness probe fails in 2 pods (pod \
             p0100: 3 restarts so far). The probe saw: HTTP probe failed with statuscode: 500."
        ]
    );
}

#[test]
fn failures_of_one_kind_are_one_cause_and_the_first_pod_stands_for_all() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 4);
    web.add_pod(200, SECOND, crashing(3));
    web.add_pod(201, SECOND, crashing(5));
    web.add_pod(202, SECOND, crashing(5));
    web.add_pod(203, SECOND, |pod| {
        crashing(9)(pod);
        pod.containers[0].last_exit.as_mut().unwrap().reason = "OOMKilled".into();
    });
    assert_eq!(
        causes(&web),
        [
            "Container web crashes with exit code 1 in 3 pods (pod p0200: 3 restarts so far).",
            "Container web runs out of memory: 9 restarts so far (pod p0203)."
        ]
    );
    // What is decided comes before what may pass, whichever came first.
    web.add_pod(204, SECOND, |pod| pod.containers[0].state = Some(waiting("CreateContainerError", "no")));
    web.add_pod(205, SECOND, |pod| pod.containers[0].state = Some(waiting("ImagePullBackOff", "Back-off")));
    web.add_pod(206, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "denied")));
    web.add_pod(207, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "unauthorized")));
    web.add_pod(208, SECOND, |pod| pod.containers[0].state = Some(waiting("NewReasonOfTomorrow", "odd")));
    assert_eq!(
        causes(&web),
        [
            "Image web:v2 cannot be pulled: access denied (3 pods, one is p0206).",
            "Container web crashes with exit code 1 in 3 pods (pod p0200: 3 restarts so far).",
            "Container web runs out of memory: 9 restarts so far (pod p0203).",
            "Container web cannot be created (CreateContainerError, pod p0204): no.",
            "Container web does not start (NewReasonOfTomorrow, pod p0208): odd."
        ]
    );
}

/// The kubelet starts a container that it stops again at once: no state of its pod tells of the first ends.
#[test]
fn restarts_by_a_probe_count_from_the_first_one_and_keep_the_result_of_the_probe() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 2);
    (200..202).for_each(|pod| web.add_pod(pod, SECOND, |_| {}));
    let stopped = |web: &mut Web, restarts: u32, state: ContainerState| {
        let finished_millis = Some(web.now);
        for pod in 200..202 {
            web.event_of(pod, "web", "Killing", "Container web failed liveness probe, will be restarted");
            let exit = Exit { code: 137, reason: "Error".into(), ..Exit::default() };
            let exit = Exit { finished_millis, ran_millis: Some(12_000), ..exit };
            web.pod(pod, |pod| {
                (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
                pod.containers[0].state = Some(state.clone());
            });
        }
    };
    let told = |web: &Web, times: &str| {
        let killed = "Container web is killed because its liveness probe fails in 2 pods";
        let saw = "The probe saw: HTTP probe failed with statuscode: 503.";
        assert_eq!(causes(web), [format!("{killed} (pod p0200: {times}). {saw}")]);
    };
    for restarts in 1..=2 {
        web.wait(11_000);
        for pod in 200..202 {
            web.event_of(pod, "web", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503");
        }
        stopped(web.wait(1_000), restarts, ContainerState::Running);
    }
    told(&web, "2 restarts in 12 s");
    // The kubelet leaves out the results of the last runs.
    stopped(web.wait(12_000), 3, ContainerState::Running);
    told(&web, "3 restarts in 24 s");
    stopped(web.wait(12_000), 3, waiting("CrashLoopBackOff", "back-off 20s"));
    told(&web, "3 restarts in 36 s");
    web.now += 12_000;
    told(&web, "3 restarts in 48 s");
    web.now += 12_000;
    (200..202).for_each(|pod| {
        web.pod(pod, |pod| (pod.containers[0].restarts, pod.containers[0].state) = (4, Some(ContainerState::Running)));
    });
    told(&web, "4 restarts in 1 min 0 s");
    // The story names one pod of both. Of the other one the time counts from its begin.
    web.delete_pod(200);
    let alone = "Container web is killed because its liveness probe fails: 4 restarts in 1 min 12 s (pod p0201). The probe saw: \
                 HTTP probe failed with statuscode: 503.";
    assert_eq!(causes(&web), [alone]);
}

#[test]
fn restarts_of_a_container_do_not_count_from_those_of_another_one() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| {
        let proxy = Container { name: "proxy".into(), ..pod.containers[0].clone() };
        pod.containers.push(proxy);
    });
    // The kubelet starts it again at once.
    web.wait_until(31_000).pod(200, |pod| {
        let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
        (pod.containers[1].restarts, pod.containers[1].last_exit) = (1, Some(exit.into()));
    });
    web.wait_until(80_000).pod(200, crashing(1));
    web.now = 100_000;
    assert!(has(&web, "Container web crashes with exit code 1: 1 restart in 20 s"), "{:?}", causes(&web));
}

#[test]
fn restarts_of_a_pod_that_never_was_ready_are_told_with_their_time() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |_| {});
    web.wait_until(22_000).pod(200, crashing(2));
    web.now = 30_000;
    assert_eq!(causes(&web), ["Container web crashes with exit code 1: 2 restarts so far (pod p0200)."]);
    // It runs again for the moment, ready or not, and crashes all the same: until it has run for a minute.
    web.wait_until(31_000).pod(200, |pod| pod.containers[0].state = Some(ContainerState::Running));
    assert_eq!(causes(&web), ["Container web crashes with exit code 1: 2 restarts so far (pod p0200)."]);
    web.pod(200, |pod| {
        ready(pod);
        pod.containers[0].started_millis = Some(31_000);
    });
    web.now = 31_000 + 59_000 + web.timeline.skew_millis();
    assert!(has(&web, "Container web crashes"), "{:?}", causes(&web));
    web.now += 1_000;
    assert_eq!(causes(&web), Vec::<String>::new());
    web.pod(200, unready);
    assert_eq!(causes(&web), Vec::<String>::new(), "it has recovered, and is not ready for a moment");
}

#[test]
fn pods_that_failed_are_a_cause_for_90_seconds_while_others_are_missing() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into()));
    web.report();
    let failed = "A pod failed, OutOfcpu (pod p0100).";
    assert_eq!(causes(&web), [failed]);
    web.add_pod(103, 2, |_| {});
    web.now = 150_000;
    assert!(causes(&web).contains(&failed.to_owned()), "{:?}", causes(&web));
    web.now = 150_001;
    assert!(!causes(&web).contains(&failed.to_owned()), "{:?}", causes(&web));
    // Nothing is missing: it lies about.
    web.wait_until(61_000).pod(103, ready);
    assert_eq!(causes(&web), Vec::<String>::new());
}

#[test]
fn pods_that_wait_for_a_gate_or_a_node_are_counted() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 5);
    let gate = "corresponding condition of pod readiness gate \"shop/open\" does not exist.";
    for number in 0..2 {
        web.wait(1_000).add_pod(200 + number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ReadinessGatesNotReady", gate));
        });
        web.add_pod(210 + number, SECOND, unschedulable);
        web.add_pod(220 + number, SECOND, unready);
    }
    web.now = 31_500;
    assert_eq!(
        causes(&web)[..3],
        [
            "No node fits 2 pods: 4 Insufficient cpu.",
            "Waiting for readiness gate shop/open on 2 pods for 10 s. Earlier pods took 5.0 s.",
            "1 new pod is running but not ready for 10 s. Earlier pods took 5.0 s."
        ]
    );
    let since: Vec<_> =
        web.view().reasons.iter().map(|reason| (reason.is_fault, reason.evidence.since_millis)).collect();
    assert_eq!(since[..3], [(false, Some(21_000)); 3]);
}

#[test]
fn pods_that_wait_for_different_things_are_told_apart() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 9);
    for (number, gate) in [(200, "shop/open"), (201, "shop/paid")] {
        let message = format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.");
        web.add_pod(number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ReadinessGatesNotReady", &message));
        });
    }
    for (number, is_in_startup) in [(210, false), (211, true)] {
        web.add_pod(number, SECOND, |pod| {
            unready(pod);
            pod.containers[0].is_in_startup = is_in_startup;
        });
    }
    for (number, names) in [(212, "web proxy"), (213, "web"), (214, "web")] {
        let message = format!("containers with unready status: [{names}]");
        web.add_pod(number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ContainersNotReady", &message));
        });
    }
    for (number, container) in [(220, "web"), (221, "proxy")] {
        web.add_pod(number, SECOND, |pod| {
            pod.containers[0].name = container.into();
            pod.containers[0].state = Some(waiting("CreateContainerConfigError", "secret \"db\" not found"));
        });
    }
    web.now += 15_000;
    let said = causes(&web);
    for begin in [
        "Waiting for readiness gate shop/open on 1 pod ",
        "Waiting for readiness gate shop/paid on 1 pod ",
        "1 new pod is running but not ready for ",
        "1 new pod is running but not ready (containers web, proxy) for ",
        "2 new pods are running but not ready (container web) for ",
        "1 new pod is running but the startup probe has not passed ",
        "Container web cannot be created (CreateContainerConfigError, pod p0220)",
        "Container proxy cannot be created (CreateContainerConfigError, pod p0221)",
    ] {
        assert_eq!(said.iter().filter(|cause| cause.starts_with(begin)).count(), 1, "{begin}: {said:#?}");
    }
}

#[test]
fn pods_that_are_ready_become_available_together_or_one_after_the_other() {
    let ready_at = |times: &[i64]| {
        let mut web = Web::replacing();
        web.set(SECOND, |set| (set.now.min_ready_seconds, set.now.counts.desired) = (10, 3));
        for (number, at) in (200..).zip(times) {
            web.wait_until(*at).add_pod(number, SECOND, |pod| {
                ready(pod);
                pod.ready.as_mut().unwrap().last_transition_millis = Some(*at);
            });
        }
        web.now = 22_000;
        causes(&web).swap_remove(0)
    };
    assert_eq!(ready_at(&[20_000]), "1 pod is ready and becomes available in 9 s (minReadySeconds 10).");
    let together = "2 pods are ready and become available in 9 s (minReadySeconds 10).";
    assert_eq!(ready_at(&[20_000, 20_999]), together);
    let in_turn = "2 pods are ready and the first one becomes available in 9 s (minReadySeconds 10).";
    assert_eq!(ready_at(&[20_000, 21_000]), in_turn);
}

#[test]
fn an_init_container_is_told_with_whether_it_has_started() {
    let init = |states: [Option<ContainerState>; 2]| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, |pod| {
            pod.phase = Phase::Pending;
            let app = pod.containers[0].clone();
            pod.containers[0].state = Some(waiting("PodInitializing", ""));
            for (number, state) in states.into_iter().enumerate() {
                let named = Container { name: format!("init-{number}"), role: Role::Init, state, ..app.clone() };
                pod.containers.insert(number, named);
            }
        });
        web.now = 35_000;
        causes(&web).swap_remove(0)
    };
    let done = || Some(ContainerState::Terminated { exit_code: 0, reason: String::new(), message: String::new() });
    let words = |which: &str| format!("Init container {which}, pod p0200); the pod has been starting for 15 s.");
    assert_eq!(init([None, None]), words("init-0 has not started (0 of 2 done"));
    assert_eq!(init([Some(ContainerState::Running), None]), words("init-0 is running (0 of 2 done"));
    assert_eq!(init([done(), Some(ContainerState::Running)]), words("init-1 is running (1 of 2 done"));
    assert_eq!(init([None, Some(ContainerState::Running)]), words("init-0 has not started (0 of 2 done"));
    let mut web = Web::replacing();
    for number in 200..203 {
        web.add_pod(number, SECOND, |pod| {
            let migrate = Container { name: "migrate".into(), role: Role::Init, ..pod.containers[0].clone() };
            (pod.phase, pod.containers[0].state) = (Phase::Pending, Some(waiting("PodInitializing", "")));
            pod.containers.insert(0, migrate);
        });
    }
    web.now = 35_000;
    assert_eq!(
        causes(&web),
        [words("migrate is running (0 of 1 done, 3 pods, one is p0200").replace(", pod p0200)", ")")]
    );
}
