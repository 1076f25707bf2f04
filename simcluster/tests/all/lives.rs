//! The lives of pods as a kubelet leads them: what stands in their status, and when, in virtual time.

mod containers;
mod nodes;
mod probes;
mod starts;

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod, PodCondition};
use serde_json::{Value, json};
use simcluster::object::Kind;
use simcluster::{DeleteOptions, Key, Object, Resource, Settings, World};

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
            world.create(Object::read(*resource, value.clone()).unwrap()).unwrap();
        }
        let pod = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": spec });
        world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap();
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
