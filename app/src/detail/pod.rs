//! Details of one pod.

use serde::{Deserialize, Serialize};
use timeline::fact::{self, ConditionStatus, ContainerState, Role};
use timeline::model::{Pod, PodState, ReplicaSet};
use timeline::removal_order::Choices;
use timeline::say::choice;
use timeline::view::{Command, Now};
use timeline::words::{safe, shell_word as word};
use timeline::{Millis, Model, Uid, Workload};

use super::history::{self, PodPast, Span};
use super::lines::{DetailFacts, joined};
use super::{DetailFact, Value};

/// The steps from creation to being available, each with the state of a pod until it completes the step.
pub(crate) const STEPS: [(&str, PodState); 4] = [
    ("scheduled", PodState::Scheduling),
    ("started", PodState::Starting),
    ("ready", PodState::Unready),
    ("available", PodState::Ready),
];

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodDetail {
    /// UID of the pod.
    pub uid: Uid,
    /// UID of its Deployment, for links to moments.
    pub deployment: Uid,
    /// Name of the pod.
    pub name: String,
    /// State of the pod.
    pub state: PodState,
    /// Since when it is in that state, as far as observed.
    pub since_millis: Millis,
    /// Whether it was in that state before the observation began.
    pub is_older: bool,
    /// Time of the data.
    pub now_millis: Millis,
    /// Reason of the state; empty if there is none.
    pub why: String,
    /// Other facts.
    pub facts: Vec<DetailFact>,
    /// The completed steps from creation to being available, in order; empty for a pod that existed before the observation began.
    pub start: Vec<Step>,
    /// Its containers, in the order of the spec.
    pub containers: Vec<ContainerDetail>,
    /// Its notable conditions.
    pub conditions: Vec<ConditionDetail>,
    /// Events of its life, in order.
    pub history: Vec<Span>,
    /// Commands that show more.
    pub commands: Vec<Command>,
}

/// A step from creation to being available, by arrival time at Rollcast.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    /// Name of the step: "scheduled".
    pub name: String,
    /// When it happened.
    pub at_millis: Millis,
    /// Time since the step before.
    pub after_millis: Millis,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerDetail {
    /// Name of the container.
    pub name: String,
    /// Role of the container in the pod.
    pub role: Role,
    /// Its state, in words.
    pub state: String,
    /// Number of restarts.
    pub restarts: u32,
    /// Code and reason of the last exit; empty if it never ended.
    pub last_end: String,
}

/// A condition of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConditionDetail {
    /// `type` of the condition.
    pub kind: String,
    /// `status` of the condition.
    pub status: ConditionStatus,
    /// Reason and message; empty if it has neither.
    pub why: String,
}

impl PodDetail {
    /// Collects the details of a pod of a Deployment; `choices` must be of this model.
    pub fn from_model(
        (workload, deployment): (&Workload, Uid),
        model: &Model,
        pod: &Pod,
        past: PodPast<'_>,
        now: Now,
        choices: &mut Choices<'_>,
    ) -> Self {
        let is_creation_seen = pod.is_creation_seen(now.skew_millis);
        Self {
            uid: pod.uid,
            deployment,
            name: safe(&pod.name),
            state: pod.state(),
            since_millis: pod.since_millis(),
            is_older: !is_creation_seen && pod.states.len() <= 1,
            now_millis: now.millis,
            why: joined(&[&pod.now.reason, &pod.now.message]),
            facts: facts(model, pod, now.skew_millis, choices),
            start: if is_creation_seen { start(pod) } else { Vec::new() },
            containers: pod.now.containers.iter().map(|of| container(of, pod.state())).collect(),
            conditions: pod.now.conditions.iter().map(condition).collect(),
            history: history::spans((model, pod), past, is_creation_seen, now.millis),
            commands: commands(workload, pod, last_set(model, pod).filter(|_| !model.is_left_behind(pod))),
        }
    }

    /// Moves the detail to a later time, if nothing changed until then.
    #[must_use]
    pub fn at(mut self, now_millis: Millis) -> Self {
        if let Some(last) = self.history.last_mut() {
            last.lasted_millis = now_millis - last.at_millis;
        }
        Self { now_millis, ..self }
    }
}

/// Returns the time from the creation of a pod to the last of these steps; `None` until all are completed.
pub fn started_in_millis(start: &[Step]) -> Option<Millis> {
    (start.len() == STEPS.len()).then(|| start.iter().map(|step| step.after_millis).sum())
}

fn facts(model: &Model, pod: &Pod, skew_millis: Millis, choices: &mut Choices<'_>) -> Vec<DetailFact> {
    let set = last_set(model, pod);
    let chosen = choices.criteria(pod);
    let out = match (pod.is_out_of_rotation(), model.is_left_behind(pod)) {
        (false, _) => "",
        (true, true) => "its ReplicaSet is deleted; no other one controls it",
        (true, false) => "labels no longer match; no ReplicaSet controls it",
    };
    let deletion_at_millis = pod.now.deletion_at_millis.filter(|_| pod.state() == PodState::Terminating);
    let grace_ends = deletion_at_millis.map(|at_millis| at_millis.saturating_add(skew_millis));
    DetailFacts::default()
        .value("Revision", set.and_then(ReplicaSet::revision).map(Value::Revision))
        .text("ReplicaSet", set.map(|set| safe(&set.name)).unwrap_or_default())
        .text("Out of rotation", out)
        .text("Node", pod.now.node.as_deref().map(safe).unwrap_or_default())
        .text("Restarts", pod.now.restarts.to_string())
        .time("Grace ends", grace_ends)
        .text("Ended because", history::ended_because(model, pod).unwrap_or_default())
        .text("Chosen because", chosen.map(|criteria| choice(&criteria)).unwrap_or_default())
        .0
}

/// Returns the time of each step from creation to being available.
pub(crate) fn start(pod: &Pod) -> Vec<Step> {
    let mut before = pod.first_seen_millis();
    let mut steps = Vec::new();
    for (name, until) in STEPS {
        // A step that was not observed is completed when a later state is reached.
        let is_later = |state: PodState| until < state && state <= PodState::Available;
        let Some((_, at)) = pod.states.iter().find(|(state, _)| is_later(*state)) else { break };
        steps.push(Step { name: name.to_owned(), at_millis: *at, after_millis: at - before });
        before = *at;
    }
    steps
}

fn container(of: &fact::Container, pod: PodState) -> ContainerDetail {
    // The last status of a deleted pod says how its containers ended.
    let is_gone = pod == PodState::Gone;
    let now_or_then = |state: &str| if is_gone { format!("was {state}") } else { state.to_owned() };
    let state = match &of.state {
        None if is_gone => "had no status".to_owned(),
        None => "no status yet".to_owned(),
        Some(ContainerState::Running) => now_or_then("running"),
        Some(ContainerState::Waiting { reason, message }) => joined(&[&now_or_then("waiting"), reason, message]),
        Some(ContainerState::Terminated { exit_code, reason, message }) => {
            joined(&[&format!("ended with exit code {exit_code}"), reason, message])
        }
    };
    let last_end = of.last_exit.as_ref().map(|exit| match safe(&exit.reason).as_str() {
        "" => exit.code.to_string(),
        reason => format!("{} ({reason})", exit.code),
    });
    ContainerDetail {
        name: safe(&of.name),
        role: of.role,
        state,
        restarts: of.restarts,
        last_end: last_end.unwrap_or_default(),
    }
}

fn condition(of: &fact::PodCondition) -> ConditionDetail {
    ConditionDetail { kind: safe(&of.kind), status: of.status, why: joined(&[&of.reason, &of.message]) }
}

/// Returns the ReplicaSet of a pod, or its former one if it was released.
fn last_set<'m>(model: &'m Model, pod: &Pod) -> Option<&'m ReplicaSet> {
    model.replica_sets.get(&pod.last_owner()?)
}

fn commands(workload: &Workload, pod: &Pod, set: Option<&ReplicaSet>) -> Vec<Command> {
    let name = word(&pod.name);
    let kubectl = |what: &str, rest: String| Command::kubectl(what, &workload.namespace, &rest);
    let events = kubectl("Its Events", format!("get events --field-selector involvedObject.uid={}", pod.uid));
    if pod.gone_millis().is_some() {
        // The API server has only its Events, which it keeps for an hour by default.
        return vec![events];
    }
    let mut all = Vec::new();
    if let Some(set) = set.filter(|_| pod.is_out_of_rotation()) {
        let labels = "{.spec.selector.matchLabels}";
        all.push(kubectl("Its labels", format!("get pod {name} --show-labels")));
        all.push(kubectl(
            "The labels that its ReplicaSet selects",
            format!("get replicaset {} -o jsonpath='{labels}'", word(&set.name)),
        ));
    }
    all.extend([
        kubectl("Everything about it", format!("describe pod {name}")),
        kubectl("Its logs", format!("logs {name} --all-containers")),
    ]);
    if pod.now.restarts > 0 {
        // Without `--container`, kubectl takes the first one, which may never have ended.
        let ended = pod.now.containers.iter().max_by_key(|container| container.restarts);
        let container = ended.map(|container| format!(" --container={}", word(&container.name))).unwrap_or_default();
        all.push(kubectl("Its logs before it ended", format!("logs {name}{container} --previous")));
    }
    all.push(events);
    all
}

#[cfg(test)]
mod tests {
    use timeline::model::PodNow;

    use super::*;

    #[test]
    fn there_is_a_step_out_of_every_state_before_available() {
        let before = PodState::ALL.into_iter().take_while(|state| *state != PodState::Available);
        assert_eq!(STEPS.map(|(_, state)| state).to_vec(), before.collect::<Vec<_>>());
    }

    #[test]
    fn a_pod_that_has_not_started_has_no_time_that_it_took() {
        let step = |(name, _): (&str, PodState)| Step { name: name.to_owned(), at_millis: 7, after_millis: 50 };
        let steps = STEPS.map(step);
        assert_eq!([0, 1, 3, 4].map(|made| started_in_millis(&steps[..made])), [None, None, None, Some(200)]);
    }

    #[test]
    fn the_end_of_the_grace_period_is_told_by_our_clock() {
        let now = PodNow { deletion_at_millis: Some(30_000), ..PodNow::default() };
        let pod = Pod { states: vec![(PodState::Terminating, 0)], now: now.into(), ..Pod::default() };
        let model = Model::default();
        let facts = facts(&model, &pod, 500, &mut Choices::new(&model, 500));
        let ends = facts.into_iter().find(|fact| fact.name == "Grace ends").map(|fact| fact.value);
        assert_eq!(ends, Some(Value::Time(30_500)));
    }

    #[test]
    fn a_part_and_a_status_are_told_in_words_of_their_own() {
        assert_eq!([Role::Init, Role::Sidecar, Role::App].map(Role::label), ["init", "sidecar", "app"]);
        let all = [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown];
        assert_eq!(all.map(ConditionStatus::label), ["true", "false", "unknown"]);
    }

    #[test]
    fn an_exit_is_told_by_its_code_and_reason() {
        let told = |reason: &str| {
            let exit = fact::Exit { reason: reason.to_owned(), ..fact::Exit::default() };
            let of = fact::Container { last_exit: Some(exit.into()), ..fact::Container::new("web".into(), Role::App) };
            container(&of, PodState::Available).last_end
        };
        assert_eq!(["", "Completed"].map(told), ["0", "0 (Completed)"]);
    }

    #[test]
    fn a_container_of_a_pod_that_is_gone_does_not_run_any_more() {
        let told = |state: Option<ContainerState>, pod| {
            container(&fact::Container { state, ..fact::Container::new("web".into(), Role::App) }, pod).state
        };
        let waiting = || ContainerState::Waiting { reason: "Pull".into(), message: String::new() };
        assert_eq!(told(Some(ContainerState::Running), PodState::Terminating), "running");
        assert_eq!(told(Some(ContainerState::Running), PodState::Gone), "was running");
        assert_eq!(told(Some(waiting()), PodState::Starting), "waiting: Pull");
        assert_eq!(told(Some(waiting()), PodState::Gone), "was waiting: Pull");
        assert_eq!([PodState::Starting, PodState::Gone].map(|pod| told(None, pod)), ["no status yet", "had no status"]);
    }
}
