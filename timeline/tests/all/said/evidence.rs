//! What volumes, nodes, admission and kubelets say reaches the sentence, and says no more than it means.

use crate::made::{SECOND, Web, condition, crashing, unready, waiting};
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, Phase, PodFact, Role};
use timeline::story::LineKind;
use timeline::view::Tone;

/// The sentences of all causes.
pub(super) fn causes(web: &Web) -> Vec<String> {
    web.view().reasons.into_iter().map(|reason| reason.sentence).collect()
}

/// The first sentence about causes.
pub(super) fn first(web: &Web) -> String {
    web.view().reasons.first().map(|reason| reason.sentence.clone()).unwrap_or_default()
}

/// The verdict without its badge and the revision.
pub(super) fn matter(web: &Web) -> String {
    web.verdict().rsplit_once(": ").map_or_else(String::new, |(_, matter)| matter.to_owned())
}

pub(super) fn command(web: &Web) -> String {
    let command = web.view().remedy.unwrap().command;
    command.strip_prefix("kubectl --namespace shop ").unwrap().to_owned()
}

/// Revision 2 replaces revision 1; its only pod so far is changed.
pub(super) fn replacing(change: impl FnOnce(&mut PodFact)) -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, change);
    web.report();
    web
}

pub(super) fn creating(pod: &mut PodFact) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting("ContainerCreating", ""));
}

/// It crashes, and its condition `Ready` is gone.
pub(super) fn crashing_unready(restarts: u32) -> impl FnOnce(&mut PodFact) {
    move |pod| {
        crashing(restarts)(pod);
        pod.ready = None;
    }
}

/// containerd 1 ends an error that it has no code for with `: unknown`, containerd 2 does not.
#[test]
fn a_container_that_cannot_be_started_says_why() {
    for end in ["", ": unknown"] {
        let web = replacing(|pod| {
            crashing_unready(2)(pod);
            let exec = "exec: \"/app\": stat /app: no such file or directory";
            let message = format!("runc create failed: unable to start container process: {exec}{end}");
            let exit = Exit { code: 128, reason: "StartError".into(), message, ..Exit::default() };
            pod.containers[0].last_exit = Some(exit.into());
        });
        let headline = "[Failing] Revision 2 is failing: container web cannot be started: no such file or directory.";
        assert_eq!(web.verdict(), headline);
        let sentence = "Container web cannot be started: no such file or directory: 2 restarts so far (pod p0200). The kubelet \
                        says: exec: \"/app\": stat /app: no such file or directory.";
        assert_eq!(first(&web), sentence);
    }
}

#[test]
fn a_volume_that_an_old_pod_has_stays_named_and_is_a_deadlock() {
    let blocked = |user: &str| {
        let mut web = replacing(creating);
        let old = web.timeline.model().pods.values().find(|pod| pod.name.ends_with("p0100")).unwrap().name.clone();
        let user = user.replace("OLD", &old);
        let message = format!("Multi-Attach error for volume \"v\" Volume is already {user}");
        web.event(200, "FailedAttachVolume", &message);
        web.now += 61_000;
        web.event(200, "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]: deadline exceeded");
        assert_eq!(matter(&web), format!("{message}."));
        web.view().verdict.why.contains("add a new one (an old pod has its volume)")
    };
    assert!(blocked("used by pod(s) OLD"));
    assert!(!blocked("used by pod(s) another"));
    assert!(!blocked("exclusively attached to one node and can't be attached to another"));
}

#[test]
fn a_volume_that_was_attached_since_is_not_waited_for() {
    let mut web = replacing(creating);
    web.event(200, "FailedAttachVolume", "Multi-Attach error for volume \"v\" Volume is already used by pod(s) web-1");
    web.now += 61_000;
    let waits = "Pod p0200 waits for its volumes (FailedAttachVolume): Multi-Attach error for volume \"v\"";
    web.event(200, "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume \"w\" ");
    assert!(first(&web).starts_with(waits), "another volume: {}", first(&web));
    web.wait(1_000).event(200, "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume \"v\" ");
    let starts = "1 new pod has been starting for 1 min 2 s; no container is reported running yet (pod p0200).";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
    assert!(web.lines(LineKind::Event).iter().all(|line| line.contains("FailedAttachVolume")), "{:#?}", web.told());
}

#[test]
fn a_mount_that_fails_without_a_message_has_a_headline() {
    let mut web = replacing(creating);
    web.event(200, "FailedMount", "");
    web.now += 30_000;
    assert_eq!(matter(&web), "a volume cannot be mounted.");
}

/// The kubelet tries for the eighth time after 64 s.
#[test]
fn a_volume_whose_source_does_not_exist_is_waited_for_until_the_kubelet_tried_again() {
    let mut web = replacing(creating);
    web.event(200, "FailedMount", "MountVolume.SetUp failed for volume \"c\" : configmap \"late\" not found");
    let is_fatal = |web: &Web| web.view().reasons.iter().any(|reason| reason.is_fatal);
    web.now += 70_000;
    assert!(!is_fatal(&web));
    web.now += 1;
    assert!(is_fatal(&web));
}

#[test]
fn a_node_without_network_and_devices_are_named() {
    for (reason, message, said) in [
        ("NetworkNotReady", "network is not ready: cni plugin not initialized", "for its sandbox (NetworkNotReady)"),
        ("FailedPrepareDynamicResources", "Failed to prepare: no such claim", "for its devices"),
        ("FailedCreatePodContainer", "unable to ensure pod container exists: no cgroup", "for its cgroup"),
    ] {
        let mut web = replacing(creating);
        web.event(200, reason, message);
        assert!(first(&web).contains(said) && first(&web).contains(message), "{}", first(&web));
    }
}

/// A volume with many files: the kubelet sums it up as one that does not come.
#[test]
fn a_volume_whose_files_get_another_owner_is_slow_and_no_error() {
    let mut web = replacing(creating);
    web.now += 40_000;
    let files = "Setting volume ownership for 7d/volumes/data, processed 40000 files.";
    web.event(200, "VolumePermissionChangeInProgress", files);
    web.now += 90_000;
    web.event(200, "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data]: deadline exceeded");
    let waits = format!("Pod p0200 waits for its volumes (VolumePermissionChangeInProgress): {files}");
    assert_eq!((first(&web), web.view().verdict.tone), (waits, Tone::Busy));
}

#[test]
fn what_a_younger_pod_saw_makes_the_older_one_no_younger() {
    let mut web = Web::live(3);
    web.wait(60_000).pod(100, unready);
    web.wait(600_000).pod(101, unready);
    web.event(101, "Unhealthy", "Readiness probe failed: timeout");
    web.wait(11_000).report();
    let said = "2 pods are running but not ready any more, one of them for 10 min 11 s. A probe saw: timeout.";
    assert_eq!(first(&web), said);
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

#[test]
fn pods_that_are_not_ready_for_different_times_are_told_with_the_time_of_one() {
    let said = |millis: i64| {
        let mut web = replacing(unready);
        web.set(SECOND, |set| set.now.counts.desired = 2);
        web.wait(millis).add_pod(201, SECOND, unready);
        web.now = 60_000;
        first(&web)
    };
    let pods = "2 new pods are running but not ready";
    let earlier = "Earlier pods took 5.0 s.";
    assert_eq!(said(5_000), format!("{pods} for 40 s. {earlier}"));
    assert_eq!(said(5_001), format!("{pods}, one of them for 40 s. {earlier}"));
}

#[test]
fn who_forbids_pods_is_named() {
    for (message, said) in [
        (
            "pods \"web-1\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
            "Pod Security \"restricted\" forbids new pods.",
        ),
        (
            "admission webhook \"policy.example.com\" denied the request: no",
            "webhook policy.example.com denies new pods.",
        ),
        (
            "pods \"web-1\" is forbidden: ValidatingAdmissionPolicy 'no-latest' with binding 'shop' denied request: no",
            "policy no-latest denies new pods.",
        ),
        (
            "pods \"web-1\" is forbidden: ValidatingAdmissionPolicy 'shop' denied request: no",
            "policy shop denies new pods.",
        ),
        ("policy 'sidecars' with binding 'shop' denied request: no such key: team", "policy sidecars denies new pods."),
        ("Internal error occurred: failed calling webhook \"policy\": timeout", "webhook policy cannot be called."),
        ("Internal error occurred: resource quota evaluation timed out", "the API server refuses new pods."),
        (
            "pods \"web-1\" is forbidden: maximum memory usage per Container is 64Mi, but limit is 128Mi",
            "maximum memory usage per Container is 64Mi.",
        ),
        (
            "pods \"web-1\" is forbidden: [maximum cpu usage per Container is 500m.  No limit is specified, maximum memory usage \
             per Container is 64Mi, but limit is 128Mi]",
            "maximum cpu usage per Container is 500m.",
        ),
        (
            "pods \"web-1\" is forbidden: unable to create new content in namespace shop because it is being terminated",
            "the API server refuses new pods.",
        ),
        ("exceeded quota: q, requested: cpu=4, used: cpu=6, limited: cpu=8", "quota q has no room."),
    ] {
        let mut web = Web::replacing();
        web.deployment(|deployment| {
            deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", message));
        });
        web.now += 70_000;
        assert_eq!(matter(&web), said);
    }
}

#[test]
fn a_deletion_that_waits_for_pods_says_since_when_they_should_have_been_gone() {
    let mut web = Web::live(2);
    web.wait_until(60_000).edit_spec(|deployment| deployment.deleting = true);
    (100..102).for_each(|pod| web.pod(pod, |pod| pod.deletion_at_millis = Some(90_000)));
    web.now = 100_000;
    assert_eq!(web.verdict(), "[Being deleted] This Deployment is being deleted.");
    assert_eq!(web.view().explanation(), "Kubernetes removes it when its finalizers are done.");
    web.now = 100_001;
    let said = "2 pods should have been gone since 00:01:30 UTC: the node does not answer, or a finalizer holds them. Kubernetes \
                removes it when its finalizers are done.";
    assert_eq!(web.view().explanation(), said);
}

#[test]
fn a_pod_that_its_kubelet_cannot_end_says_why() {
    let mut web = Web::reported();
    web.pod(200, |pod| pod.deletion_at_millis = Some(60_000));
    web.add_ready_pod(210, SECOND);
    web.report();
    web.now = 100_000;
    let said = "the node does not answer, or a finalizer holds it.";
    assert!(web.view().verdict.why.contains(said), "{}", web.view().verdict.why);
    let error = "error killing pod: failed to \"KillPodSandbox\" for \"1-2\" with KillPodSandboxError: \"rpc error: code = Unknown \
                 desc = failed to destroy network for sandbox \\\"d2ab\\\": plugin type=\\\"calico\\\" failed (delete): Unauthorized\"";
    web.event(200, "FailedKillPod", error);
    let said = "the kubelet cannot end it: plugin type=\"calico\" failed (delete): Unauthorized.";
    assert!(web.view().verdict.why.contains(said), "{}", web.view().verdict.why);
    web.pod(200, |pod| pod.phase = Phase::Succeeded);
    let said = "its containers have ended; a volume that is still mounted or a finalizer holds it.";
    assert!(web.view().verdict.why.contains(said), "{}", web.view().verdict.why);
}

#[test]
fn a_pod_that_terminates_while_a_container_starts_may_wait_for_its_hook() {
    let mut web = Web::reported();
    web.pod(200, |pod| {
        (pod.phase, pod.ready, pod.deletion_at_millis) = (Phase::Pending, None, Some(60_000));
        pod.containers[0].state = Some(waiting("ContainerCreating", ""));
    });
    web.add_ready_pod(210, SECOND);
    web.report();
    web.now = 100_000;
    let late = "1 pod should have been gone since 00:01:00 UTC: the node does not answer";
    let said = format!("{late}, a postStart hook has not ended, or a finalizer holds it.");
    assert!(web.view().verdict.why.contains(&said), "{}", web.view().verdict.why);
    // Its containers wait for an init container, which has no hooks.
    web.pod(200, |pod| {
        let init = Container::new("init".into(), Role::Init);
        pod.containers.insert(0, Container { state: Some(ContainerState::Running), ..init });
        pod.containers[1].state = Some(waiting("PodInitializing", ""));
    });
    let said = format!("{late}, or a finalizer holds it.");
    assert!(web.view().verdict.why.contains(&said), "{}", web.view().verdict.why);
}
