//! The lives of pods as a kubelet leads them: what stands in their status, and when, in virtual time.

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod, PodCondition};
use serde_json::{Value, json};
use simcluster::object::Kind;
use simcluster::{DeleteOptions, Key, Object, Resource, Settings, World, Write};

const START: i64 = 1_800_000_000_000;

/// A world with one pod, and every status that it had.
struct Lived {
    world: World,
    key: Key,
    /// What was new in the pod's status, and when.
    told: Vec<(i64, Pod)>,
}

impl Lived {
    fn of(spec: Value) -> Self {
        Self::with(spec, &[])
    }

    fn with(spec: Value, others: &[(Resource, Value)]) -> Self {
        let mut world = World::new(5, START, Settings::default());
        for (resource, value) in others {
            world.create(Object::read(*resource, value.clone()).unwrap(), false).unwrap();
        }
        let pod = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": spec });
        world.create(Object::read(Resource::Pod, pod).unwrap(), false).unwrap();
        Self { world, key: Key::new("default", "web"), told: Vec::new() }
    }

    /// One container with these arguments and fields.
    fn alone(args: &[&str], more: Value) -> Self {
        Self::of(json!({ "containers": [container("web", args, more)] }))
    }

    /// The same after so many seconds.
    fn passed(mut self, seconds: i64) -> Self {
        self.pass(seconds);
        self
    }

    fn pass(&mut self, seconds: i64) -> &mut Self {
        let until = self.world.now_millis() + seconds * 1000;
        while let Some(next) = self.world.next_millis().filter(|next| *next <= until) {
            self.world.advance_to(next);
            let Some(pod) = self.world.get::<Pod>(&self.key) else { continue };
            if self.told.last().is_none_or(|(_, known)| known.status != pod.status) {
                self.told.push((self.world.now_millis(), pod));
            }
        }
        self.world.advance_to(until);
        self
    }

    fn pod(&self) -> Pod {
        self.world.get::<Pod>(&self.key).unwrap()
    }

    /// A container, as each status told of it: milliseconds, and its state in words.
    fn states(&self, name: &str) -> Vec<(i64, String)> {
        let mut states: Vec<(i64, String)> = Vec::new();
        for (at, pod) in &self.told {
            let Some(status) = find(pod, name) else { continue };
            let words = words(&status);
            if states.last().is_none_or(|(_, known)| *known != words) {
                states.push((*at, words));
            }
        }
        states
    }

    fn words_of(&self, name: &str) -> Vec<String> {
        self.states(name).into_iter().map(|(_, words)| words).collect()
    }

    /// When a container's state was first this one.
    fn first(&self, name: &str, words: &str) -> i64 {
        let states = self.states(name);
        states.iter().find(|(_, known)| known == words).unwrap_or_else(|| panic!("no {words:?} in {states:?}")).0
    }

    /// When a condition was first so.
    fn when(&self, r#type: &str, status: &str) -> i64 {
        let is_so = |pod: &Pod| condition(pod, r#type).is_some_and(|known| known.status == status);
        self.told.iter().find(|(_, pod)| is_so(pod)).unwrap_or_else(|| panic!("never {type} {status}")).0
    }

    /// Events about the pod: reason, message and count.
    fn events(&self, reason: &str) -> Vec<(String, i32)> {
        let of = |event: &&Event| event.reason.as_deref() == Some(reason);
        let events = self.world.store().all::<Event>(None).filter(of);
        events.map(|event| (event.message.clone().unwrap(), event.count.unwrap_or(1))).collect()
    }
}

fn container(name: &str, args: &[&str], more: Value) -> Value {
    let mut made = json!({ "name": name, "image": "web:v1", "args": args });
    made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    made
}

fn http(more: Value) -> Value {
    let mut probe = json!({ "httpGet": { "path": "/ready", "port": 8080 } });
    probe.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    probe
}

fn find(pod: &Pod, name: &str) -> Option<ContainerStatus> {
    let status = pod.status.as_ref()?;
    let all = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    all.into_iter().find(|known| known.name == name).cloned()
}

fn condition(pod: &Pod, r#type: &str) -> Option<PodCondition> {
    pod.status.as_ref()?.conditions.iter().flatten().find(|known| known.type_ == r#type).cloned()
}

/// "running, ready, 2 restarts", "CrashLoopBackOff, 1 restarts", "Error 1, 0 restarts".
fn words(status: &ContainerStatus) -> String {
    let state = status.state.clone().unwrap();
    let what = if state.running.is_some() {
        let ready = if status.ready { "ready" } else { "not ready" };
        let started = if status.started == Some(true) { "" } else { ", not started" };
        format!("running, {ready}{started}")
    } else if let Some(waiting) = state.waiting {
        waiting.reason.unwrap()
    } else {
        let ended = state.terminated.unwrap();
        format!("{} {}", ended.reason.unwrap(), ended.exit_code)
    };
    format!("{what}, {} restarts", status.restart_count)
}

fn message(pod: &Pod, name: &str) -> String {
    find(pod, name).and_then(|status| status.state?.waiting?.message).unwrap_or_default()
}

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
    lived.world.create(config_map("files"), false).unwrap();
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
    lived.world.create(config_map("settings"), false).unwrap();
    lived.pass(20);
    assert_eq!(lived.words_of("web").last().unwrap(), "running, ready, 0 restarts");
}

#[test]
fn a_deleted_pod_ends_as_its_program_does() {
    for (args, phase, reason, code) in [
        (vec!["ready=0"], "Failed", "PodFailed", 143),
        (vec!["term=4"], "Succeeded", "PodCompleted", 0),
        (vec!["term=ignore"], "Failed", "PodFailed", 137),
    ] {
        let mut lived = Lived::alone(&args, json!({})).passed(10);
        lived.world.delete(Resource::Pod, &lived.key.clone(), &DeleteOptions::default()).unwrap();
        lived.pass(29);
        assert_eq!(lived.world.get::<Pod>(&lived.key).is_some(), code == 137, "{args:?}: who listens is gone by then");
        lived.pass(5);
        assert!(lived.world.get::<Pod>(&lived.key).is_none());
        let (_, last) = lived.told.last().unwrap();
        assert_eq!(last.status.as_ref().unwrap().phase.as_deref(), Some(phase));
        assert_eq!(condition(last, "ContainersReady").unwrap().reason.as_deref(), Some(reason));
        let web = find(last, "web").unwrap();
        assert_eq!(web.state.unwrap().terminated.unwrap().exit_code, code);
        assert_eq!(lived.events("Killing"), [("Stopping container web".to_owned(), 1)]);
    }
}

#[test]
fn a_shorter_grace_period_is_heeded() {
    let mut lived = Lived::alone(&["term=ignore"], json!({})).passed(10);
    lived.world.delete(Resource::Pod, &lived.key.clone(), &DeleteOptions::default()).unwrap();
    lived.pass(3);
    let soon = DeleteOptions { grace_seconds: Some(2), ..DeleteOptions::default() };
    lived.world.delete(Resource::Pod, &lived.key.clone(), &soon).unwrap();
    lived.pass(5);
    assert!(lived.world.get::<Pod>(&lived.key).is_none());
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
    lived.world.update(pod.into_object(), Write::Status, false).unwrap();
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
    lived.world.update(pod.into_object(), Write::Spec, false).unwrap();
    lived.pass(10);
    assert_eq!(condition(&lived.pod(), "Ready").unwrap().status, "True");
}

#[test]
fn a_node_that_falls_silent_goes_on_where_it_was() {
    let probe = http(json!({ "periodSeconds": 1 }));
    let mut lived = Lived::alone(&["ready=20"], json!({ "readinessProbe": probe })).passed(5);
    let node = lived.pod().spec.unwrap().node_name.unwrap();
    lived.world.silence(&node, true);
    lived.pass(20);
    assert_eq!(condition(&lived.pod(), "Ready").unwrap().status, "False", "nobody tells");
    lived.world.silence(&node, false);
    lived.pass(2);
    assert_eq!(condition(&lived.pod(), "Ready").unwrap().status, "True");
}

#[test]
fn the_same_seed_gives_the_same_lives() {
    let tell = || {
        let lived = Lived::of(json!({
            "initContainers": [container("wait", &["exit=1@1"], json!({}))],
            "containers": [container("web", &["flap=7"], json!({ "readinessProbe": http(json!({})) }))],
        }))
        .passed(300);
        lived.told.into_iter().map(|(at, pod)| (at, pod.into_object().to_value())).collect::<Vec<_>>()
    };
    assert_eq!(tell(), tell());
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
        let error = world.create(Object::read(Resource::Pod, pod).unwrap(), false).unwrap_err();
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

#[test]
fn an_autoscaler_adds_a_node_and_takes_it_away_when_it_is_empty() {
    let pool = simcluster::world::Pool { name: "pool".to_owned(), most: 1, boot_millis: 30_000 };
    let mut world = World::new(1, START, Settings { pool: Some(pool), ..Settings::default() });
    let pod = |name: &str, cpu: &str| {
        let spec =
            json!({ "containers": [container("web", &[], json!({ "resources": { "requests": { "cpu": cpu } } }))] });
        Object::read(Resource::Pod, json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec }))
            .unwrap()
    };
    for number in 1..=6 {
        world.create(pod(&format!("web-{number}"), "12"), false).unwrap();
    }
    world.create(pod("huge", "64"), false).unwrap();
    world.advance_to(START + 20_000);
    let said = |world: &World, reason: &str| {
        let of = |event: &&Event| event.reason.as_deref() == Some(reason);
        let all = world.store().all::<Event>(None).filter(of);
        all.map(|event| (event.involved_object.name.clone().unwrap(), event.message.clone().unwrap()))
            .collect::<Vec<_>>()
    };
    let up = said(&world, "TriggeredScaleUp");
    assert_eq!(up.len(), 2, "four nodes hold four pods");
    assert!(up.iter().all(|(_, said)| said == "pod triggered scale-up: [{pool 0->1 (max: 1)}]"));
    let refused = ("huge".to_owned(), "pod didn't trigger scale-up: 1 Insufficient cpu".to_owned());
    assert_eq!(said(&world, "NotTriggerScaleUp"), [refused]);
    world.advance_to(START + 60_000);
    let on_pool =
        |world: &World| world.store().pods_on("pool-1").filter_map(|pod| pod.metadata.name.clone()).collect::<Vec<_>>();
    let there = on_pool(&world);
    assert_eq!(there.len(), 1);
    let full = said(&world, "NotTriggerScaleUp");
    assert!(
        full.iter().any(|(_, said)| said == "pod didn't trigger scale-up: 1 max node group size reached"),
        "{full:?}"
    );
    for number in 1..=6 {
        let _ = world.delete(Resource::Pod, &Key::new("default", &format!("web-{number}")), &DeleteOptions::default());
    }
    world.advance_to(START + 80_000);
    assert!(world.store().get(Resource::Node, &Key::new("", "pool-1")).is_some(), "empty, but not for long");
    world.advance_to(START + 120_000);
    assert!(world.store().get(Resource::Node, &Key::new("", "pool-1")).is_none());
}
