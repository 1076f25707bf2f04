//! What kubelets, registries, schedulers and probes say reaches the sentence, and says no more than it means.

use crate::made::{SECOND, Web, condition, crashing, ready, unready, waiting, warning};
use timeline::fact::{ConditionStatus, ContainerState, EventFact, Exit, Phase, PodFact};
use timeline::view::Tone;

/// The first sentence about causes.
fn first(web: &Web) -> String {
    web.view().reasons.first().map(|reason| reason.sentence.clone()).unwrap_or_default()
}

/// The verdict without its badge and the revision.
fn matter(web: &Web) -> String {
    web.verdict().rsplit_once(": ").map_or_else(String::new, |(_, matter)| matter.to_owned())
}

fn command(web: &Web) -> String {
    let command = web.view().remedy.unwrap().command;
    command.strip_prefix("kubectl --namespace shop ").unwrap().to_owned()
}

/// Revision 2 replaces revision 1; its only pod so far is changed.
fn replacing(change: impl FnOnce(&mut PodFact)) -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, change);
    web.report();
    web
}

fn creating(pod: &mut PodFact) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting("ContainerCreating", ""));
}

fn unplaced(reason: &'static str, message: &'static str) -> impl FnOnce(&mut PodFact) {
    move |pod| {
        (pod.node, pod.phase, pod.ready, pod.containers) = (None, Phase::Pending, None, Vec::new());
        pod.scheduled = Some(condition(ConditionStatus::False, reason, message));
    }
}

#[test]
fn what_a_probe_saw_is_told_of_pods_that_are_not_ready() {
    let mut web = replacing(unready);
    web.now += 40_000;
    let begin = "1 new pod is running but not ready for 40 s.";
    let end = "Earlier pods took 5.0 s.";
    assert_eq!(first(&web), format!("{begin} {end}"));
    web.event(200, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500");
    assert_eq!(first(&web), format!("{begin} {end}"), "of another probe");
    web.event(200, "Unhealthy", "Readiness probe failed: dial tcp 10.1.2.3:80: connect: connection refused");
    let saw = "A probe saw: dial tcp 10.1.2.3:80: connect: connection refused.";
    assert_eq!(first(&web), format!("{begin} {saw} {end}"));
    // At the deadline it is what the verdict names.
    web.deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ProgressDeadlineExceeded", ""));
    });
    assert_eq!(web.verdict(), "[Deadline exceeded] Revision 2 makes no progress: pods do not become ready.");
}

#[test]
fn probes_are_named_as_a_limit_only_where_there_are_some() {
    let mut web = Web::made(1);
    web.pod(100, unready);
    web.now = 40_000;
    let begin = "1 new pod is running but not ready for 40 s.";
    assert_eq!(first(&web), format!("{begin} That is longer than the 30 s that Rollcast allows."));
    web.set(2, |set| set.probe_millis = 24_000);
    assert_eq!(first(&web), format!("{begin} That is longer than the 24 s that its probes allow."));
}

#[test]
fn a_container_that_ends_by_itself_is_not_killed_by_a_probe() {
    let ended = |code: i32, events: &[(&str, &str)]| {
        let mut web = replacing(|pod| {
            crashing(3)(pod);
            pod.ready = None;
            pod.containers[0].last_exit = Some(Exit { code, reason: "Error".into(), ..Exit::default() }.into());
        });
        events.iter().for_each(|(reason, message)| web.event(200, reason, message));
        matter(&web)
    };
    let unhealthy = ("Unhealthy", "Startup probe failed: connection refused");
    assert_eq!(ended(1, &[unhealthy]), "container web crashes with exit code 1.");
    assert_eq!(ended(137, &[unhealthy]), "container web is killed because its startup probe fails.");
    let killing = |container: &str| format!("Container {container} failed startup probe, will be restarted");
    let of_web = killing("web");
    assert_eq!(ended(1, &[("Killing", &of_web)]), "container web is killed because its startup probe fails.");
    assert_eq!(ended(1, &[("Killing", &killing("proxy"))]), "container web crashes with exit code 1.");
    let init = "Init container web failed startup probe, will be restarted";
    assert_eq!(ended(0, &[("Killing", init)]), "container web is killed because its startup probe fails.");
    assert_eq!(ended(0, &[unhealthy]), "container web ends with exit code 0 (Completed) and is started again.");
}

#[test]
fn a_container_that_is_restarted_for_a_resize_does_not_crash() {
    let mut web = Web::live(2);
    for restarts in [1, 2] {
        web.now += 60_000;
        web.event(100, "Killing", "Container web resize requires restart");
        let started_millis = Some(web.now);
        web.pod(100, |pod| {
            unready(pod);
            (pod.containers[0].restarts, pod.containers[0].started_millis) = (restarts, started_millis);
            pod.containers[0].last_exit = Some(Exit { code: 143, reason: "Error".into(), ..Exit::default() }.into());
        });
        web.report();
        let said = "Container web is restarted for a resize of its resources: ";
        assert!(first(&web).starts_with(said), "{}", first(&web));
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
        assert!(!web.view().reasons[0].is_fatal);
    }
    // Ready again, nothing is wrong with it, though it ended twice in short time.
    web.now += 1_000;
    web.pod(100, ready);
    web.report();
    assert_eq!((web.view().reasons.len(), web.view().verdict.tone), (0, Tone::Ok), "{}", web.verdict());
    // What ends by itself after a resize did not end for it.
    web.pod(100, |pod| {
        unready(pod);
        pod.containers[0].restarts = 3;
        pod.containers[0].last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
    });
    assert!(first(&web).contains("with exit code 1"), "{}", first(&web));
}

#[test]
fn an_exit_code_of_some_pods_is_not_told_of_all() {
    let said = |codes: [i32; 2]| {
        let mut web = Web::replacing();
        web.set(SECOND, |set| set.counts.desired = 2);
        for (number, code) in [200, 201].into_iter().zip(codes) {
            web.add_pod(number, SECOND, |pod| {
                crashing(2)(pod);
                pod.ready = None;
                pod.containers[0].last_exit = Some(Exit { code, reason: "Error".into(), ..Exit::default() }.into());
            });
        }
        web.report();
        first(&web)
    };
    assert_eq!(said([1, 1]), "Container web crashes with exit code 1 in 2 pods (pod p0200: 2 restarts so far).");
    assert_eq!(said([1, 137]), "Container web crashes in 2 pods (pod p0200: 2 restarts so far).");
}

#[test]
fn only_crashes_that_came_with_a_rollout_are_undone() {
    let crashed = |minutes: i64| {
        let mut web = Web::reported();
        web.wait(minutes * 60_000).pod(200, |pod| {
            crashing(2)(pod);
            pod.ready = None;
        });
        web.report();
        assert!(web.verdict().contains("Revision 2 was rolled out, but container web crashes"), "{}", web.verdict());
        command(&web)
    };
    assert_eq!(crashed(9), "rollout undo deployment/web");
    assert!(crashed(11).starts_with("logs web-3-p0200"), "{}", crashed(11));
}

#[test]
fn a_container_that_never_ran_has_no_logs() {
    let mut web = Web::live(3);
    web.now += 3_600_000;
    let message = "failed to create containerd task: unable to start container process: exec: \"/app\": not found";
    web.pod(100, |pod| {
        crashing(2)(pod);
        pod.ready = None;
        pod.containers[0].last_exit =
            Some(Exit { code: 128, reason: "StartError".into(), message: message.into(), ..Exit::default() }.into());
    });
    assert!(command(&web).starts_with("describe pod "), "{}", command(&web));
}

/// A node was started again, or the kubelet does not find the container any more: the exit code is made up.
#[test]
fn an_end_that_nobody_saw_has_no_exit_code() {
    let said = |code: i32, reason: &'static str| {
        let web = replacing(|pod| {
            crashing(1)(pod);
            pod.ready = None;
            pod.containers[0].state = Some(ContainerState::Running);
            pod.containers[0].last_exit = Some(Exit { code, reason: reason.into(), ..Exit::default() }.into());
        });
        first(&web)
    };
    for (code, reason) in [(255, "Unknown"), (137, "ContainerStatusUnknown")] {
        let said = said(code, reason);
        assert!(said.starts_with("Container web ended: 1 restart so far (pod p0200)."), "{said}");
    }
    assert!(said(255, "Error").starts_with("Container web ended with exit code 255: "), "{}", said(255, "Error"));
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
    let said = "Node node-7 has not been ready for 1 min 1 s: 2 pods on it do not count. Kubernetes replaces them after the \
                toleration of the pod, by default 300 s.";
    assert_eq!(first(&web), said);
    assert_eq!(command(&web), "describe node node-7");
    // A kubelet that reports something is there again, whatever it reports.
    let mut back = Web::live(1);
    back.wait(60_000).pod(100, |pod| pod.ready = Some(condition(ConditionStatus::False, "", "")));
    back.event(100, "NodeNotReady", "Node is not ready");
    back.wait(60_000).event(100, "Unhealthy", "Readiness probe failed: timeout");
    assert!(first(&back).contains("not ready any more"), "{}", first(&back));
    // It is back, and the pods are not.
    web.pod(100, ready);
    web.wait(10_000).pod(100, unready);
    web.now += 20_000;
    assert!(web.view().reasons.iter().any(|reason| reason.sentence.contains("not ready any more")));
}

#[test]
fn a_pull_that_failed_is_told_in_the_words_of_the_registry() {
    let pull = |reason: &'static str, message: &'static str| {
        replacing(move |pod| pod.containers[0].state = Some(waiting(reason, message)))
    };
    for (message, said) in [
        (
            "failed to pull and unpack image \"docker.io/web:v2\": no match for platform in manifest: not found",
            "image web:v2 has no variant for the node's platform.",
        ),
        (
            "pull access denied, repository does not exist or may require authorization: authorization failed",
            "image web:v2 does not exist, or access is denied.",
        ),
    ] {
        assert_eq!(matter(&pull("ErrImagePull", message)), said);
        assert_eq!(pull("ErrImagePull", message).view().verdict.tone, Tone::Bad, "it is final");
    }
    let web = pull("ErrImagePull", "failed to do request: Head \"https://reg\": http: server gave HTTP response");
    assert_eq!(
        first(&web),
        "Image web:v2 cannot be pulled: server gave HTTP response (pod p0200). The kubelet tries again."
    );
    let web = pull("ImagePullBackOff", "Back-off pulling image \"web:v2\"");
    assert!(first(&web).starts_with("Image web:v2 cannot be pulled: ImagePullBackOff, why is not known"));
    let mut web = pull("ErrImagePull", "unexpected status: 401 Unauthorized");
    assert!(!first(&web).contains("secret"));
    web.event(
        200,
        "FailedToRetrieveImagePullSecret",
        "Unable to retrieve some image pull secrets (regcred); attempting",
    );
    assert_eq!(
        first(&web),
        "Image web:v2 cannot be pulled: access denied (pod p0200). Pull secrets that cannot be read: regcred."
    );
}

/// The kubelet fails the container that mounts it, with the words of the pull.
#[test]
fn an_image_volume_that_cannot_be_pulled_is_named_and_not_the_image_of_a_container() {
    for (reason, message) in [
        (
            "ErrImagePull",
            "failed to pull and unpack image \"a.io/files:v9\": failed to resolve image: a.io/files:v9: not found",
        ),
        (
            "ErrImagePull",
            "initializing source docker://a.io/files:v9: reading manifest v9 in a.io/files: manifest unknown",
        ),
        ("ImagePullBackOff", "Back-off pulling image \"a.io/files:v9\": ErrImagePull: a.io/files:v9: not found"),
    ] {
        let web = replacing(|pod| {
            pod.containers[0].state = Some(waiting(reason, message));
            pod.containers[0].waits_for_image = "web:v2".into();
        });
        assert_eq!(matter(&web), "image a.io/files:v9 is not found.", "{message}");
        assert_eq!(first(&web), "Image a.io/files:v9 cannot be pulled: not found (pod p0200).", "{message}");
    }
}

#[test]
fn names_decide_no_failure() {
    let failure = |image, message| {
        let events = std::iter::empty();
        timeline::rules::messages::read_pull_failure("ErrImagePull", Some(image), message, events)
    };
    use timeline::rules::messages::PullFailure::{Denied, NotFound, TooManyRequests};
    for (image, message) in [
        ("quay.io/app/web:14290", "reading manifest 14290 in quay.io/app/web: manifest unknown"),
        ("quay.io/app/certificate:429", "reading manifest 429 in quay.io/app/certificate: manifest unknown"),
        ("certificate:v1", "docker.io/library/certificate:v1: not found"),
        ("", "web: not found"),
        (":", "web: not found"),
    ] {
        assert_eq!(failure(image, message), NotFound, "{message}");
    }
    for image in ["auth:v1", "a", "web:401", "reg:5000/auth", "web@sha256:0f"] {
        assert_eq!(failure(image, "failed to authorize: 401 Unauthorized"), Denied, "{image}");
    }
    assert_eq!(failure("web:v2", "unexpected status: 429"), TooManyRequests);
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
fn a_mount_that_fails_without_a_message_has_a_headline() {
    let mut web = replacing(creating);
    web.event(200, "FailedMount", "");
    web.now += 30_000;
    assert_eq!(matter(&web), "a volume cannot be mounted.");
}

#[test]
fn an_image_that_was_pulled_is_not_waited_for() {
    let mut web = replacing(creating);
    web.event(200, "Pulling", "Pulling image \"web:v2\"");
    web.now += 50_000;
    assert!(first(&web).starts_with("1 new pod is waiting for its image for 50 s"), "{}", first(&web));
    web.event(200, "Pulled", "Successfully pulled image \"web:v2\" in 3s");
    assert!(
        first(&web).starts_with("1 new pod has been starting for 50 s; no container is reported running yet"),
        "{}",
        first(&web)
    );
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
fn pods_that_go_make_room_on_their_nodes() {
    let mut web = replacing(unplaced("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."));
    web.set(2, |set| set.counts.desired = 2);
    web.pod(100, |pod| pod.meta.deletion_at_millis = Some(320_000));
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
fn what_a_younger_pod_saw_makes_the_older_one_no_younger() {
    let mut web = Web::live(3);
    web.wait(60_000).pod(100, unready);
    web.wait(600_000).pod(101, unready);
    web.event(101, "Unhealthy", "Readiness probe failed: timeout");
    web.wait(11_000).report();
    assert_eq!(first(&web), "2 pods are running but not ready any more for 10 min 11 s. A probe saw: timeout.");
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
        ("Internal error occurred: failed calling webhook \"policy\": timeout", "webhook policy cannot be called."),
        ("Internal error occurred: resource quota evaluation timed out", "the API server refuses new pods."),
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
fn an_image_that_is_not_there_says_nothing_of_secrets() {
    let mut web = replacing(|pod| pod.containers[0].state = Some(waiting("ErrImagePull", "not found")));
    web.event(
        200,
        "FailedToRetrieveImagePullSecret",
        "Unable to retrieve some image pull secrets (regcred); attempting",
    );
    web.now += 40_000;
    assert!(!first(&web).contains("regcred"), "{}", first(&web));
}

#[test]
fn a_probe_that_cannot_be_made_says_why() {
    let mut web = replacing(|pod| {
        let told = "containers with unready status: [web]";
        pod.ready = Some(condition(ConditionStatus::False, "ContainersNotReady", told));
    });
    web.now += 40_000;
    let shell = "(combined from similar events): Readiness probe errored and resulted in unknown state: rpc error: code = \
                 Unknown desc = failed to exec in container: OCI runtime exec failed: exec failed: unable to start container \
                 process: exec: \"curl\": executable file not found in $PATH";
    web.event(200, "Unhealthy", shell);
    let said = first(&web);
    assert!(said.contains("A probe saw: exec: \"curl\": executable file not found in $PATH. "), "{said}");
    // A container that is ready has a probe, too.
    web.wait(1_000).event_of(200, "proxy", "Unhealthy", "Readiness probe failed: connection refused");
    assert!(first(&web).contains("A probe saw: exec"), "{}", first(&web));
    web.now += 1_000;
    web.event_of(200, "web", "Unhealthy", "Readiness probe failed: timeout");
    assert!(first(&web).contains("A probe saw: timeout."), "{}", first(&web));
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

#[test]
fn an_image_that_cannot_be_used_says_why() {
    let mut web = replacing(|pod| {
        creating(pod);
        let message = "Failed to apply default image tag \"reg/App:v2\": couldn't parse image name \"reg/App:v2\": invalid reference \
                       format: repository name (App) must be lowercase";
        pod.containers[0].state = Some(waiting("InvalidImageName", message));
        pod.containers[0].waits_for_image = "reg/App:v2".into();
    });
    web.now += 1_000;
    let said =
        "Image reg/App:v2 cannot be pulled: InvalidImageName: repository name (App) must be lowercase (pod p0200).";
    assert_eq!(first(&web), said);
}

#[test]
fn what_a_container_waits_for_now_is_told_before_that_it_crashed() {
    let waits_for = |reason: &'static str, message: &'static str| {
        let mut web = replacing(|pod| {
            crashing(5)(pod);
            pod.ready = None;
            pod.containers[0].state = Some(waiting(reason, message));
        });
        web.now += 1_000;
        first(&web)
    };
    let secret = waits_for("CreateContainerConfigError", "secret \"db\" not found");
    assert!(secret.contains("secret \"db\" not found"), "{secret}");
    let start = waits_for("RunContainerError", "exec: no such file");
    assert!(start.starts_with("Container web crashes"), "{start}");
}

#[test]
fn of_two_images_each_has_its_own_error() {
    let mut web = replacing(|pod| {
        creating(pod);
        let mut second = pod.containers[0].clone();
        (pod.containers[0].waits_for_image, second.waits_for_image) = ("web:v2".into(), "proxy:v9".into());
        second.name = "proxy".into();
        pod.containers[0].state =
            Some(waiting("ImagePullBackOff", "Back-off pulling image \"web:v2\": denied: access forbidden"));
        second.state = Some(waiting("ErrImagePull", "failed to pull image \"proxy:v9\": not found"));
        pod.containers.push(second);
    });
    web.now += 1_000;
    assert!(first(&web).starts_with("Image web:v2 cannot be pulled: access"), "{}", first(&web));
}

#[test]
fn one_end_is_told_until_the_container_has_started_again() {
    let mut web = Web::reported();
    web.wait(3_600_000).pod(200, |pod| {
        pod.ready = None;
        let container = &mut pod.containers[0];
        (container.restarts, container.is_in_startup) = (1, true);
        container.last_exit = Some(Exit { code: 137, reason: "OOMKilled".into(), ..Exit::default() }.into());
    });
    web.report();
    web.now += 120_000;
    assert!(first(&web).starts_with("Container web runs out of memory: 1 restart"), "{}", first(&web));
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    web.now += 600_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

#[test]
fn restarts_of_earlier_troubles_are_not_told_with_the_time_of_the_last_ones() {
    let mut web = Web::reported();
    web.wait(60_000).pod(200, crashing(5));
    web.wait(60_000).pod(200, |pod| {
        pod.containers[0].state = Some(ContainerState::Running);
        ready(pod);
    });
    web.wait(10 * 3_600_000).pod(200, |pod| {
        crashing(6)(pod);
        pod.ready = None;
    });
    web.now += 30_000;
    assert!(first(&web).contains(": 6 restarts so far"), "{}", first(&web));
}

#[test]
fn a_crash_loop_begins_after_the_last_long_time_that_the_pod_was_ready() {
    let mut web = Web::reported();
    web.wait(60_000).pod(200, unready);
    web.wait(2_000).pod(200, ready);
    web.wait(10 * 3_600_000).pod(200, |pod| {
        crashing(2)(pod);
        pod.ready = None;
    });
    web.report();
    web.now += 30_000;
    assert!(first(&web).contains(": 2 restarts in 30 s"), "{}", first(&web));
    assert!(command(&web).starts_with("logs web-3-p0200"), "{}", command(&web));
}

#[test]
fn a_pod_that_its_kubelet_cannot_end_says_why() {
    let mut web = Web::reported();
    web.pod(200, |pod| pod.meta.deletion_at_millis = Some(60_000));
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
