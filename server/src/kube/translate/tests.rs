use serde_json::{Value, json};
use timeline::fact::PodFact;

use super::*;

fn object(kind: Kind, of: Value) -> Object {
    let mut object = json!({ "metadata": { "uid": "00000000-0000-4000-8000-000000000001", "name": "web" } });
    object.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
    Object::decode(kind, &object.to_string()).unwrap()
}

fn pod(of: Value) -> Box<PodFact> {
    let Ok(Some(Fact::Pod(fact, _))) = object(Kind::Pod, of).fact(Seen::Added) else { unreachable!() };
    fact
}

fn replica_set(annotations: Value) -> Object {
    let metadata = json!({ "uid": "00000000-0000-4000-8000-000000000001", "annotations": annotations });
    object(Kind::ReplicaSet, json!({ "metadata": metadata }))
}

#[test]
fn the_tool_that_deployed_it_is_told_by_its_annotations() {
    for (annotations, told) in [
        (json!({}), ""),
        (json!({ "meta.helm.sh/release-name": "web" }), "Helm release web"),
        (json!({ "argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web" }), "Argo CD application shop"),
        (json!({ "argocd.argoproj.io/tracking-id": "" }), ""),
    ] {
        let fact = replica_set(annotations.clone()).fact(Seen::Added);
        assert!(matches!(fact, Ok(Some(Fact::ReplicaSet(fact, _))) if fact.now.managed_by == told), "{annotations}");
    }
}

#[test]
fn the_node_for_which_a_pod_is_nominated_is_read() {
    for (status, told) in [(json!({ "nominatedNodeName": "node-7" }), Some("node-7")), (json!({}), None)] {
        assert_eq!(pod(json!({ "status": status })).nominated_node.as_deref(), told);
    }
}

#[test]
fn the_last_end_that_was_seen_is_that_before_a_placeholder() {
    let last_exit = |last: Value| {
        let state = json!({ "terminated": { "exitCode": 137, "reason": "ContainerStatusUnknown" } });
        let web = json!({ "name": "web", "restartCount": 3, "state": state, "lastState": last });
        let spec = json!({ "containers": [{ "name": "web" }] });
        let pod = pod(json!({ "spec": spec, "status": { "containerStatuses": [web] } }));
        let exit = pod.containers[0].last_exit.as_ref().unwrap();
        (exit.code, exit.reason.clone(), pod.containers[0].is_lost(false))
    };
    let crashed = json!({ "terminated": { "exitCode": 1, "reason": "Error" } });
    assert_eq!(last_exit(crashed), (1, "Error".to_owned(), false), "it was not running");
    let lost = json!({ "terminated": { "exitCode": 137, "reason": "ContainerStatusUnknown" } });
    assert_eq!(last_exit(lost), (137, "ContainerStatusUnknown".to_owned(), true));
    assert_eq!(last_exit(json!({})), (137, "ContainerStatusUnknown".to_owned(), true));
}

#[test]
fn the_end_before_the_last_restart_is_read_beside_a_later_one() {
    let ends = |count: u32, state: Value, last: Value| {
        let web = json!({ "name": "web", "restartCount": count, "state": state, "lastState": last });
        let spec = json!({ "containers": [{ "name": "web" }] });
        let pod = pod(json!({ "spec": spec, "status": { "containerStatuses": [web] } }));
        let web = &pod.containers[0];
        [&web.last_exit, &web.exit_before_restart].map(|exit| exit.as_ref().map(|exit| exit.code))
    };
    let ended = |code: i32, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason } });
    let crashed = || ended(3, "Error");
    assert_eq!(ends(2, ended(0, "Completed"), crashed()), [Some(0), Some(3)]);
    assert_eq!(ends(2, json!({ "waiting": { "reason": "CrashLoopBackOff" } }), crashed()), [Some(3), None]);
    assert_eq!(ends(0, crashed(), json!({})), [Some(3), None]);
    // Counted as restarts together with the end.
    assert_eq!(ends(2, ended(137, "ContainerStatusUnknown"), crashed()), [Some(3), None]);
    assert_eq!(ends(2, ended(137, "RestartingAllContainers"), crashed()), [Some(137), None]);
}

#[test]
fn a_container_that_its_own_policy_does_not_start_again_ended_for_good() {
    let is_final = |policy: &str, rules: Value, code: i64, reason: &str| {
        let spec = json!({ "name": "job", "restartPolicy": policy, "restartPolicyRules": rules });
        let ended = json!({ "terminated": { "exitCode": code, "reason": reason } });
        let status = json!({ "containerStatuses": [{ "name": "job", "state": ended }] });
        pod(json!({ "spec": { "containers": [spec] }, "status": status })).containers[0].is_final
    };
    let none = || json!([]);
    for (policy, code, expected) in [
        ("", 0, false),
        ("", 1, false),
        ("Always", 0, false),
        ("Never", 0, true),
        ("Never", 1, true),
        ("OnFailure", 0, true),
        ("OnFailure", 1, false),
    ] {
        assert_eq!(is_final(policy, none(), code, "Error"), expected, "{policy} {code}");
    }
    assert!(!is_final("Never", none(), 137, "RestartingAllContainers"), "it is started with all others");
    let rule = |action: &str, operator: &str| {
        let codes = json!({ "operator": operator, "values": [42, 43] });
        json!([{ "action": action, "exitCodes": codes }])
    };
    for (action, operator, code, expected) in [
        ("Restart", "In", 42, false),
        ("Restart", "In", 1, true),
        ("Restart", "NotIn", 42, true),
        ("Restart", "NotIn", 1, false),
        ("RestartAllContainers", "In", 43, false),
        ("ActionOfTomorrow", "In", 42, true),
    ] {
        assert_eq!(is_final("Never", rule(action, operator), code, "Error"), expected, "{action} {operator} {code}");
    }
}

#[test]
fn a_container_that_may_start_all_others_again_is_known_by_its_rules() {
    for (rules, expected) in [
        (json!([]), false),
        (json!([{ "action": "Restart" }]), false),
        (json!([{ "action": "Restart" }, { "action": "RestartAllContainers" }]), true),
    ] {
        let spec = json!({ "containers": [{ "name": "web", "restartPolicyRules": rules }] });
        assert_eq!(pod(json!({ "spec": spec })).containers[0].restarts_all, expected, "{rules}");
    }
}

#[test]
fn a_number_beyond_32_bits_which_no_api_server_sends_makes_an_object_malformed() {
    let decode = |surge: i64| {
        let rolling = json!({ "spec": { "strategy": { "rollingUpdate": { "maxSurge": surge } } } });
        Object::decode(Kind::Deployment, &rolling.to_string())
    };
    assert!(decode(i64::from(i32::MAX)).is_ok());
    assert!(matches!(decode(i64::from(i32::MAX) + 1), Err(Unusable::Json(_))));
}

#[test]
fn conditions_that_are_as_they_should_be_are_not_worth_a_look() {
    let conditions = [
        ("Ready", "True"),
        ("Ready", "False"),
        ("DisruptionTarget", "True"),
        ("DisruptionTarget", "False"),
        ("AllContainersRestarting", "False"),
        ("shop/open", "True"),
    ];
    let told = conditions.map(|(kind, status)| json!({ "type": kind, "status": status }));
    let pod = pod(json!({ "status": { "conditions": told } }));
    let worth: Vec<_> = pod.conditions.iter().map(|one| (one.kind.as_str(), one.status)).collect();
    let expected = [
        ("Ready", ConditionStatus::False),
        ("DisruptionTarget", ConditionStatus::True),
        ("shop/open", ConditionStatus::True),
    ];
    assert_eq!(worth, expected);
}

#[test]
fn of_the_texts_of_an_event_the_beginning_is_kept() {
    let long = "x".repeat(2 * Event::LONGEST);
    let uid = "00000000-0000-4000-8000-000000000002";
    let path = format!("spec.containers{{{long}}}");
    let about = json!({ "uid": uid, "kind": long, "name": long, "fieldPath": path });
    let event = json!({ "involvedObject": about, "reason": long, "message": long });
    let Ok(Some(Fact::Event(event))) = object(Kind::Event, event).fact(Seen::Added) else { unreachable!() };
    let texts = [event.about_kind, event.about_name, event.container, event.reason, event.message];
    assert_eq!(texts.map(|text| text.len()), [Event::LONGEST; 5]);
}

#[test]
fn an_event_names_its_container_and_tells_an_ephemeral_one_from_others() {
    let named = |path: &str| {
        let about = json!({ "uid": "00000000-0000-4000-8000-000000000002", "kind": "Pod", "fieldPath": path });
        let fact = object(Kind::Event, json!({ "involvedObject": about })).fact(Seen::Added);
        let Ok(Some(Fact::Event(event))) = fact else { unreachable!() };
        (event.container, event.is_ephemeral)
    };
    assert_eq!(named("spec.ephemeralContainers{debug}"), ("debug".to_owned(), true));
    assert_eq!(named("spec.initContainers{warm}"), ("warm".to_owned(), false));
    assert_eq!(named(""), (String::new(), false));
}

#[test]
fn of_very_many_containers_the_first_are_kept() {
    let all: Vec<Value> = (0..300).map(|number| json!({ "name": format!("c-{number}") })).collect();
    let pod = pod(json!({ "spec": { "initContainers": all, "containers": all } }));
    let names: Vec<&str> = pod.containers.iter().map(|container| container.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[255], names[256], names[511]), (512, "c-0", "c-255", "c-0", "c-255"));
    let of = json!({ "spec": { "template": { "spec": { "containers": all } } } });
    let fact = object(Kind::ReplicaSet, of).fact(Seen::Added);
    let Ok(Some(Fact::ReplicaSet(set, _))) = fact else { unreachable!() };
    assert_eq!((set.images.len(), set.images[255].container.as_str()), (256, "c-255"));
}

#[test]
fn of_images_restarts_and_scheduling_gates_the_beginning_is_kept() {
    let long = "x".repeat(2 * Event::LONGEST);
    let containers = json!([{ "name": "web", "image": long }]);
    let restarted = json!({ "annotations": { "kubectl.kubernetes.io/restartedAt": long } });
    let of = json!({ "spec": { "template": { "metadata": restarted, "spec": { "containers": containers } } } });
    let fact = object(Kind::Deployment, of.clone()).fact(Seen::Added);
    let Ok(Some(Fact::Deployment(deployment, _))) = fact else { unreachable!() };
    let fact = object(Kind::ReplicaSet, of).fact(Seen::Added);
    let Ok(Some(Fact::ReplicaSet(set, _))) = fact else { unreachable!() };
    let gated = json!({ "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "m" });
    let waits = json!([{ "name": "web", "state": { "waiting": { "reason": "ErrImagePull" } } }]);
    let spec = json!({ "containers": containers, "schedulingGates": [{ "name": long }] });
    let status = json!({ "conditions": [gated], "containerStatuses": waits });
    let pod = pod(json!({ "spec": spec, "status": status }));
    let gates = pod.scheduled.as_ref().and_then(|told| told.message.strip_prefix("m: "));
    let texts = [
        Some(deployment.now.spec.images[0].image.as_str()),
        deployment.now.restarted_at.as_deref(),
        Some(set.images[0].image.as_str()),
        set.restarted_at.as_deref(),
        Some(pod.containers[0].waits_for_image.as_str()),
        gates,
    ];
    assert_eq!(texts.map(|text| text.map(str::len)), [Some(Event::LONGEST); 6]);
}

#[test]
fn a_pod_whose_scheduling_gates_are_removed_is_not_gated_any_more() {
    let reason = |reason: &str, gates: Value| {
        let scheduled = json!({ "type": "PodScheduled", "status": "False", "reason": reason });
        let pod = pod(json!({ "spec": { "schedulingGates": gates }, "status": { "conditions": [scheduled] } }));
        pod.scheduled.map(|told| told.reason)
    };
    let gated = Some("SchedulingGated".to_owned());
    assert_eq!(reason("SchedulingGated", json!([{ "name": "example.com/quota" }])), gated);
    assert_eq!(reason("SchedulingGated", json!([])), None);
    assert_eq!(reason("Unschedulable", json!([])), Some("Unschedulable".to_owned()));
}

/// API servers before 1.34 write `"creationTimestamp": null`; later ones omit it.
#[test]
fn a_template_is_the_same_for_an_older_and_a_newer_api_server() {
    let templates = |created: Value, version: &str| {
        let mut metadata =
            json!({ "labels": { "app": "web" }, "annotations": { "kubectl.kubernetes.io/restartedAt": "noon" } });
        metadata.as_object_mut().unwrap().extend(created.as_object().unwrap().clone());
        let volume = json!({ "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "metadata": created } } });
        let containers = json!([{ "name": "web", "image": format!("web:{version}") }]);
        let spec = json!({ "containers": containers, "volumes": [{ "name": "files" }, volume] });
        let of = json!({ "spec": { "template": { "metadata": metadata, "spec": spec } } });
        let fact = object(Kind::Deployment, of).fact(Seen::Added);
        let Ok(Some(Fact::Deployment(deployment, _))) = fact else { unreachable!() };
        (deployment.now.template, deployment.now.template_apart)
    };
    let newer = templates(json!({}), "v1");
    assert_eq!(templates(json!({ "creationTimestamp": null }), "v1"), newer);
    assert_ne!(templates(json!({ "creationTimestamp": null }), "v2"), newer);
}

#[test]
fn probes_may_take_as_long_as_their_tries() {
    let allowed = |readiness: Value| {
        let container =
            json!({ "name": "web", "startupProbe": { "failureThreshold": 30 }, "readinessProbe": readiness });
        let of = json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
        let fact = object(Kind::ReplicaSet, of).fact(Seen::Added);
        let Ok(Some(Fact::ReplicaSet(set, _))) = fact else { unreachable!() };
        set.now.probe_millis
    };
    assert_eq!(allowed(json!(null)), 300_000);
    assert_eq!(allowed(json!({})), 330_000);
    assert_eq!(allowed(json!({ "initialDelaySeconds": 5, "periodSeconds": 2, "failureThreshold": 4 })), 313_000);
    assert_eq!(allowed(json!({ "successThreshold": 12 })), 420_000);
}

#[test]
fn of_the_messages_of_conditions_and_of_a_pod_the_beginning_is_kept() {
    let long = "x".repeat(2 * LONGEST_CONDITION);
    let status = |kinds: &[&str]| {
        let told = kinds.iter().map(|kind| json!({ "type": kind, "status": "False", "message": long }));
        json!({ "status": { "message": long, "conditions": told.collect::<Vec<_>>() } })
    };
    let fact = object(Kind::Deployment, status(&["Progressing", "ReplicaFailure"])).fact(Seen::Added);
    let Ok(Some(Fact::Deployment(deployment, _))) = fact else { unreachable!() };
    let fact = object(Kind::ReplicaSet, status(&["ReplicaFailure"])).fact(Seen::Added);
    let Ok(Some(Fact::ReplicaSet(set, _))) = fact else { unreachable!() };
    let fact = object(Kind::Pod, status(&["Ready", "PodScheduled"])).fact(Seen::Added);
    let Ok(Some(Fact::Pod(pod, _))) = fact else { unreachable!() };
    let of_deployment = &deployment.now.status;
    let told =
        [&of_deployment.progressing, &of_deployment.replica_failure, &set.now.failure, &pod.ready, &pod.scheduled];
    let lengths = told.map(|told| told.as_ref().map(|told| told.message.len()));
    assert_eq!((lengths, pod.message.len()), ([Some(LONGEST_CONDITION); 5], LONGEST_CONDITION));
}

#[test]
fn texts_are_left_out_and_nothing_else_is() {
    let ended = |message: &str| json!({ "terminated": { "exitCode": 1, "reason": "Error", "message": message } });
    let pod = |message: &str| {
        let container = json!({ "name": "web", "state": ended(message), "lastState": ended(message) });
        object(
            Kind::Pod,
            json!({ "status": { "message": "kept", "containerStatuses": [container], "initContainerStatuses": [container] } }),
        )
    };
    assert_eq!(pod("said").without_texts(), pod(""));
    let waits = |reason: &str, message: &str| {
        let waiting = json!({ "waiting": { "reason": reason, "message": message } });
        object(Kind::Pod, json!({ "status": { "containerStatuses": [{ "name": "web", "state": waiting }] } }))
    };
    assert_eq!(waits("PostStartHookError", "said").without_texts(), waits("PostStartHookError", ""));
    assert_eq!(waits("ErrImagePull", "kept").without_texts(), waits("ErrImagePull", "kept"));
    let cause = |more: Value| {
        let mut all = json!({ "deployment.kubernetes.io/revision": "3" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        replica_set(all)
    };
    assert_eq!(cause(json!({ "kubernetes.io/change-cause": "said" })).without_texts(), cause(json!({})));
    let event = |reason: &str, message: &str| object(Kind::Event, json!({ "reason": reason, "message": message }));
    assert_eq!(
        event("Unhealthy", "Readiness probe failed: said").without_texts(),
        event("Unhealthy", "Readiness probe failed")
    );
    for (reason, message) in
        [("Unhealthy", "no colon"), ("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu.")]
    {
        assert_eq!(event(reason, message).without_texts(), event(reason, message));
    }
}

#[test]
fn of_long_texts_and_lists_the_beginning_is_kept() {
    let limited = |kind: Kind, of: Value| serde_json::to_value(object(kind, of).limit_parts()).unwrap();
    let long = "ß".repeat(3_000);
    let kept = json!("ß".repeat(1_024));
    let labels: Value = (0..200).map(|number| (format!("label-{number:03}"), json!("x"))).collect();
    let owner = json!({ "uid": "00000000-0000-4000-8000-000000000002", "kind": long, "name": long });
    let metadata = json!({
        "uid": "00000000-0000-4000-8000-000000000001",
        "labels": labels,
        "annotations": { "kubernetes.io/change-cause": long, "deployment.kubernetes.io/revision-history": long },
        "ownerReferences": vec![owner; 70],
    });
    let containers = vec![json!({ "name": "web", "image": long }); 300];
    let template = json!({ "spec": { "containers": containers, "initContainers": containers } });
    let deployment = limited(Kind::Deployment, json!({ "metadata": metadata, "spec": { "template": template } }));
    let labels = deployment["metadata"]["labels"].as_object().unwrap();
    assert_eq!((labels.len(), labels.keys().next_back().unwrap().as_str()), (128, "label-127"));
    let annotations = &deployment["metadata"]["annotations"];
    assert_eq!(annotations["kubernetes.io/change-cause"], kept);
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], kept);
    let owners = deployment["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!((owners.len(), &owners[63]["kind"], &owners[63]["name"]), (64, &kept, &kept));
    let pod = limited(Kind::Pod, json!({ "spec": { "containers": containers, "initContainers": containers } }));
    for spec in [&deployment["spec"]["template"]["spec"], &pod["spec"]] {
        for containers in [&spec["containers"], &spec["initContainers"]] {
            let containers = containers.as_array().unwrap();
            assert_eq!((containers.len(), &containers[255]["image"]), (256, &kept));
        }
    }
    let about = json!({ "kind": long, "name": long, "namespace": long, "fieldPath": long });
    let event = json!({ "reason": long, "message": long, "type": long, "involvedObject": about });
    let event = limited(Kind::Event, event);
    for name in ["reason", "message", "type"] {
        assert_eq!(event[name], kept, "{name}");
    }
    for name in ["kind", "name", "namespace", "fieldPath"] {
        assert_eq!(event["involvedObject"][name], kept, "{name}");
    }
}

#[test]
fn an_ordinary_object_has_no_parts_to_limit() {
    let metadata = json!({
        "uid": "00000000-0000-4000-8000-000000000001",
        "labels": { "app": "web" },
        "annotations": { "kubernetes.io/change-cause": "x".repeat(1_024) },
        "ownerReferences": [{ "uid": "00000000-0000-4000-8000-000000000002", "kind": "ReplicaSet", "name": "web" }],
    });
    let spec = json!({ "containers": [{ "name": "web", "image": "web:v1" }] });
    let conditions = json!([{ "type": "Ready", "status": "False", "message": "x".repeat(2_000) }]);
    for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::Pod, Kind::Event] {
        let template = json!({ "containers": spec["containers"], "template": { "spec": spec } });
        let of = json!({ "metadata": metadata, "spec": template, "status": { "conditions": conditions } });
        assert_eq!(object(kind, of.clone()).limit_parts(), object(kind, of));
    }
}
