//! What a Deployment does in this cluster, played in virtual time.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use serde_json::{Value, json};
use simcluster::action::Action;
use simcluster::object::Kind;
use simcluster::{DeleteOptions, Key, Object, Propagation, Resource, Settings, World, Write};

const START: i64 = 1_800_000_000_000;

fn web() -> Key {
    Key::new("default", "web")
}

fn world(seed: u64) -> World {
    World::new(seed, START, Settings::default())
}

fn manifest(replicas: i32, image: &str, spec: Value) -> Object {
    let mut all = json!({
        "replicas": replicas,
        "selector": { "matchLabels": { "app": "web" } },
        "template": {
            "metadata": { "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "web", "image": image }] },
        },
    });
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let value = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": all });
    Object::read(Resource::Deployment, value).unwrap()
}

fn change(world: &mut World, change: impl FnOnce(&mut Deployment)) {
    let mut deployment = world.get::<Deployment>(&web()).unwrap();
    change(&mut deployment);
    world.update(deployment.into_object(), Write::Spec).unwrap();
}

fn set_image(world: &mut World, image: &str) {
    change(world, |deployment| {
        deployment.spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers[0].image = Some(image.to_owned());
    });
}

fn scale(world: &mut World, replicas: i32) {
    change(world, |deployment| deployment.spec.as_mut().unwrap().replicas = Some(replicas));
}

fn settle(world: &mut World) {
    for _ in 0..12 {
        let before = world.store().revision();
        world.advance_to(world.now_millis() + 10_000);
        if world.store().revision() == before {
            return;
        }
    }
    panic!("it never comes to rest");
}

fn deployment(world: &World) -> Deployment {
    world.get::<Deployment>(&web()).unwrap()
}

fn counts(world: &World) -> (i32, i32, i32) {
    let status = deployment(world).status.unwrap();
    let number = |number: Option<i32>| number.unwrap_or_default();
    (number(status.replicas), number(status.updated_replicas), number(status.available_replicas))
}

fn condition(world: &World, r#type: &str) -> Option<(String, String)> {
    let conditions = deployment(world).status.unwrap().conditions.unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition.type_ == r#type)?;
    Some((found.status, found.reason.unwrap_or_default()))
}

fn sets(world: &World) -> Vec<(i64, i32)> {
    let revision = |set: &ReplicaSet| {
        set.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision"].parse::<i64>().unwrap()
    };
    let mut sets: Vec<_> = world
        .store()
        .all::<ReplicaSet>(None)
        .map(|set| (revision(set), set.spec.as_ref().unwrap().replicas.unwrap()))
        .collect();
    sets.sort_unstable();
    sets
}

/// Every change of a ReplicaSet's size, in order.
fn steps(world: &World) -> Vec<String> {
    let size = |object: &Object| match object {
        Object::ReplicaSet(set) => set.spec.as_ref().unwrap().replicas.unwrap(),
        _ => 0,
    };
    let changes = world.store().since(Resource::ReplicaSet, 0).unwrap();
    let step = |change: &simcluster::change::Change| {
        let (from, to) = (change.before.as_ref().map_or(0, |before| size(&before.object)), size(&change.object.object));
        (from != to).then(|| format!("{} {from}→{to}", if from < to { "up" } else { "down" }))
    };
    changes.filter_map(step).collect()
}

fn deployed(seed: u64, replicas: i32, spec: Value) -> World {
    let mut world = world(seed);
    world.create(manifest(replicas, "web:v1", spec)).unwrap();
    settle(&mut world);
    assert_eq!(counts(&world), (replicas, replicas, replicas));
    world
}

#[test]
fn a_deployment_becomes_available() {
    let world = deployed(1, 3, json!({}));
    assert_eq!(sets(&world), [(1, 3)]);
    assert_eq!(condition(&world, "Progressing").unwrap().1, "NewReplicaSetAvailable");
    assert_eq!(condition(&world, "Available").unwrap().1, "MinimumReplicasAvailable");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let tell = |seed| {
        let mut world = deployed(seed, 5, json!({}));
        set_image(&mut world, "web:v2");
        settle(&mut world);
        let pods: Vec<Value> = world.store().list(Resource::Pod, None, None).map(|pod| pod.object.to_value()).collect();
        (world.store().revision(), world.now_millis(), pods)
    };
    assert_eq!(tell(7), tell(7));
    assert_ne!(tell(7), tell(8));
}

#[test]
fn a_restart_with_the_same_seed_gives_the_same_history() {
    let tell = |seed| {
        let mut world = deployed(seed, 3, json!({}));
        Action::Restart.perform(&mut world, &web()).unwrap();
        settle(&mut world);
        let all = |resource| world.store().list(resource, None, None).map(|known| known.object.to_value()).collect();
        let objects: [Vec<Value>; 3] = [Resource::Deployment, Resource::ReplicaSet, Resource::Pod].map(all);
        (world.store().revision(), world.now_millis(), objects)
    };
    let (first, second) = (tell(7), tell(7));
    assert_eq!(first, second, "also when somebody restarted it: by the world's clock");
    let restarted = &first.2[0][0]["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"];
    assert!(restarted.as_str().is_some_and(|at| at.starts_with("2027-01-15T")), "{restarted}");
}

#[test]
fn one_by_one_within_the_budget() {
    let rolling =
        json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } } });
    let mut world = deployed(2, 3, rolling);
    set_image(&mut world, "web:v2");
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 0), (2, 3)]);
    assert_eq!(steps(&world), ["up 0→3", "up 0→1", "down 3→2", "up 1→2", "down 2→1", "up 2→3", "down 1→0"]);
}

#[test]
fn a_bad_revision_halts_at_the_budget_and_is_undone_as_revision_three() {
    let mut world = deployed(3, 4, json!({}));
    set_image(&mut world, "web:never-v2");
    settle(&mut world);
    assert_eq!(counts(&world), (5, 2, 3));
    assert_eq!(steps(&world), ["up 0→4", "up 0→1", "down 4→3", "up 1→2"]);
    set_image(&mut world, "web:v1");
    settle(&mut world);
    assert_eq!(sets(&world), [(2, 0), (3, 4)]);
    let set = world.store().all::<ReplicaSet>(None).find(|set| set.spec.as_ref().unwrap().replicas == Some(4)).unwrap();
    assert_eq!(set.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn an_undo_restores_the_annotations_of_the_revision() {
    const CAUSE: &str = "kubernetes.io/change-cause";
    const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut world = deployed(23, 2, json!({}));
    for (image, annotations) in [("web:v1", vec![(CAUSE, "first")]), ("web:v2", vec![(CAUSE, "second"), ("a", "b")])] {
        set_image(&mut world, image);
        change(&mut world, |deployment| {
            let known = deployment.metadata.annotations.get_or_insert_default();
            known.insert(APPLIED.to_owned(), image.to_owned());
            known.extend(annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        });
        settle(&mut world);
    }
    Action::Undo(None).perform(&mut world, &web()).unwrap();
    settle(&mut world);
    let expected = [("deployment.kubernetes.io/revision", "3"), (APPLIED, "web:v2"), (CAUSE, "first")];
    let annotations = deployment(&world).metadata.annotations.unwrap();
    assert!(annotations.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected), "{annotations:?}");
}

#[test]
fn scaled_in_the_middle_both_sides_grow_in_proportion() {
    let mut world = deployed(4, 4, json!({}));
    set_image(&mut world, "web:never-v2");
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 3), (2, 2)]);
    scale(&mut world, 8);
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 6), (2, 4)]);
}

#[test]
fn recreate_waits_for_the_last_old_pod() {
    let mut world = deployed(5, 3, json!({ "strategy": { "type": "Recreate" } }));
    set_image(&mut world, "web:v2");
    while world.store().count(Resource::ReplicaSet) < 2 {
        let next = world.next_millis().unwrap();
        world.advance_to(next);
    }
    assert_eq!(world.store().count(Resource::Pod), 0, "an old pod is there when the new ReplicaSet comes");
    settle(&mut world);
    assert_eq!(counts(&world), (3, 3, 3));
}

#[test]
fn edits_while_paused_become_one_revision() {
    let mut world = deployed(6, 2, json!({}));
    change(&mut world, |deployment| deployment.spec.as_mut().unwrap().paused = Some(true));
    settle(&mut world);
    assert_eq!(condition(&world, "Progressing").unwrap(), ("Unknown".to_owned(), "DeploymentPaused".to_owned()));
    set_image(&mut world, "web:v2");
    settle(&mut world);
    scale(&mut world, 4);
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 4)]);
    set_image(&mut world, "web:v3");
    settle(&mut world);
    change(&mut world, |deployment| deployment.spec.as_mut().unwrap().paused = None);
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 0), (2, 4)]);
}

#[test]
fn the_deadline_passes_and_a_fix_recovers() {
    let mut world = deployed(7, 3, json!({ "progressDeadlineSeconds": 8 }));
    set_image(&mut world, "web:crash-v2");
    world.advance_to(world.now_millis() + 15_000);
    assert_eq!(condition(&world, "Progressing").unwrap(), ("False".to_owned(), "ProgressDeadlineExceeded".to_owned()));
    // Started again at once, then after 10 and 20 seconds.
    let waits = |world: &World| {
        let pod = world
            .store()
            .all::<Pod>(None)
            .find(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("web:crash-v2"));
        let status = pod.and_then(|pod| pod.status.as_ref()?.container_statuses.as_ref()?.first().cloned()).unwrap();
        let waiting = status.state.and_then(|state| state.waiting?.message).unwrap_or_default();
        (status.restart_count, waiting.split(" restarting").next().unwrap().to_owned())
    };
    assert_eq!(waits(&world), (1, "back-off 10s".to_owned()));
    world.advance_to(world.now_millis() + 12_000);
    assert_eq!(waits(&world), (2, "back-off 20s".to_owned()));
    set_image(&mut world, "web:v3");
    settle(&mut world);
    assert_eq!(counts(&world), (3, 3, 3));
    assert_eq!(condition(&world, "Progressing").unwrap().1, "NewReplicaSetAvailable");
}

#[test]
fn a_quota_refuses_pods_until_it_grows() {
    let mut world = world(8);
    let quota = |pods: &str| {
        Object::read(
            Resource::ResourceQuota,
            json!({ "metadata": { "name": "q", "namespace": "default" }, "spec": { "hard": { "pods": pods } } }),
        )
        .unwrap()
    };
    world.create(quota("3")).unwrap();
    settle(&mut world);
    world.create(manifest(3, "web:v1", json!({}))).unwrap();
    settle(&mut world);
    set_image(&mut world, "web:v2");
    world.advance_to(world.now_millis() + 5_000);
    assert_eq!(condition(&world, "ReplicaFailure").unwrap().1, "FailedCreate");
    world.update(quota("9"), Write::Spec).unwrap();
    settle(&mut world);
    assert_eq!(counts(&world), (3, 3, 3));
    assert_eq!(condition(&world, "ReplicaFailure"), None);
    let message = |event: &Event| event.message.clone().unwrap_or_default();
    let refused = "is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3";
    assert!(world.store().all::<Event>(None).any(|event| message(event).ends_with(refused)));
}

#[test]
fn a_killed_pod_lingers_while_its_replacement_is_up() {
    let mut world = deployed(9, 3, json!({}));
    let pod = Key::of(&world.store().all::<Pod>(None).next().unwrap().metadata);
    world.delete(Resource::Pod, &pod, &DeleteOptions::default()).unwrap();
    world.advance_to(world.now_millis() + 100);
    assert_eq!(world.store().count(Resource::Pod), 4);
    settle(&mut world);
    assert_eq!((world.store().count(Resource::Pod), sets(&world)), (3, vec![(1, 3)]));
}

#[test]
fn a_relabelled_pod_is_released_and_adopted_again() {
    let mut world = deployed(10, 3, json!({}));
    let key = Key::of(&world.store().all::<Pod>(None).next().unwrap().metadata);
    let label = |world: &mut World, value: &str| {
        let mut pod = world.get::<Pod>(&key).unwrap();
        pod.metadata.labels.as_mut().unwrap().insert("app".to_owned(), value.to_owned());
        world.update(pod.into_object(), Write::Spec).unwrap();
        settle(world);
    };
    label(&mut world, "elsewhere");
    assert_eq!(world.get::<Pod>(&key).unwrap().metadata.owner_references.unwrap_or_default().len(), 0);
    assert_eq!(world.store().count(Resource::Pod), 4);
    label(&mut world, "web");
    assert_eq!(world.store().count(Resource::Pod), 3);
}

#[test]
fn orphans_are_adopted_by_the_next_deployment() {
    let mut world = deployed(11, 2, json!({}));
    let options = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(Resource::Deployment, &web(), &options).unwrap();
    settle(&mut world);
    assert_eq!((world.store().count(Resource::Deployment), world.store().count(Resource::Pod)), (0, 2));
    world.create(manifest(2, "web:v1", json!({}))).unwrap();
    settle(&mut world);
    assert_eq!(sets(&world), [(1, 2)]);
    assert_eq!(counts(&world), (2, 2, 2));
}

#[test]
fn deletion_cascades_in_the_background_and_in_the_foreground() {
    for propagation in [Propagation::Background, Propagation::Foreground] {
        let mut world = deployed(12, 2, json!({}));
        let (_, is_gone) = world
            .delete(Resource::Deployment, &web(), &DeleteOptions { propagation, ..DeleteOptions::default() })
            .unwrap();
        assert_eq!(is_gone, propagation == Propagation::Background);
        settle(&mut world);
        for resource in [Resource::Deployment, Resource::ReplicaSet, Resource::Pod] {
            assert_eq!(world.store().count(resource), 0, "{propagation:?} {resource:?}");
        }
    }
}

#[test]
fn a_deleted_replica_set_comes_back_under_its_name() {
    let mut world = deployed(13, 4, json!({}));
    let set = world.store().all::<ReplicaSet>(None).next().unwrap().metadata.clone();
    world.delete(Resource::ReplicaSet, &Key::of(&set), &DeleteOptions::default()).unwrap();
    settle(&mut world);
    let again = world.store().all::<ReplicaSet>(None).next().unwrap().metadata.clone();
    assert_eq!(again.name, set.name);
    assert_ne!(again.uid, set.uid);
    assert_eq!((sets(&world), world.store().count(Resource::Pod)), (vec![(1, 4)], 4));
}

#[test]
fn history_beyond_the_limit_goes() {
    let mut world = deployed(14, 2, json!({ "revisionHistoryLimit": 1 }));
    for version in 2..5 {
        set_image(&mut world, &format!("web:v{version}"));
        settle(&mut world);
    }
    assert_eq!(sets(&world), [(3, 0), (4, 2)]);
}

#[test]
fn pods_of_a_lost_node_are_written_off_and_replaced() {
    let mut world = deployed(15, 4, json!({}));
    let node = world.store().all::<Pod>(None).next().unwrap().spec.clone().unwrap().node_name.unwrap();
    world.delete(Resource::Node, &Key::new("", &node), &DeleteOptions::default()).unwrap();
    world.advance_to(world.now_millis() + 30_000);
    assert_eq!(counts(&world), (4, 4, 4), "they hang for a while");
    world.advance_to(world.now_millis() + 60_000);
    settle(&mut world);
    assert_eq!(counts(&world), (4, 4, 4));
    assert!(world.store().all::<Pod>(None).all(|pod| pod.spec.as_ref().unwrap().node_name.as_ref() != Some(&node)));
}

#[test]
fn what_no_node_can_hold_waits_and_says_so() {
    let mut world = deployed(17, 3, json!({}));
    change(&mut world, |deployment| {
        let container = &mut deployment.spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers[0];
        container.resources = Some(serde_json::from_value(json!({ "requests": { "cpu": "64" } })).unwrap());
    });
    world.advance_to(world.now_millis() + 5_000);
    let pods: Vec<Pod> = world.store().all::<Pod>(None).cloned().collect();
    let pending = pods.iter().find(|pod| pod.status.as_ref().unwrap().phase.as_deref() == Some("Pending")).unwrap();
    let scheduled = pending.status.as_ref().unwrap().conditions.as_ref().unwrap()[0].clone();
    assert_eq!(scheduled.reason.as_deref(), Some("Unschedulable"));
    assert_eq!(
        scheduled.message.as_deref(),
        Some(
            "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
        )
    );
}

#[test]
fn pods_count_after_min_ready_seconds() {
    let mut world = world(18);
    world.create(manifest(2, "web:v1", json!({ "minReadySeconds": 10 }))).unwrap();
    world.advance_to(world.now_millis() + 6_000);
    assert_eq!(counts(&world).2, 0);
    world.advance_to(world.now_millis() + 10_000);
    assert_eq!(counts(&world).2, 2);
}

#[test]
fn a_namespace_takes_everything_with_it() {
    let mut world = deployed(19, 2, json!({}));
    world.delete(Resource::Namespace, &Key::new("", "default"), &DeleteOptions::default()).unwrap();
    let refused = world.create(manifest(1, "web:v2", json!({}))).unwrap_err();
    assert_eq!(refused.code, 403);
    settle(&mut world);
    assert!(world.store().get(Resource::Namespace, &Key::new("", "default")).is_none());
    assert_eq!(world.store().count(Resource::Pod), 0);
}

#[test]
fn a_hash_that_is_taken_counts_a_collision() {
    let mut world = deployed(20, 1, json!({}));
    let name = world.store().all::<ReplicaSet>(None).next().unwrap().metadata.name.clone().unwrap();
    world.delete(Resource::Deployment, &web(), &DeleteOptions::default()).unwrap();
    settle(&mut world);
    let stranger = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "other" } }, "template": { "metadata": { "labels": { "app": "other" } }, "spec": { "containers": [{ "name": "a", "image": "a" }] } } },
    });
    world.create(Object::read(Resource::ReplicaSet, stranger).unwrap()).unwrap();
    world.create(manifest(1, "web:v1", json!({}))).unwrap();
    settle(&mut world);
    assert_eq!(deployment(&world).status.unwrap().collision_count, Some(1));
    assert_eq!(counts(&world), (1, 1, 1));
}

#[test]
fn wrong_manifests_are_refused_with_the_field() {
    let mut world = world(21);
    for (spec, field, words) in [
        (json!({ "replicas": -1 }), "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        (json!({ "selector": {} }), "spec.selector", "Required value"),
        (
            json!({ "selector": { "matchLabels": { "app": "other" } } }),
            "spec.template.metadata.labels",
            "Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
        ),
        (
            json!({ "strategy": { "type": "Sideways" } }),
            "spec.strategy.type",
            "Unsupported value: \"Sideways\": supported values: \"Recreate\", \"RollingUpdate\"",
        ),
        (
            json!({ "strategy": { "type": "Recreate", "rollingUpdate": {} } }),
            "spec.strategy.rollingUpdate",
            "Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ),
        (
            json!({ "strategy": { "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 0 } } }),
            "spec.strategy.rollingUpdate.maxUnavailable",
            "Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ),
        (
            json!({ "minReadySeconds": 700 }),
            "spec.progressDeadlineSeconds",
            "Invalid value: 600: must be greater than minReadySeconds",
        ),
        (
            json!({ "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [] } } }),
            "spec.template.spec.containers",
            "Required value",
        ),
        (
            json!({ "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "a" }] } } }),
            "spec.template.spec.containers[0].image",
            "Required value",
        ),
    ] {
        let error = world.create(manifest(1, "web:v1", spec)).unwrap_err();
        assert_eq!((error.code, error.causes[0].field.as_str(), error.causes[0].message.as_str()), (422, field, words));
    }
    let mut world = deployed(22, 1, json!({}));
    let labels = json!({ "app": "web", "more": "x" });
    let pod =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } });
    let other = manifest(1, "web:v1", json!({ "selector": { "matchLabels": labels }, "template": pod }));
    let error = world.update(other, Write::Spec).unwrap_err();
    assert!(error.causes[0].message.ends_with("field is immutable"), "{error}");
}
