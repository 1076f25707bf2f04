//! The Events of a kubelet about a pod, in its words.

use k8s_openapi::api::core::v1::Pod;

use super::SyncContext;
use crate::events::NewEvent;
use crate::kubelet::events::COMPONENT;
use crate::kubelet::pod::{duration, long_name};
use crate::runtime::{ContainerRecord, Kind};

impl SyncContext<'_> {
    fn about(&self, reason: &'static str, message: String) -> NewEvent {
        NewEvent::about::<Pod>(&self.pod.metadata, COMPONENT, reason, message)
    }

    pub(super) fn record(&mut self, known: &ContainerRecord, reason: &'static str, message: String) {
        let event = self.event(known, reason, message);
        self.events.push(event);
    }

    pub(super) fn warn(&mut self, known: &ContainerRecord, reason: &'static str, message: String) {
        let event = self.event(known, reason, message).warning();
        self.events.push(event);
    }

    fn event(&self, known: &ContainerRecord, reason: &'static str, message: String) -> NewEvent {
        let list = if known.is_init { "initContainers" } else { "containers" };
        let mut event = self.about(reason, message);
        event.field_path = Some(format!("spec.{list}{{{}}}", known.name));
        event
    }

    pub(super) fn record_mount(&mut self, volume: &str, map: &str) {
        let message = format!("MountVolume.SetUp failed for volume \"{volume}\" : configmap \"{map}\" not found");
        let event = self.about("FailedMount", message).warning();
        self.events.push(event);
    }

    pub(super) fn record_pulled(&mut self, known: &ContainerRecord, millis: i64) {
        let took = if millis < 1000 { format!("{millis}ms") } else { duration(millis) };
        let message = format!(
            "Successfully pulled image \"{}\" in {took} ({took} including waiting). Image size: 27194366 bytes.",
            known.image
        );
        self.record(known, "Pulled", message);
    }

    pub(super) fn record_present(&mut self, known: &ContainerRecord) {
        let image = &known.image;
        let message = format!("Container image \"{image}\" already present on machine and can be accessed by the pod");
        self.record(known, "Pulled", message);
    }

    pub(super) fn record_refused(&mut self, known: &ContainerRecord, why: &str) {
        self.warn(known, "Failed", format!("Failed to pull image \"{}\": {why}", known.image));
        self.warn(known, "Failed", "Error: ErrImagePull".to_owned());
    }

    /// Returns what the status says of it.
    pub(super) fn record_pull_back_off(&mut self, known: &ContainerRecord, why: &str) -> String {
        let message = format!("Back-off pulling image \"{}\"", known.image);
        self.record(known, "BackOff", message.clone());
        self.warn(known, "Failed", "Error: ImagePullBackOff".to_owned());
        format!("{message}: ErrImagePull: {why}")
    }

    /// Returns what the status says of it.
    pub(super) fn record_back_off(&mut self, known: &ContainerRecord, millis: i64) -> String {
        let (name, pod) = (&known.name, long_name(self.pod));
        self.warn(known, "BackOff", format!("Back-off restarting failed container {name} in pod {pod}"));
        format!("back-off {} restarting failed container={name} pod={pod}", duration(millis))
    }

    pub(super) fn record_killing_failed(&mut self, known: &ContainerRecord, kind: Kind) {
        let message = format!("Container {} failed {} probe, will be restarted", known.name, kind.small());
        self.record(known, "Killing", message);
    }
}
