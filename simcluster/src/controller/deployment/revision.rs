//! Finds or creates the ReplicaSet of the present template, and numbers revisions (`sync.go`, `getNewReplicaSet`).

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Round;
use super::sets::{self, DESIRED, HASH, MAXIMUM, REVISION, REVISION_HISTORY};
use crate::meta::{self, Map, desired};
use crate::object::{Key, Kind};
use crate::strategy::{max_surge, strategy};
use crate::world::Write;
use crate::{ApiError, hash};

/// Longest text of a ReplicaSet's earlier revision numbers.
const HISTORY_LENGTH: usize = 2000;

impl Round<'_> {
    /// Returns the new ReplicaSet, if it exists or may be created, and the old ones.
    pub(super) fn new_and_old(
        &mut self,
        sets: &[ReplicaSet],
        may_make: bool,
    ) -> Result<(Option<ReplicaSet>, Vec<ReplicaSet>), ApiError> {
        let (new, old) = sets::split(&self.deployment, sets);
        let revision = old.iter().map(sets::revision).max().unwrap_or_default() + 1;
        let new = match new {
            Some(new) => Some(self.keep(new, revision)?),
            None if may_make => Some(self.make(&old, revision)?),
            None => None,
        };
        Ok((new, old))
    }

    /// Updates the revision and annotations of the existing ReplicaSet, then the Deployment's revision.
    fn keep(&mut self, set: ReplicaSet, revision: i64) -> Result<ReplicaSet, ApiError> {
        let mut desired = set.clone();
        annotate(&self.deployment, &mut desired, revision, true);
        let min_ready = self.spec().min_ready_seconds;
        if let Some(spec) = &mut desired.spec {
            spec.min_ready_seconds = min_ready;
        }
        if desired != set {
            let key = Key::of(&set.metadata);
            let written = self.world.modify::<ReplicaSet>(&key, Write::Spec, |set| {
                set.metadata.annotations.clone_from(&desired.metadata.annotations);
                set.spec.clone_from(&desired.spec);
            });
            return Ok(written.and_then(|written| ReplicaSet::of(&written.object).cloned()).unwrap_or(desired));
        }
        let number = sets::revision(&set).to_string();
        let mut is_news = self.number(&number);
        if self.has_deadline() && self.progressing().is_none() {
            let name = set.metadata.name.clone().unwrap_or_default();
            self.set_progressing("True", "FoundNewReplicaSet", format!("Found new replica set {name:?}"));
            is_news = true;
        }
        if is_news {
            self.write_status()?;
        }
        Ok(set)
    }

    /// Creates the missing ReplicaSet with its first replicas.
    fn make(&mut self, old: &[ReplicaSet], revision: i64) -> Result<ReplicaSet, ApiError> {
        let mut template = self.spec().template.clone();
        let hash = hash::of_template(&template, self.status().collision_count);
        let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
        labels.insert(HASH.to_owned(), hash.clone());
        let labels = labels.clone();
        let mut selector = self.spec().selector.clone();
        selector.match_labels.get_or_insert_default().insert(HASH.to_owned(), hash.clone());
        let mut set = ReplicaSet {
            metadata: ObjectMeta {
                name: Some(name_with_hash(&self.key.name, &hash)),
                namespace: Some(self.key.namespace.clone()),
                labels: Some(labels),
                owner_references: Some(vec![meta::reference::<Deployment>(&self.deployment.metadata)]),
                ..ObjectMeta::default()
            },
            spec: Some(ReplicaSetSpec {
                replicas: Some(0),
                min_ready_seconds: self.spec().min_ready_seconds,
                selector,
                template: Some(template),
            }),
            status: None,
        };
        let replicas = self.replicas_of_new(old, &set);
        if let Some(spec) = &mut set.spec {
            spec.replicas = Some(replicas);
        }
        annotate(&self.deployment, &mut set, revision, false);
        let name = set.metadata.name.clone().unwrap_or_default();
        let made = match self.world.create(set.into_object()) {
            Ok(stored) => ReplicaSet::of(&stored.object).cloned().unwrap_or_default(),
            Err(error) if error.reason == "AlreadyExists" => return Err(self.collide(error)),
            Err(error) => {
                let message = format!("Failed to create new replica set {name:?}: {error}");
                if self.has_deadline() {
                    self.set_progressing("False", "ReplicaSetCreateError", message.clone());
                    self.write_status()?;
                }
                self.record_event("ReplicaSetCreateError", message);
                return Err(error);
            }
        };
        if replicas > 0 {
            self.record_event("ScalingReplicaSet", format!("Scaled up replica set {name} from 0 to {replicas}"));
        }
        let mut is_news = self.number(&revision.to_string());
        if self.has_deadline() {
            self.set_progressing("True", "NewReplicaSetCreated", format!("Created new replica set {name:?}"));
            is_news = true;
        }
        if is_news {
            self.write_status()?;
        }
        Ok(made)
    }

    /// Counts a collision, because another ReplicaSet has the name. The count changes the hash, and the next round tries again.
    fn collide(&mut self, error: ApiError) -> ApiError {
        let status = self.deployment.status.get_or_insert_default();
        status.collision_count = Some(status.collision_count.unwrap_or_default() + 1);
        self.write_status().err().unwrap_or(error)
    }

    /// Returns the replicas that the new ReplicaSet may have now (`NewRSNewReplicas`).
    pub(super) fn replicas_of_new(&self, old: &[ReplicaSet], new: &ReplicaSet) -> i32 {
        let (n, own) = (desired(&self.deployment), meta::replicas_of(new));
        if strategy(&self.deployment) == "Recreate" {
            return n;
        }
        let (asked, most) = (sets::asked(old) + own, n + max_surge(&self.deployment));
        if asked >= most { own } else { own + (most - asked).min(n - own) }
    }

    /// Writes the revision into the Deployment's annotation; returns whether it changed.
    fn number(&mut self, revision: &str) -> bool {
        let annotations = self.deployment.metadata.annotations.get_or_insert_default();
        let is_news = annotations.get(REVISION).is_none_or(|known| known != revision);
        annotations.insert(REVISION.to_owned(), revision.to_owned());
        is_news
    }
}

/// Returns `NAME-HASH`, cut so that it is a valid name (`generateReplicaSetName`).
fn name_with_hash(name: &str, hash: &str) -> String {
    const LONGEST: usize = 253;
    let room = LONGEST.saturating_sub(hash.len() + 1);
    format!("{}-{hash}", name.get(..room).unwrap_or(name))
}

/// Copies the Deployment's annotations, and sets revision and sizes (`SetNewReplicaSetAnnotations`).
fn annotate(deployment: &Deployment, set: &mut ReplicaSet, revision: i64, is_there: bool) {
    let annotations = set.metadata.annotations.get_or_insert_default();
    for (name, value) in deployment.metadata.annotations.iter().flatten() {
        if !sets::is_own(name) {
            annotations.insert(name.clone(), value.clone());
        }
    }
    let known = annotations.get(REVISION).cloned();
    let Ok(number) = known.as_deref().map_or(Ok(0), str::parse::<i64>) else { return };
    if number < revision {
        annotations.insert(REVISION.to_owned(), revision.to_string());
        if let Some(known) = known {
            remember_revision(annotations, &known);
        }
    }
    if !is_there {
        annotate_sizes(annotations, deployment);
    }
}

fn remember_revision(annotations: &mut Map, old: &str) {
    let history = annotations.get(REVISION_HISTORY).cloned().unwrap_or_default();
    let mut numbers: Vec<&str> = history.split(',').filter(|number| !number.is_empty()).collect();
    numbers.push(old);
    while numbers.len() > 1 && numbers.iter().map(|number| number.len() + 1).sum::<usize>() > HISTORY_LENGTH {
        numbers.remove(0);
    }
    annotations.insert(REVISION_HISTORY.to_owned(), numbers.join(","));
}

/// Writes the Deployment's sizes into a ReplicaSet's annotations; returns whether they changed.
pub(super) fn annotate_sizes(annotations: &mut Map, deployment: &Deployment) -> bool {
    let n = desired(deployment);
    let mut is_news = false;
    for (name, number) in [(DESIRED, n), (MAXIMUM, n + max_surge(deployment))] {
        is_news |=
            annotations.insert(name.to_owned(), number.to_string()).is_none_or(|known| known != number.to_string());
    }
    is_news
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_leave_room_for_the_hash() {
        assert_eq!(name_with_hash("web", "abc"), "web-abc");
        let name = "x".repeat(242);
        assert_eq!(name_with_hash(&name, "7cfb56cd65"), format!("{name}-7cfb56cd65"));
        assert_eq!(name_with_hash(&"x".repeat(243), "7cfb56cd65"), format!("{name}-7cfb56cd65"));
    }
}
