//! The Deployment controller (`pkg/controller/deployment` of Kubernetes): one round for one Deployment per [`sync`].

mod recreate;
mod revision;
mod rolling;
mod scale;
pub mod sets;
mod status;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet};

use crate::events::NewEvent;
use crate::object::{Key, Kind, Resource};
use crate::strategy::strategy;
use crate::world::Write;
use crate::{ApiError, World, meta};
use selector::Labels;

const COMPONENT: &str = "deployment-controller";

/// One round for one Deployment. As in Kubernetes the ReplicaSets are read once: the next round sees the writes of this one.
struct Round<'a> {
    world: &'a mut World,
    key: Key,
    deployment: Deployment,
    /// The status was written in this round. As in Kubernetes, a second write in the same round carries the previous
    /// resourceVersion and is rejected. Its content is lost; the next round writes the right status.
    is_written: bool,
}

/// Syncs a Deployment: does the next step.
///
/// # Errors
/// If a write is rejected; the agenda calls it again.
pub fn sync(world: &mut World, key: &Key) -> Result<(), ApiError> {
    let Some(deployment) = world.get::<Deployment>(key) else { return Ok(()) };
    let mut round = Round { world, key: key.clone(), deployment, is_written: false };
    let sets = round.claim();
    if meta::is_deleting(&round.deployment.metadata) {
        // A Deployment that is being deleted still reports its status.
        let (new, old) = round.new_and_old(&sets, false)?;
        return round.report(&old, new.as_ref());
    }
    round.note_pause()?;
    if round.spec().paused == Some(true) || round.is_scaling(&sets)? {
        return round.scale_and_report(&sets);
    }
    if strategy(&round.deployment) == "Recreate" { round.recreate(&sets) } else { round.roll(&sets) }
}

impl Round<'_> {
    fn spec(&self) -> &DeploymentSpec {
        static NONE: std::sync::LazyLock<DeploymentSpec> = std::sync::LazyLock::new(DeploymentSpec::default);
        self.deployment.spec.as_ref().unwrap_or(&NONE)
    }

    fn status(&self) -> DeploymentStatus {
        self.deployment.status.clone().unwrap_or_default()
    }

    fn selector(&self) -> Labels {
        Labels::of(&self.spec().selector)
    }

    /// Returns the Deployment's ReplicaSets, after adopting those without an owner and releasing those that no longer match.
    fn claim(&mut self) -> Vec<ReplicaSet> {
        let (selector, uid) = (self.selector(), self.deployment.metadata.uid.clone());
        let is_deleting = meta::is_deleting(&self.deployment.metadata);
        let all: Vec<ReplicaSet> = self.world.store.all::<ReplicaSet>(Some(&self.key.namespace)).cloned().collect();
        let mut mine = Vec::new();
        for set in all {
            let fits = selector.matches(meta::labels(&set.metadata));
            let key = Key::of(&set.metadata);
            if meta::is_controlled_by(&set.metadata, uid.as_deref()) {
                if fits || is_deleting {
                    mine.push(set);
                } else {
                    self.world.disown(Resource::ReplicaSet, &key, uid.as_deref().unwrap_or_default());
                }
            } else if meta::controller(&set.metadata).is_none()
                && fits
                && !is_deleting
                && !meta::is_deleting(&set.metadata)
            {
                let owner = meta::reference::<Deployment>(&self.deployment.metadata);
                let adopted = self.world.modify::<ReplicaSet>(&key, Write::Spec, |set| {
                    set.metadata.owner_references.get_or_insert_default().push(owner);
                });
                mine.extend(adopted.and_then(|adopted| ReplicaSet::of(&adopted.object).cloned()));
            }
        }
        mine
    }

    fn record_event(&mut self, reason: &'static str, message: String) {
        let event = NewEvent::about::<Deployment>(&self.deployment.metadata, COMPONENT, reason, message);
        self.world.record_event(event);
    }

    /// Writes the status and the controller's annotations if they differ.
    fn write_status(&mut self) -> Result<(), ApiError> {
        if self.is_written {
            return Err(ApiError::conflict(Resource::Deployment, &self.key.name, "the object has been modified"));
        }
        let (status, annotations) = (self.deployment.status.clone(), self.deployment.metadata.annotations.clone());
        let written = self.world.modify::<Deployment>(&self.key, Write::Status, |deployment| {
            deployment.status = status;
            deployment.metadata.annotations = annotations;
        });
        self.is_written = written
            .is_some_and(|written| written.object.meta().resource_version != self.deployment.metadata.resource_version);
        Ok(())
    }
}
