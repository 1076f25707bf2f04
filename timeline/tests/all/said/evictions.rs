//! Pods that leave their node: shutdowns, evictions, refusals and preemption, each told once.

use crate::made::{Web, deployment, ended_by_kubelet, meta, warning};
use crate::said::lives::end;
use crate::said::told::since;
use timeline::Fact;
use timeline::fact::{Phase, PodFact, Seen};
use timeline::model::EndReason;

/// What is told of a pod that ends as a whole.
fn failed(change: impl FnOnce(&mut PodFact)) -> Vec<String> {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| {
        pod.phase = Phase::Failed;
        change(pod);
    });
    since(&web, 60_000)
}

/// What a kubelet says of a pod that stored too much.
const OVER_LIMIT: &str = "Usage of EmptyDir volume \"cache\" exceeds the limit \"5Mi\". ";

/// What is told of that pod.
fn evicted_over_limit(millis: u32, pod: &str) -> String {
    format!(
        "{millis} Pod {pod} evicted from node node-1 for using more local storage than allowed; the revision stays."
    )
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
    for other in [
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
        "Container web exceeded its local ephemeral storage limit \"1Gi\". ",
        "Usage of EmptyDir volume \"cache\" exceeds the limit \"1Gi\". ",
    ] {
        assert_eq!(evicted(other), [evicted_over_limit(60_000, "p0100")]);
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
    for phase in [Phase::Succeeded, Phase::Failed] {
        assert_eq!(told(phase, Some(OVER_LIMIT)), [evicted_over_limit(62_000, "p0100")]);
    }
    let memory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 40Mi.";
    let low = "62000 Pod p0100 evicted from node node-1, which was low on memory; the revision stays.";
    assert_eq!(told(Phase::Succeeded, Some(memory)), [low]);
    assert_eq!(told(Phase::Succeeded, None), Vec::<String>::new());
    assert_eq!(told(Phase::Failed, None), ["62000 Pod p0100 failed; the Deployment stays at revision 1."]);
}

/// A kubelet sends Events and statuses on ways of their own.
#[test]
fn an_eviction_is_told_once_whether_its_event_arrives_before_or_after_the_end_of_its_pod() {
    let told = |web: &Web| {
        let lines = since(web, 60_000).into_iter();
        lines.filter(|line| !line.contains("Event Evicted")).collect::<Vec<_>>()
    };
    let mut late = Web::live(3).at(60_000);
    late.pod(100, |pod| pod.phase = Phase::Succeeded);
    assert_eq!(told(&late), Vec::<String>::new());
    late.wait_until(60_400).event(100, "Evicted", OVER_LIMIT);
    assert_eq!(told(&late), [evicted_over_limit(60_000, "p0100")]);
    // Told again, by another Event.
    late.wait_until(61_000).event(100, "Evicted", OVER_LIMIT);
    assert_eq!(told(&late), [evicted_over_limit(60_000, "p0100")]);
    // Of the next one the Event is as fast as it should be.
    late.event(101, "Evicted", OVER_LIMIT);
    late.wait_until(61_200).pod(101, |pod| pod.phase = Phase::Succeeded);
    late.wait_until(61_400).event(101, "Evicted", OVER_LIMIT);
    assert_eq!(told(&late), [evicted_over_limit(60_000, "p0100").replace("Pod p0100", "2 pods")]);
    // Its condition said so before.
    let mut said = Web::live(3).at(60_000);
    said.pod(100, |pod| (pod.phase, pod.disruption) = (Phase::Succeeded, Some("TerminationByKubelet".into())));
    said.wait_until(60_400).event(100, "Evicted", OVER_LIMIT);
    assert_eq!(told(&said), ["60000 Pod p0100 evicted from node node-1; the revision stays."]);
    // Nobody saw it end.
    let mut unseen = Web::live(3).at(60_000);
    unseen.unseen_pod(100, |pod| pod.phase = Phase::Succeeded);
    let mut unseen = unseen.first_listed();
    unseen.wait_until(60_400).event(100, "Evicted", OVER_LIMIT);
    assert!(!told(&unseen).iter().any(|line| line.contains("evicted")), "{:#?}", told(&unseen));
}

/// The Events of a cluster may be listed again after so many that the first ones are forgotten.
#[test]
fn an_eviction_whose_event_is_listed_again_is_told_once() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.phase = Phase::Succeeded);
    let evicted = warning(900, 100, ("Pod", "web-2-p0100"), "Evicted", OVER_LIMIT);
    web.timeline.apply(60_400, Fact::Event(Box::new(evicted.clone())));
    let mut api = deployment();
    api.meta = meta(9, "api", None);
    web.timeline.apply(60_500, Fact::Deployment(Box::new(api), Seen::Added));
    for number in 0..50_000 {
        let other = warning(1_000 + number, 9, ("Deployment", "api"), "FailedCreate", "quota");
        web.timeline.apply(60_600, Fact::Event(Box::new(other)));
    }
    web.timeline.apply(61_000, Fact::Event(Box::new(evicted)));
    assert_eq!(since(&web, 60_000)[0], evicted_over_limit(60_000, "p0100"));
}

#[test]
fn an_eviction_that_is_told_an_hour_late_is_a_line_of_its_own() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.phase = Phase::Succeeded);
    web.wait_until(3_660_000).event(101, "Evicted", OVER_LIMIT);
    web.pod(101, |pod| pod.phase = Phase::Succeeded);
    web.wait_until(3_661_000).event(100, "Evicted", OVER_LIMIT);
    let told: Vec<_> = since(&web, 60_000).into_iter().filter(|line| !line.contains("Event Evicted")).collect();
    assert_eq!(told, [evicted_over_limit(60_000, "p0100"), evicted_over_limit(3_660_000, "p0101")]);
}

#[test]
fn a_pod_that_its_node_refuses_does_not_leave_it() {
    for (reason, message) in [
        ("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "),
        ("NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down."),
    ] {
        let told = failed(|pod| (pod.reason, pod.message) = (reason.into(), message.into()));
        assert_eq!(told, [format!("60000 Pod p0100 failed: {reason}; the Deployment stays at revision 1.")]);
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
