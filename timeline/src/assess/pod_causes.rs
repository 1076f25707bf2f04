//! Causes that pods show: how they fail, and what they wait for. One cause for all pods that show the same, with the first of them as
//! the example.

use super::alike::{PodCause, is_alike};
use super::assessment::{Assessment, Now};
use super::cause::{Cause, CauseKind, CrashCause, Evidence, Severity, StartStep, StartTime};
use super::crash;
use super::rollout_causes::{of_pod, troubled_since};
use super::severity::NEW_NODE_MILLIS;
use crate::Millis;
use crate::model::container::LONGEST_BACK_OFF_MILLIS;
use crate::model::fact::{ConditionStatus, Container, ContainerState, Exit, PodCondition, Role};
use crate::model::story::{ContainerEnd, Entry, Happening};
use crate::model::{Event, Pod, PodState};
use crate::rules::messages::{self, GATED, NewNode, StartHold};
use crate::rules::phase::{allowed_as_before_millis, init_at_work, is_done};
use crate::rules::pulls::{self, is_image_reason};

/// The ordinary steps of a start are worth a sentence after this time.
pub(super) const WORTH_MILLIS: Millis = 10_000;
/// A pod may take this long to start whatever its probes say.
const START_MILLIS: Millis = 60_000;

impl<'m> Assessment<'m> {
    /// Returns one cause per kind, with the number of pods that show it, the most decisive first.
    pub(super) fn of_pods(&self, pods: &[&'m Pod]) -> Vec<Cause> {
        // Each with the number of its pods, of the old ones among them, and whether their messages differ.
        let mut groups: Vec<(PodCause, u32, u32, bool)> = Vec::new();
        let comes = self.coming_node(pods);
        let current = self.current.map(|set| set.uid);
        let shown_by =
            |pod: &'m Pod| self.find_pod_causes(pod, comes.as_ref()).into_iter().map(move |cause| (pod, cause));
        for (pod, cause) in pods.iter().copied().flat_map(shown_by) {
            let one_old = u32::from(pod.owner != current);
            let Some((shown, pods, old, is_mixed)) = groups.iter_mut().find(|(shown, ..)| cause.is_of_group(shown))
            else {
                groups.push((cause, 1, one_old, false));
                continue;
            };
            *pods += 1;
            *old += one_old;
            *is_mixed |= shown.has_other_message(&cause);
            let is_better = !shown.says_why_no_pull() && cause.says_why_no_pull();
            match (&mut shown.kind, &cause.kind) {
                // The sentence has the start of the first.
                (CauseKind::NotReady { saw, .. }, CauseKind::NotReady { saw: other, .. }) => {
                    *saw = saw.take().or_else(|| other.clone());
                }
                (
                    CauseKind::Flapping { is_recent, is_over, .. },
                    CauseKind::Flapping { is_recent: recent, is_over: over, .. },
                ) => {
                    *is_recent |= recent;
                    *is_over &= over;
                }
                // A code that only some of them ended with is not said of all, nor are containers that end in some of them.
                (CauseKind::Crash(known), CauseKind::Crash(other)) => {
                    if other.exit_code.is_some() && known.exit_code != other.exit_code {
                        (known.exit_code, known.start_error) = (None, None);
                    }
                    known.other_containers.retain(|container| other.other_containers.contains(container));
                    known.unready_containers.retain(|container| other.unready_containers.contains(container));
                }
                _ if is_better => *shown = cause,
                _ => {}
            }
        }
        let rated = |(PodCause { kind, evidence, .. }, pods, old, is_mixed): (PodCause, u32, u32, bool)| {
            let cause = Cause { old, is_mixed, ..self.rate_cause(kind, pods, evidence) };
            let severity = if cause.is_of_old_pods() { Severity::Normal } else { cause.severity };
            Cause { severity, ..cause }
        };
        let mut causes: Vec<Cause> = groups.into_iter().map(rated).collect();
        causes.extend(self.failed_pods(pods));
        causes.extend(self.min_ready(pods));
        causes.sort_by_key(|cause| (std::cmp::Reverse(cause.severity), rank(&cause.kind)));
        causes
    }

    /// Finds the cause that a pod shows, and one for each further image that it lacks. Beside a crash also one for each container that
    /// was never created: the one that crashes may need it. Beside a container that waits with an error also the crash loop of another
    /// one, whether that backs off at the moment or not.
    fn find_pod_causes(&self, pod: &'m Pod, comes: Option<&NewNode>) -> Vec<PodCause> {
        let Some((kind, evidence)) = self.of_one_pod(pod, comes) else { return Vec::new() };
        let is_silent = matches!(kind, CauseKind::NodeSilent { .. });
        let is_image = matches!(kind, CauseKind::Image { .. });
        let is_crash = matches!(kind, CauseKind::Crash(_));
        let is_error = is_image || matches!(kind, CauseKind::BadContainer { .. } | CauseKind::NotStarted { .. });
        let mut causes = vec![PodCause::new(kind, evidence)];
        if is_silent {
            return causes;
        }
        let waits = |container: &&Container| container.waiting().is_some_and(|(reason, _)| is_image_reason(reason));
        let is_never_created = |container: &&Container| {
            let reason = container.waiting().map_or("", |(reason, _)| reason);
            is_crash
                && container.last_exit.is_none()
                && matches!(reason, "CreateContainerConfigError" | "CreateContainerError")
        };
        let containers = || pod.now.containers.iter();
        // Of those, the first one is the cause that was found.
        let images = containers().filter(waits).skip(usize::from(is_image));
        for container in images.chain(containers().filter(is_never_created)) {
            let (reason, message) = container.waiting().unwrap_or_default();
            let (reason, message) = (reason.to_owned(), message.to_owned());
            let evidence = Evidence { reason, message, ..of_pod(pod, troubled_since(pod)) };
            let kind = self.container_error(pod, container, &evidence);
            if !causes.iter().any(|known| is_alike(&known.kind, &kind)) {
                causes.push(PodCause::new(kind, evidence));
            }
        }
        let is_other_loop = |(kind, _): &(CauseKind, Evidence)| {
            let CauseKind::Crash(crash) = kind else { return false };
            let container = containers().find(|container| container.name == crash.container);
            let waits_for = container.and_then(Container::waiting).map_or("", |(reason, _)| reason);
            crash.is_loop && (waits_for == "CrashLoopBackOff" || !fails(waits_for))
        };
        let crash = if is_error { self.crash_of(pod) } else { None };
        causes.extend(crash.filter(is_other_loop).map(|(kind, evidence)| PodCause::new(kind, evidence)));
        causes
    }

    /// Finds the cause that a pod shows; `None` while it is as it should be.
    pub(super) fn of_one_pod(&self, pod: &Pod, comes: Option<&NewNode>) -> Option<(CauseKind, Evidence)> {
        if pod.is_leftover() || pod.state().is_ending() {
            return None;
        }
        // Whatever a pod was last seen to do, nobody knows what it does now. One that failed before it was ever ready needs more than
        // its node.
        let has_failed = pod.state() == PodState::Failing && !pod.was_ready();
        let node = pod.now.node.as_deref().filter(|_| is_unready(pod) && !has_failed);
        let since = node.and_then(|node| Some((node, *self.silent_nodes.get(node)?)));
        let is_of_it = |last: Millis| messages::earliest_silence_millis(pod, pod.since_millis()) <= last;
        if let Some((node, (first, _))) = since.filter(|(_, (_, last))| is_of_it(*last)) {
            return Some((CauseKind::NodeSilent { node: node.to_owned() }, of_pod(pod, first)));
        }
        let waiting = pod.now.containers.iter().find_map(|container| match &container.state {
            Some(ContainerState::Waiting { reason, message }) if fails(reason) => Some((container, reason, message)),
            _ => None,
        });
        if let Some((container, reason, message)) = waiting.filter(|(_, reason, _)| *reason != "CrashLoopBackOff") {
            let is_image =
                is_image_reason(reason) && !pod.now.pull_error.is_empty() && !is_pull_of_another(pod, container);
            let message = if is_image { pod.now.pull_error.to_string() } else { message.clone() };
            let evidence = Evidence { reason: reason.clone(), message, ..of_pod(pod, troubled_since(pod)) };
            // What ends its container each time, a start that fails among it, is a crash loop with a reason.
            let is_made_again =
                matches!(reason.as_str(), "CreateContainerError" | "RunContainerError" | "PostStartHookError");
            let is_loop = || crash::crash(pod, self.now).is_some_and(|crash| crash.is_loop);
            if !(is_made_again && container.last_exit.is_some() && is_loop()) {
                return Some((self.container_error(pod, container, &evidence), evidence));
            }
        }
        if let Some(crash) = self.crash_of(pod) {
            // A crash loop remains the cause until the hold is a fault as well.
            let severity = |(kind, evidence): &(CauseKind, Evidence)| self.severity(kind, evidence);
            let hold = self.restart_hold(pod).filter(|hold| waiting.is_none() && severity(hold) >= severity(&crash));
            return Some(hold.unwrap_or(crash));
        }
        if let Some(flapping) = self.flapping(pod) {
            return Some(flapping);
        }
        match pod.state() {
            PodState::Scheduling => self.scheduling(pod, comes).map(|kind| {
                let is_unsaid = matches!(kind, CauseKind::NoScheduler { nominated: None });
                let claim = || messages::last_event(self.deployment, &pod.name, messages::CLAIM);
                (kind, by_event(is_unsaid.then(claim).flatten(), pod, pod.moved_millis()))
            }),
            PodState::Starting => self.starting(pod),
            PodState::Unready => self.unready(pod),
            PodState::Failing if pod.now.terminal_millis.is_none() => {
                let container = String::new();
                Some((CauseKind::NotStarted { container }, of_pod(pod, troubled_since(pod))))
            }
            _ => None,
        }
    }

    /// Finds the cause of a container that waits with an error.
    fn container_error(&self, pod: &Pod, container: &Container, evidence: &Evidence) -> CauseKind {
        let name = container.name.clone();
        match evidence.reason.as_str() {
            reason if is_image_reason(reason) => {
                let image = self.image_of(pod, container, &evidence.message);
                CauseKind::Image { image, container: (container.role != Role::App).then_some((container.role, name)) }
            }
            "CreateContainerConfigError"
            | "PreCreateHookError"
            | "CreateContainerError"
            | "PreStartHookError"
            | "RunContainerError"
            | "PostStartHookError" => CauseKind::BadContainer { container: name },
            _ => CauseKind::NotStarted { container: name },
        }
    }

    /// Returns the image that a container waits for: its own, as the kubelet requests it, or by the template of its
    /// ReplicaSet; or that of a volume, which only the message names.
    fn image_of(&self, pod: &Pod, container: &Container, message: &str) -> Option<String> {
        let told = Some(&container.waits_for_image).filter(|image| !image.is_empty());
        let own = told.cloned().or_else(|| {
            let set = pod.owner.and_then(|set| self.model.replica_sets.get(&set))?;
            set.images.iter().find(|image| image.container == container.name).map(|image| image.image.clone())
        });
        let now = container.waiting().map_or("", |(_, message)| message);
        let named = pulls::named_image(now).or_else(|| pulls::named_image(message));
        let is_own = |named: &&str| own.as_deref().is_some_and(|own| pulls::is_same_image(named, own));
        match named.filter(|named| !is_own(named)) {
            Some(of_volume) => Some(of_volume.to_owned()),
            None => own,
        }
    }

    /// Returns the end of a container that a pod shows; `None` if the spec of the pod was changed or it had a new sandbox, and the pod is
    /// ready again.
    fn crash_of(&self, pod: &Pod) -> Option<(CauseKind, Evidence)> {
        let (kind, evidence) = self.crash(pod, crash::crash(pod, self.now)?);
        let is_no_fault = matches!(&kind, CauseKind::Crash(crash) if crash.is_no_fault());
        (!(is_no_fault && pod.state().is_ready())).then_some((kind, evidence))
    }

    /// Returns whether a container of the pod ends again and again, and not for changes of its spec or new sandboxes.
    pub(super) fn is_in_crash_loop(&self, pod: &Pod) -> bool {
        self.was_in_crash_loop(pod, self.now)
    }

    /// Like [`Self::is_in_crash_loop`], at a time since which nothing was seen of the pod.
    pub(super) fn was_in_crash_loop(&self, pod: &Pod, then: Now) -> bool {
        let cause = crash::crash(pod, then).map(|crash| self.crash(pod, crash).0);
        matches!(cause, Some(CauseKind::Crash(crash)) if crash.is_loop)
    }

    /// Finds the error that keeps containers from starting again, by an Event since they ended.
    fn restart_hold(&self, pod: &Pod) -> Option<(CauseKind, Evidence)> {
        let is_running = |container: &Container| container.state == Some(ContainerState::Running);
        let ended = self.last_exit_millis(pod).filter(|_| !pod.now.containers.iter().any(is_running))?;
        let event = messages::holds_start(self.deployment, pod).filter(|event| event.at_millis >= ended)?;
        let hold = messages::start_hold(&event.reason).filter(|hold| hold.is_error())?;
        let since = pod.since_millis().max(ended);
        let time = self.start_time(self.now.millis - since, START_MILLIS, pod);
        Some((CauseKind::Starting { hold, after: None, time }, by_event(Some(event), pod, since)))
    }

    /// Returns when a container of the pod ended last, by our clock.
    pub(super) fn last_exit_millis(&self, pod: &Pod) -> Option<Millis> {
        let ends = pod.now.containers.iter().filter_map(|container| container.last_exit.as_ref()?.finished_millis);
        ends.max().map(|at| at.saturating_add(self.now.skew_millis))
    }

    fn crash(&self, pod: &Pod, crash: crash::Crash<'_>) -> (CauseKind, Evidence) {
        let container = crash.container;
        let exit = container.last_exit.as_ref();
        let begun = pod.trouble_since_millis(container, &self.deployment.story);
        let ended = self.last_exit_millis(pod).unwrap_or_default().max(pod.since_millis());
        // Init containers that run again may take their time.
        let is_initializing = pod.state() == PodState::Starting && init_at_work(&pod.now.containers).is_some();
        let is_awaited = !crash.is_loop && crash.runs_since_millis.is_none() && !is_initializing;
        let waiting = container.waiting().map(|(reason, _)| reason);
        let reason = waiting.or(exit.map(|exit| exit.reason.as_str())).unwrap_or_default();
        let is_out_of_memory = exit.is_some_and(|exit| exit.reason == "OOMKilled") || reason == "OOMKilled";
        let exit_code = exit.filter(|exit| !exit.is_unseen()).map(|exit| exit.code);
        let killed = |container: &Container| messages::last_kill(self.deployment, pod, container, self.now.skew_millis);
        let kill = if is_out_of_memory { None } else { killed(container) };
        let is_no_fault = |other: &Container| killed(other).is_some_and(|kill| kill.end.is_no_fault());
        let others = crash::other_crashing_containers(pod, &crash, self.now).filter(|other| !is_no_fault(other));
        let unready = self.unready_containers(pod).filter(|other| other.exits() == 0);
        let own: &str = match &container.state {
            Some(ContainerState::Waiting { message, .. } | ContainerState::Terminated { message, .. }) => message,
            _ => "",
        };
        let saw = kill.as_ref().map(|kill| kill.message.as_str()).filter(|message| !message.is_empty());
        let message = saw.unwrap_or(own).to_owned();
        let ends_well = crash.is_loop && exit_code == Some(0) && kill.is_none();
        let restarts_after_errors = if ends_well { self.restarts_after_errors(pod, container) } else { 0 };
        let kind = CauseKind::Crash(Box::new(CrashCause {
            container: container.name.clone(),
            role: container.role,
            exit_code,
            is_out_of_memory,
            start_error: exit.filter(|exit| Exit::is_start_error(&exit.reason)).map(|exit| exit.message.clone()),
            is_loop: crash.is_loop && !kill.as_ref().is_some_and(|kill| kill.end.is_no_fault()),
            kill,
            restarts: container.restarts,
            restarts_after_errors,
            exits: container.exits(),
            is_since: pod.now.first_restarts == 0
                && !failed_before(pod, begun)
                && !pod.told_restarts(container, &self.deployment.story).any(|(at, _)| at < begun),
            is_final: crash.is_final,
            needs_restart_of_all: container.is_final && !crash.is_final,
            is_overdue: is_awaited && self.now.millis - ended > LONGEST_BACK_OFF_MILLIS,
            runs_millis: crash.runs_since_millis.map(|since| self.now.millis - since),
            is_ready: pod.state().is_ready(),
            is_one_of_several: pod.now.containers.len() > 1,
            other_containers: others.map(|other| (other.role, other.name.clone())).collect(),
            unready_containers: unready.map(|other| (other.role, other.name.clone())).collect(),
        }));
        (kind, Evidence { reason: reason.to_owned(), message, ..of_pod(pod, begun) })
    }

    /// Counts the restarts of a container that came after errors, as the story tells of them in the name of this pod alone.
    fn restarts_after_errors(&self, pod: &Pod, container: &Container) -> u32 {
        let after_error = |entry: &Entry| match &entry.what {
            Happening::Restarted { pod: name, pods: 1, restart, restarts, .. } => {
                let is_its = *name == pod.name && restart.container == container.name;
                let is_error = !matches!(restart.end, ContainerEnd::Exited(0) | ContainerEnd::Unknown);
                (is_its && is_error).then_some(*restarts)
            }
            _ => None,
        };
        self.deployment.story.iter().filter_map(after_error).sum()
    }

    /// Containers that have run for a while and are not ready, by the condition of their pod.
    fn unready_containers<'p>(&self, pod: &'p Pod) -> impl Iterator<Item = &'p Container> {
        let told = unready_condition(pod);
        let names = told.and_then(|told| messages::unready_containers(&told.message)).unwrap_or_default();
        let Now { millis, skew_millis } = self.now;
        let is_late = move |since: Millis| millis - since.saturating_add(skew_millis) > WORTH_MILLIS;
        pod.now.containers.iter().filter(move |container| {
            container.state == Some(ContainerState::Running)
                && container.started_millis.is_some_and(is_late)
                && names.split(' ').any(|name| name == container.name)
        })
    }

    /// Returns the node that is being added for one of these pods, which has none yet: other pods that fit on it get no
    /// answer of their own.
    fn coming_node(&self, pods: &[&Pod]) -> Option<NewNode> {
        let unplaced = pods.iter().filter(|pod| pod.state() == PodState::Scheduling);
        let mut answers = unplaced.filter_map(|pod| self.new_node(pod));
        answers.find(|node| matches!(node, NewNode::Comes(_)))
    }

    /// Returns the last answer of an autoscaler to a pod without a node, as long as it holds.
    fn new_node(&self, pod: &Pod) -> Option<NewNode> {
        messages::new_node(self.deployment, pod, self.now.millis - NEW_NODE_MILLIS)
    }

    fn scheduling(&self, pod: &Pod, comes: Option<&NewNode>) -> Option<CauseKind> {
        let lasts = self.now.millis - pod.moved_millis() > WORTH_MILLIS;
        match pod.now.reason.as_str() {
            GATED => Some(CauseKind::SchedulingGated),
            "" => {
                let nominated = pod.now.nominated_node.as_deref().map(str::to_owned);
                lasts.then_some(CauseKind::NoScheduler { nominated })
            }
            _ => {
                let node = self.new_node(pod).or_else(|| comes.cloned());
                Some(CauseKind::Unschedulable { node })
            }
        }
    }

    fn starting(&self, pod: &Pod) -> Option<(CauseKind, Evidence)> {
        let since = pod.since_millis();
        let spent_millis = self.now.millis - since;
        if let Some((_, at_work)) = init_at_work(&pod.now.containers) {
            let is_running = at_work.state == Some(ContainerState::Running);
            let half = super::severity::unexplained_limit(&self.deployment.now.spec);
            let kind = CauseKind::Init {
                is_running,
                is_sidecar: at_work.role == Role::Sidecar,
                time: self.start_time(spent_millis, half, pod),
            };
            if is_running || messages::holds_start(self.deployment, pod).is_none() {
                return (spent_millis > WORTH_MILLIS).then(|| (kind, of_pod(pod, since)));
            }
        }
        let event = messages::holds_start(self.deployment, pod);
        let hold = event.and_then(|event| messages::start_hold(&event.reason)).unwrap_or(StartHold::Unknown);
        // What ended before is no part of the time for which it waits now.
        let (after, since) = self.last_start_step(pod).map_or((None, since), |(step, at)| (Some(step), at));
        let after = after.filter(|_| hold == StartHold::Unknown);
        let time = self.start_time(self.now.millis - since, START_MILLIS, pod);
        let is_worth = hold.is_error() || spent_millis > WORTH_MILLIS;
        is_worth.then(|| (CauseKind::Starting { hold, after, time }, by_event(event, pod, since)))
    }

    /// Returns the step of its start that a pod ended last, and when, as far as that is known.
    fn last_start_step(&self, pod: &Pod) -> Option<(StartStep, Millis)> {
        let Now { millis, skew_millis } = self.now;
        let is_completed = |container: &&Container| container.role == Role::Init && is_done(container);
        let completed = pod.now.containers.iter().filter(is_completed);
        let completed = completed.filter_map(|container| container.last_exit.as_ref()?.finished_millis).max();
        // By the kubelet's clock.
        let completed = completed.map(|at| (StartStep::Init, at.saturating_add(skew_millis).min(millis)));
        let is_of_app = |event: &Event| {
            let mut containers = pod.now.containers.iter();
            containers.any(|container| container.role == Role::App && container.name == event.container)
        };
        // An image that was there before took no time.
        let counts = |event: &Event| event.reason == "Pulled" && (completed.is_none() || messages::is_pulled(event));
        let pulled =
            messages::events(self.deployment, "Pod", &pod.name).find(|event| is_of_app(event) && counts(event));
        let pulled = pulled.map(|event| (StartStep::Pull, event.at_millis));
        let steps = completed.into_iter().chain(pulled).filter(|(_, at)| *at > pod.since_millis());
        steps.max_by_key(|(_, at)| *at)
    }

    /// Returns whether some containers of a new pod run while it waits for others: of any pod, or of the named one.
    pub fn starts_in_part(&self, name: Option<&str>) -> bool {
        let runs = |container: &Container| container.state == Some(ContainerState::Running);
        let is_meant = |pod: &Pod| pod.state() == PodState::Starting && name.is_none_or(|name| pod.name == name);
        let starts = |pod: &Pod| is_meant(pod) && pod.now.containers.iter().any(runs);
        self.current.is_some_and(|set| self.noteworthy_pods(set).any(starts))
    }

    /// Computes the allowed start time: as long as the rule says, or twice as long as the slowest pod before it took.
    pub(super) fn start_time(&self, spent_millis: Millis, allowed_millis: Millis, pod: &Pod) -> StartTime {
        let earlier = self.model.start_times(self.deployment.uid);
        // Earlier pods are known from their creation on.
        let before = self.now.millis - spent_millis - pod.first_seen_millis();
        let as_earlier = earlier.map_or(0, |(_, most)| allowed_as_before_millis(most) - before);
        let is_begin_unseen = before == 0 && pod.now.listed_millis == Some(pod.since_millis());
        let created_millis = is_begin_unseen.then(|| pod.created_millis(self.now.skew_millis));
        let allowed_millis = allowed_millis.max(as_earlier);
        StartTime { spent_millis, allowed_millis, probe_millis: 0, earlier, created_millis }
    }

    fn min_ready(&self, pods: &[&Pod]) -> Option<Cause> {
        let is_waiting = |pod: &&&Pod| pod.state() == PodState::Ready && !self.is_in_crash_loop(pod);
        let ready: Vec<&&Pod> = pods.iter().filter(is_waiting).collect();
        let (at, pod) =
            ready.iter().filter_map(|pod| Some((pod.now.available_at_millis?, pod))).min_by_key(|(at, _)| *at)?;
        let last = ready.iter().filter_map(|pod| pod.now.available_at_millis).max();
        let set = pod.owner.and_then(|set| self.model.replica_sets.get(&set))?;
        let kind = CauseKind::MinReady {
            left_millis: (at - self.now.millis).max(0),
            seconds: set.now.min_ready_seconds,
            is_first: last.is_some_and(|last| last - at >= 1_000),
        };
        Some(self.rate_cause(kind, ready.len() as u32, of_pod(pod, pod.since_millis())))
    }
}

/// Returns whether the pod should be ready and is not.
pub(super) fn is_unready(pod: &Pod) -> bool {
    let state = pod.state();
    !state.is_ready() && !state.is_ending() && pod.now.terminal_millis.is_none()
}

/// Returns the condition by which the kubelet reports containers that are not ready.
pub(super) fn unready_condition(pod: &Pod) -> Option<&PodCondition> {
    let mut conditions = pod.now.conditions.iter();
    conditions.find(|told| told.kind == "ContainersReady" && told.status == ConditionStatus::False)
}

/// Returns the evidence of a pod in the words of an Event, or in its own.
fn by_event(event: Option<&Event>, pod: &Pod, since: Millis) -> Evidence {
    match event {
        Some(event) => Evidence { reason: event.reason.clone(), message: event.message.clone(), ..of_pod(pod, since) },
        None => of_pod(pod, since),
    }
}

/// Restarts of the pod are older than its troubles.
fn failed_before(pod: &Pod, begun: Millis) -> bool {
    pod.states.iter().any(|(state, at)| *at < begun && *state == PodState::Failing)
}

/// Returns whether the known pull error of a pod is about the image of another container.
fn is_pull_of_another(pod: &Pod, container: &Container) -> bool {
    let goes_on =
        |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || matches!(next, '.' | '_' | '-'));
    let is_named = |container: &Container| {
        let image = container.waits_for_image.as_str();
        let mut rests = pod.now.pull_error.split(image).skip(1);
        !image.is_empty() && rests.any(|rest| !goes_on(rest))
    };
    !is_named(container) && pod.now.containers.iter().any(is_named)
}

/// Returns whether a container waits because of an error, and not as every container does.
fn fails(reason: &str) -> bool {
    !messages::is_ordinary_wait(reason)
}

/// Orders causes that are equally bad: decided ones come before those that may still pass.
const fn rank(kind: &CauseKind) -> u8 {
    match kind {
        CauseKind::Image { .. } => 0,
        CauseKind::BadContainer { .. } => 1,
        CauseKind::Crash(_) => 2,
        CauseKind::NotStarted { .. } => 3,
        CauseKind::PodsFailed { .. } => 4,
        CauseKind::Unschedulable { .. } => 5,
        CauseKind::Starting { .. } => 6,
        CauseKind::Init { .. } => 7,
        CauseKind::Gate { .. } => 8,
        CauseKind::NodeSilent { .. } => 9,
        CauseKind::Flapping { .. } | CauseKind::NotReady { .. } => 10,
        _ => 11,
    }
}
