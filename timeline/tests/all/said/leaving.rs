//! Pods that leave: with their node, for another pod, by somebody's word, with their namespace, or while nobody looked.

use crate::made::{SECOND, Web, deployment, ended_by_kubelet, meta, ready, unready, warning};
use crate::said::told::since;
use timeline::fact::{Kind, Phase, PodFact, ReplicaSetCounts, ReplicaSetFact, Seen};
use timeline::model::EndReason;
use timeline::{Fact, Uid};

fn end(web: &Web, number: u128) -> Option<EndReason> {
    web.timeline.model().pods.get(&Uid::from_bits(number)).unwrap().end_reason
}

/// What is told of a pod that ends as a whole.
fn failed(change: impl FnOnce(&mut PodFact)) -> Vec<String> {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| {
        pod.phase = Phase::Failed;
        change(pod);
    });
    since(&web, 60_000)
}

#[test]
fn a_node_that_shuts_down_evicts_nobody() {
    let told = ["60000 Pod p0100 ended because node node-1 shut down; the revision stays."];
    let by_kubelet = |reason: &'static str, condition: Option<&'static str>| {
        failed(move |pod| (pod.reason, pod.disruption) = (reason.into(), condition.map(str::to_owned)))
    };
    assert_eq!(by_kubelet("Terminated", Some("TerminationByKubelet")), told);
    assert_eq!(by_kubelet("Terminated", None), told, "kubelets before 1.26 set no condition");
    assert_eq!(by_kubelet("NodeShutdown", None), told);
    let evicted = ["60000 Pod p0100 evicted from node node-1; the revision stays."];
    assert_eq!(by_kubelet("Evicted", Some("TerminationByKubelet")), evicted);
    let preempted = ["60000 Pod p0100 was preempted by a pod of higher priority on node node-1; the revision stays."];
    assert_eq!(by_kubelet("Preempting", Some("TerminationByKubelet")), preempted);
}

#[test]
fn an_eviction_names_what_the_node_was_low_on() {
    let evicted =
        |message: &'static str| failed(move |pod| (pod.reason, pod.message) = ("Evicted".into(), message.into()));
    let memory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 40Mi.";
    assert_eq!(
        evicted(memory),
        ["60000 Pod p0100 evicted from node node-1, which was low on memory; the revision stays."]
    );
    let over =
        "60000 Pod p0100 evicted from node node-1 for using more local storage than allowed; the revision stays.";
    for other in [
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
        "Container web exceeded its local ephemeral storage limit \"1Gi\". ",
        "Usage of EmptyDir volume \"cache\" exceeds the limit \"1Gi\". ",
    ] {
        assert_eq!(evicted(other), [over]);
    }
    assert_eq!(evicted("of another kubelet"), ["60000 Pod p0100 evicted from node node-1; the revision stays."]);
}

/// Its process may end with exit code 0, and then its status has no reason.
#[test]
fn an_event_says_that_a_pod_which_says_nothing_was_evicted() {
    let told = |phase: Phase, event: Option<&'static str>| {
        let mut web = Web::live(3).at(60_000);
        if let Some(message) = event {
            web.event(100, "Evicted", message);
        }
        web.wait_until(62_000).pod(100, |pod| pod.phase = phase);
        since(&web, 62_000)
    };
    let over = "Usage of EmptyDir volume \"cache\" exceeds the limit \"5Mi\". ";
    let evicted =
        "62000 Pod p0100 evicted from node node-1 for using more local storage than allowed; the revision stays.";
    for phase in [Phase::Succeeded, Phase::Failed] {
        assert_eq!(told(phase, Some(over)), [evicted]);
    }
    let memory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 40Mi.";
    let low = "62000 Pod p0100 evicted from node node-1, which was low on memory; the revision stays.";
    assert_eq!(told(Phase::Succeeded, Some(memory)), [low]);
    assert_eq!(told(Phase::Succeeded, None), Vec::<String>::new());
    assert_eq!(told(Phase::Failed, None), ["62000 Pod p0100 failed; the revision stays 1."]);
}

/// A kubelet sends Events and statuses on ways of their own.
#[test]
fn an_eviction_is_told_once_whether_its_event_arrives_before_or_after_the_end_of_its_pod() {
    let over = "Usage of EmptyDir volume \"cache\" exceeds the limit \"5Mi\". ";
    let evicted = |pod: &str, millis: u32| {
        let why = "for using more local storage than allowed";
        format!("{millis} Pod {pod} evicted from node node-1 {why}; the revision stays.")
    };
    let told = |web: &Web| {
        let lines = since(web, 60_000).into_iter();
        lines.filter(|line| !line.contains("Event Evicted")).collect::<Vec<_>>()
    };
    let mut late = Web::live(3).at(60_000);
    late.pod(100, |pod| pod.phase = Phase::Succeeded);
    assert_eq!(told(&late), Vec::<String>::new());
    late.wait_until(60_400).event(100, "Evicted", over);
    assert_eq!(told(&late), [evicted("p0100", 60_000)]);
    // Told again, by another Event.
    late.wait_until(61_000).event(100, "Evicted", over);
    assert_eq!(told(&late), [evicted("p0100", 60_000)]);
    // Of the next one the Event is as fast as it should be.
    late.event(101, "Evicted", over);
    late.wait_until(61_200).pod(101, |pod| pod.phase = Phase::Succeeded);
    late.wait_until(61_400).event(101, "Evicted", over);
    assert_eq!(told(&late), [evicted("p0100", 60_000).replace("Pod p0100", "2 pods")]);
    // Its condition said so before.
    let mut said = Web::live(3).at(60_000);
    said.pod(100, |pod| (pod.phase, pod.disruption) = (Phase::Succeeded, Some("TerminationByKubelet".into())));
    said.wait_until(60_400).event(100, "Evicted", over);
    assert_eq!(told(&said), ["60000 Pod p0100 evicted from node node-1; the revision stays."]);
    // Nobody saw it end.
    let mut unseen = Web::live(3).at(60_000);
    unseen.unseen_pod(100, |pod| pod.phase = Phase::Succeeded);
    let mut unseen = unseen.first_listed();
    unseen.wait_until(60_400).event(100, "Evicted", over);
    assert!(!told(&unseen).iter().any(|line| line.contains("evicted")), "{:#?}", told(&unseen));
}

/// The Events of a cluster may be listed again after so many that the first ones are forgotten.
#[test]
fn an_eviction_whose_event_is_listed_again_is_told_once() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.phase = Phase::Succeeded);
    let message = "Usage of EmptyDir volume \"cache\" exceeds the limit \"5Mi\". ";
    let evicted = warning(900, 100, ("Pod", "web-2-p0100"), "Evicted", message);
    web.timeline.apply(60_400, Fact::Event(Box::new(evicted.clone())));
    let mut api = deployment();
    api.meta = meta(9, "api", None);
    web.timeline.apply(60_500, Fact::Deployment(Box::new(api), Seen::Added));
    for number in 0..50_000 {
        let other = warning(1_000 + number, 9, ("Deployment", "api"), "FailedCreate", "quota");
        web.timeline.apply(60_600, Fact::Event(Box::new(other)));
    }
    web.timeline.apply(61_000, Fact::Event(Box::new(evicted)));
    let why = "for using more local storage than allowed";
    let told = format!("60000 Pod p0100 evicted from node node-1 {why}; the revision stays.");
    assert_eq!(since(&web, 60_000)[0], told);
}

#[test]
fn an_eviction_that_is_told_an_hour_late_is_a_line_of_its_own() {
    let over = "Usage of EmptyDir volume \"cache\" exceeds the limit \"5Mi\". ";
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.phase = Phase::Succeeded);
    web.wait_until(3_660_000).event(101, "Evicted", over);
    web.pod(101, |pod| pod.phase = Phase::Succeeded);
    web.wait_until(3_661_000).event(100, "Evicted", over);
    let told: Vec<_> = since(&web, 60_000).into_iter().filter(|line| !line.contains("Event Evicted")).collect();
    let evicted = |pod: &str, millis: u32| {
        let why = "for using more local storage than allowed";
        format!("{millis} Pod {pod} evicted from node node-1 {why}; the revision stays.")
    };
    assert_eq!(told, [evicted("p0100", 60_000), evicted("p0101", 3_660_000)]);
}

#[test]
fn that_a_pod_outside_its_replica_set_is_deleted_is_told() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.wait_until(70_000).kill_pod(100);
    assert_eq!(since(&web, 70_000), ["70000 Pod p0100, which was outside its ReplicaSet, was deleted."]);
}

#[test]
fn a_pod_that_its_node_refuses_does_not_leave_it() {
    for (reason, message) in [
        ("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "),
        ("NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down."),
    ] {
        let told = failed(|pod| (pod.reason, pod.message) = (reason.into(), message.into()));
        assert_eq!(told, [format!("60000 Pod p0100 failed: {reason}; the revision stays 1.")]);
    }
}

#[test]
fn a_condition_says_why_a_kubelet_ended_a_pod_that_says_nothing() {
    let told = |message: &str| failed(ended_by_kubelet(message));
    assert_eq!(
        told("Pod was terminated in response to imminent node shutdown."),
        ["60000 Pod p0100 ended because node node-1 shut down; the revision stays."]
    );
    assert_eq!(
        told("The node was low on resource: memory. Threshold quantity: 100Mi, available: 40Mi."),
        ["60000 Pod p0100 evicted from node node-1, which was low on memory; the revision stays."]
    );
    assert_eq!(
        told("Pod was preempted by Kubelet to accommodate a critical pod."),
        ["60000 Pod p0100 was preempted by a pod of higher priority on node node-1; the revision stays."]
    );
    assert_eq!(told("of another kubelet"), ["60000 Pod p0100 evicted from node node-1; the revision stays."]);
}

/// The scheduler marks a pod and then deletes it; its kubelet may write the condition anew in between.
#[test]
fn a_pod_that_is_preempted_is_deleted_by_nobody() {
    let preempted = |is_kept: bool, after: i64| {
        let mut web = Web::live(3).at(60_000);
        web.pod(100, |pod| pod.disruption = Some("PreemptionByScheduler".into()));
        if !is_kept {
            web.pod(100, |pod| pod.disruption = None);
        }
        web.wait(after).kill_pod(100);
        (end(&web, 100), since(&web, 60_000))
    };
    for (is_kept, after) in [(true, 70), (false, 70), (true, 60_000)] {
        let (reason, told) = preempted(is_kept, after);
        assert_eq!(reason, Some(EndReason::Evicted));
        let said = "Pod p0100 was preempted by a pod of higher priority on node node-1; the revision stays.";
        assert_eq!(told, [format!("{} {said}", 60_000 + after)]);
    }
    assert_eq!(preempted(false, 60_000).0, Some(EndReason::DeletedManually), "it was spared then");
}

#[test]
fn pods_that_leave_a_node_before_and_after_a_rollout_began_are_told_apart() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    crate::made::next_revision(&mut web, 2, [1, 3]);
    web.wait_until(70_000).pod(101, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    let told: Vec<String> = since(&web, 60_000).into_iter().filter(|line| line.contains("evicted")).collect();
    assert_eq!(
        told,
        [
            "60000 Pod p0100 evicted from node node-1; the revision stays.",
            "70000 Pod p0101 evicted from node node-1; the revision stays."
        ]
    );
}

#[test]
fn many_pods_that_somebody_deletes_are_few_lines() {
    let mut web = Web::live(50).at(60_000);
    (0..50).for_each(|number| web.kill_pod(100 + number));
    let told = since(&web, 60_000);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(told[0], "60000 Pod p0100 was deleted, not by the rollout; the revision stays 1.");
    assert_eq!(told[3], "60000 47 more pods were deleted, not by the rollout; the revision stays 1.");
    // A second later the ReplicaSet is seen to want fewer: those that it let go were not deleted from outside.
    web.wait_until(60_500).set(2, |set| set.now.counts.desired = 0);
    assert!(!web.told().iter().any(|line| line.contains("not by the rollout")), "{:#?}", web.told());
}

/// The line is old, and what is taken back of it is a moment old: the number is the one that it was before.
#[test]
fn pods_that_a_late_replica_set_explains_are_taken_back_from_an_older_line() {
    let mut web = Web::live(9).at(60_000);
    (100..105).for_each(|pod| web.kill_pod(pod));
    let two = "60000 2 more pods were deleted, not by the rollout; the revision stays 1.";
    assert_eq!(since(&web, 60_000)[3], two);
    (0..5).for_each(|number| web.add_ready_pod(200 + number, 2));
    web.now = 80_000;
    (105..109).for_each(|pod| web.kill_pod(pod));
    (0..5).for_each(|number| web.kill_pod(200 + number));
    assert_eq!(since(&web, 60_000)[3], two.replace("2 more", "11 more"));
    web.wait_until(80_080).set(2, |set| set.now.counts.desired = 0);
    assert_eq!(since(&web, 60_000)[3], two);
    let ends = |pod: u128| end(&web, pod);
    assert_eq!(
        [ends(104), ends(105), ends(204)].map(Option::unwrap),
        [EndReason::DeletedManually, EndReason::ScaledDown, EndReason::ScaledDown]
    );
}

/// Kubernetes deletes the pods of a namespace first, and Deployments and ReplicaSets when they are gone.
#[test]
fn pods_that_went_with_their_namespace_were_deleted_by_nobody() {
    let mut web = Web::live(4).at(60_000);
    (100..104).for_each(|pod| web.kill_pod(pod));
    assert_eq!(since(&web, 60_000).len(), 4);
    web.now = 90_000;
    (100..104).for_each(|pod| web.delete_pod(pod));
    web.wait_until(95_000).delete_set(2);
    web.wait_until(100_000).delete_deployment();
    let told =
        ["60000 4 pods were deleted before the Deployment, and not replaced.", "100000 The Deployment was deleted."];
    assert_eq!(since(&web, 60_000), told);
    // What was decided stays in the document.
    assert_eq!(end(&web, 100), Some(EndReason::DeletedManually));
}

/// Of two streams that of the pods may be the faster one.
#[test]
fn a_pod_that_is_seen_to_go_a_moment_before_its_deployment_went_with_it() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.wait(1).delete_deployment();
    (101..103).for_each(|pod| web.kill_pod(pod));
    assert_eq!(since(&web, 60_000), ["60001 The Deployment was deleted."]);
    assert_eq!(end(&web, 100), Some(EndReason::DeploymentDeleted));
}

#[test]
fn pods_that_were_replaced_or_went_long_before_went_on_their_own() {
    for (is_replaced, gone_at) in [(true, 100_000), (false, 660_001)] {
        let mut web = Web::live(2).at(60_000);
        web.kill_pod(100);
        if is_replaced {
            web.wait_until(61_000).add_ready_pod(102, 2);
        }
        web.wait_until(gone_at).delete_deployment();
        let told = since(&web, 60_000);
        assert!(told[0].starts_with("60000 Pod p0100 was deleted, not by the rollout;"), "{told:#?}");
    }
}

#[test]
fn a_pod_that_left_its_node_and_was_replaced_is_not_why_another_one_is_missing() {
    let mut web = Web::live(3).at(60_000);
    web.pod(102, unready);
    web.report();
    web.wait_until(90_000).pod(100, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
    web.kill_pod(100);
    web.add_pod(200, 2, |_| {});
    web.report();
    assert!(web.view().verdict.why.contains("Pod p0100 evicted from node node-1"), "{}", web.view().verdict.why);
    web.wait_until(95_000).pod(200, ready);
    web.report();
    assert!(!web.view().verdict.why.contains("evicted"), "{}", web.view().verdict.why);
}

#[test]
fn pods_that_left_their_node_are_named_while_their_replacements_are_missing() {
    let mut web = Web::live(3).at(60_000);
    for number in [100, 101] {
        web.pod(number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(number);
        web.add_pod(number + 100, 2, |_| {});
    }
    web.report();
    let why = |web: &Web| web.view().verdict.why;
    let evicted = "2 pods evicted from node node-1 (since 00:01:00 UTC).";
    assert_eq!(why(&web), format!("2 of 3 pods are not available; the revision does not change. {evicted}"));
    web.now = 75_000;
    assert!(why(&web).starts_with("2 pods are running but not ready for 15 s."), "{}", why(&web));
    assert!(why(&web).ends_with(evicted), "{}", why(&web));
    [200, 201].into_iter().for_each(|pod| web.pod(pod, ready));
    web.report();
    assert_eq!(why(&web), "2 pods are still terminating.");
    // What is missing later is missing for another reason.
    web.wait_until(80_000).kill_pod(102);
    web.report();
    let killed = "1 of 3 pods is not available; the revision does not change. Pod p0102 deleted (00:01:20 UTC).";
    assert_eq!(why(&web), killed);
}

#[test]
fn pods_that_left_their_node_while_nobody_looked_are_named_without_a_time() {
    let why = |change: fn(&mut Web)| {
        let mut web = Web::live(3).at(60_000);
        for number in [100, 101] {
            web.unseen_pod(number, |pod| {
                pod.disruption = Some("EvictionByEvictionAPI".into());
                pod.deletion_at_millis = Some(80_000);
            });
        }
        web.relisted(30_000);
        (200..202).for_each(|pod| web.add_pod(pod, 2, |_| {}));
        web.wait(1_000);
        change(&mut web);
        web.report();
        web.view().verdict.why
    };
    let all = why(|_| {});
    assert!(all.ends_with(" 2 pods evicted from node node-1 (while not observed)."), "{all}");
    // One of them is replaced: it is not told which.
    let part = why(|web| web.pod(200, ready));
    assert!(part.ends_with(" Pods evicted from node node-1 (the last while not observed)."), "{part}");
    // Another one goes while somebody looks.
    let more = why(|web| {
        web.pod(102, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(102);
    });
    assert!(more.ends_with(" 3 pods evicted from node node-1 (the last at 00:01:01 UTC)."), "{more}");
}

#[test]
fn pods_that_somebody_deleted_or_relabelled_are_named_while_their_replacements_are_missing() {
    let mut web = Web::live(6).at(60_000);
    (100..105).for_each(|pod| web.kill_pod(pod));
    web.pod(105, |pod| pod.meta.controller = None);
    web.report();
    let why = |web: &Web| web.view().verdict.why;
    let [missing, released] = ["not available; the revision does not change.", "Pod p0105 left its ReplicaSet"];
    let all = format!("6 of 6 pods are {missing} 5 pods deleted (since 00:01:00 UTC). {released} (00:01:00 UTC).");
    assert_eq!(why(&web), all);
    // Those whose replacements are there are not why others are missing.
    web.wait_until(61_000);
    (200..205).for_each(|pod| web.add_ready_pod(pod, 2));
    web.report();
    assert_eq!(why(&web), format!("1 of 6 pods is {missing} Pod p0100 deleted (00:01:00 UTC)."));
    // The labels are back.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.pod(101, unready);
    web.report();
    assert_eq!(why(&web), format!("2 of 3 pods are {missing} Pod p0100 left its ReplicaSet (00:01:00 UTC)."));
    web.wait_until(62_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    web.report();
    assert_eq!(why(&web), format!("1 of 3 pods is {missing}"));
}

#[test]
fn of_several_kinds_of_losses_the_two_with_the_last_ones_are_named() {
    let mut web = Web::live(6).at(60_000);
    web.kill_pod(100);
    web.add_pod(200, 2, unready);
    web.report();
    web.wait(1_000).pod(101, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
    web.kill_pod(101);
    web.add_pod(201, 2, unready);
    web.wait(1_000).pod(102, |pod| pod.meta.controller = None);
    web.add_pod(202, 2, unready);
    web.wait(1_000).kill_pod(103);
    web.add_pod(203, 2, unready);
    web.report();
    let missing = "4 of 6 pods are not available; the revision does not change.";
    let lost = "Pod p0102 left its ReplicaSet (00:01:02 UTC). 2 pods deleted (since 00:01:00 UTC).";
    assert_eq!(web.view().verdict.why, format!("{missing} {lost}"));
}

#[test]
fn deleted_pods_that_were_never_available_are_not_why_one_is_missing() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    for pod in 200..205 {
        web.add_pod(pod, 2, unready);
        web.kill_pod(pod);
    }
    web.add_pod(205, 2, unready);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(web.view().verdict.why, format!("{missing} Pod p0100 deleted (00:01:00 UTC)."));
}

/// The story has no names of the pods that it tells of together.
#[test]
fn pods_that_served_are_why_others_are_missing_also_after_pending_ones_were_deleted() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    for pod in [200, 201] {
        web.add_pod(pod, 2, unready);
        web.kill_pod(pod);
    }
    web.add_pod(202, 2, unready);
    web.report();
    web.wait_until(70_000).pod(202, ready);
    [100, 200, 201].into_iter().for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait_until(80_000);
    [101, 102, 202].into_iter().for_each(|pod| web.kill_pod(pod));
    (203..206).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    let missing = "3 of 3 pods are not available; the revision does not change.";
    assert_eq!(web.view().verdict.why, format!("{missing} 3 pods deleted (since 00:01:20 UTC)."));
}

#[test]
fn a_replacement_that_was_available_and_lost_makes_up_for_the_loss_before() {
    let mut web = Web::live(4).at(60_000);
    [100, 101].into_iter().for_each(|pod| web.kill_pod(pod));
    web.add_ready_pod(200, 2);
    web.add_pod(201, 2, unready);
    web.report();
    web.wait_until(70_000);
    [100, 101].into_iter().for_each(|pod| web.delete_pod(pod));
    web.wait_until(90_000);
    for number in [102, 103, 200] {
        web.pod(number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(number);
    }
    (202..205).for_each(|pod| web.add_pod(pod, 2, unready));
    [201, 202].into_iter().for_each(|pod| web.pod(pod, ready));
    web.report();
    let missing = "2 of 4 pods are not available; the revision does not change.";
    let evicted = "Pods evicted from node node-1 (the last at 00:01:30 UTC).";
    assert_eq!(web.view().verdict.why, format!("{missing} {evicted}"));
    // The labels of one changed after it took the place of another.
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.add_ready_pod(200, 2);
    web.wait_until(65_000).pod(200, |pod| pod.meta.controller = None);
    web.add_pod(201, 2, unready);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(web.view().verdict.why, format!("{missing} Pod p0200 left its ReplicaSet (00:01:05 UTC)."));
}

#[test]
fn no_more_pods_are_said_to_have_gone_than_are_missing() {
    let mut web = Web::live(3).at(60_000);
    let evict = |web: &mut Web, pod: u128| {
        web.pod(pod, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(pod);
        web.report();
    };
    evict(&mut web, 100);
    web.wait_until(61_000).delete_pod(100);
    web.add_ready_pod(200, 2);
    web.report();
    // Complete again, and told in the same line.
    web.wait_until(75_000);
    evict(&mut web, 101);
    let missing = "1 of 3 pods is not available; the revision does not change.";
    let evicted = "Pods evicted from node node-1 (the last at 00:01:15 UTC).";
    assert_eq!(web.view().verdict.why, format!("{missing} {evicted}"));
    // What needs no replacement is not missing.
    let mut web = Web::live(3).at(60_000);
    (100..102).for_each(|pod| web.kill_pod(pod));
    web.report();
    web.wait_until(62_000).scale(2, 2);
    web.report();
    let missing = "1 of 2 pods is not available; the revision does not change.";
    assert_eq!(web.view().verdict.why, format!("{missing} Pod p0101 deleted (00:01:00 UTC)."));
}

#[test]
fn a_replica_set_that_somebody_deleted_is_named_while_its_pods_are_missing() {
    let mut web = Web::reported().at(60_000);
    let second = web.replica_set(SECOND);
    // An old one without pods took none with it.
    web.delete_set(2);
    web.wait_until(61_000).pod(200, unready);
    web.report();
    let why = |web: &Web| web.view().verdict.why;
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(why(&web), missing);
    web.pod(200, ready);
    web.report();
    web.wait_until(90_000).delete_set(SECOND);
    (200..203).for_each(|pod| web.kill_pod(pod));
    let mut again = ReplicaSetFact { meta: meta(13, "web-2", Some(1)), ..second };
    again.now.counts = ReplicaSetCounts { desired: 3, ..ReplicaSetCounts::default() };
    web.wait(100).add_set(13, again);
    web.report();
    web.wait(5_000).add_ready_pod(300, 13);
    web.add_ready_pod(301, 13);
    web.report();
    assert_eq!(why(&web), format!("{missing} ReplicaSet 2 deleted (00:01:30 UTC)."));
    web.add_ready_pod(302, 13);
    web.report();
    assert_eq!(why(&web), "3 pods are still terminating.");
}

#[test]
fn a_new_pod_that_somebody_deleted_is_not_why_nobody_serves() {
    let mut web = Web::replacing().at(30_000);
    web.add_pod(200, SECOND, unready);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.wait_until(41_000).kill_pod(200);
    web.add_pod(201, SECOND, unready);
    let why = |web: &Web| web.view().verdict.why;
    assert_eq!(web.verdict(), "[Degraded] Revision 2 is replacing revision 1: no pod is available.");
    assert!(!why(&web).contains("deleted"), "{}", why(&web));
    web.kill_pod(100);
    web.add_pod(150, 2, unready);
    assert!(why(&web).ends_with(" Pod p0100 deleted (00:00:41 UTC)."), "{}", why(&web));
}

#[test]
fn old_pods_that_left_their_node_are_named_in_an_outage_of_a_rollout() {
    let mut web = Web::replacing().at(30_000);
    web.add_pod(200, SECOND, unready);
    for number in 100..103 {
        web.pod(number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(number);
        web.add_pod(number + 50, 2, unready);
    }
    web.report();
    let why = |web: &Web| web.view().verdict.why;
    let outage = "[Degraded] Revision 2 is replacing revision 1: no pod is available.";
    assert!(!why(&web).contains("evicted"), "{}", why(&web));
    web.now = 41_000;
    assert_eq!(web.verdict(), outage);
    assert!(why(&web).contains(" new pod is running but not ready"), "{}", why(&web));
    assert!(why(&web).ends_with(" 3 pods evicted from node node-1 (since 00:00:30 UTC)."), "{}", why(&web));
    // Once their replacements were available, a later outage has another reason.
    web.wait_until(42_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    (150..153).for_each(|pod| web.pod(pod, ready));
    web.report();
    web.wait_until(60_000);
    (150..153).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), outage);
    assert!(!why(&web).contains("evicted"), "{}", why(&web));
}

#[test]
fn pods_that_were_asked_to_go_while_nobody_looked_are_one_line() {
    let mut web = Web::live(4).at(60_000);
    (100..103).for_each(|pod| web.unseen_pod(pod, |pod| pod.deletion_at_millis = Some(80_000)));
    web.relisted(30_000);
    let told: Vec<String> =
        web.told().into_iter().filter(|line| line.contains("marked") || line.contains("disappeared")).collect();
    assert_eq!(told, ["3 pods were marked for deletion while not observed."]);
    assert_eq!(end(&web, 100), Some(EndReason::Unknown));
    // Those that are gone by then disappeared.
    web.now = 120_000;
    [100, 103].into_iter().for_each(|pod| web.lose_pod(pod));
    web.relisted(90_000);
    assert!(web.told().iter().any(|line| line == "Pod p0103 disappeared; why is not known."), "{:#?}", web.told());
}

#[test]
fn pods_that_went_in_two_gaps_are_two_lines() {
    let mut web = Web::live(4).at(60_000);
    web.unseen_pod(100, |pod| pod.deletion_at_millis = Some(80_000));
    web.lose_pod(101);
    web.relisted(30_000);
    web.now = 90_000;
    web.unseen_pod(102, |pod| pod.deletion_at_millis = Some(110_000));
    web.lose_pod(103);
    web.relisted(80_000);
    let told = [
        "60000 Not observed for 30 s: what happened in between is not known.",
        "60000 Pod p0100 was marked for deletion while not observed.",
        "60000 Pod p0101 disappeared; why is not known.",
        "90000 Not observed for 10 s: what happened in between is not known.",
        "90000 Pod p0102 was marked for deletion while not observed.",
        "90000 Pod p0103 disappeared; why is not known.",
    ];
    assert_eq!(since(&web, 60_000), told);
}

/// Five pods, of which some go in a gap in which the Deployment is scaled to so many; it is not listed yet.
fn scaled_in_a_gap(replicas: u32, lost: &[u128]) -> Web {
    let mut web = Web::live(5).at(60_000);
    web.unseen(|deployment, sets| {
        deployment.spec.replicas = replicas;
        sets.get_mut(&2).unwrap().now.counts.desired = replicas;
    });
    lost.iter().for_each(|pod| web.lose_pod(*pod));
    web
}

/// What is told of pods that went in a gap.
fn unexplained(web: &Web) -> Vec<String> {
    web.told().into_iter().filter(|line| line.contains("disappeared") || line.contains("marked")).collect()
}

#[test]
fn pods_that_a_scaling_in_a_gap_explains_are_no_losses() {
    let told = |replicas: u32, lost: &[u128]| {
        let mut web = scaled_in_a_gap(replicas, lost);
        web.relisted(30_000);
        assert_eq!(end(&web, lost[0]), Some(EndReason::Unknown), "nobody saw why this one went");
        unexplained(&web)
    };
    assert_eq!(told(3, &[100, 101]), [""; 0]);
    assert_eq!(told(3, &[100]), [""; 0]);
    assert_eq!(told(3, &[100, 101, 102]), ["1 pod disappeared; why is not known."]);
    assert_eq!(told(4, &[100, 101, 102]), ["2 pods disappeared; why is not known."]);
    assert_eq!(told(5, &[100]), ["Pod p0100 disappeared; why is not known."]);
    assert_eq!(told(6, &[100]), ["Pod p0100 disappeared; why is not known."]);
    // One of them is still there.
    let mut going = scaled_in_a_gap(3, &[100]);
    going.unseen_pod(101, |pod| pod.deletion_at_millis = Some(80_000));
    going.relisted(30_000);
    assert_eq!(unexplained(&going), [""; 0]);
    // One that was outside its ReplicaSet was not let go by it.
    let mut released = Web::live(5).at(20_000);
    released.pod(100, |pod| pod.meta.controller = None);
    released.add_ready_pod(200, 2);
    released.lose_pod(100);
    released.unseen(|deployment, _| deployment.spec.replicas = 3);
    released.wait_until(60_000).relisted(30_000);
    assert_eq!(unexplained(&released), ["Pod p0100 disappeared; why is not known."]);
}

#[test]
fn a_scaling_in_a_gap_explains_pods_also_when_they_are_listed_first() {
    let mut web = scaled_in_a_gap(3, &[100, 101]);
    web.listed(Kind::Pod, Some(30_000));
    assert_eq!(unexplained(&web), ["2 pods disappeared; why is not known."]);
    web.wait(300).relisted(30_000);
    assert_eq!(unexplained(&web), [""; 0]);
    // Of what goes in the next gap it explains nothing, also where that follows at once.
    web.lose_pod(102);
    web.wait(1_000).relisted(60_300);
    assert_eq!(unexplained(&web), ["Pod p0102 disappeared; why is not known."]);
    // Nor does a scaling that was seen, with the pods that went for it.
    let mut seen = scaled_in_a_gap(5, &[100]);
    seen.relisted(30_000);
    seen.add_ready_pod(200, 2);
    seen.scale(2, 4);
    seen.kill_pod(101);
    seen.wait(1_000).relisted(60_000);
    assert_eq!(unexplained(&seen), ["Pod p0100 disappeared; why is not known."]);
}

#[test]
fn old_replica_sets_that_a_lower_limit_removes_are_cleaned_up_whichever_stream_is_faster() {
    let mut web = Web::reported();
    web.set(2, |set| set.now.counts = Default::default());
    web.wait_until(60_000).delete_set(2);
    assert_eq!(since(&web, 60_000), ["60000 ReplicaSet 1 was deleted, not by its Deployment."]);
    web.wait_until(60_040).deployment(|deployment| deployment.spec.revision_history_limit = 0);
    assert_eq!(since(&web, 60_000), ["60000 Old ReplicaSet 1 of revision 1 cleaned up (revisionHistoryLimit 0)."]);
}
