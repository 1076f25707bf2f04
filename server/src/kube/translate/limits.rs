//! Limits the parts of an object. The API server limits most objects only as a whole, so one part may have a megabyte, which
//! would be stored with each change of the object.

use timeline::model::Event;

use super::{LONGEST_CONDITION, MOST_CONTAINERS, Object, beginning};
use crate::kube::decode::{self, Annotations};

/// Largest number of kept labels of a Deployment, in the order of their keys.
const MOST_LABELS: usize = 128;
/// Largest number of kept owners of an object, scheduling gates of a pod, and rules of a container.
const MOST_PARTS: usize = 64;

impl Object {
    /// Returns the object with long texts and lists cut to their beginning.
    #[must_use]
    pub fn limit_parts(mut self) -> Self {
        match &mut self {
            Self::Deployment(o) => {
                if let Some(surplus) = o.metadata.labels.keys().nth(MOST_LABELS).cloned() {
                    drop(o.metadata.labels.split_off(&surplus));
                }
                limit_meta(&mut o.metadata);
                limit_template(&mut o.spec.template);
                limit_conditions(&mut o.status.conditions);
            }
            Self::ReplicaSet(o) => {
                limit_meta(&mut o.metadata);
                limit_template(&mut o.spec.template);
                limit_conditions(&mut o.status.conditions);
            }
            Self::Pod(o) => {
                limit_meta(&mut o.metadata);
                for containers in [&mut o.spec.containers, &mut o.spec.init_containers] {
                    containers.truncate(MOST_CONTAINERS);
                    for container in containers {
                        limit_text(&mut container.image, Event::LONGEST);
                        container.restart_policy_rules.truncate(MOST_PARTS);
                    }
                }
                o.spec.scheduling_gates.truncate(MOST_PARTS);
                limit_text(&mut o.status.message, LONGEST_CONDITION);
                limit_conditions(&mut o.status.conditions);
                let (app, init) = (&mut o.status.container_statuses, &mut o.status.init_container_statuses);
                for state in app.iter_mut().chain(init).flat_map(|status| [&mut status.state, &mut status.last_state]) {
                    let waiting = state.waiting.iter_mut().map(|waiting| &mut waiting.message);
                    let terminated = state.terminated.iter_mut().map(|terminated| &mut terminated.message);
                    waiting.chain(terminated).for_each(|message| limit_text(message, Event::LONGEST));
                }
            }
            Self::Event(o) => {
                limit_meta(&mut o.metadata);
                let about = &mut o.involved_object;
                for text in [&mut about.kind, &mut about.namespace, &mut about.name, &mut about.field_path] {
                    limit_text(text, Event::LONGEST);
                }
                for text in [&mut o.reason, &mut o.message, &mut o.r#type] {
                    limit_text(text, Event::LONGEST);
                }
            }
        }
        self
    }
}

fn limit_meta<L>(meta: &mut decode::Meta<L>) {
    limit_annotations(&mut meta.annotations);
    meta.owner_references.sort_by_key(|owner| owner.controller != Some(true)); // the controller is the relevant owner
    meta.owner_references.truncate(MOST_PARTS);
    for owner in &mut meta.owner_references {
        limit_text(&mut owner.kind, Event::LONGEST);
        limit_text(&mut owner.name, Event::LONGEST);
    }
}

fn limit_annotations(annotations: &mut Annotations) {
    let Annotations {
        argo_tracking_id,
        pod_deletion_cost,
        desired_replicas,
        max_replicas,
        revision,
        revision_history,
        restarted_at,
        change_cause,
        helm_release,
    } = annotations;
    let numbers = [pod_deletion_cost, desired_replicas, max_replicas, revision, revision_history];
    let texts = [argo_tracking_id, restarted_at, change_cause, helm_release];
    for text in numbers.into_iter().chain(texts).flatten() {
        limit_text(text, Event::LONGEST);
    }
}

fn limit_template(template: &mut decode::Template) {
    limit_annotations(&mut template.metadata.annotations);
    for containers in [&mut template.spec.containers, &mut template.spec.init_containers] {
        containers.truncate(MOST_CONTAINERS);
        containers.iter_mut().for_each(|container| limit_text(&mut container.image, Event::LONGEST));
    }
}

fn limit_conditions(conditions: &mut [decode::Condition]) {
    conditions.iter_mut().for_each(|condition| limit_text(&mut condition.message, LONGEST_CONDITION));
}

fn limit_text(text: &mut String, most: usize) {
    if text.len() > most {
        *text = beginning(text, most);
    }
}
