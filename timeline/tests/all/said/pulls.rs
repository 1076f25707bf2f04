//! What registries and kubelets say of images reaches the sentence, and says no more than it means.

use super::evidence::{causes, creating, first, matter, replacing};
use crate::made::{SECOND, crashing, waiting};
use timeline::fact::{Container, ContainerState, Exit, PodFact, Role};
use timeline::view::Tone;

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

#[test]
fn an_image_of_which_a_node_lost_a_part_exists() {
    let message = "failed to pull and unpack image \"a.io/web:v2\": failed to extract layer sha256:0f: failed to get reader \
                   from content store: content digest sha256:1f: not found";
    let web = replacing(|pod| pod.containers[0].state = Some(waiting("ErrImagePull", message)));
    let said = "Image web:v2 cannot be pulled: the node lost a part of it (pod p0200). The kubelet tries again.";
    assert_eq!(first(&web), said);
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
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
        timeline::rules::pulls::read_pull_failure("ErrImagePull", Some(image), message, events)
    };
    use timeline::rules::pulls::PullFailure::{Denied, NotFound, TooManyRequests};
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
fn two_images_that_failed_once_each_did_not_fail_again() {
    let mut web = replacing(|pod| {
        let state = Some(waiting("ErrImagePull", "dial tcp: lookup reg: no such host"));
        pod.containers[0].state = state.clone();
        let waits_for_image = "proxy:v1".to_owned();
        pod.containers.push(Container { state, waits_for_image, ..Container::new("proxy".into(), Role::App) });
    });
    let failed = |image: &str| format!("Failed to pull image \"{image}\": dial tcp: lookup reg: no such host");
    web.event(200, "Failed", &failed("web:v2"));
    web.wait(1).event(200, "Failed", &failed("proxy:v1"));
    assert_eq!((web.view().verdict.badge.as_str(), web.view().verdict.tone), ("Waiting", Tone::Busy));
    web.wait(10_000).event(200, "Failed", &failed("web:v2"));
    assert_eq!(web.verdict(), "[Failing] Revision 2 cannot start: image web:v2 cannot be pulled (no such host).");
}

#[test]
fn an_image_that_was_pulled_is_not_waited_for() {
    let mut web = replacing(creating);
    web.event_of(200, "web", "Pulling", "Pulling image \"web:v2\"");
    web.now += 50_000;
    assert!(first(&web).starts_with("1 new pod is waiting for its image for 50 s"), "{}", first(&web));
    web.event_of(200, "web", "Pulled", "Successfully pulled image \"web:v2\" in 3s");
    web.now += 2_000;
    let starts =
        "1 new pod has been starting for 2.0 s since the kubelet had its image; no container is reported running yet";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
}

#[test]
fn a_start_is_slow_by_the_time_since_its_init_containers_completed() {
    let mut web = replacing(|pod| {
        creating(pod);
        let state = Some(ContainerState::Running);
        pod.containers.insert(0, Container { state, ..Container::new("migrate".into(), Role::Init) });
    });
    web.now += 182_000;
    let now = web.now;
    web.pod(200, |pod| {
        let (exit_code, reason, message) = (0, "Completed".into(), String::new());
        pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message });
        let exit = Exit { reason: "Completed".into(), finished_millis: Some(now), ..Exit::default() };
        pod.containers[0].last_exit = Some(exit.into());
    });
    for (after, badge) in [(0, "Waiting"), (60_000, "Waiting"), (60_001, "Slow")] {
        assert_eq!(web.wait_until(now + after).view().verdict.badge, badge, "{after}");
    }
    web.now = now + 1_000;
    web.event_of(200, "web", "Pulled", "Container image \"web:v2\" already present on machine");
    web.now = now + 2_000;
    let starts = "1 new pod has been starting for 2.0 s since its init containers completed; no container is reported running \
                  yet (pod p0200).";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
}

/// The kubelet pulls and starts one container after the other.
#[test]
fn the_image_of_a_sidecar_is_not_that_of_the_pod() {
    let mut web = replacing(|pod| {
        creating(pod);
        let state = Some(ContainerState::Running);
        pod.containers.insert(0, Container { state, ..Container::new("proxy".into(), Role::Sidecar) });
    });
    web.now += 20_000;
    web.event_of(200, "proxy", "Pulled", "Successfully pulled image \"proxy:v1\" in 3s");
    web.now += 30_000;
    let starts =
        "1 new pod has been starting for 50 s; not all of its containers are reported running yet (pod p0200).";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
    web.event_of(200, "web", "Pulled", "Successfully pulled image \"web:v2\" in 3s");
    web.now += 2_000;
    let starts = "1 new pod has been starting for 2.0 s since the kubelet had its image; not all of its containers";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
}

#[test]
fn an_image_that_was_there_does_not_hide_the_pull_of_another_container() {
    let mut web = replacing(|pod| {
        creating(pod);
        let (exit_code, reason, message) = (0, "Completed".into(), String::new());
        let state = Some(ContainerState::Terminated { exit_code, reason, message });
        pod.containers.insert(0, Container { state, ..Container::new("migrate".into(), Role::Init) });
        let exit = Exit { reason: "Completed".into(), finished_millis: Some(20_000), ..Exit::default() };
        pod.containers[0].last_exit = Some(exit.into());
        let state = pod.containers[1].state.clone();
        pod.containers.push(Container { state, ..Container::new("cache".into(), Role::App) });
    });
    web.now += 2_000;
    web.event_of(200, "web", "Pulling", "Pulling image \"web:v2\"");
    web.now += 180_000;
    web.event_of(200, "web", "Pulled", "Successfully pulled image \"web:v2\" in 3m0s");
    web.now += 1_000;
    web.event_of(200, "cache", "Pulled", "Container image \"cache:v1\" already present on machine");
    web.now += 1_000;
    let starts =
        "1 new pod has been starting for 2.0 s since the kubelet had its image; no container is reported running yet";
    assert!(first(&web).starts_with(starts), "{}", first(&web));
}

#[test]
fn several_pods_that_start_are_counted_once() {
    let mut web = replacing(creating);
    web.add_pod(201, SECOND, creating);
    web.now += 50_000;
    let said = "2 new pods have been starting for 50 s; no container is reported running yet (one is p0200).";
    let reasons = web.view().reasons;
    assert!(reasons.iter().any(|reason| reason.sentence.starts_with(said)), "{reasons:?}");
}

#[test]
fn a_pod_that_was_starting_before_somebody_looked_has_its_age() {
    let mut web = replacing(creating);
    web.now += 44_000;
    let mut late = web.first_listed();
    late.now += 21_000;
    let said = "starting for at least 21 s; no container is reported running yet (pod p0200, created 1 min 5 s ago).";
    let reasons = late.view().reasons;
    assert!(reasons.iter().any(|reason| reason.sentence.contains(said)), "{reasons:?}");
}

#[test]
fn a_pod_whose_sidecar_runs_already_has_a_running_container() {
    let with_sidecar = |pod: &mut PodFact| {
        creating(pod);
        let state = Some(ContainerState::Running);
        pod.containers.insert(0, Container { state, ..Container::new("proxy".into(), Role::Sidecar) });
    };
    let mut web = replacing(with_sidecar);
    web.now += 50_000;
    let said = "1 new pod has been starting for 50 s; not all of its containers are reported running yet (pod p0200).";
    assert!(first(&web).starts_with(said), "{}", first(&web));
    // That of another pod, which waits for an image, is not its own.
    let mut web = replacing(creating);
    web.add_pod(201, SECOND, with_sidecar);
    web.event(201, "Pulling", "Pulling image \"web:v2\"");
    web.now += 50_000;
    let said = "1 new pod has been starting for 50 s; no container is reported running yet (pod p0200).";
    let reasons = web.view().reasons;
    assert!(reasons.iter().any(|reason| reason.sentence.starts_with(said)), "{reasons:?}");
}

#[test]
fn an_init_container_that_runs_in_one_pod_and_has_not_started_in_another_is_told_of_each() {
    let with_init = |state: ContainerState| {
        move |pod: &mut PodFact| {
            creating(pod);
            let state = Some(state);
            pod.containers.insert(0, Container { state, ..Container::new("migrate".into(), Role::Init) });
        }
    };
    let mut web = replacing(with_init(ContainerState::Running));
    web.add_pod(201, SECOND, with_init(waiting("PodInitializing", "")));
    web.now += 12_000;
    let end = "the pod has been starting for 12 s.";
    assert_eq!(
        causes(&web),
        [
            format!("Init container migrate is running (0 of 1 done, pod p0200); {end}"),
            format!("Init container migrate has not started (0 of 1 done, pod p0201); {end}"),
        ]
    );
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
fn an_image_that_is_never_pulled_is_not_on_the_node_or_not_for_the_pod() {
    let mut web = replacing(|pod| {
        creating(pod);
        let message = "Container image \"web:v2\" is not present with pull policy of Never";
        pod.containers[0].state = Some(waiting("ErrImageNeverPull", message));
    });
    web.now += 1_000;
    let said =
        "Image web:v2 is not on the node, or the pod may not use it there; its imagePullPolicy is Never (pod p0200).";
    assert_eq!(first(&web), said);
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
    let said = [
        "Image web:v2 cannot be pulled: access denied (pod p0200).",
        "Image proxy:v9 cannot be pulled: not found (pod p0200).",
    ];
    assert_eq!(causes(&web), said);
    assert_eq!(matter(&web), "access to image web:v2 is denied.");
    assert!(web.view().verdict.why.starts_with(&said.join(" ")), "{}", web.view().verdict.why);
}

#[test]
fn the_event_about_one_image_does_not_explain_another_one() {
    let mut web = replacing(|pod| {
        creating(pod);
        let mut second = pod.containers[0].clone();
        (pod.containers[0].waits_for_image, second.waits_for_image) = ("web:v2".into(), "proxy:v9".into());
        second.name = "proxy".into();
        pod.containers[0].state = Some(waiting("ImagePullBackOff", "Back-off pulling image \"web:v2\""));
        second.state = Some(waiting("ImagePullBackOff", "Back-off pulling image \"proxy:v9\""));
        pod.containers.push(second);
    });
    web.event(200, "Failed", "Failed to pull image \"proxy:v9\": not found");
    web.now += 1_000;
    let said = [
        "Image proxy:v9 cannot be pulled: not found (pod p0200).",
        "Image web:v2 cannot be pulled: ImagePullBackOff, why is not known (pod p0200). The kubelet tries again.",
    ];
    assert_eq!(causes(&web), said);
}

#[test]
fn the_event_about_a_container_that_cannot_be_created_explains_no_pull() {
    let missing = "configmap \"settings\" not found";
    let mut web = replacing(|pod| {
        creating(pod);
        let mut second = pod.containers[0].clone();
        pod.containers[0].waits_for_image = "web:v2".into();
        pod.containers[0].state = Some(waiting("ErrImagePull", "failed to copy: unexpected EOF"));
        (second.name, second.state) = ("proxy".into(), Some(waiting("CreateContainerConfigError", missing)));
        pod.containers.push(second);
    });
    web.event_of(200, "proxy", "Failed", &format!("Error: {missing}"));
    let said = "Image web:v2 cannot be pulled: unexpected EOF (pod p0200). The kubelet tries again.";
    assert_eq!(first(&web), said);
}

#[test]
fn an_image_that_is_missing_is_named_beside_a_container_that_crashes() {
    let web = replacing(|pod| {
        crashing(2)(pod);
        let mut second = pod.containers[0].clone();
        (second.name, second.restarts, second.last_exit) = ("proxy".into(), 0, None);
        second.waits_for_image = "proxy:v9".into();
        second.state = Some(waiting("ErrImagePull", "failed to pull image \"proxy:v9\": not found"));
        pod.containers.push(second);
    });
    let said = [
        "Image proxy:v9 cannot be pulled: not found (pod p0200).",
        "Container web crashes with exit code 1: 2 restarts so far (pod p0200).",
    ];
    assert_eq!(causes(&web), said);
}

#[test]
fn the_init_container_of_a_missing_image_is_named() {
    let web = replacing(|pod| {
        creating(pod);
        pod.containers[0].state = Some(waiting("PodInitializing", ""));
        let mut fetch = Container::new("fetch".into(), Role::Init);
        fetch.state = Some(waiting("ErrImagePull", "failed to pull image \"fetch:v7\": not found"));
        fetch.waits_for_image = "fetch:v7".into();
        pod.containers.insert(0, fetch);
    });
    let said = "Image fetch:v7 of init container fetch cannot be pulled: not found (pod p0200).";
    assert_eq!(first(&web), said);
    assert_eq!(matter(&web), "image fetch:v7 is not found.");
}
