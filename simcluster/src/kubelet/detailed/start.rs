//! Start of a pod: volumes first, then one container after the other: back-off, image, configuration, start, then probes.

use super::SyncContext;
use crate::kubelet::pod::{crash_loop, event, present, pulled, restarting};
use crate::runtime::{BackOff, ContainerPhase, ContainerRecord, PodRecord, Probe, ProbeKind, Timer, config_maps};

/// First and longest wait before a volume is mounted again.
const MOUNT_MILLIS: i64 = 500;
const MAX_MOUNT_MILLIS: i64 = 122_000;
/// Bounds of the delay before a failed round is repeated.
const AGAIN_MILLIS: (i64, i64) = (10_000, 15_000);

impl PodRecord {
    /// Mounts the volumes. When all are mounted, the sandbox is created.
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

    /// Kills containers whose probe failed, and starts those that are to run.
    pub(super) fn start_containers(&mut self, context: &mut SyncContext<'_>) {
        if self.stops.is_some() || !self.has_sandbox {
            return;
        }
        for index in 0..self.containers.len() {
            self.kill_failed(index, context);
        }
        // After the containers have started once, a sidecar that is down does not delay others.
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
                self.start_container(index, ended, context);
            }
            if holds_up {
                return;
            }
        }
    }

    /// Starts a container that ended at `ended`, unless it has to wait.
    pub(super) fn start_container(&mut self, index: usize, ended: Option<i64>, context: &mut SyncContext<'_>) {
        let now = context.now;
        let Some(known) = self.containers.get_mut(index) else { return };
        if let Some(ended) = ended {
            let until = known.back_off.and_then(|back_off| Some((back_off.until(ended, now)?, back_off.millis)));
            if let Some((until, millis)) = until {
                context.warn(known, "BackOff", restarting(context.pod, &known.name));
                known.reason = Some(("CrashLoopBackOff", crash_loop(context.pod, &known.name, millis)));
                self.add_timer(until, Timer::Round);
                return;
            }
            known.back_off = Some(BackOff::next(known.back_off, ended, now));
        }
        if known.has_image && !known.is_always_pulled {
            context.record(known, "Pulled", present(&known.image));
            self.create(index, context);
            return;
        }
        let is_waiting = known.pull_back_off.is_some_and(|back_off| back_off.is_waiting(now));
        if let Some(why) = known.program.refusal.as_ref().filter(|_| is_waiting) {
            let message = format!("Back-off pulling image \"{}\"", known.image);
            known.reason = Some(("ImagePullBackOff", format!("{message}: ErrImagePull: {why}")));
            context.record(known, "BackOff", message);
            context.warn(known, "Failed", "Error: ImagePullBackOff".to_owned());
            self.add_retry(context);
            return;
        }
        context.record(known, "Pulling", format!("Pulling image \"{}\"", known.image));
        known.run += 1;
        known.now = ContainerPhase::Starting;
        let (takes, run) = (known.program.pull_millis, known.run);
        self.add_timer(now + takes, Timer::Pulled(index, run));
    }

    /// Handles the result of a pull: the image is present or was refused.
    pub(super) fn pulled(&mut self, index: usize, run: u32, context: &mut SyncContext<'_>) {
        let now = context.now;
        let Some(known) = self.run(index, run) else { return };
        if let Some(why) = known.program.refusal.clone() {
            context.warn(known, "Failed", format!("Failed to pull image \"{}\": {why}", known.image));
            context.warn(known, "Failed", "Error: ErrImagePull".to_owned());
            known.reason = Some(("ErrImagePull", why));
            known.now = known.phase_after_failure();
            let is_first = known.pull_back_off.is_none();
            known.pull_back_off = Some(BackOff::next(known.pull_back_off, now, now));
            // After the first failure the new sandbox triggers a round soon.
            if is_first {
                self.add_timer_between((600, 1_200), Timer::Round, context);
            } else {
                self.add_retry(context);
            }
            return;
        }
        known.has_image = true;
        context.record(known, "Pulled", pulled(&known.image, known.program.pull_millis));
        self.create(index, context);
    }

    /// Adds a retry of a failed round, unless another round comes before: a pod has one retry, even if several of its containers failed.
    fn add_retry(&mut self, context: &mut SyncContext<'_>) {
        let latest = context.now + AGAIN_MILLIS.1;
        let has_round = self.timers.iter().any(|(at, timer)| *timer == Timer::Round && *at <= latest);
        if !has_round {
            self.add_timer_between(AGAIN_MILLIS, Timer::Round, context);
        }
    }

    fn create(&mut self, index: usize, context: &mut SyncContext<'_>) {
        let Some(known) = self.containers.get_mut(index) else { return };
        let absent = known.needs.iter().find(|map| !context.config_maps.contains(*map)).cloned();
        if let Some(map) = absent.or_else(|| known.program.lacks_config.then(|| "settings".to_owned())) {
            let why = format!("configmap \"{map}\" not found");
            context.warn(known, "Failed", format!("Error: {why}"));
            known.reason = Some(("CreateContainerConfigError", why));
            known.now = known.phase_after_failure();
            let is_first = known.run <= 1;
            known.run += 1;
            if is_first {
                self.add_timer_between((300, 900), Timer::Round, context);
            } else {
                self.add_retry(context);
            }
            return;
        }
        context.record(known, "Created", "Container created".to_owned());
        known.run += 1;
        known.now = ContainerPhase::Starting;
        let run = known.run;
        self.add_timer_between((80, 300), Timer::Started(index, run), context);
    }

    pub(super) fn started(&mut self, index: usize, run: u32, context: &mut SyncContext<'_>) {
        let now = context.now;
        let Some(known) = self.run(index, run) else { return };
        context.record(known, "Started", "Container started".to_owned());
        known.now = ContainerPhase::Running(now);
        known.restarts += i32::from(known.has_run);
        known.has_run = true;
        (known.reason, known.must_end) = (None, None);
        known.probes.iter_mut().for_each(Probe::forget);
        known.is_started = !known.has(ProbeKind::Startup);
        known.is_ready = known.is_started && !known.has(ProbeKind::Readiness) && (!known.is_init || known.is_sidecar);
        let exit = known.program.exit;
        if let Some((_, after)) = exit {
            self.add_timer(now + after, Timer::Exit(index, run));
        }
        self.begin_probes(index, now);
        self.add_timer_between((20, 80), Timer::Round, context);
    }

    /// Starts the probes that are due from now on.
    fn begin_probes(&mut self, index: usize, now: i64) {
        let Some(known) = self.containers.get(index) else { return };
        let ContainerPhase::Running(began) = known.now else { return };
        let (is_started, run) = (known.is_started, known.run);
        let due = known.probes.iter().filter(|probe| (probe.kind == ProbeKind::Startup) != is_started);
        let due: Vec<_> = due.map(|probe| (probe.first(began, now), Timer::Probe(index, run, probe.kind))).collect();
        self.timers.extend(due);
    }

    pub(super) fn ask(&mut self, index: usize, run: u32, kind: ProbeKind, context: &mut SyncContext<'_>) {
        let now = context.now;
        let Some(known) = self.run(index, run) else { return };
        let ContainerPhase::Running(began) = known.now else { return };
        let is_success = known.program.answers(kind, now - began);
        let Some(probe) = known.probes.iter_mut().find(|probe| probe.kind == kind) else { return };
        let is_other = probe.record_answer(is_success);
        let (result, period, refusal) = (probe.result, probe.period_millis, probe.refusal.clone());
        if !is_success {
            context.warn(known, "Unhealthy", format!("{} probe failed: {refusal}", kind.capital()));
        }
        match (kind, result) {
            (ProbeKind::Startup, Some(true)) => {
                known.is_started = true;
                known.is_ready = !known.has(ProbeKind::Readiness);
                self.begin_probes(index, now);
                self.add_timer(now, Timer::Round);
                return;
            }
            (ProbeKind::Startup | ProbeKind::Liveness, Some(false)) => {
                known.must_end = Some(kind);
                self.add_timer(now, Timer::Round);
                return;
            }
            (ProbeKind::Readiness, Some(is_ready)) => known.is_ready = is_ready,
            (_, None) | (ProbeKind::Liveness, Some(true)) => {}
        }
        let next = now + period;
        // A probe that succeeds again changes nothing: the next relevant probe is the first that may fail.
        let next = match (result, known.program.fails_after(kind, now - began)) {
            (Some(true), None) if is_success => None,
            (Some(true), Some(after)) if is_success => {
                let missing = (began + after - next).max(0);
                Some(next + (missing + period - 1) / period * period)
            }
            _ => Some(next),
        };
        if let Some(next) = next {
            self.add_timer(next, Timer::Probe(index, run, kind));
        }
        if is_other && kind == ProbeKind::Readiness {
            self.add_timer(now, Timer::Round);
        }
    }
}

impl ContainerRecord {
    fn has(&self, kind: ProbeKind) -> bool {
        self.probes.iter().any(|probe| probe.kind == kind)
    }

    /// Returns the phase of a container that could not be started.
    pub(super) const fn phase_after_failure(&self) -> ContainerPhase {
        if self.exits.is_empty() { ContainerPhase::Waiting } else { ContainerPhase::Over }
    }
}
