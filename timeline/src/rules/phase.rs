//! The state of a pod: one function of the object, plus one timer (`minReadySeconds`).
//!
//! ```text
//!  scheduling ─► starting ─► unready ⇄ ready ─(minReadySeconds)─► available ─► terminating ─► gone
//!                    └────────► failing ◄───────┘                 finished ─────────┘
//! ```
//! `status.phase` alone is misleading: a terminating pod stays Running and even Ready until it is deleted, and a crash-looping pod is
//! Running most of the time. So the order of the rules in [`read`] matters.

use crate::Millis;
use crate::model::fact::{
    Condition, ConditionStatus, Container, ContainerState, Phase, PodCondition, PodFact, RESTARTING_ALL, Role,
    STATUS_UNKNOWN,
};
use crate::model::{PodNow, PodState};
use crate::rules::messages::is_ordinary_wait;

/// Upper limit of the start time that probes are assumed to allow.
pub const LONGEST_PROBE_MILLIS: Millis = 3_600_000;
/// A pod may take this many times as long to start as the slowest earlier pod.
const SLOWER: Millis = 2;
/// Minimum time that containers may run without being ready.
const READY_MILLIS: Millis = 30_000;

/// Computes how long containers may run before they are ready: 1.5 times what their probes allow, as the kubelet is slower than its
/// schedule.
pub fn allowed_until_ready_millis(probe_millis: Millis) -> Millis {
    let probe_millis = probe_millis.min(LONGEST_PROBE_MILLIS);
    READY_MILLIS.max(probe_millis.saturating_add(probe_millis / 2))
}

/// Computes how long a start may take if the slowest one before took `slowest_millis`: twice as long. A start beyond what probes may allow
/// was delayed by something else.
pub fn allowed_as_before_millis(slowest_millis: Millis) -> Millis {
    slowest_millis.saturating_mul(SLOWER).min(allowed_until_ready_millis(LONGEST_PROBE_MILLIS))
}

/// Derives a pod's state, and its explanation: `reason`, `message` and, for a ready pod, `ready_since_millis`; no other field is set. A
/// ready pod gets [`PodState::Ready`]; [`available_at`] decides whether it is available.
pub fn read(pod: &PodFact) -> (PodState, PodNow) {
    let say = |state, reason: &str, message: &str| {
        (state, PodNow { reason: reason.to_owned(), message: message.to_owned(), ..PodNow::default() })
    };
    if pod.deletion_at_millis.is_some() {
        return say(PodState::Terminating, &pod.reason, &pod.message);
    }
    if pod.phase == Phase::Succeeded {
        let (reason, message) = ended_by_kubelet(pod);
        return say(PodState::Finished, reason, message);
    }
    // The reason of a failed pod takes precedence over those of its containers.
    let own = (pod.phase == Phase::Failed).then_some((pod.reason.as_str(), pod.message.as_str()));
    let told = own.filter(|(reason, _)| !reason.is_empty());
    if let Some((reason, message)) = told.or_else(|| failed_container(&pod.containers)).or(own) {
        return say(PodState::Failing, reason, message);
    }
    if let Some(condition) = pod.ready.as_ref().filter(|c| c.status == ConditionStatus::True) {
        let ready_since_millis = condition.last_transition_millis;
        return (PodState::Ready, PodNow { ready_since_millis, ..PodNow::default() });
    }
    if pod.node.is_none() {
        let (reason, message) = condition_words(pod.scheduled.as_ref().filter(|c| c.status == ConditionStatus::False));
        return say(PodState::Scheduling, reason, message);
    }
    if pod.phase == Phase::Running && every_app_container_runs(&pod.containers) {
        let (reason, message) = condition_words(pod.ready.as_ref());
        return say(PodState::Unready, reason, message);
    }
    if let Some((index, at_work)) = init_at_work(&pod.containers) {
        let all = pod.containers.iter().filter(|c| c.role != Role::App).count();
        return say(PodState::Starting, &format!("Init {index} of {all}"), &at_work.name);
    }
    let mut waiting = pod.containers.iter().filter_map(Container::waiting);
    let (reason, message) = waiting.find(|(reason, _)| !reason.is_empty()).unwrap_or_default();
    say(PodState::Starting, reason, message)
}

/// Returns the init container that a starting pod waits for, and the number of those before it. They run one after another, so it is the
/// first that is not done.
pub fn init_at_work(containers: &[Container]) -> Option<(usize, &Container)> {
    let mut init = containers.iter().filter(|c| c.role != Role::App).enumerate();
    init.find(|(_, container)| !lets_go_on(container))
}

/// Returns reason and message of the condition with which the kubelet ends a pod, for an eviction or a shutdown of its node; empty without
/// one. If all containers end with exit code 0, the kubelet keeps no other trace (`generateAPIPodStatus` in `kubelet_pods.go`).
pub fn ended_by_kubelet(pod: &PodFact) -> (&str, &str) {
    let is_it = |told: &&PodCondition| told.kind == "DisruptionTarget" && told.reason == "TerminationByKubelet";
    pod.conditions.iter().find(is_it).map_or(("", ""), |told| (told.reason.as_str(), told.message.as_str()))
}

/// Returns reason and message of a condition; empty without one.
fn condition_words(condition: Option<&Condition>) -> (&str, &str) {
    condition.map_or(("", ""), |condition| (condition.reason.as_str(), condition.message.as_str()))
}

/// Returns whether the next containers may start: an init container is done, a sidecar has started.
fn lets_go_on(container: &Container) -> bool {
    match container.role {
        Role::Sidecar => container.state == Some(ContainerState::Running) && !container.is_in_startup,
        Role::Init | Role::App => is_done(container),
    }
}

/// Returns whether the container ended with exit code 0.
pub const fn is_done(container: &Container) -> bool {
    matches!(container.state, Some(ContainerState::Terminated { exit_code: 0, .. }))
}

/// Returns whether the container ended permanently: its own restart policy does not restart it.
pub const fn is_over(container: &Container) -> bool {
    container.is_final || (matches!(container.role, Role::Init) && is_done(container))
}

/// Counts restarts as in kubectl's RESTARTS column (`printPod` in `printers.go`): of init containers until they are done, after that of
/// sidecars and app containers.
pub fn restarts(containers: &[Container]) -> u32 {
    let is_initializing = containers.iter().any(|c| c.role == Role::Init && !is_done(c));
    let left_out = if is_initializing { Role::App } else { Role::Init };
    sum_restarts(containers.iter().filter(|c| c.role != left_out))
}

/// Returns the sum of the restarts of containers.
pub fn sum_restarts<'c>(containers: impl IntoIterator<Item = &'c Container>) -> u32 {
    containers.into_iter().fold(0, |sum, container| sum.saturating_add(container.restarts))
}

/// Returns when a ready pod becomes available; `None` without `minReadySeconds`: it is available at once.
pub fn available_at(ready_since_millis: Option<Millis>, min_ready_seconds: u32) -> Option<Millis> {
    if min_ready_seconds == 0 {
        return None;
    }
    ready_since_millis.map(|since| since.saturating_add(i64::from(min_ready_seconds) * 1000))
}

/// Returns whether this container waits for an earlier init container, which is running, or ended after this one. An end of this one then
/// belongs to the previous sandbox.
pub fn awaits_init_container(container: &Container, containers: &[Container]) -> bool {
    let finished = |of: &Container| of.last_exit.as_ref().and_then(|exit| exit.finished_millis);
    let ended_millis = match &container.state {
        // The last exit of a container that the kubelet cannot find is an earlier one.
        Some(ContainerState::Terminated { reason, .. }) if reason != STATUS_UNKNOWN => finished(container),
        _ => None,
    };
    let is_later = |earlier: &Container| ended_millis.is_some_and(|ended| finished(earlier) > Some(ended));
    let earlier = containers.iter().take_while(|earlier| earlier.name != container.name);
    let mut init = earlier.filter(|earlier| earlier.role == Role::Init);
    init.any(|init| init.state == Some(ContainerState::Running) || (is_done(init) && is_later(init)))
}

fn failed_container(containers: &[Container]) -> Option<(&str, &str)> {
    containers.iter().find_map(|container| match &container.state {
        Some(ContainerState::Waiting { reason, message }) if !is_ordinary_wait(reason) => {
            Some((reason.as_str(), message.as_str()))
        }
        Some(ContainerState::Terminated { exit_code, reason, message })
            if (*exit_code != 0 || is_sidecar_in_loop(container))
                && reason != RESTARTING_ALL
                && !awaits_init_container(container, containers) =>
        {
            Some((if reason.is_empty() { "Error" } else { reason.as_str() }, message.as_str()))
        }
        _ => None,
    })
}

/// Returns whether the container is a sidecar in a crash loop. Before the app containers run, the kubelet reports no back-off for it: it is
/// terminated, with exit code 0 if it exits normally when its startup probe fails.
fn is_sidecar_in_loop(container: &Container) -> bool {
    container.role == Role::Sidecar && container.ends_again_and_again()
}

/// Returns whether every app container runs. One that succeeded and does not restart no longer counts as starting.
fn every_app_container_runs(containers: &[Container]) -> bool {
    let runs = |container: &Container| {
        container.state == Some(ContainerState::Running) || (container.is_final && is_done(container))
    };
    containers.iter().filter(|c| c.role != Role::Init).all(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::Exit;

    fn container(role: Role, state: Option<ContainerState>) -> Container {
        Container { state, ..Container::new("web".into(), role) }
    }

    fn waiting(reason: &str) -> Option<ContainerState> {
        Some(ContainerState::Waiting { reason: reason.into(), message: "why".into() })
    }

    fn ended(exit_code: i32) -> Option<ContainerState> {
        Some(ContainerState::Terminated { exit_code, reason: String::new(), message: String::new() })
    }

    fn condition(status: ConditionStatus, reason: &str) -> Option<Condition> {
        Some(Condition { status, reason: reason.into(), last_transition_millis: Some(1_000), ..Condition::default() })
    }

    /// Returns a running pod with a node that is not ready.
    fn pod() -> PodFact {
        PodFact {
            node: Some("node-1".into()),
            phase: Phase::Running,
            ready: condition(ConditionStatus::False, "ContainersNotReady"),
            containers: vec![container(Role::App, Some(ContainerState::Running))],
            ..PodFact::default()
        }
    }

    /// Derives the state of that pod after a change.
    fn reads(change: impl FnOnce(&mut PodFact)) -> (PodState, String) {
        let mut pod = pod();
        change(&mut pod);
        let (state, now) = read(&pod);
        (state, now.reason)
    }

    #[test]
    fn every_rule_comes_before_the_ones_below_it() {
        use PodState::{Failing, Finished, Ready, Scheduling, Starting, Terminating, Unready};
        let ready = || condition(ConditionStatus::True, "");
        let state = |change: &dyn Fn(&mut PodFact)| reads(|pod| change(pod)).0;
        // Deletion comes first: the kubelet keeps the other fields.
        assert_eq!(state(&|pod| (pod.deletion_at_millis, pod.phase) = (Some(1), Phase::Failed)), Terminating);
        assert_eq!(state(&|pod| pod.phase = Phase::Succeeded), Finished);
        assert_eq!(state(&|pod| (pod.phase, pod.ready) = (Phase::Failed, ready())), Failing);
        // A container that cannot start precedes readiness, a gate or a missing node.
        let crashing = || vec![container(Role::Init, waiting("CrashLoopBackOff"))];
        assert_eq!(state(&|pod| (pod.ready, pod.containers) = (ready(), crashing())), Failing);
        assert_eq!(state(&|pod| pod.containers = vec![container(Role::App, ended(1))]), Failing);
        assert_eq!(state(&|pod| pod.containers = vec![container(Role::App, waiting("NewReasonOfTomorrow"))]), Failing);
        // Waits of every start are no failures.
        for reason in ["", "ContainerCreating", "PodInitializing", "RestartingAllContainers"] {
            let state = state(&|pod| pod.containers = vec![container(Role::App, waiting(reason))]);
            assert_eq!(state, Starting, "{reason}");
        }
        assert_eq!(state(&|pod| pod.ready = ready()), Ready);
        assert_eq!(state(&|pod| (pod.ready, pod.node) = (ready(), None)), Ready);
        assert_eq!(state(&|pod| pod.node = None), Scheduling);
        assert_eq!(state(&|_| ()), Unready);
        // Sidecars count as app containers; init containers that succeeded do not.
        assert_eq!(state(&|pod| pod.containers.push(container(Role::Sidecar, None))), Starting);
        assert_eq!(state(&|pod| pod.containers.push(container(Role::Init, ended(0)))), Unready);
        // A container that succeeded and does not restart must not keep the pod in `starting`.
        let ended_well =
            |is_final| state(&|pod| pod.containers.push(Container { is_final, ..container(Role::App, ended(0)) }));
        assert_eq!([ended_well(true), ended_well(false)], [Unready, Starting]);
        let removed = ContainerState::Terminated {
            exit_code: 137,
            reason: "RestartingAllContainers".into(),
            message: String::new(),
        };
        assert_eq!(state(&|pod| pod.containers.push(container(Role::App, Some(removed.clone())))), Starting);
        assert_eq!(state(&|pod| pod.phase = Phase::Unknown), Starting);
        assert_eq!(state(&|pod| (pod.phase, pod.containers) = (Phase::Pending, Vec::new())), Starting);
    }

    #[test]
    fn the_reason_is_the_one_that_decides() {
        assert_eq!(reads(|_| ()).1, "ContainersNotReady");
        assert_eq!(reads(|pod| pod.containers = vec![container(Role::App, ended(137))]).1, "Error");
        assert_eq!(reads(|pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into())).1, "Evicted");
        let unschedulable = condition(ConditionStatus::False, "Unschedulable");
        assert_eq!(reads(|pod| (pod.node, pod.scheduled) = (None, unschedulable)).1, "Unschedulable");
        let (state, reason) = reads(|pod| {
            pod.phase = Phase::Pending;
            pod.containers = vec![
                container(Role::Init, ended(0)),
                container(Role::Init, Some(ContainerState::Running)),
                container(Role::App, waiting("PodInitializing")),
            ];
        });
        assert_eq!((state, reason.as_str()), (PodState::Starting, "Init 1 of 2"));
        // Its node restarted: containers after the init container ended in the previous sandbox.
        let named = |name: &str, role, state| Container { name: name.into(), ..container(role, state) };
        let migrate = named("migrate", Role::Init, Some(ContainerState::Running));
        let (proxy, web) = (named("proxy", Role::Sidecar, ended(255)), named("web", Role::App, ended(255)));
        let runs_again = |containers: [&Container; 3]| {
            reads(move |pod| (pod.phase, pod.containers) = (Phase::Pending, containers.map(Container::clone).to_vec()))
        };
        assert_eq!(runs_again([&migrate, &proxy, &web]), (PodState::Starting, "Init 0 of 2".to_owned()));
        assert_eq!(runs_again([&proxy, &migrate, &web]).0, PodState::Failing, "the sidecar starts before it");
        // Between two init containers none runs: the second one still has its end from the previous sandbox.
        let at = |of: Container, second: i64| {
            let exit = Exit { finished_millis: Some(second * 1_000), ..Exit::default() };
            Container { last_exit: Some(exit.into()), ..of }
        };
        let done = |name: &str, second| at(named(name, Role::Init, ended(0)), second);
        let (migrate, seed, web) = (done("migrate", 60), done("seed", 10), at(web, 50));
        assert_eq!(runs_again([&migrate, &seed, &web]), (PodState::Starting, String::new()));
        let ended_later = at(web.clone(), 61);
        assert_eq!(runs_again([&migrate, &seed, &ended_later]).0, PodState::Failing, "it ended in this sandbox");
        let reason = STATUS_UNKNOWN.into();
        let state = Some(ContainerState::Terminated { exit_code: 137, reason, message: String::new() });
        let not_found = Container { state, ..web };
        assert_eq!(runs_again([&migrate, &seed, &not_found]).0, PodState::Failing, "its exit is an earlier one");
    }

    #[test]
    fn restarts_are_those_that_kubectl_counts() {
        let restarted = |role, state, restarts| Container { restarts, ..container(role, state) };
        let count = |init: Option<ContainerState>| {
            let containers = [
                restarted(Role::Init, init, 2),
                restarted(Role::Sidecar, Some(ContainerState::Running), 3),
                restarted(Role::App, Some(ContainerState::Running), 4),
            ];
            (restarts(&containers), sum_restarts(&containers))
        };
        assert_eq!(count(Some(ContainerState::Running)), (5, 9), "it initialises");
        assert_eq!(count(ended(0)), (7, 9), "init containers that are done do not count");
    }

    #[test]
    fn a_sidecar_that_has_not_started_holds_what_comes_after_it() {
        let starts = |is_in_startup| {
            reads(move |pod| {
                let sidecar = Container { is_in_startup, ..container(Role::Sidecar, Some(ContainerState::Running)) };
                pod.phase = Phase::Pending;
                pod.containers = vec![
                    sidecar,
                    container(Role::Init, waiting("PodInitializing")),
                    container(Role::App, waiting("PodInitializing")),
                ];
            })
        };
        assert_eq!(starts(true), (PodState::Starting, "Init 0 of 2".to_owned()));
        assert_eq!(starts(false), (PodState::Starting, "Init 1 of 2".to_owned()));
    }

    #[test]
    fn a_sidecar_that_ends_well_again_and_again_fails() {
        let ends = |role, restarts| {
            reads(move |pod| {
                let reason = "Completed".to_owned();
                let state = ContainerState::Terminated { exit_code: 0, reason: reason.clone(), message: String::new() };
                let last_exit = Some(Exit { reason, ran_millis: Some(9_000), ..Exit::default() }.into());
                pod.phase = Phase::Pending;
                pod.containers = vec![
                    Container { restarts, last_exit, ..container(role, Some(state)) },
                    container(Role::App, waiting("PodInitializing")),
                ];
            })
        };
        assert_eq!(ends(Role::Sidecar, 0), (PodState::Starting, "Init 0 of 1".to_owned()), "its first end");
        assert_eq!(ends(Role::Sidecar, 1), (PodState::Failing, "Completed".to_owned()));
        assert_eq!(ends(Role::Init, 1), (PodState::Starting, "PodInitializing".to_owned()), "it is done");
    }

    #[test]
    fn with_min_ready_seconds_a_pod_counts_later() {
        assert_eq!(available_at(Some(1_000), 0), None);
        assert_eq!(available_at(Some(1_000), 4), Some(5_000));
        assert_eq!(available_at(None, 4), None);
        assert_eq!(available_at(Some(i64::MAX), u32::MAX), Some(i64::MAX));
    }

    #[test]
    fn a_pod_that_failed_says_why_itself_before_its_containers_do() {
        let killed = |reason: &'static str| {
            reads(move |pod| {
                (pod.phase, pod.reason) = (Phase::Failed, reason.into());
                pod.containers = vec![container(Role::App, ended(137))];
            })
        };
        assert_eq!(killed("Evicted"), (PodState::Failing, "Evicted".to_owned()));
        assert_eq!(killed(""), (PodState::Failing, "Error".to_owned()));
    }

    #[test]
    fn a_pod_that_starts_says_what_a_container_waits_for() {
        let starts = |reasons: [&'static str; 2]| {
            reads(move |pod| {
                pod.phase = Phase::Pending;
                pod.containers = reasons.map(|reason| container(Role::App, waiting(reason))).to_vec();
            })
        };
        assert_eq!(starts(["", "ContainerCreating"]), (PodState::Starting, "ContainerCreating".to_owned()));
        assert_eq!(starts(["PodInitializing", ""]), (PodState::Starting, "PodInitializing".to_owned()));
        assert_eq!(starts(["", ""]), (PodState::Starting, String::new()));
    }

    #[test]
    fn states_have_names_for_programs_and_words_for_people() {
        use PodState::{Available, Gone, Ready, Terminating, Unready};
        let all = PodState::ALL;
        let names = "scheduling starting unready ready available failing finished terminating gone";
        assert_eq!(all.map(PodState::name).join(" "), names);
        assert_eq!(Unready.label(), "running, not ready");
        assert_eq!(Ready.label(), "ready, waiting for minReadySeconds");
        assert_eq!(Gone.label(), "gone");
        assert_eq!(all.map(PodState::is_ready), all.map(|state| state == Ready || state == Available));
        assert_eq!(all.map(PodState::is_ending), all.map(|state| state == Terminating || state == Gone));
    }
}
