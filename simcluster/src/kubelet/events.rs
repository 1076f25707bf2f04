//! The Events that kubelets write.

use k8s_openapi::api::core::v1::Pod;

use super::pod::{is_running, long_name, waiting};
use crate::events::NewEvent;
use crate::runtime::{Step, is_detailed};
use crate::{World, meta};

pub(super) const COMPONENT: &str = "kubelet";

/// Records the Events that a kubelet writes about a step.
pub(super) fn record_step(world: &mut World, pod: &Pod, step: Step) {
    if !world.settings.has_container_events {
        return;
    }
    let (name, image) = match pod.spec.as_ref().and_then(|spec| spec.containers.first()) {
        Some(container) => (container.name.clone(), container.image.clone().unwrap_or_default()),
        None => return,
    };
    let about =
        |reason, message: String| NewEvent::about::<Pod>(&pod.metadata, COMPONENT, reason, message).of_container(&name);
    let started = || about("Started", "Container started".to_owned());
    let events = match step {
        Step::Create => vec![about("Pulling", format!("Pulling image \"{image}\""))],
        Step::Run if waiting(pod) == "ContainerCreating" => {
            let message = format!(
                "Successfully pulled image \"{image}\" in 812ms (812ms including waiting). Image size: 27194366 bytes."
            );
            vec![about("Pulled", message), about("Created", "Container created".to_owned()), started()]
        }
        Step::Run => {
            let message =
                format!("Container image \"{image}\" already present on machine and can be accessed by the pod");
            vec![about("Pulled", message), started()]
        }
        Step::FailPull => vec![
            about("Failed", format!("Failed to pull image \"{image}\": not found")).warning(),
            about("Failed", "Error: ErrImagePull".to_owned()).warning(),
        ],
        Step::BackOffPull => vec![
            about("BackOff", format!("Back-off pulling image \"{image}\"")),
            about("Failed", "Error: ImagePullBackOff".to_owned()).warning(),
        ],
        Step::RefuseConfig => {
            vec![about("Failed", "Error: configmap \"settings\" not found".to_owned()).warning()]
        }
        Step::End if meta::restarts(pod) > 0 => {
            let message = format!("Back-off restarting failed container {name} in pod {}", long_name(pod));
            vec![about("BackOff", message).warning()]
        }
        Step::Flap if meta::is_ready(pod) => {
            let message = "Readiness probe failed: HTTP probe failed with statuscode: 503".to_owned();
            vec![about("Unhealthy", message).warning()]
        }
        Step::End | Step::Flap | Step::Gate | Step::Remove => return,
    };
    events.into_iter().for_each(|event| world.record_event(event));
}

/// Records that the containers of a pod are stopped.
pub fn killing(world: &mut World, pod: &Pod) {
    // Of a pod that is told in detail the kubelet's next round says it.
    if world.settings.has_container_events && is_running(pod) && !is_detailed(pod) {
        for name in pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| &container.name) {
            let event =
                NewEvent::about::<Pod>(&pod.metadata, COMPONENT, "Killing", format!("Stopping container {name}"));
            world.record_event(event.of_container(name));
        }
    }
}
