//! The ReplicaSet controller (`pkg/controller/replicaset`): claims pods, creates missing or deletes surplus ones, reports counts.

mod rank;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::agenda::Task;
use crate::change::Stored;
use crate::events::NewEvent;
use crate::meta::{self, replicas_of};
use crate::object::{Key, Kind, Resource};
use crate::world::{DeleteOptions, Write};
use crate::{ApiError, World, time};
use selector::Labels;

const COMPONENT: &str = "replicaset-controller";
/// Largest number of pods that one round creates or deletes.
const BURST: usize = 500;

/// Syncs a ReplicaSet: creates missing pods or deletes surplus ones.
///
/// # Errors
/// If pods cannot be created; the agenda calls it again, later each time.
pub fn sync(world: &mut World, key: &Key) -> Result<(), ApiError> {
    let Some(set) = world.get::<ReplicaSet>(key) else { return Ok(()) };
    let selector = set.spec.as_ref().map(|spec| Labels::of(&spec.selector)).unwrap_or_default();
    let active = claim(world, &set, &selector);
    let outcome = if meta::is_deleting(&set.metadata) { Ok(()) } else { manage(world, &set, &active) };
    report(world, &set, &selector, &active, outcome.as_ref().err());
    outcome
}

/// Reads the stored pods by reference: a round over hundreds of pods copies none of them.
fn typed(pods: &[Arc<Stored>]) -> impl Iterator<Item = &Pod> {
    pods.iter().filter_map(|stored| Pod::of(&stored.object))
}

/// Returns the active pods, after releasing those that no longer match and adopting matching pods without an owner.
fn claim(world: &mut World, set: &ReplicaSet, selector: &Labels) -> Vec<Arc<Stored>> {
    let uid = set.metadata.uid.as_deref().unwrap_or_default();
    let is_deleting = meta::is_deleting(&set.metadata);
    let mut active = Vec::new();
    for stored in world.store.pods_of(uid).cloned().collect::<Vec<_>>() {
        let Some(pod) = Pod::of(&stored.object).filter(|pod| meta::is_active(pod)) else { continue };
        if selector.matches(meta::labels(&pod.metadata)) {
            active.push(stored);
        } else if !is_deleting {
            world.disown(Resource::Pod, &Key::of(&pod.metadata), uid);
        }
    }
    if is_deleting {
        return active;
    }
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let orphans = world.store.orphans(namespace).filter_map(|stored| Pod::of(&stored.object));
    let fitting = orphans.filter(|pod| meta::is_active(pod) && selector.matches(meta::labels(&pod.metadata)));
    let keys: Vec<Key> = fitting.map(|pod| Key::of(&pod.metadata)).collect();
    for key in keys {
        let owner = meta::reference::<ReplicaSet>(&set.metadata);
        active.extend(world.modify::<Pod>(&key, Write::Spec, |pod| {
            pod.metadata.owner_references.get_or_insert_default().push(owner);
        }));
    }
    active
}

fn manage(world: &mut World, set: &ReplicaSet, active: &[Arc<Stored>]) -> Result<(), ApiError> {
    let desired = usize::try_from(replicas_of(set)).unwrap_or_default();
    let there = active.len();
    if there < desired {
        for _ in 0..(desired - there).min(BURST) {
            // Kubernetes creates one pod, then two, then four: after a rejection the round creates no more.
            make_pod(world, set)?;
        }
    } else if there > desired {
        let active: Vec<&Pod> = typed(active).collect();
        let count = (there - desired).min(BURST);
        let keys = rank::first_to_go(&active, &related(world, set), count, world.now_millis());
        for key in keys {
            if world.delete(Resource::Pod, &key, &DeleteOptions::default()).is_ok() {
                record_event(world, set, "SuccessfulDelete", format!("Deleted pod: {}", key.name));
            }
        }
    }
    Ok(())
}

/// Creates a pod from the template.
///
/// # Errors
/// If admission rejects the pod, which is also recorded as an Event.
pub fn make_pod(world: &mut World, set: &ReplicaSet) -> Result<Key, ApiError> {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    let of_template = template.metadata.unwrap_or_default();
    let name = set.metadata.name.clone().unwrap_or_default();
    let pod = Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: set.metadata.namespace.clone(),
            labels: of_template.labels,
            annotations: of_template.annotations,
            finalizers: of_template.finalizers,
            owner_references: Some(vec![meta::reference::<ReplicaSet>(&set.metadata)]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    };
    match world.create(pod.into_object()) {
        Ok(made) => {
            let key = made.object.key();
            record_event(world, set, "SuccessfulCreate", format!("Created pod: {}", key.name));
            Ok(key)
        }
        Err(error) => {
            if !error.message.contains("it is being terminated") {
                let warning = about(set, "FailedCreate", format!("Error creating: {error}")).warning();
                world.record_event(warning);
            }
            Err(error)
        }
    }
}

fn about(set: &ReplicaSet, reason: &'static str, message: String) -> NewEvent {
    NewEvent::about::<ReplicaSet>(&set.metadata, COMPONENT, reason, message)
}

fn record_event(world: &mut World, set: &ReplicaSet, reason: &'static str, message: String) {
    world.record_event(about(set, reason, message));
}

/// Returns the pods of all ReplicaSets with the same controller, among which pods on the same node are counted.
fn related<'w>(world: &'w World, set: &ReplicaSet) -> Vec<&'w Pod> {
    let sets: Vec<&ReplicaSet> = match meta::controller(&set.metadata) {
        Some(owner) => {
            let all = world.store.all::<ReplicaSet>(set.metadata.namespace.as_deref());
            all.filter(|sibling| meta::is_controlled_by(&sibling.metadata, Some(&owner.uid))).collect()
        }
        None => vec![set],
    };
    let uids = sets.iter().filter_map(|set| set.metadata.uid.as_deref());
    uids.flat_map(|uid| world.store.pods_of(uid)).filter_map(|stored| Pod::of(&stored.object)).collect()
}

/// Returns whether a pod has been ready for `min_ready_seconds`.
fn is_available(pod: &Pod, min_ready_seconds: i32, now_millis: i64) -> bool {
    let wait = i64::from(min_ready_seconds) * 1000;
    meta::is_ready(pod) && (wait == 0 || rank::ready_since(pod).is_some_and(|since| since + wait <= now_millis))
}

fn report(world: &mut World, set: &ReplicaSet, selector: &Labels, active: &[Arc<Stored>], failed: Option<&ApiError>) {
    let (now, key) = (world.now_millis(), Key::of(&set.metadata));
    let spec = set.spec.clone().unwrap_or_default();
    let min_ready = spec.min_ready_seconds.unwrap_or_default();
    let template =
        spec.template.and_then(|template| template.metadata).and_then(|meta| meta.labels).unwrap_or_default();
    let is_whole = |pod: &&Pod| {
        let labels = meta::labels(&pod.metadata);
        template.iter().all(|(name, value)| labels.get(name) == Some(value))
    };
    let count = |number: usize| Some(i32::try_from(number).unwrap_or(i32::MAX)).filter(|number| *number != 0);
    let ready: Vec<&Pod> = typed(active).filter(|pod| meta::is_ready(pod)).collect();
    let available = ready.iter().filter(|pod| is_available(pod, min_ready, now)).count();
    let is_terminating = |pod: &&Pod| {
        let is_leaving = meta::is_deleting(&pod.metadata) && !meta::is_finished(pod);
        is_leaving && selector.matches(meta::labels(&pod.metadata))
    };
    let pods = world.store.pods_of(set.metadata.uid.as_deref().unwrap_or_default());
    let terminating = pods.filter_map(|stored| Pod::of(&stored.object)).filter(is_terminating).count();
    let before = set.status.clone().unwrap_or_default();
    let status = ReplicaSetStatus {
        replicas: count(active.len()).unwrap_or_default(),
        fully_labeled_replicas: count(typed(active).filter(is_whole).count()),
        ready_replicas: count(ready.len()),
        available_replicas: count(available),
        terminating_replicas: Some(i32::try_from(terminating).unwrap_or(i32::MAX)),
        observed_generation: set.metadata.generation,
        conditions: conditions(&before, replicas_of(set), active.len(), failed, now),
    };
    world.modify::<ReplicaSet>(&key, Write::Status, |set| set.status = Some(status));
    if min_ready > 0 && ready.len() != available {
        let wait = i64::from(min_ready) * 1000;
        let ends = ready.iter().filter_map(|pod| Some(rank::ready_since(pod)? + wait));
        let next = ends.filter(|at| *at > now).min();
        world.agenda.add(next.unwrap_or(now + wait), Task::ReplicaSet(key));
    }
}

/// Returns the condition of a failure to create or delete pods. It keeps its first message until a round succeeds.
fn conditions(
    before: &ReplicaSetStatus,
    desired: i32,
    active: usize,
    failed: Option<&ApiError>,
    now_millis: i64,
) -> Option<Vec<ReplicaSetCondition>> {
    let known = before.conditions.iter().flatten().any(|condition| condition.type_ == "ReplicaFailure");
    match failed {
        Some(error) if !known => {
            let is_short = i32::try_from(active).unwrap_or(i32::MAX) < desired;
            let mut all = before.conditions.clone().unwrap_or_default();
            all.push(ReplicaSetCondition {
                type_: "ReplicaFailure".to_owned(),
                status: "True".to_owned(),
                reason: Some(if is_short { "FailedCreate" } else { "FailedDelete" }.to_owned()),
                message: Some(error.message.clone()),
                last_transition_time: Some(time::second(now_millis)),
            });
            Some(all)
        }
        None if known => None,
        _ => before.conditions.clone(),
    }
}
