//! Nodes that come and go.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Event, Node, Pod, Taint};
use serde_json::{Value, json};
use simcluster::action::Action;
use simcluster::object::Kind;
use simcluster::{DeleteOptions, Key, Object, Resource, Settings, World, Write};

use crate::lives::{START, condition, container};

fn deploy(world: &mut World, name: &str, replicas: i32, resources: &Value) -> Key {
    let labels = json!({ "app": name });
    let template = json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [container("web", &[], json!({ "resources": resources }))] },
    });
    let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
    let made = json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec });
    world.create(Object::read(Resource::Deployment, made).unwrap()).unwrap();
    Key::new("default", name)
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
        world.create(pod(&format!("web-{number}"), "12")).unwrap();
    }
    world.create(pod("huge", "64")).unwrap();
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

#[test]
fn neighbours_that_roll_out_do_not_keep_the_node_of_the_autoscaler() {
    let pool = simcluster::world::Pool { name: "pool".to_owned(), most: 1, boot_millis: 10_000 };
    let nodes = vec!["node-1".to_owned()];
    let mut world = World::new(1, START, Settings { nodes, pool: Some(pool), ..Settings::default() });
    let web = deploy(&mut world, "web", 2, &json!({ "requests": { "cpu": "12" } }));
    let neighbour = deploy(&mut world, "neighbour", 3, &json!({}));
    world.advance_to(START + 40_000);
    assert_eq!(world.store().pods_on("pool-1").count(), 1, "the second large pod");
    Action::Scale(1).perform(&mut world, &web).unwrap();
    for _ in 0..4 {
        Action::Restart.perform(&mut world, &neighbour).unwrap();
        world.advance_to(world.now_millis() + 20_000);
    }
    assert!(world.store().get(Resource::Node, &Key::new("", "pool-1")).is_none());
}

#[test]
fn a_drain_is_refused_for_pods_that_nobody_replaces() {
    let settings = Settings { nodes: vec!["node-1".to_owned()], ..Settings::default() };
    let mut world = World::new(1, START, settings);
    let web = deploy(&mut world, "web", 2, &json!({}));
    for name in ["debug", "other"] {
        let spec = json!({ "containers": [container("web", &[], json!({}))] });
        let pod = json!({ "metadata": { "name": name, "namespace": "default" }, "spec": spec });
        world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap();
    }
    world.advance_to(START + 10_000);
    let drain = Action::Drain("node-1".to_owned());
    let leaving =
        |world: &World| world.store().all::<Pod>(None).filter(|pod| pod.metadata.deletion_timestamp.is_some()).count();
    let refused = drain.perform(&mut world, &web).unwrap_err();
    assert_eq!(
        refused.message,
        "cannot delete Pods that declare no controller (use --force to override): default/debug, default/other"
    );
    assert_eq!(leaving(&world), 0);
    for name in ["debug", "other"] {
        world.delete(Resource::Pod, &Key::new("default", name), &DeleteOptions::default()).unwrap();
    }
    world.advance_to(START + 50_000);
    drain.perform(&mut world, &web).unwrap();
    assert_eq!(leaving(&world), 2);
}

/// Messages of the scheduler about pods that find no node.
fn refusals(world: &World) -> Vec<&str> {
    let refused = |event: &&Event| event.reason.as_deref() == Some("FailedScheduling");
    world.store().all::<Event>(None).filter(refused).filter_map(|event| event.message.as_deref()).collect()
}

#[test]
fn the_scheduler_says_of_which_nodes_preemption_might_free_a_place() {
    let mut world = World::new(1, START, Settings::default());
    world.advance_to(START + 1_000);
    let mut tainted = world.get::<Node>(&Key::new("", "node-1")).unwrap();
    let taint = Taint { key: "a".to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    tainted.spec.get_or_insert_default().taints = Some(vec![taint]);
    world.update(tainted.into_object(), Write::Spec).unwrap();
    Action::Drain("node-2".to_owned()).perform(&mut world, &Key::new("default", "web")).unwrap();
    deploy(&mut world, "web", 3, &json!({ "requests": { "cpu": "12" } }));
    world.advance_to(START + 10_000);
    assert_eq!(
        refusals(&world),
        [
            "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
        ]
    );
}

#[test]
fn a_pod_that_finds_no_node_is_told_in_a_series_once_it_does_not_change() {
    let mut world = World::new(1, START, Settings::default());
    world.advance_to(START + 1_000);
    deploy(&mut world, "web", 1, &json!({ "requests": { "cpu": "64" } }));
    let told = |world: &World| {
        let refused = |event: &&Event| event.reason.as_deref() == Some("FailedScheduling");
        let events = world.store().all::<Event>(None).filter(refused);
        events.map(|event| (event.series.as_ref().and_then(|series| series.count), event.count)).collect::<Vec<_>>()
    };
    world.advance_to(START + 200_000);
    assert_eq!(told(&world), [(None, None)]);
    // As recorded of a real scheduler: the first refusal changes the pod.
    world.advance_to(START + 400_000);
    assert_eq!(told(&world), [(None, None), (None, None)]);
    world.advance_to(START + 700_000);
    assert_eq!(told(&world), [(None, None), (Some(2), None)]);
}

#[test]
fn a_pod_that_its_node_evicted_does_not_count_as_terminating() {
    let mut world = World::new(1, START, Settings::default());
    deploy(&mut world, "web", 1, &json!({}));
    world.advance_to(START + 10_000);
    let mut pod = world.store().all::<Pod>(None).next().unwrap().clone();
    let key = Key::of(&pod.metadata);
    pod.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    world.update(pod.into_object(), Write::Spec).unwrap();
    simcluster::kubelet::evict(&mut world, &key);
    world.delete(Resource::Pod, &key, &DeleteOptions::default()).unwrap();
    world.advance_to(START + 20_000);
    assert!(world.get::<Pod>(&key).is_some_and(|pod| pod.metadata.deletion_timestamp.is_some()));
    let set = world.store().all::<ReplicaSet>(None).next().unwrap();
    assert_eq!(set.status.as_ref().unwrap().terminating_replicas, Some(0));
}

/// Objects of the Warning Events with a reason, each with the message.
fn warned(world: &World, reason: &str) -> Vec<(String, String)> {
    let is_meant =
        |event: &&Event| (event.reason.as_deref(), event.type_.as_deref()) == (Some(reason), Some("Warning"));
    let events = world.store().all::<Event>(None).filter(is_meant);
    events.map(|event| (event.involved_object.name.clone().unwrap(), event.message.clone().unwrap())).collect()
}

#[test]
fn a_pod_that_its_node_evicts_is_no_longer_ready_and_an_event_says_why() {
    let mut world = World::new(1, START, Settings::default());
    deploy(&mut world, "web", 1, &json!({}));
    world.advance_to(START + 10_000);
    let key = Key::of(&world.store().all::<Pod>(None).next().unwrap().metadata);
    simcluster::kubelet::evict(&mut world, &key);
    let pod = world.get::<Pod>(&key).unwrap();
    for r#type in ["Ready", "ContainersReady"] {
        let known = condition(&pod, r#type).unwrap();
        assert_eq!((known.status.as_str(), known.reason.as_deref(), known.message), ("False", Some("PodFailed"), None));
        assert_eq!(known.last_transition_time.unwrap().0.as_millisecond(), START + 10_000, "{type}");
    }
    assert_eq!(warned(&world, "Evicted"), [(key.name, "The node was low on resource: memory.".to_owned())]);
}

#[test]
fn an_event_says_why_a_node_rejects_a_pod() {
    let mut world = World::new(1, START, Settings::default());
    for number in 0..20 {
        let spec = json!({ "containers": [container("web", &[], json!({ "image": "web:outofcpu-v1" }))] });
        let pod = json!({ "metadata": { "name": format!("web-{number}"), "namespace": "default" }, "spec": spec });
        world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap();
    }
    world.advance_to(START + 5_000);
    let why = "Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 2000";
    let mut rejected = Vec::new();
    for pod in world.store().all::<Pod>(None) {
        let status = pod.status.as_ref().unwrap();
        if status.reason.as_deref() == Some("OutOfcpu") {
            assert_eq!(status.message, Some(format!("Pod was rejected: {why}")));
            rejected.push((pod.metadata.name.clone().unwrap(), why.to_owned()));
        }
    }
    let mut said = warned(&world, "OutOfcpu");
    said.sort();
    rejected.sort();
    assert!(!rejected.is_empty());
    assert_eq!(said, rejected);
}

fn set_taints(world: &mut World, taints: &[Taint]) {
    let mut node = world.get::<Node>(&Key::new("", "node-1")).unwrap();
    node.spec.get_or_insert_default().taints = Some(taints.to_vec());
    world.update(node.into_object(), Write::Spec).unwrap();
}

/// A world with one node. Its pods tolerate a taint with key "a" never, for a minute or for ever; a finalizer keeps them.
fn tolerating() -> World {
    let mut world = World::new(1, START, Settings { nodes: vec!["node-1".to_owned()], ..Settings::default() });
    for (name, tolerations) in [
        ("never", json!([])),
        ("a-minute", json!([{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60 }])),
        ("for-ever", json!([{ "key": "a", "operator": "Exists" }])),
    ] {
        let metadata = json!({ "name": name, "namespace": "default", "finalizers": ["example.com/hold"] });
        let spec = json!({ "containers": [container("web", &[], json!({}))], "tolerations": tolerations });
        let pod = json!({ "metadata": metadata, "spec": spec });
        world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap();
    }
    world.advance_to(START + 10_000);
    world
}

/// Pods that are being deleted by the taint manager.
fn evicted(world: &World) -> Vec<String> {
    let is_marked = |pod: &&Pod| {
        let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let why = conditions.find(|condition| condition.type_ == "DisruptionTarget" && condition.status == "True");
        let words = why.map(|why| (why.reason.as_deref().unwrap(), why.message.as_deref().unwrap()));
        let by_taint = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
        pod.metadata.deletion_timestamp.is_some() && words == Some(by_taint)
    };
    world.store().all::<Pod>(None).filter(is_marked).filter_map(|pod| pod.metadata.name.clone()).collect()
}

/// Messages of the taint manager.
fn said_of_taints(world: &World) -> Vec<String> {
    let is_its = |event: &&Event| event.reason.as_deref() == Some("TaintManagerEviction");
    let mut said: Vec<String> =
        world.store().all::<Event>(None).filter(is_its).filter_map(|event| event.message.clone()).collect();
    said.sort();
    said
}

#[test]
fn a_no_execute_taint_ends_pods_that_do_not_tolerate_it_for_ever() {
    let mut world = tolerating();
    let taint = |effect: &str| Taint { key: "a".to_owned(), effect: effect.to_owned(), ..Taint::default() };
    set_taints(&mut world, &[taint("NoSchedule")]);
    world.advance_to(START + 20_000);
    assert!(evicted(&world).is_empty(), "it keeps new pods away only");
    set_taints(&mut world, &[taint("NoExecute")]);
    world.advance_to(START + 79_000);
    assert_eq!(evicted(&world), ["never"]);
    // Another value of the taint does not begin the minute again.
    set_taints(&mut world, &[Taint { value: Some("b".to_owned()), ..taint("NoExecute") }]);
    world.advance_to(START + 81_000);
    assert_eq!(evicted(&world), ["a-minute", "never"]);
    world.advance_to(START + 600_000);
    assert_eq!(evicted(&world), ["a-minute", "never"]);
    let said = ["Marking for deletion Pod default/a-minute", "Marking for deletion Pod default/never"];
    assert_eq!(said_of_taints(&world), said);
}

#[test]
fn a_taint_that_is_removed_in_time_ends_no_pod_that_tolerated_it() {
    // Nothing takes back what is done at once, however soon the taint is removed.
    for removed_millis in [10_000, 40_000] {
        let mut world = tolerating();
        let taint = Taint { key: "a".to_owned(), effect: "NoExecute".to_owned(), ..Taint::default() };
        set_taints(&mut world, &[taint]);
        world.advance_to(START + removed_millis);
        set_taints(&mut world, &[]);
        world.advance_to(START + 200_000);
        assert_eq!(evicted(&world), ["never"]);
        let said = ["Cancelling deletion of Pod default/a-minute", "Marking for deletion Pod default/never"];
        assert_eq!(said_of_taints(&world), said);
    }
}

#[test]
fn a_node_that_is_made_again_with_a_taint_ends_its_pods() {
    let mut world = tolerating();
    world.delete(Resource::Node, &Key::new("", "node-1"), &DeleteOptions::default()).unwrap();
    world.advance_to(START + 11_000);
    let node = json!({
        "metadata": { "name": "node-1" },
        "spec": { "taints": [{ "key": "a", "effect": "NoExecute" }] },
    });
    world.create(Object::read(Resource::Node, node).unwrap()).unwrap();
    world.advance_to(START + 12_000);
    assert_eq!(evicted(&world), ["never"]);
    world.advance_to(START + 72_000);
    assert_eq!(evicted(&world), ["a-minute", "never"]);
}
