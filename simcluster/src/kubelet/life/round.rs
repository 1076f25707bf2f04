//! A round of a kubelet: volumes first, then what is next of the containers.

use super::{Around, Life, Now, Timer};
use crate::kubelet::config;

/// The first wait of a volume that could not be mounted, and its longest.
const MOUNT_MILLIS: i64 = 500;
const MAX_MOUNT_MILLIS: i64 = 122_000;

impl Life {
    /// Tries the volumes. When they are there, the sandbox is made.
    pub(super) fn mount(&mut self, around: &mut Around<'_>) {
        if self.stops.is_some() {
            return;
        }
        let missing = around
            .pod
            .spec
            .iter()
            .flat_map(config::of_volumes)
            .find(|(_, map)| !around.config_maps.contains(*map))
            .map(|(volume, map)| (volume.to_owned(), map.to_owned()));
        if let Some((volume, map)) = missing {
            around.say_mount(&volume, &map);
            let wait = (MOUNT_MILLIS << self.mount_tries.min(10)).min(MAX_MOUNT_MILLIS);
            self.mount_tries += 1;
            self.at(around.now + wait, Timer::Mount);
            return;
        }
        self.is_mounted = true;
        let at = around.between(400, 900);
        self.at(at, Timer::Sandbox);
    }

    /// Does what is next: kills what a probe gave up, starts what is to run.
    pub(super) fn work(&mut self, around: &mut Around<'_>) {
        if self.stops.is_some() || !self.has_sandbox {
            return;
        }
        for index in 0..self.containers.len() {
            self.kill_failed(index, around);
        }
        // Once containers ran, a sidecar that is down holds nothing up.
        let has_begun = self.containers.iter().any(|known| !known.is_init && known.run > 0);
        for index in 0..self.containers.len() {
            let Some(known) = self.containers.get(index) else { return };
            let is_due = match known.now {
                Now::Waiting => true,
                Now::Over => known.is_to_run_again(around.pod),
                Now::Starting | Now::Running(_) | Now::Ending(..) => false,
            };
            let holds_up = known.is_init && known.holds_up() && !(has_begun && known.is_sidecar);
            if is_due {
                let ended = known.exits.last().map(|exit| exit.finished);
                self.start(index, ended, around);
            }
            if holds_up {
                return;
            }
        }
    }
}
