//! The Events of a kubelet about a pod, in its words.

use super::SyncContext;
use crate::events::NewEvent;
use crate::kubelet::pod::{self, crash_loop, present, pulled, restarting};
use crate::runtime::{ContainerRecord, Kind};

impl SyncContext<'_> {
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
        pod::event(self.pod, reason, message).of_container(list, &known.name)
    }

    pub(super) fn record_mount(&mut self, volume: &str, map: &str) {
        let message = format!("MountVolume.SetUp failed for volume \"{volume}\" : configmap \"{map}\" not found");
        self.events.push(pod::event(self.pod, "FailedMount", message).warning());
    }

    pub(super) fn record_pulled(&mut self, known: &ContainerRecord, millis: i64) {
        self.record(known, "Pulled", pulled(&known.image, millis));
    }

    pub(super) fn record_present(&mut self, known: &ContainerRecord) {
        self.record(known, "Pulled", present(&known.image));
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
        self.warn(known, "BackOff", restarting(self.pod, &known.name));
        crash_loop(self.pod, &known.name, millis)
    }

    pub(super) fn record_killing_failed(&mut self, known: &ContainerRecord, kind: Kind) {
        let message = format!("Container {} failed {} probe, will be restarted", known.name, kind.small());
        self.record(known, "Killing", message);
    }
}
