//! Containers that end: crash loops, memory beyond the limit, init containers and sidecars.

use k8s_openapi::api::core::v1::{Event, Pod};
use serde_json::json;
use simcluster::{DeleteOptions, Resource};

use crate::lives::{Lived, condition, container, find, http, message};

#[test]
fn a_crash_loop_waits_ten_twenty_forty_seconds_and_five_minutes_at_most() {
    for (args, reason, code) in [("exit=0@1", "Completed", 0), ("exit=3@1", "Error", 3)] {
        let lived = Lived::alone(&[args], json!({})).passed(1_500);
        let mut waits = Vec::new();
        let mut ended = None;
        for (_, pod) in &lived.told {
            let Some(web) = find(pod, "web") else { continue };
            let state = web.state.unwrap();
            if let (Some(running), Some(ended)) = (&state.running, ended.take()) {
                waits.push(running.started_at.as_ref().unwrap().0.as_second() - ended);
            }
            if let Some(terminated) = state.terminated {
                assert_eq!((terminated.reason.as_deref(), terminated.exit_code), (Some(reason), code));
                ended = Some(terminated.finished_at.unwrap().0.as_second());
            } else if let Some(terminated) = web.last_state.and_then(|state| state.terminated) {
                ended = state.waiting.is_some().then(|| terminated.finished_at.unwrap().0.as_second());
            }
        }
        let rounded: Vec<i64> = waits.iter().map(|wait| wait / 10 * 10).collect();
        assert_eq!(rounded[..8], [0, 10, 20, 40, 80, 160, 300, 300], "{waits:?}");
        assert_eq!(
            lived.words_of("web")[..7],
            [
                "ContainerCreating, 0 restarts".to_owned(),
                "running, ready, 0 restarts".to_owned(),
                format!("{reason} {code}, 0 restarts"),
                "running, ready, 1 restarts".to_owned(),
                format!("{reason} {code}, 1 restarts"),
                "CrashLoopBackOff, 1 restarts".to_owned(),
                "running, ready, 2 restarts".to_owned(),
            ]
        );
        let waiting = lived.told.iter().find(|(_, pod)| message(pod, "web").contains("back-off")).unwrap();
        let uid = waiting.1.metadata.uid.clone().unwrap();
        let said = format!("back-off 10s restarting failed container=web pod=web_default({uid})");
        assert_eq!(message(&waiting.1, "web"), said);
        let said = format!("Back-off restarting failed container web in pod web_default({uid})");
        assert_eq!(lived.events("BackOff")[0].0, said);
        assert!(
            lived.told.iter().skip(4).all(|(_, pod)| pod.status.as_ref().unwrap().phase.as_deref() == Some("Running"))
        );
    }
}

#[test]
fn a_container_that_ran_for_ten_minutes_is_started_again_at_once() {
    let lived = Lived::alone(&["exit=1@700"], json!({})).passed(3_600);
    assert_eq!(find(&lived.pod(), "web").unwrap().restart_count, 5);
    assert!(lived.words_of("web").iter().all(|words| !words.starts_with("CrashLoop")), "{:?}", lived.words_of("web"));
    let often = Lived::alone(&["exit=1@500"], json!({})).passed(3_600);
    assert_eq!(find(&often.pod(), "web").unwrap().restart_count, 6, "10, 20, 40, … seconds are waited for");
    assert!(often.words_of("web").iter().any(|words| words.starts_with("CrashLoop")));
}

#[test]
fn memory_beyond_the_limit_is_out_of_memory() {
    let limits = json!({ "resources": { "limits": { "memory": "64Mi" } } });
    let lived = Lived::alone(&["eat=200"], limits.clone()).passed(4);
    assert!(lived.words_of("web").contains(&"OOMKilled 137, 0 restarts".to_owned()), "{:?}", lived.words_of("web"));
    let enough = Lived::alone(&["eat=32"], limits).passed(60);
    assert_eq!(enough.words_of("web").last().unwrap(), "running, ready, 0 restarts");
}

#[test]
fn init_containers_run_one_after_the_other() {
    let lived = Lived::of(json!({
        "initContainers": [container("first", &["exit=0@3"], json!({})), container("second", &[], json!({}))],
        "containers": [container("web", &[], json!({}))],
    }))
    .passed(30);
    assert_eq!(
        lived.words_of("second"),
        ["PodInitializing, 0 restarts", "running, not ready, 0 restarts", "Completed 0, 0 restarts"]
    );
    assert_eq!(lived.words_of("web"), ["PodInitializing, 0 restarts", "running, ready, 0 restarts"]);
    let order = [
        lived.first("first", "running, not ready, 0 restarts"),
        lived.first("first", "Completed 0, 0 restarts"),
        lived.first("second", "running, not ready, 0 restarts"),
        lived.when("Initialized", "True"),
        lived.when("Ready", "True"),
    ];
    assert!(order.is_sorted() && order[1] - order[0] >= 3_000, "{order:?}");
    let said: Vec<String> = lived.told.iter().filter_map(|(_, pod)| condition(pod, "Initialized")?.message).fold(
        Vec::new(),
        |mut all, message| {
            if all.last() != Some(&message) {
                all.push(message);
            }
            all
        },
    );
    assert_eq!(
        said,
        ["containers with incomplete status: [first second]", "containers with incomplete status: [second]"]
    );
    assert!(find(&lived.pod(), "second").unwrap().ready, "what ended well is ready");
}

#[test]
fn an_init_container_that_fails_is_tried_again_and_again() {
    let lived = Lived::of(json!({
        "initContainers": [container("wait-for-db", &["exit=1@1"], json!({}))],
        "containers": [container("web", &[], json!({}))],
    }))
    .passed(60);
    assert_eq!(
        lived.words_of("wait-for-db")[..8],
        [
            "PodInitializing, 0 restarts",
            "running, not ready, 0 restarts",
            "Error 1, 0 restarts",
            "running, not ready, 1 restarts",
            "Error 1, 1 restarts",
            "CrashLoopBackOff, 1 restarts",
            "running, not ready, 2 restarts",
            "Error 1, 2 restarts",
        ]
    );
    assert_eq!(lived.words_of("web"), ["PodInitializing, 0 restarts"]);
    let pod = lived.pod();
    assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Pending"));
    assert_eq!(condition(&pod, "Initialized").unwrap().reason.as_deref(), Some("ContainersNotInitialized"));
    let about = |event: &&Event| event.reason.as_deref() == Some("BackOff");
    let event = lived.world.store().all::<Event>(None).find(about).unwrap();
    assert_eq!(event.involved_object.field_path.as_deref(), Some("spec.initContainers{wait-for-db}"));
}

#[test]
fn a_sidecar_starts_first_stays_and_goes_last() {
    let sidecar = json!({ "restartPolicy": "Always", "startupProbe": http(json!({ "periodSeconds": 2 })) });
    let mut lived = Lived::of(json!({
        "initContainers": [container("proxy", &["ready=3", "term=1"], sidecar)],
        "containers": [container("web", &["term=2"], json!({}))],
    }))
    .passed(30);
    let started = lived.first("proxy", "running, ready, 0 restarts");
    assert!(started < lived.first("web", "running, ready, 0 restarts"));
    assert_eq!(lived.words_of("proxy").last().unwrap(), "running, ready, 0 restarts");
    let before = lived.told.len();
    lived.world.delete(Resource::Pod, &lived.key.clone(), &DeleteOptions::default()).unwrap();
    lived.pass(30);
    assert!(lived.world.get::<Pod>(&lived.key).is_none(), "it is gone");
    let last = &lived.told.last().unwrap().1;
    let finished =
        |name: &str| find(last, name).unwrap().state.unwrap().terminated.unwrap().finished_at.unwrap().0.as_second();
    assert_eq!(finished("proxy") - finished("web"), 1);
    assert_eq!(last.status.as_ref().unwrap().phase.as_deref(), Some("Succeeded"));
    assert_eq!(condition(last, "Ready").unwrap().reason.as_deref(), Some("PodCompleted"));
    assert!(lived.told.len() > before);
    assert_eq!(lived.events("Killing").len(), 2);
}

#[test]
fn a_pod_that_is_not_to_run_again_ends_with_its_program() {
    for (policy, image, phase) in [
        ("Never", "web:crash-v1", "Failed"),
        ("Never", "web:exit0-v1", "Succeeded"),
        ("OnFailure", "web:exit0-v1", "Succeeded"),
    ] {
        let containers = [container("web", &[], json!({ "image": image }))];
        let lived = Lived::of(json!({ "restartPolicy": policy, "containers": containers })).passed(60);
        let status = lived.pod().status.unwrap();
        let restarts = status.container_statuses.unwrap()[0].restart_count;
        assert_eq!((status.phase.as_deref(), restarts), (Some(phase), 0), "{policy} {image}");
    }
}

#[test]
fn a_second_container_lives_as_the_word_in_its_image_says() {
    for (image, words) in [
        ("proxy:crash-v1", "Error 1, 0 restarts"),
        ("proxy:oom-v1", "OOMKilled 137, 0 restarts"),
        ("proxy:missing-v1", "ImagePullBackOff, 0 restarts"),
        ("proxy:badconfig-v1", "CreateContainerConfigError, 0 restarts"),
    ] {
        let containers = [container("web", &[], json!({})), container("proxy", &[], json!({ "image": image }))];
        let lived = Lived::of(json!({ "containers": containers })).passed(30);
        assert!(lived.words_of("proxy").iter().any(|known| known == words), "{image}: {:?}", lived.words_of("proxy"));
        assert_eq!(lived.words_of("web").last().unwrap(), "running, ready, 0 restarts", "{image}");
    }
}
