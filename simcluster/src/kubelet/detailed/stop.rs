//! End of containers: by themselves, after a failed probe, or with their pod.

use k8s_openapi::api::core::v1::Pod;

use super::{SyncContext, status};
use crate::meta;
use crate::runtime::{ContainerPhase, ContainerRecord, Exit, PodRecord, Timer};

impl ContainerRecord {
    /// Returns whether a container that ended is started again.
    pub(super) fn is_to_run_again(&self, pod: &Pod) -> bool {
        let failed = self.exits.last().is_none_or(|exit| exit.code != 0);
        match pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) {
            _ if self.is_sidecar => true,
            Some("Never") => false,
            Some("OnFailure") => failed,
            _ => failed || !self.is_init,
        }
    }

    fn end(&mut self, code: i32, reason: Option<&'static str>, now: i64) {
        let (ContainerPhase::Running(started) | ContainerPhase::Ending(started, _)) = self.now else { return };
        let reason = reason.unwrap_or(if code == 0 { "Completed" } else { "Error" });
        self.exits.push(Exit { code, reason, restarts: self.restarts, started, finished: now });
        if self.exits.len() > 2 {
            self.exits.remove(0);
        }
        self.now = ContainerPhase::Over;
        self.run += 1;
        self.is_started = false;
        // An init container that ended with code 0 counts as ready from then on.
        self.is_ready = self.is_init && !self.is_sidecar && code == 0;
    }
}

impl PodRecord {
    /// Records that a program ended by itself.
    pub(super) fn exited(&mut self, index: usize, run: u32, context: &mut SyncContext<'_>) {
        let Some(known) = self.run(index, run).filter(|known| matches!(known.now, ContainerPhase::Running(_))) else {
            return;
        };
        let code = known.program.exit.map_or(1, |(code, _)| code);
        let reason = known.program.is_out_of_memory.then_some("OOMKilled");
        known.end(code, reason, context.now);
        self.after_end(context);
    }

    fn after_end(&mut self, context: &mut SyncContext<'_>) {
        if self.stops.is_some() {
            self.stop_next(context);
        } else {
            self.add_timer_between((200, 900), Timer::Round, context);
        }
    }

    /// Asks a container to end whose probe failed.
    pub(super) fn kill_failed(&mut self, index: usize, context: &mut SyncContext<'_>) {
        let Some(known) = self.containers.get_mut(index) else { return };
        let (Some(kind), ContainerPhase::Running(began)) = (known.must_end, known.now) else { return };
        let message = format!("Container {} failed {} probe, will be restarted", known.name, kind.small());
        context.record(known, "Killing", message);
        let own = known.probes.iter().find(|probe| probe.kind == kind).and_then(|probe| probe.grace_seconds);
        let spec = context.pod.spec.as_ref();
        let seconds = own.or_else(|| spec.and_then(|spec| spec.termination_grace_period_seconds)).unwrap_or(30);
        let (takes, code) = known.program.ends(seconds * 1000);
        known.now = ContainerPhase::Ending(began, code);
        let run = known.run;
        self.add_timer(context.now + takes, Timer::Killed(index, run));
    }

    /// Records the end of a container that was asked to stop.
    pub(super) fn killed(&mut self, index: usize, run: u32, context: &mut SyncContext<'_>) {
        let now = context.now;
        let is_stopping = self.stops.is_some();
        let Some(known) = self.run(index, run) else { return };
        let ContainerPhase::Ending(_, code) = known.now else { return };
        let before = known.exits.last().map(|exit| exit.finished);
        known.end(code, None, now);
        if !is_stopping {
            // In the same round, in which the kubelet still remembers the previous end.
            self.start_container(index, before, context);
            self.add_timer_between((200, 500), Timer::Round, context);
        } else {
            self.after_end(context);
        }
    }

    /// Reacts to a change by others: a readiness gate, the deletion of the pod, a shorter grace period.
    pub(super) fn react_to_change(&mut self, pod: &Pod, now: i64) {
        // A readiness gate opened or closed: only the kubelet sets the Ready condition.
        if meta::is_true(pod, "ContainersReady") && status::is_ready(self, pod) != meta::is_ready(pod) {
            self.add_timer(now, Timer::Round);
        }
        if !meta::is_deleting(&pod.metadata) {
            return;
        }
        if self.is_let_go && !meta::has_finalizers(&pod.metadata) {
            self.add_timer(now, Timer::Gone);
        }
        let stops = now + pod.metadata.deletion_grace_period_seconds.unwrap_or_default() * 1000;
        if self.stops.is_some_and(|known| known <= stops) {
            return;
        }
        self.stops = Some(stops);
        self.add_timer(now, Timer::Round);
        let mut asked = Vec::new();
        for (index, known) in self.containers.iter_mut().enumerate() {
            if let ContainerPhase::Ending(began, _) = known.now {
                known.now = ContainerPhase::Ending(began, 137);
                asked.push((stops, Timer::Killed(index, known.run)));
            }
        }
        self.timers.extend(asked);
    }

    /// Asks the remaining containers to end: the ordinary ones first, then the sidecars in reverse order. When nothing runs, the
    /// pod may be removed.
    pub(super) fn stop_next(&mut self, context: &mut SyncContext<'_>) {
        let Some(stops) = self.stops else { return };
        for known in &mut self.containers {
            if known.now == ContainerPhase::Starting {
                known.run += 1;
                known.now = known.phase_after_failure();
            }
        }
        let has_containers = self.containers.iter().any(|known| !known.is_init && known.is_alive());
        let last = self.containers.iter().rposition(|known| known.is_init && known.is_alive());
        let mut asked = Vec::new();
        for (index, known) in self.containers.iter_mut().enumerate() {
            let is_due = if has_containers { !known.is_init } else { Some(index) == last };
            if let (true, ContainerPhase::Running(began)) = (is_due, known.now) {
                context.record(known, "Killing", format!("Stopping container {}", known.name));
                let (takes, code) = known.program.ends((stops - context.now).max(0));
                known.now = ContainerPhase::Ending(began, code);
                asked.push((context.now + takes, Timer::Killed(index, known.run)));
            }
        }
        self.timers.extend(asked);
        if !has_containers && last.is_none() && !self.is_over {
            self.is_over = true;
            self.add_timer_between((100, 400), Timer::Round, context);
            self.add_timer_between((500, 1_200), Timer::Gone, context);
        }
    }
}
