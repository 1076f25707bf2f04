//! A round of a kubelet: volumes first, then what is next of the containers.

use super::SyncContext;
use crate::kubelet::pod::event;
use crate::runtime::{ContainerPhase, PodRecord, Timer, config_maps};

/// The first wait of a volume that could not be mounted, and its longest.
const MOUNT_MILLIS: i64 = 500;
const MAX_MOUNT_MILLIS: i64 = 122_000;

impl PodRecord {
    /// Tries the volumes. When they are there, the sandbox is made.
    pub(super) fn mount(&mut self, context: &mut SyncContext<'_>) {
        if self.stops.is_some() {
            return;
        }
        let mut volumes = context.pod.spec.iter().flat_map(config_maps::of_volumes);
        let missing = volumes.find(|(_, map)| !context.config_maps.contains(*map));
        if let Some((volume, map)) = missing {
            let message = format!("MountVolume.SetUp failed for volume \"{volume}\" : configmap \"{map}\" not found");
            context.events.push(event(context.pod, "FailedMount", message).warning());
            let wait = (MOUNT_MILLIS << self.mount_tries.min(10)).min(MAX_MOUNT_MILLIS);
            self.mount_tries += 1;
            self.add_timer(context.now + wait, Timer::Mount);
            return;
        }
        self.add_timer_between((400, 900), Timer::Sandbox, context);
    }

    /// Does what is next: kills what a probe gave up, starts what is to run.
    pub(super) fn start_containers(&mut self, context: &mut SyncContext<'_>) {
        if self.stops.is_some() || !self.has_sandbox {
            return;
        }
        for index in 0..self.containers.len() {
            self.kill_failed(index, context);
        }
        // Once containers ran, a sidecar that is down holds nothing up.
        let has_begun = self.containers.iter().any(|known| !known.is_init && known.run > 0);
        for index in 0..self.containers.len() {
            let Some(known) = self.containers.get(index) else { return };
            let is_due = match known.now {
                ContainerPhase::Waiting => true,
                ContainerPhase::Over => known.is_to_run_again(context.pod),
                ContainerPhase::Starting | ContainerPhase::Running(_) | ContainerPhase::Ending(..) => false,
            };
            let holds_up = known.is_init && known.holds_up() && !(has_begun && known.is_sidecar);
            if is_due {
                let ended = known.exits.last().map(|exit| exit.finished);
                self.start(index, ended, context);
            }
            if holds_up {
                return;
            }
        }
    }
}
