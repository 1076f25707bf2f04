//! Stories about the lives of pods show what they tell.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Node, Pod};
use serde_json::json;
use simcluster::story::{Player, manifest};
use simcluster::world::Pool;
use simcluster::{DeleteOptions, Key, Object, Resource, Settings, World};

fn cluster() -> World {
    let settings = Settings { pool: Some(Pool::default()), ..Settings::default() };
    let mut world = World::new(3, 1_800_000_000_000, settings);
    world.create(Object::read(Resource::Deployment, manifest("default", "web", 4)).unwrap()).unwrap();
    world
}

/// Plays a story to its end; what `look` says of each moment, with the step, without repetition.
fn played<T: PartialEq>(name: &str, look: impl Fn(&World) -> T) -> (World, Vec<(usize, i64, T)>) {
    let mut world = cluster();
    let seen = play(&mut world, name, look);
    (world, seen)
}

/// Plays a story in a world, as [`played`] does.
fn play<T: PartialEq>(world: &mut World, name: &str, look: impl Fn(&World) -> T) -> Vec<(usize, i64, T)> {
    let mut player = Player::new(Key::new("default", "web"));
    assert!(player.choose(name));
    let (mut seen, begin) = (Vec::<(usize, i64, T)>::new(), world.now_millis());
    while player.told().story == name {
        assert!(world.now_millis() < begin + 600_000, "{:?} hangs", player.told());
        world.advance_to(world.now_millis() + 50);
        player.look(world);
        let (step, now) = (player.told().step, look(world));
        if seen.last().is_none_or(|(known, _, last)| (*known, last) != (step, &now)) {
            seen.push((step, world.now_millis() - begin, now));
        }
    }
    seen
}

fn statuses(world: &World) -> Vec<ContainerStatus> {
    let pods = world.store().all::<Pod>(None);
    pods.filter_map(|pod| pod.status.clone()?.container_statuses).flatten().collect()
}

fn waiting(world: &World) -> Vec<String> {
    let mut all: Vec<String> = statuses(world).into_iter().filter_map(|status| status.state?.waiting?.reason).collect();
    all.sort();
    all.dedup();
    all
}

fn available(world: &World) -> i32 {
    let web = world.get::<Deployment>(&Key::new("default", "web")).unwrap();
    web.status.and_then(|status| status.available_replicas).unwrap_or_default()
}

fn says(world: &World, reason: &str) -> Vec<String> {
    let of = |event: &&Event| event.reason.as_deref() == Some(reason);
    world.store().all::<Event>(None).filter(of).filter_map(|event| event.message.clone()).collect()
}

#[test]
fn a_slow_start_takes_its_time_and_nothing_is_missing() {
    let (_, seen) = played("slow-start", available);
    let begin = seen.iter().find(|(step, ..)| *step == 2).unwrap().1;
    let end = seen.last().unwrap().1;
    assert!((56_000..75_000).contains(&(end - begin)), "two pods, one after the other: {} ms", end - begin);
    assert!(seen.iter().filter(|(step, ..)| *step == 2).all(|(.., available)| *available >= 2));
}

#[test]
fn an_end_with_0_is_a_crash_loop_until_a_version_stays() {
    let (world, seen) = played("exit-0", waiting);
    let back_off = "CrashLoopBackOff".to_owned();
    assert!(seen.iter().any(|(step, _, waiting)| *step == 2 && waiting.contains(&back_off)), "{seen:?}");
    assert!(statuses(&world).iter().all(|status| status.ready && status.restart_count == 0));
}

#[test]
fn a_liveness_probe_restarts_and_then_finds_nothing() {
    let (world, seen) =
        played("liveness", |world| statuses(world).iter().map(|status| status.restart_count).max().unwrap_or_default());
    assert!(seen.iter().any(|(step, _, restarts)| *step == 2 && *restarts >= 2), "{seen:?}");
    assert!(says(&world, "Killing").contains(&"Container web failed liveness probe, will be restarted".to_owned()));
    let is_probed = |pod: &Pod| pod.spec.as_ref().unwrap().containers[0].liveness_probe.is_some();
    assert!(world.store().all::<Pod>(None).all(is_probed), "the probe stays");
    // One of the version before may still be there for a moment, finished.
    let stays = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none();
    let statuses =
        world.store().all::<Pod>(None).filter(stays).filter_map(|pod| pod.status.clone()?.container_statuses);
    assert!(statuses.flatten().all(|status| status.ready && status.restart_count == 0));
}

#[test]
fn a_missing_config_map_holds_the_rollout_until_it_is_made() {
    let (world, seen) = played("missing-config", waiting);
    assert!(seen.iter().any(|(step, _, waiting)| *step == 2 && waiting == &["ContainerCreating"]), "{seen:?}");
    let said = "MountVolume.SetUp failed for volume \"files\" : configmap \"files\" not found".to_owned();
    assert!(says(&world, "FailedMount").contains(&said));
    assert_eq!(available(&world), 3);
}

#[test]
fn a_node_comes_for_a_pod_and_goes_again() {
    let (world, seen) = played("new-node", |world| world.store().count(Resource::Node));
    let nodes: Vec<(usize, usize)> = seen.into_iter().map(|(step, _, nodes)| (step, nodes)).collect();
    assert_eq!(nodes[..6], [(1, 4), (2, 4), (3, 4), (3, 5), (4, 5), (4, 4)]);
    assert_eq!(says(&world, "TriggeredScaleUp"), ["pod triggered scale-up: [{pool 0->1 (max: 2)}]"]);
    assert_eq!(says(&world, "ScaleDown"), ["nodes removed by cluster autoscaler"]);
}

#[test]
fn a_node_that_is_lost_after_a_drain_had_pods() {
    let mut world = cluster();
    let on_node = |world: &World| {
        let pods = world.store().pods_on("node-4").filter(|pod| pod.metadata.deletion_timestamp.is_none());
        (world.store().get(Resource::Node, &Key::new("", "node-4")).is_some(), pods.count())
    };
    let drained = play(&mut world, "drain", on_node);
    assert_eq!(drained.last().unwrap().2, (true, 0), "nothing moves back");
    let lost = play(&mut world, "node-lost", on_node);
    assert_eq!(lost.iter().find(|(.., (is_there, _))| !is_there).unwrap().2, (false, 2));
}

#[test]
fn a_story_after_a_deletion_has_its_settings() {
    let web = Key::new("default", "web");
    for (name, expected) in [
        ("deadline", (Some(10), 0, "RollingUpdate")),
        ("recreate", (Some(600), 0, "Recreate")),
        ("min-ready-seconds", (Some(600), 5, "RollingUpdate")),
    ] {
        let mut world = cluster();
        world.delete(Resource::Deployment, &web, &DeleteOptions::default()).unwrap();
        let mut player = Player::new(web.clone());
        assert!(player.choose(name));
        player.look(&mut world);
        let spec = world.get::<Deployment>(&web).unwrap().spec.unwrap();
        let strategy = spec.strategy.and_then(|strategy| strategy.type_).unwrap_or_default();
        let minimum = spec.min_ready_seconds.unwrap_or_default();
        assert_eq!((spec.progress_deadline_seconds, minimum, strategy.as_str()), expected, "{name}");
    }
}

#[test]
fn a_story_drains_a_node_of_the_cluster_and_none_of_the_autoscaler() {
    let mut world = cluster();
    let pool = json!({ "metadata": { "name": "pool-1" } });
    world.create(Object::read(Resource::Node, pool).unwrap()).unwrap();
    let cordoned = |world: &World| {
        let is_cordoned = |node: &&Node| node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
        let nodes = world.store().all::<Node>(None).filter(is_cordoned);
        nodes.filter_map(|node| node.metadata.name.clone()).collect::<Vec<_>>()
    };
    let seen = play(&mut world, "drain", cordoned);
    let drained: Vec<String> = seen.into_iter().filter(|(step, ..)| *step == 2).flat_map(|(.., names)| names).collect();
    assert_eq!(drained, ["node-4"]);
}
