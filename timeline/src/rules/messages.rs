//! Parses messages of the kubelet, and Events about an object. As little as possible depends on such texts.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use crate::Millis;
use crate::model::container::FORGETS_MILLIS;
use crate::model::fact::{Container, RESTARTING_ALL};
use crate::model::story::ContainerEnd;
use crate::model::{Deployment, Event, Pod, order};

/// Returns whether the reason is that of an ordinary wait: to be created, for the init containers, or to be created again with all others
/// of the pod.
pub fn is_ordinary_wait(reason: &str) -> bool {
    matches!(reason, "" | "ContainerCreating" | "PodInitializing" | RESTARTING_ALL)
}

/// Returns Events about an object ("Pod", "web-1"), the last one first: by their own time, because lists sort them by name. Of two with the
/// same time the later arrival is the last.
pub fn events<'m>(deployment: &'m Deployment, kind: &str, name: &str) -> impl Iterator<Item = &'m Event> + use<'m> {
    let events = deployment.events.iter().rev();
    let events = events.filter(|event| event.about.0 == kind && event.about.1 == name).collect();
    order::sort_by(events, |event: &&Event| (event.at_millis.saturating_neg(), 0)).into_iter()
}

/// Returns the last Event about a pod with this reason.
pub fn last_event<'m>(deployment: &'m Deployment, pod: &str, reason: &str) -> Option<&'m Event> {
    events(deployment, "Pod", pod).find(|event| event.reason == reason)
}

/// The end of a container that the kubelet stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerKill {
    /// The probe or hook that failed, or another reason for the restart.
    pub end: ContainerEnd,
    /// The result of the probe: "HTTP probe failed with statuscode: 503"; empty if no Event has it.
    pub message: String,
}

/// Returns the message of an Event, without the prefix of combined Events.
pub fn text(event: &Event) -> &str {
    event.message.strip_prefix("(combined from similar events): ").unwrap_or(&event.message)
}

/// Returns a message of the kubelet without the pod at its end: ` in pod web-1_shop(4912e4b8-…)` after a back-off, or with the container if
/// one cannot be created.
pub fn without_pod(message: &str) -> &str {
    let is_pod = |name: &str| name.contains('_') && name.ends_with(')') && !name.contains(' ');
    match message.trim_end().rsplit_once(" in pod ") {
        Some((said, pod)) if is_pod(pod) => said,
        _ => message.split_once(" (pod: \"").map_or(message, |(said, _)| said),
    }
}

/// Returns whether two messages of the kubelet about pods are equal except for names and addresses.
pub fn are_alike(one: &str, other: &str) -> bool {
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '/' | '>');
    let without_address = |part| {
        let address: &str = str::trim_end_matches(part, [':', '-']);
        if address.parse::<SocketAddr>().is_ok() || address.parse::<IpAddr>().is_ok() { "" } else { part }
    };
    let parts = |message| without_pod(message).split(is_end).map(without_address);
    one == other || parts(one).eq(parts(other))
}

/// Returns the last result of a probe ("Readiness probe"), from the Event `Unhealthy` since then about a pod, or about a container of it
/// that is not ready: "HTTP probe failed with statuscode: 503".
pub fn probe_saw<'m>(deployment: &'m Deployment, pod: &Pod, probe: &str, since_millis: Millis) -> Option<&'m str> {
    let since_millis = since_millis.saturating_sub(EARLY_MILLIS);
    let unready = unready_containers(&pod.now.message);
    let is_about = |event: &&Event| {
        event.container.is_empty() || unready.is_none_or(|names| names.split(' ').any(|name| name == event.container))
    };
    let recent = events(deployment, "Pod", &pod.name).filter(|event| event.at_millis >= since_millis);
    let saw = |event: &'m Event| seen(event, probe).or_else(|| not_run(event, probe));
    recent.filter(is_about).find_map(|event| saw(event).filter(|saw| !saw.is_empty()))
}

/// Returns the containers in the message of a condition: "web proxy" of "containers with unready status: [web proxy]". Containers of
/// unknown status, which come first, are returned only if there are no others.
pub fn unready_containers(message: &str) -> Option<&str> {
    message.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside)
}

/// Parses the result of a probe from the Event of its failure.
fn seen<'m>(event: &'m Event, probe: &str) -> Option<&'m str> {
    let message = Some(text(event)).filter(|_| event.reason == "Unhealthy")?;
    Some(message.strip_prefix(probe)?.strip_prefix(" failed")?.trim_start_matches(": ").trim())
}

/// Parses why a probe could not run: `exec: "curl": executable file not found in $PATH`.
fn not_run<'m>(event: &'m Event, probe: &str) -> Option<&'m str> {
    let message = Some(text(event)).filter(|_| event.reason == "Unhealthy")?;
    let (_, why) = message.strip_prefix(probe)?.strip_prefix(" errored")?.split_once(": ")?;
    Some(last_step(why))
}

/// Returns the step in which the container runtime failed, without the enclosing steps: `exec: "/app": stat /app: no such file or
/// directory` of `failed to create containerd task: … unable to start container process: exec: "/app": …`. containerd 1 appends `: unknown`
/// to an error without a code.
pub fn last_step(message: &str) -> &str {
    let step = message.rsplit_once("unable to start container process: ").map_or(message, |(_, cause)| cause).trim();
    step.strip_suffix(": unknown").unwrap_or(step)
}

/// Events may seem to precede their cause by this much: their times are whole seconds.
pub const EARLY_MILLIS: Millis = 2_000;

/// An unready pod may arrive this long after the Event about its node: the node controller changes all pods of a node at once, which delays
/// the watch of pods.
const LATE_POD_MILLIS: Millis = 15_000;

/// Exit codes of a container that the kubelet stopped: SIGKILL and SIGTERM.
const STOPPED: [i32; 2] = [137, 143];

/// Returns why the kubelet stopped a container last, from Events since the beginning of its last run and of the trouble of its pod. A
/// failed probe is not the reason if the container ended by itself: startup probes fail until it has started. `skew_millis` is our clock
/// minus the API server's.
pub fn last_kill(
    deployment: &Deployment,
    pod: &Pod,
    container: &Container,
    skew_millis: Millis,
) -> Option<ContainerKill> {
    let exit = container.last_exit.as_ref();
    let started = exit.and_then(|exit| Some(exit.finished_millis? - exit.ran_millis?));
    let exit_code = exit.filter(|exit| !exit.is_unseen()).map(|exit| exit.code);
    // Lazy, because it searches the story, and Events of the last run explain most ends.
    let trouble_millis = || pod.trouble_since_millis(container, &deployment.story);
    let last_run_millis = started.map_or_else(trouble_millis, |at| at.saturating_add(skew_millis) - EARLY_MILLIS);
    let of_pod = |since: Millis| events(deployment, "Pod", &pod.name).filter(move |event| event.at_millis >= since);
    let recent = || of_pod(last_run_millis);
    let is_about = |event: &&Event| event.container.is_empty() || event.container == container.name;
    // A container that the kubelet stops may end with exit code 0.
    let is_killed = exit_code.is_some_and(|code| STOPPED.contains(&code));
    let is_stopped = is_killed || exit_code == Some(0);
    let was_running = |event: &Event| started.map(|at| at.saturating_add(skew_millis) < event.at_millis);
    // The kubelet reports the reason before it stops a container, so the Event does not explain an earlier end or a later run.
    let finished = exit.and_then(|exit| exit.finished_millis).map(|at| at.saturating_add(skew_millis));
    let ended_after = |event: &Event| finished.is_some_and(|at| at >= event.at_millis - EARLY_MILLIS);
    let ended_for = |event: &Event| match was_running(event) {
        Some(was_running) => was_running && (is_stopped || ended_after(event)),
        None => is_stopped,
    };
    let killed_for = |event: &Event| {
        if event.reason == "SandboxChanged" {
            // Completed init containers run again in a new sandbox.
            return (started.is_some() && ended_for(event)).then_some(ContainerEnd::Sandbox);
        }
        if event.reason == "FailedPostStartHook" {
            return is_about(&event).then_some(ContainerEnd::PostStartHook);
        }
        let message = Some(event.message.as_str()).filter(|_| event.reason == "Killing")?;
        let rest = message.strip_prefix("Init container ").or_else(|| message.strip_prefix("Container "))?;
        let rest = rest.strip_prefix(container.name.as_str())?;
        let changes =
            [(" resize requires restart", ContainerEnd::Resized), (" definition changed", ContainerEnd::Redefined)];
        if let Some((_, change)) = changes.into_iter().find(|(words, _)| rest.starts_with(*words)) {
            return ended_for(event).then_some(change);
        }
        let what = rest.strip_prefix(" failed ")?;
        let mut probes = [ContainerEnd::LivenessProbe, ContainerEnd::StartupProbe].into_iter();
        probes.find(|end| end.probe().is_some_and(|probe| what.starts_with(probe)))
    };
    // The kubelet drops Events after many of them.
    let fault = |event: &Event| killed_for(event).filter(|end| !end.is_no_fault());
    let remembered = || of_pod(trouble_millis().max(last_run_millis.saturating_sub(FORGETS_MILLIS)));
    let earlier = || is_stopped.then(remembered)?.find_map(fault);
    let killed = recent().find_map(killed_for).or_else(earlier);
    let saw = |event: &Event| {
        let liveness = seen(event, "Liveness probe").map(|saw| (ContainerEnd::LivenessProbe, saw.to_owned()));
        liveness.or_else(|| seen(event, "Startup probe").map(|saw| (ContainerEnd::StartupProbe, saw.to_owned())))
    };
    let last = recent().filter(is_about).find_map(saw);
    let end = killed.or_else(|| last.as_ref().filter(|_| is_killed).map(|(end, _)| *end))?;
    let is_its = |(of, _): &(ContainerEnd, String)| *of == end;
    let before = || remembered().filter(is_about).filter_map(saw).find(is_its);
    let message = last.filter(is_its).or_else(before).map(|(_, message)| message).unwrap_or_default();
    Some(ContainerKill { end, message })
}

/// Prospects of a pod without a node: room on a node, or the answer of an autoscaler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewNode {
    /// The scheduler or Karpenter nominated it for this node: it waits for room there, or to be bound.
    Nominated(String),
    /// A node is being added, by this autoscaler.
    Comes(&'static str),
    /// No node will be added, for this reason.
    Refused(String),
}

/// Returns the last answer of an autoscaler to a pod without a node, and the nominated node if none is being added. A node counts as being
/// added according to Events since then.
pub fn new_node(deployment: &Deployment, pod: &Pod, since_millis: Millis) -> Option<NewNode> {
    let answer = events(deployment, "Pod", &pod.name).find_map(|event| match event.reason.as_str() {
        // The second reason is that of GKE for a triggered scale-up.
        "NotTriggerScaleUp" | "FailedScaleUp" => Some((event, NewNode::Refused(text(event).to_owned()))),
        // Karpenter's Event has the same reason as those of the scheduler.
        "FailedScheduling" => {
            let why = text(event).strip_prefix("Failed to schedule pod, ")?;
            Some((event, NewNode::Refused(why.to_owned())))
        }
        "TriggeredScaleUp" => Some((event, NewNode::Comes("cluster-autoscaler"))),
        "Nominated" => Some((event, nominated_node(deployment, event, since_millis))),
        _ => None,
    });
    let is_late = |node: &NewNode, at_millis: Millis| !matches!(node, NewNode::Refused(_)) && at_millis < since_millis;
    let answer = answer.filter(|(event, node)| !is_late(node, event.at_millis)).map(|(_, node)| node);
    match (answer, pod.now.nominated_node.as_deref()) {
        (answer @ Some(NewNode::Comes(_)), _) | (answer, None) => answer,
        (_, Some(node)) => Some(NewNode::Nominated(node.to_owned())),
    }
}

/// Parses the node for which Karpenter nominates a pod. "Pod should schedule on: nodeclaim/a" is one that it adds, "nodeclaim/a, node/b"
/// one that has registered. If only the claim was named since then, the node is still being added: its devices may be missing.
fn nominated_node(deployment: &Deployment, event: &Event, since_millis: Millis) -> NewNode {
    let is_added = |claim: &str| {
        let mut recent = deployment.events.iter().filter(|known| known.at_millis >= since_millis);
        recent.any(|known| known.reason == event.reason && text(known) == claim)
    };
    match text(event).split_once("node/") {
        Some((claim, node)) if !is_added(claim.trim_end_matches(", ")) => NewNode::Nominated(node.to_owned()),
        _ => NewNode::Comes("Karpenter"),
    }
}

/// Texts of the scheduler for resources that other pods occupy: the plugins `noderesources`, `interpodaffinity`, `nodeports`,
/// `nodevolumelimits`, `volumerestrictions` and `dynamicresources`.
const ROOM_TEXTS: [&str; 8] = [
    "Insufficient",
    "Too many pods",
    "anti-affinity",
    "free ports",
    "max volume count",
    "ReadWriteOncePod",
    "no available disk",
    "allocate all claims",
];

/// Returns whether a pod has no node because other pods occupy what it needs: a deleted pod may make room.
pub fn needs_room(message: &str) -> bool {
    ROOM_TEXTS.iter().any(|words| message.contains(words))
}

/// Reasons of Events from a kubelet about a pod.
const OF_KUBELET: [&str; 6] = ["Unhealthy", "Killing", "Pulling", "Pulled", "Failed", "BackOff"];

/// Returns when the kubelet of a pod last reported an Event about it.
pub fn kubelet_spoke_millis(deployment: &Deployment, pod: &Pod) -> Option<Millis> {
    let mut events = events(deployment, "Pod", &pod.name);
    events.find(|event| OF_KUBELET.contains(&event.reason.as_str())).map(|event| event.at_millis)
}

/// Returns since when the node of a pod is reported as not ready; `None` if its kubelet has reported an Event about the pod since.
pub fn node_silent_since(deployment: &Deployment, pod: &Pod) -> Option<Millis> {
    let changed_millis = pod.since_millis();
    let silent_millis = last_silence(deployment, pod, Millis::MIN..=Millis::MAX)?;
    let is_late = silent_millis >= earliest_silence_millis(pod, changed_millis);
    is_late.then(|| silent_millis.max(changed_millis))
}

/// Returns the earliest time of an Event `NodeNotReady` that explains a change of a pod. An Event from before the pod was ready does not
/// explain why it became unready.
pub fn earliest_silence_millis(pod: &Pod, changed_millis: Millis) -> Millis {
    let early = changed_millis.saturating_sub(EARLY_MILLIS);
    let lost = pod.spans().find(|(state, _, to)| state.is_ready() && *to == Some(changed_millis));
    let late = |ready_millis: Millis| changed_millis.saturating_sub(LATE_POD_MILLIS).max(ready_millis);
    lost.map_or(early, |(_, ready_millis, _)| late(ready_millis).min(early))
}

/// Returns when the node of a pod was last reported as not ready in that time; `None` if its kubelet reported an Event about the pod
/// afterwards.
pub fn last_silence(deployment: &Deployment, pod: &Pod, times: RangeInclusive<Millis>) -> Option<Millis> {
    let mut events = events(deployment, "Pod", &pod.name).filter(|event| times.contains(&event.at_millis));
    let last = events.find(|event| event.reason == "NodeNotReady" || OF_KUBELET.contains(&event.reason.as_str()))?;
    (last.reason == "NodeNotReady").then_some(last.at_millis)
}

/// Returns the pods that use a volume attached to another node, as far as a message names them: "… is already used by pod(s) web-1".
pub fn users_of_volume(message: &str) -> impl Iterator<Item = &str> {
    let names = message.split_once("used by pod(s) ").map(|(_, names)| names).unwrap_or_default();
    names.split([',', ' ']).map(|name| name.trim_end_matches('.')).filter(|name| !name.is_empty())
}

/// The reason of Events about a volume that is attached to the node of its pod.
pub const ATTACHED: &str = "SuccessfulAttachVolume";

/// The reason of Events about a volume whose files get the `fsGroup` of a pod.
const OWNERSHIP: &str = "VolumePermissionChangeInProgress";

/// What a pod with a node waits for before its containers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartHold {
    /// A volume cannot be mounted.
    Mount,
    /// A volume cannot be attached to the node.
    Attach,
    /// The pod's sandbox, including its network, cannot be created.
    Sandbox,
    /// The kubelet changes the group of a volume's files to the `fsGroup`.
    Ownership,
    /// Its devices (dynamic resources) cannot be prepared.
    Devices,
    /// Its cgroup cannot be created.
    Cgroup,
    /// An image is pulled.
    Pull,
    /// No Event gives the reason.
    Unknown,
}

impl StartHold {
    /// Returns whether something failed that the kubelet retries.
    pub const fn is_error(self) -> bool {
        matches!(self, Self::Mount | Self::Attach | Self::Sandbox | Self::Devices | Self::Cgroup)
    }
}

/// Returns the Event that explains why a pod with a node has no running container yet: a volume, its sandbox, or an image that is pulled.
/// The kubelet summarises missing volumes: an earlier Event about one of them is more precise. A volume that was attached since then is not
/// the reason.
pub fn holds_start<'m>(deployment: &'m Deployment, pod: &Pod) -> Option<&'m Event> {
    let name = |event: &'m Event| event.message.split_once("volume \"").and_then(|(_, rest)| rest.split('"').next());
    let is_attached = |event: &'m Event| {
        let is_it = |other: &'m Event| {
            other.reason == ATTACHED && other.at_millis >= event.at_millis && name(other) == name(event)
        };
        event.reason == "FailedAttachVolume" && events(deployment, "Pod", &pod.name).any(is_it)
    };
    let lately = || {
        events(deployment, "Pod", &pod.name)
            .filter(|event| !is_attached(event))
            .filter(|event| event.at_millis.saturating_add(1_000) >= pod.first_seen_millis().min(pod.created_at_millis))
            .filter(|event| start_hold(&event.reason).is_some() || event.reason == "Pulled")
    };
    let is_sum = |event: &Event| event.message.starts_with("Unable to attach or mount volumes");
    let last = lately().next().filter(|event| event.reason != "Pulled")?;
    let volume = |event: &&Event| (event.reason.starts_with("Failed") || event.reason == OWNERSHIP) && !is_sum(event);
    Some(if is_sum(last) { lately().find(volume).unwrap_or(last) } else { last })
}

/// The reason of the Event for a pod that schedulers ignore because its ResourceClaim cannot be created.
pub const CLAIM: &str = "FailedResourceClaimCreation";

/// The reason of the condition `PodScheduled` of a pod that has scheduling gates.
pub const GATED: &str = "SchedulingGated";

/// Returns the step of a start that an Event names.
pub fn start_hold(reason: &str) -> Option<StartHold> {
    match reason {
        "FailedMount" | "FailedMapVolume" => Some(StartHold::Mount),
        "FailedAttachVolume" => Some(StartHold::Attach),
        "FailedCreatePodSandBox" | "NetworkNotReady" => Some(StartHold::Sandbox),
        "FailedPrepareDynamicResources" => Some(StartHold::Devices),
        "FailedCreatePodContainer" => Some(StartHold::Cgroup), // the kubelet's name of a pod's cgroup
        OWNERSHIP => Some(StartHold::Ownership),
        "Pulling" => Some(StartHold::Pull),
        _ => None,
    }
}

/// Returns whether a quota refuses the request.
pub fn is_quota(message: &str) -> bool {
    message.contains("exceeded quota")
}

/// Returns whether the API server, or a webhook, refuses the request permanently; other errors may be transient.
pub fn is_decided(message: &str) -> bool {
    let has_any = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
    // A quota that is not counted yet, and objects that the API server has not read yet, are transient.
    let may_pass = has_any(&["status unknown for quota", "not yet ready to handle request", "not yet synced to use"]);
    let is_refused = has_any(&["denied the request", "denied request: ", "is forbidden", "is invalid"]);
    is_quota(message) || (is_refused && !may_pass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_container_that_cannot_be_started_the_last_step_is_told() {
        let runc = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: \
                    unable to start container process: exec: \"/app\": stat /app: no such file or directory";
        assert_eq!(last_step(runc), "exec: \"/app\": stat /app: no such file or directory");
        assert_eq!(last_step(&format!("{runc}: unknown")), last_step(runc), "containerd 1");
        assert_eq!(last_step("something else"), "something else");
    }

    #[test]
    fn a_pod_that_goes_gives_back_its_volumes_and_devices_too() {
        for said in [
            "2 node(s) exceed max volume count",
            "1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use",
            "1 node(s) had no available disk",
            "1 cannot allocate all claims",
        ] {
            assert!(needs_room(&format!("0/4 nodes are available: {said}.")), "{said}");
        }
        assert!(!needs_room("0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector."));
    }

    #[test]
    fn an_api_server_that_is_busy_decides_nothing() {
        assert!(is_decided("pods \"web-1\" is forbidden: violates PodSecurity \"restricted:latest\""));
        assert!(is_decided("admission webhook \"policy\" denied the request: no latest tags"));
        assert!(is_decided("policy 'sidecars' with binding 'shop' denied request: no such key: team"));
        assert!(!is_decided("Internal error occurred: failed calling webhook: context deadline exceeded"));
        assert!(!is_decided("pods \"web-1\" is forbidden: status unknown for quota: q, resources: pods"));
        assert!(!is_decided("pods \"web-1\" is forbidden: not yet ready to handle request"));
        let policy = "policy 'sidecars' with binding 'shop' denied request";
        assert!(!is_decided(&format!("{policy}: paramKind kind `a` not yet synced to use for admission")));
    }
}
