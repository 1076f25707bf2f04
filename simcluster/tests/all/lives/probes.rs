//! Probes: when they are made, and what they do to a container.

use serde_json::{Value, json};
use simcluster::{Object, Resource, Settings, World};

use crate::lives::{Lived, START, condition, container, find, http};

#[test]
fn a_pod_is_ready_at_the_first_probe_after_its_program_is() {
    let probe = http(json!({ "initialDelaySeconds": 5, "periodSeconds": 3 }));
    let lived = Lived::alone(&["ready=12"], json!({ "readinessProbe": probe })).passed(60);
    assert_eq!(
        lived.words_of("web"),
        ["ContainerCreating, 0 restarts", "running, not ready, 0 restarts", "running, ready, 0 restarts"]
    );
    let started = lived.first("web", "running, not ready, 0 restarts");
    // Asked after 5, 8, 11 and 14 seconds; the kubelet's round that tells of the start comes a moment after it.
    assert!((13_900..14_000).contains(&(lived.when("Ready", "True") - started)));
    assert_eq!(
        lived.events("Unhealthy"),
        [("Readiness probe failed: HTTP probe failed with statuscode: 503".to_owned(), 3)]
    );
    let pod = lived.pod();
    let types: Vec<String> =
        pod.status.as_ref().unwrap().conditions.iter().flatten().map(|known| known.type_.clone()).collect();
    assert_eq!(types, ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]);
    let unready = condition(&lived.told.iter().find(|(at, _)| *at == started).unwrap().1, "Ready").unwrap();
    assert_eq!(unready.reason.as_deref(), Some("ContainersNotReady"));
    assert_eq!(unready.message.as_deref(), Some("containers with unready status: [web]"));
}

#[test]
fn a_startup_probe_holds_the_others_back() {
    let lived = Lived::alone(
        &["ready=50"],
        json!({
            "startupProbe": http(json!({ "periodSeconds": 5, "failureThreshold": 20 })),
            "livenessProbe": http(json!({ "periodSeconds": 1, "failureThreshold": 1 })),
            "readinessProbe": http(json!({ "periodSeconds": 60 })),
        }),
    )
    .passed(120);
    assert_eq!(
        lived.words_of("web"),
        ["ContainerCreating, 0 restarts", "running, not ready, not started, 0 restarts", "running, ready, 0 restarts"]
    );
    let started = lived.first("web", "running, not ready, not started, 0 restarts");
    assert!((49_900..=50_000).contains(&(lived.when("Ready", "True") - started)));
    assert_eq!(lived.events("Unhealthy")[0].1, 10, "at 0, 5, … 45 seconds");
}

#[test]
fn a_startup_probe_that_gives_up_kills() {
    let probe = http(json!({ "periodSeconds": 2, "failureThreshold": 3 }));
    let lived = Lived::alone(&["ready=60"], json!({ "startupProbe": probe })).passed(9);
    let killed = "Container web failed startup probe, will be restarted".to_owned();
    assert_eq!(lived.events("Killing"), [(killed, 1)]);
    let web = find(&lived.pod(), "web").unwrap();
    let last = web.last_state.unwrap().terminated.unwrap();
    assert_eq!((web.restart_count, last.exit_code, last.reason.as_deref()), (1, 143, Some("Error")));
}

#[test]
fn a_liveness_probe_kills_as_recorded_of_a_kubelet() {
    let probe = http(json!({ "periodSeconds": 2, "failureThreshold": 2 }));
    let lived = Lived::alone(&["live=7"], json!({ "livenessProbe": probe })).passed(150);
    let starts: Vec<i64> =
        lived.states("web").into_iter().filter(|(_, words)| words.starts_with("running")).map(|(at, _)| at).collect();
    // Ten seconds each. The first three ends are not waited for, because the kubelet looks at the end before.
    let gaps: Vec<i64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
    assert_eq!(gaps[..5], [10, 10, 10, 30, 50], "{:?}", lived.states("web"));
    assert_eq!(lived.events("Killing")[0].0, "Container web failed liveness probe, will be restarted");
    assert_eq!(lived.events("Unhealthy")[0].0, "Liveness probe failed: HTTP probe failed with statuscode: 500");
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace_period() {
    let probe = http(json!({ "periodSeconds": 1, "failureThreshold": 1, "terminationGracePeriodSeconds": 7 }));
    let lived = Lived::alone(&["live=5", "term=ignore"], json!({ "livenessProbe": probe })).passed(20);
    let last = find(&lived.pod(), "web").unwrap().last_state.unwrap().terminated.unwrap();
    assert_eq!((last.exit_code, last.reason.as_deref()), (137, Some("Error")));
    let lasted = last.finished_at.unwrap().0.as_second() - last.started_at.unwrap().0.as_second();
    assert_eq!(lasted, 12, "five seconds alive, seven of grace");
}

#[test]
fn probes_are_filled_in_and_checked() {
    let lived = Lived::alone(&[], json!({ "readinessProbe": { "httpGet": { "port": 8080 } } }));
    let probe = lived.pod().spec.unwrap().containers[0].readiness_probe.clone();
    assert_eq!(
        serde_json::to_value(probe).unwrap(),
        json!({
            "httpGet": { "path": "/", "port": 8080, "scheme": "HTTP" },
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        })
    );
    let refused = |more: Value| {
        let spec = json!({ "containers": [container("web", &[], more)] });
        let pod = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": spec });
        let mut world = World::new(1, START, Settings::default());
        let error = world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap_err();
        (error.causes[0].field.clone(), error.causes[0].message.clone())
    };
    let field = |name: &str| format!("spec.containers[0].{name}");
    for (more, name, words) in [
        (json!({ "livenessProbe": {} }), "livenessProbe", "Required value: must specify a handler type"),
        (
            json!({ "livenessProbe": http(json!({ "successThreshold": 2 })) }),
            "livenessProbe.successThreshold",
            "Invalid value: 2: must be 1",
        ),
        (
            json!({ "readinessProbe": http(json!({ "periodSeconds": -1 })) }),
            "readinessProbe.periodSeconds",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            json!({ "readinessProbe": http(json!({ "exec": { "command": ["true"] } })) }),
            "readinessProbe.httpGet",
            "Forbidden: may not specify more than 1 handler type",
        ),
        (json!({ "volumeMounts": [{ "name": "c", "mountPath": "/c" }] }), "volumeMounts[0].name", "Not found: \"c\""),
    ] {
        assert_eq!(refused(more), (field(name), words.to_owned()));
    }
}
