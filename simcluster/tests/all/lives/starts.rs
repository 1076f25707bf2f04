//! What a pod waits for before it counts: images, volumes, its environment, gates.

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use serde_json::json;
use simcluster::object::Kind;
use simcluster::{Object, Resource, Write};

use crate::lives::{Lived, condition, container, find, http, message, words};

#[test]
fn an_image_that_is_refused_is_tried_less_and_less_often() {
    for (tag, words) in [
        ("missing-v2", "failed to resolve image: docker.io/library/web:missing-v2: not found"),
        ("denied-v2", "pull access denied, repository does not exist or may require authorization"),
        ("toomany-v2", "429 Too Many Requests"),
        ("nohost-v2", "dial tcp: lookup docker.io: no such host"),
    ] {
        let lived = Lived::alone(&["ready=0"], json!({ "image": format!("web:{tag}") })).passed(400);
        assert_eq!(
            lived.words_of("web")[..5],
            [
                "ContainerCreating, 0 restarts",
                "ErrImagePull, 0 restarts",
                "ImagePullBackOff, 0 restarts",
                "ErrImagePull, 0 restarts",
                "ImagePullBackOff, 0 restarts"
            ]
        );
        let said = |reason: &str| {
            let is_so = |pod: &Pod| words_of(pod) == format!("{reason}, 0 restarts");
            message(&lived.told.iter().find(|(_, pod)| is_so(pod)).unwrap().1, "web")
        };
        let why = said("ErrImagePull");
        assert!(why.starts_with("failed to pull and unpack image \"docker.io/library/web:"), "{why}");
        assert!(why.contains(words), "{why}");
        assert_eq!(said("ImagePullBackOff"), format!("Back-off pulling image \"web:{tag}\": ErrImagePull: {why}"));
        let failed = lived.events("Failed");
        assert!(failed.iter().any(|(said, _)| *said == format!("Failed to pull image \"web:{tag}\": {why}")));
        // Tried in a round, every ten to fifteen seconds, if the wait is over: and seen in the next one.
        let states = lived.states("web").into_iter();
        let tries: Vec<i64> = states.filter(|(_, words)| words.starts_with("ErrImage")).map(|(at, _)| at).collect();
        let waits: Vec<i64> = tries.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
        for (wait, least) in waits[1..].iter().zip([20, 40, 80]) {
            assert!((least..least + 31).contains(wait), "{waits:?}");
        }
        let (said, count) = lived.events("Pulling").remove(0);
        assert_eq!((said, count >= 4), (format!("Pulling image \"web:{tag}\""), true));
    }
}

fn words_of(pod: &Pod) -> String {
    find(pod, "web").map(|status| words(&status)).unwrap_or_default()
}

#[test]
fn a_simple_pod_has_the_words_of_the_kubelet() {
    let lived = Lived::alone(&[], json!({ "image": "web:missing-v2" })).passed(8);
    let message_of = |reason: &str| {
        let words = format!("{reason}, 0 restarts");
        message(&lived.told.iter().find(|(_, pod)| words_of(pod) == words).unwrap().1, "web")
    };
    let why = "failed to pull and unpack image \"docker.io/library/web:missing-v2\": failed to resolve image: docker.io/library/web:missing-v2: not found";
    assert_eq!(message_of("ErrImagePull"), why);
    let said = format!("Back-off pulling image \"web:missing-v2\": ErrImagePull: {why}");
    assert_eq!(message_of("ImagePullBackOff"), said);
    assert!(lived.events("Failed").contains(&(format!("Failed to pull image \"web:missing-v2\": {why}"), 1)));

    let containers = [container("web", &[], json!({ "image": "web:never-v1" })), container("proxy", &[], json!({}))];
    let pod = Lived::of(json!({ "containers": containers })).passed(8).pod();
    for r#type in ["Ready", "ContainersReady"] {
        let said = condition(&pod, r#type).unwrap().message;
        assert_eq!(said.as_deref(), Some("containers with unready status: [web proxy]"), "{type}");
    }

    let gates = json!([{ "conditionType": "example.com/a" }, { "conditionType": "example.com/b" }]);
    let pod =
        Lived::of(json!({ "readinessGates": gates, "containers": [container("web", &[], json!({}))] })).passed(8).pod();
    assert_eq!(
        condition(&pod, "Ready").unwrap().message.as_deref(),
        Some(
            "corresponding condition of pod readiness gate \"example.com/a\" does not exist., corresponding condition of pod readiness gate \"example.com/b\" does not exist."
        )
    );
}

#[test]
fn a_simple_container_is_created_for_each_of_its_starts() {
    let lived = Lived::alone(&[], json!({ "image": "web:crash-v1" })).passed(10);
    assert_eq!(lived.events("Created"), [("Container created".to_owned(), 2)]);
    assert_eq!(lived.events("Started"), [("Container started".to_owned(), 2)]);
}

#[test]
fn a_large_image_takes_its_time() {
    let mut lived = Lived::alone(&[], json!({ "image": "web:large-v2" })).passed(40);
    assert_eq!(lived.words_of("web"), ["ContainerCreating, 0 restarts"]);
    assert_eq!(lived.events("Pulling"), [("Pulling image \"web:large-v2\"".to_owned(), 1)]);
    lived.pass(10);
    assert_eq!(lived.words_of("web").last().unwrap(), "running, ready, 0 restarts");
    let said = &lived.events("Pulled")[0].0;
    assert!(said.starts_with("Successfully pulled image \"web:large-v2\" in 45s (45s including waiting)."), "{said}");
}

fn config_map(name: &str) -> Object {
    let map = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "a": "b" } });
    Object::read(Resource::ConfigMap, map).unwrap()
}

#[test]
fn a_volume_that_is_missing_is_tried_again_until_it_is_there() {
    let mut lived = Lived::of(json!({
        "volumes": [{ "name": "c", "configMap": { "name": "files" } }],
        "containers": [container("web", &[], json!({ "volumeMounts": [{ "name": "c", "mountPath": "/files" }] }))],
    }))
    .passed(33);
    let said = "MountVolume.SetUp failed for volume \"c\" : configmap \"files\" not found".to_owned();
    // As recorded: at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 seconds.
    assert_eq!(lived.events("FailedMount"), [(said, 7)]);
    assert_eq!(lived.words_of("web"), ["ContainerCreating, 0 restarts"]);
    assert_eq!(condition(&lived.pod(), "PodReadyToStartContainers").unwrap().status, "False");
    lived.world.create(config_map("files")).unwrap();
    lived.pass(33);
    assert_eq!(lived.words_of("web").last().unwrap(), "running, ready, 0 restarts");
}

#[test]
fn an_environment_that_is_missing_is_a_config_error_until_it_is_there() {
    let env = json!({ "envFrom": [{ "configMapRef": { "name": "settings" } }] });
    let mut lived = Lived::alone(&[], env).passed(30);
    assert_eq!(lived.words_of("web").last().unwrap(), "CreateContainerConfigError, 0 restarts");
    assert_eq!(message(&lived.pod(), "web"), "configmap \"settings\" not found");
    assert_eq!(lived.events("Failed")[0].0, "Error: configmap \"settings\" not found");
    lived.world.create(config_map("settings")).unwrap();
    lived.pass(20);
    assert_eq!(lived.words_of("web").last().unwrap(), "running, ready, 0 restarts");
}

#[test]
fn containers_that_wait_share_the_retry_of_their_pod() {
    let env = json!({ "envFrom": [{ "configMapRef": { "name": "settings" } }] });
    let containers = [container("a", &[], env.clone()), container("b", &[], env)];
    let mut world = Lived::of(json!({ "containers": containers })).passed(60).world;
    let end = world.now_millis() + 600_000;
    let mut moments = 0;
    while let Some(next) = world.next_millis().filter(|next| *next <= end) {
        world.advance_to(next);
        moments += 1;
    }
    // About 50 rounds, each with two Events of each container, and those of the pod garbage collector.
    assert!((80..300).contains(&moments), "{moments}");
}

#[test]
fn a_readiness_gate_is_waited_for_in_the_kubelets_words() {
    let mut lived = Lived::of(json!({
        "readinessGates": [{ "conditionType": "example.com/traffic" }],
        "containers": [container("web", &["ready=0"], json!({ "readinessProbe": http(json!({})) }))],
    }))
    .passed(20);
    let ready = condition(&lived.pod(), "Ready").unwrap();
    assert_eq!(ready.reason.as_deref(), Some("ReadinessGatesNotReady"));
    assert_eq!(
        ready.message.as_deref(),
        Some("corresponding condition of pod readiness gate \"example.com/traffic\" does not exist.")
    );
    assert_eq!(condition(&lived.pod(), "ContainersReady").unwrap().status, "True");
    let mut pod = lived.pod();
    let open =
        PodCondition { type_: "example.com/traffic".to_owned(), status: "True".to_owned(), ..Default::default() };
    pod.status.as_mut().unwrap().conditions.as_mut().unwrap().push(open);
    lived.world.update(pod.into_object(), Write::Status).unwrap();
    lived.pass(2);
    assert_eq!(condition(&lived.pod(), "Ready").unwrap().status, "True");
}

#[test]
fn a_scheduling_gate_holds_a_pod_back() {
    let mut lived = Lived::of(json!({
        "schedulingGates": [{ "name": "example.com/quota" }],
        "containers": [container("web", &[], json!({}))],
    }))
    .passed(600);
    let scheduled = condition(&lived.pod(), "PodScheduled").unwrap();
    assert_eq!(scheduled.reason.as_deref(), Some("SchedulingGated"));
    assert_eq!(scheduled.message.as_deref(), Some("Scheduling is blocked due to non-empty scheduling gates"));
    let mut pod = lived.pod();
    pod.spec.as_mut().unwrap().scheduling_gates = None;
    lived.world.update(pod.into_object(), Write::Spec).unwrap();
    lived.pass(10);
    assert_eq!(condition(&lived.pod(), "Ready").unwrap().status, "True");
}
