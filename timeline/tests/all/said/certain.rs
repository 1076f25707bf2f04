//! What is certain at once, and what is given time: by what the kubelet, the API server and Events say.

use crate::made::{SECOND, Web, condition, crashing, next_revision, ready, waiting, warning};
use timeline::fact::{ConditionStatus, ContainerState, EventFact, Phase, PodFact};
use timeline::{Fact, Millis};

/// Revision 2 replaces revision 1; its only pod so far is changed, and nothing lasts yet.
fn rolling(change: impl FnOnce(&mut PodFact)) -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, change);
    web.now = 21_000;
    web
}

fn ended() -> ContainerState {
    ContainerState::Terminated { exit_code: 1, reason: "Error".into(), message: String::new() }
}

fn is_failing(web: &Web) -> bool {
    web.verdict().starts_with("[Failing]")
}

fn event(web: &mut Web, uid: u128, kind: &str, name: &str, reason: &str, message: &str) {
    let fact = warning(uid, if kind == "Pod" { 200 } else { 1 }, (kind, name), reason, message);
    web.timeline.apply(web.now, Fact::Event(Box::new(fact)));
}

#[test]
fn an_event_about_the_pods_failure_tells_why_its_image_cannot_be_pulled() {
    let said = |events: &[(&str, &str, &str, &str)]| {
        let mut web =
            rolling(|pod| pod.containers[0].state = Some(waiting("ImagePullBackOff", "Back-off pulling image")));
        for (uid, (kind, name, reason, message)) in (900..).zip(events) {
            event(&mut web, uid, kind, name, reason, message);
        }
        web.view().reasons.swap_remove(0).sentence
    };
    let unknown =
        "Image web:v2 cannot be pulled: ImagePullBackOff, why is not known (pod p0200). The kubelet tries again.";
    let not_found = "Image web:v2 cannot be pulled: not found (pod p0200).";
    let denied = "Image web:v2 cannot be pulled: access denied (pod p0200).";
    let mine = "web-3-p0200";
    assert_eq!(said(&[]), unknown);
    assert_eq!(said(&[("Pod", mine, "Failed", "manifest unknown")]), not_found);
    assert_eq!(said(&[("Pod", mine, "BackOff", "manifest unknown")]), unknown, "no failure");
    assert_eq!(said(&[("Pod", "web-3-other", "Failed", "manifest unknown")]), unknown, "another pod");
    assert_eq!(said(&[("Deployment", mine, "Failed", "manifest unknown")]), unknown, "no pod");
    // The last one counts.
    let both = [("Pod", mine, "Failed", "unauthorized"), ("Pod", mine, "Failed", "not found")];
    assert_eq!(said(&both), not_found);
    assert_eq!(said(&[both[1], both[0]]), denied);
}

#[test]
fn a_crash_is_a_loop_from_the_second_exit_on_where_it_is_news() {
    let first = |pod: &mut PodFact| {
        crashing(0)(pod);
        pod.containers[0].state = Some(ended());
    };
    assert!(!is_failing(&rolling(first)));
    // It backs off: it ended, was started again, and ended again.
    assert!(is_failing(&rolling(crashing(1))));
    // A pod that ran for days: its restarts are no news, unless it crashes now.
    let old = |state: ContainerState| {
        let mut web = Web::live(3).at(20_000);
        web.pod(100, |pod| {
            crashing(7)(pod);
            pod.containers[0].state = Some(state);
            pod.containers[0].last_exit.as_mut().unwrap().ran_millis = Some(86_400_000);
        });
        web.report();
        web.verdict()
    };
    assert_eq!(old(ended()), "[Recovering] Revision 1: 2 of 3 available.");
    let crash = "[Degraded] Revision 1 was rolled out, but container web crashes with exit code 1, 7 restarts.";
    assert_eq!(old(waiting("CrashLoopBackOff", "")), crash);
}

#[test]
fn nothing_is_certain_of_pods_whose_template_was_edited_since() {
    let states = [
        waiting("ErrImagePull", "not found"),
        waiting("CreateContainerConfigError", "no secret"),
        waiting("CrashLoopBackOff", ""),
    ];
    for state in states {
        let mut web = rolling(|pod| {
            crashing(5)(pod);
            pod.containers[0].state = Some(state);
        });
        web.now += 11_000;
        assert!(is_failing(&web), "{}", web.verdict());
        web.edit("v3");
        assert!(!is_failing(&web), "{}", web.verdict());
        next_revision(&mut web, 3, [1, 0]);
        assert!(!is_failing(&web), "{}", web.verdict());
    }
}

#[test]
fn what_the_api_server_decided_is_certain_whatever_makes_room() {
    let refused = |message: &'static str| {
        let mut web = Web::replacing();
        web.deployment(|deployment| {
            deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", message));
        });
        web.now = 21_000;
        web
    };
    let is_certain = |message: &'static str, change: &dyn Fn(&mut Web)| {
        let mut web = refused(message);
        change(&mut web);
        is_failing(&web)
    };
    let nothing: &dyn Fn(&mut Web) = &|_| {};
    let going: &dyn Fn(&mut Web) = &|web| web.kill_pod(100);
    let let_go_of: &dyn Fn(&mut Web) = &|web| web.set(2, |set| set.now.counts.desired = 2);
    let may_go: &dyn Fn(&mut Web) = &|web| {
        web.deployment(|deployment| deployment.spec.replicas = 2);
    };
    let quota = "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3";
    for message in ["the webhook denied the request: no", "is forbidden: no", "the pod is invalid: no"] {
        for change in [nothing, going, let_go_of, may_go] {
            assert!(is_certain(message, change), "{message}");
        }
    }
    assert!(is_certain(quota, nothing));
    for change in [going, let_go_of, may_go] {
        assert!(!is_certain(quota, change), "that leaves room");
    }
    // An API server that is busy decides nothing.
    assert!(!is_certain("context deadline exceeded", nothing));
    // What a template was refused is not held against the next one.
    assert!(!is_certain("is forbidden: no", &|web| web.edit("v3")));
}

/// Its condition stays after it was lifted, until the ReplicaSet controller tries again.
#[test]
fn a_refusal_from_before_watching_began_is_given_ten_seconds() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| {
        set.now.failure = Some(condition(ConditionStatus::True, "FailedCreate", "is forbidden: no"));
    });
    let is_fatal = |web: &Web| (is_failing(web), web.view().reasons[0].is_fatal);
    assert_eq!(is_fatal(&web), (true, true));
    let mut late = web.first_listed();
    assert_eq!(is_fatal(&late), (true, false));
    late.wait(10_000);
    assert_eq!(is_fatal(&late), (true, false));
    late.wait(1);
    assert_eq!(is_fatal(&late), (true, true));
    let gap_since_millis = late.now;
    late.wait(60_000).relisted(gap_since_millis);
    late.wait(10_000);
    assert_eq!(is_fatal(&late), (true, false), "it may have been lifted in the gap");
    late.wait(1);
    assert_eq!(is_fatal(&late), (true, true));
}

#[test]
fn of_several_refusals_the_last_one_is_told() {
    let mut web = Web::replacing();
    let refused = "error looking up service account shop/web: serviceaccount \"web\" not found";
    web.set(SECOND, |set| {
        set.now.counts.desired = 1;
        set.now.failure = Some(condition(ConditionStatus::True, "FailedCreate", refused));
    });
    let said = |web: &Web| web.view().reasons[0].sentence.clone();
    assert_eq!(said(&web), format!("The API server refuses new pods: {refused}."));
    web.now += 60_000;
    let quota = "(combined from similar events): Error creating: pods \"web-3-a\" is forbidden: exceeded quota: q, requested: pods=1, \
                 used: pods=5, limited: pods=5";
    event(&mut web, 901, "ReplicaSet", "web-2", "FailedCreate", quota);
    assert_eq!(said(&web), "The API server refuses new pods: quota q is used up (5 of 5 pods).");
    // The controller backs off: what was refused then may not be refused any more.
    web.now += 120_000;
    assert_eq!(said(&web), "The API server last refused a pod 2 min 0 s ago: quota q was used up (5 of 5 pods).");
    assert_eq!(web.verdict(), "[Failing] Revision 2 could not create pods: quota q was used up.");
    let tries = "The ReplicaSet controller tries again after a back-off to create 1 pod;";
    assert!(web.view().next.starts_with(tries), "{}", web.view().next);
}

/// The Deployment repeats the condition of a ReplicaSet for a moment after that has none any more.
#[test]
fn what_an_old_revision_was_refused_is_not_said_of_the_one_that_follows() {
    let refused =
        "pods \"web-2-x\" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: no label";
    let failure = || Some(condition(ConditionStatus::True, "FailedCreate", refused));
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.failure = failure());
    web.deployment(|deployment| deployment.status.replica_failure = failure());
    assert_eq!(web.verdict(), "[Failing] Revision 2 cannot create pods: policy team denies new pods.");
    web.wait_until(40_000);
    let third = next_revision(&mut web, 3, [1, 0]);
    web.add_pod(300, third, ready);
    // Its ReplicaSet asks for one more pod, before the Deployment says that nothing is refused any more.
    web.set(SECOND, |set| set.now.failure = None);
    web.set(third, |set| set.now.counts.desired = 2);
    let rolls = "[Rolling out] Revision 3 is replacing revision 1: 1 of 3 new pods available.";
    assert_eq!(web.verdict(), rolls);
    assert!(web.view().reasons.is_empty(), "{:?}", web.view().reasons);
    // Nor where the ReplicaSet that was refused is gone.
    web.delete_set(SECOND);
    assert_eq!(web.verdict(), rolls);
}

#[test]
fn a_refusal_that_names_no_pod_is_of_the_revision_that_lacks_one() {
    let mut web = Web::replacing().at(30_000);
    web.add_ready_pod(200, SECOND);
    web.delete_pod(100);
    web.deployment(|deployment| {
        let denied = "admission webhook \"team\" denied the request: no label";
        deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", denied));
    });
    let said = |web: &Web| web.view().reasons.into_iter().map(|reason| reason.sentence).collect::<Vec<_>>();
    let old = "Revision 1 cannot replace a pod: The API server refuses new pods: admission webhook \"team\" denied the \
               request: no label.";
    assert_eq!(said(&web), [old]);
    // It lets go of the pod that it lacks; the Deployment says so a moment later.
    web.set(2, |set| set.now.counts.desired = 2);
    assert_eq!(said(&web), Vec::<String>::new());
}

#[test]
fn a_quota_that_may_have_room_again_refused_pods_before() {
    let quota = "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3";
    let said = |web: &Web| web.view().reasons[0].sentence.clone();
    let refused = |after: Millis, change: fn(&mut Web)| {
        let mut web = Web::replacing().at(30_000);
        web.set(SECOND, |set| set.now.failure = Some(condition(ConditionStatus::True, "FailedCreate", quota)));
        event(&mut web, 901, "ReplicaSet", "web-2", "FailedCreate", quota);
        change(web.wait(after));
        web.wait_until(35_000);
        web
    };
    let now = "The API server refuses new pods: quota q is used up (3 of 3 pods).";
    let before = "The API server last refused a pod 5.0 s ago: quota q was used up (3 of 3 pods).";
    assert_eq!(said(&refused(1_000, |_| {})), now);
    assert_eq!(said(&refused(999, |web| web.delete_pod(100))), now, "in the same second");
    let web = refused(1_000, |web| web.delete_pod(100));
    assert_eq!(said(&web), before);
    assert_eq!(web.verdict(), "[Failing] Revision 2 could not create pods: quota q was used up.");
    assert_eq!(said(&refused(1_000, |web| web.add_pod(103, 2, |_| {}))), before);
    // It ended in that second, and went in the next one.
    assert_eq!(said(&refused(999, |web| web.pod(100, |pod| pod.phase = Phase::Failed))), now);
    let gone = |web: &mut Web| {
        web.pod(100, |pod| pod.phase = Phase::Failed);
        web.wait(1).delete_pod(100);
    };
    assert_eq!(said(&refused(999, gone)), before);
    // Who looks only since then has not seen which pods went.
    let mut late = refused(1_000, |_| {}).first_listed();
    let fact = warning(901, 1, ("ReplicaSet", "web-2"), "FailedCreate", quota);
    late.timeline.apply(35_000, Fact::Event(Box::new(EventFact { last_millis: Some(30_000), ..fact })));
    assert_eq!(said(&late), before);
}
