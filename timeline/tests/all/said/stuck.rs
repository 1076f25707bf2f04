//! When something holds a rollout up, and when nothing does: each condition on its own.

use crate::made::{SECOND, WEB, Web, condition, ready, unready};
use crate::said::evidence::causes;
use crate::said::scheduling::unplaced;
use timeline::fact::{ConditionStatus, IntOrPercent, Phase, PodFact, Strategy};
use timeline::view::{self, Now};

pub fn has(web: &Web, beginning: &str) -> bool {
    causes(web).iter().any(|cause| cause.starts_with(beginning))
}

pub fn unschedulable(pod: &mut PodFact) {
    unplaced("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu.")(pod);
}

pub const fn rolling_update(surge: u32, unavailable: u32) -> Strategy {
    let (max_surge, max_unavailable) = (IntOrPercent::Int(surge), IntOrPercent::Int(unavailable));
    Strategy::RollingUpdate { max_surge, max_unavailable }
}

fn budget(web: &mut Web, surge: u32, unavailable: u32) {
    web.deployment(|deployment| deployment.spec.strategy = rolling_update(surge, unavailable));
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
    let next = "Waiting for the controllers to react.".to_owned();
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
    let next =
        "When a new pod becomes available, an old one can be removed (floor 3). Progress deadline: 00:10:00 UTC.";
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
    let next = "Waiting for the controllers to react.";
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
    let why = "Node node-1 has not been ready for 5 min 0 s: 1 old pod on it does not count. Kubernetes replaces it after its \
               tolerationSeconds, by default 300 s. Nothing has moved for a while, and nothing says why.";
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
