//! Every cause that pods show, in every situation that a Deployment may be in: what is said five and seventy seconds later.

use std::fmt::Write;

use crate::made::{SECOND, Web, crashing, unready, waiting, warning};
use crate::said::scheduling::unplaced;
use timeline::fact::{Container, ContainerState, EventFact, Exit, Phase, PodFact, Role};
use timeline::{Fact, Uid};

/// A cause: its name, what it makes of a pod, and the Event that tells it, if one does.
type Cause = (&'static str, fn(&mut PodFact), Option<(&'static str, &'static str)>);

fn waits(pod: &mut PodFact, reason: &str, message: &str) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting(reason, message));
}

fn ends(pod: &mut PodFact, code: i32, reason: &str) {
    crashing(3)(pod);
    pod.ready = None;
    pod.containers[0].last_exit =
        Some(Exit { code, reason: reason.into(), ran_millis: Some(1_000), ..Exit::default() }.into());
}

fn with_init(pod: &mut PodFact, role: Role, state: Option<ContainerState>) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting("PodInitializing", ""));
    let first = Container { state, is_in_startup: role == Role::Sidecar, ..Container::new("first".into(), role) };
    pod.containers.insert(0, first);
}

const CAUSES: [Cause; 22] = [
    ("image not found", |pod| waits(pod, "ErrImagePull", "web:v2: not found"), None),
    ("image 429", |pod| waits(pod, "ErrImagePull", "429 Too Many Requests"), None),
    ("image no such host", |pod| waits(pod, "ImagePullBackOff", "lookup reg: no such host"), None),
    ("image, nobody says why", |pod| waits(pod, "ImagePullBackOff", "Back-off pulling image"), None),
    ("configuration", |pod| waits(pod, "CreateContainerConfigError", "secret \"db\" not found"), None),
    ("unknown reason", |pod| waits(pod, "ReasonOfTomorrow", "odd"), None),
    ("exit code 1", |pod| ends(pod, 1, "Error"), None),
    ("exit code 0", |pod| ends(pod, 0, "Completed"), None),
    ("signal", |pod| ends(pod, 139, "Error"), None),
    ("out of memory", |pod| ends(pod, 137, "OOMKilled"), None),
    ("liveness", |pod| ends(pod, 137, "Error"), Some(("Unhealthy", "Liveness probe failed: statuscode: 503"))),
    (
        "init container crashes",
        |pod| {
            with_init(pod, Role::Init, Some(waiting("CrashLoopBackOff", "back-off 10s")));
            (pod.containers[0].restarts, pod.containers[0].last_exit) =
                (2, Some(Exit { code: 2, reason: "Error".into(), ..Exit::default() }.into()));
        },
        None,
    ),
    ("init container runs", |pod| with_init(pod, Role::Init, Some(ContainerState::Running)), None),
    ("sidecar starts", |pod| with_init(pod, Role::Sidecar, Some(ContainerState::Running)), None),
    (
        "volume",
        |pod| waits(pod, "ContainerCreating", ""),
        Some(("FailedMount", "MountVolume.SetUp failed for volume \"c\" : configmap \"app\" not found")),
    ),
    (
        "volume elsewhere",
        |pod| waits(pod, "ContainerCreating", ""),
        Some(("FailedAttachVolume", "Multi-Attach error for volume \"v\": in use by another node")),
    ),
    (
        "sandbox",
        |pod| waits(pod, "ContainerCreating", ""),
        Some(("FailedCreatePodSandBox", "failed to assign an IP address to container")),
    ),
    ("unschedulable", |pod| unplaced("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu.")(pod), None),
    (
        "a node comes",
        |pod| unplaced("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu.")(pod),
        Some(("TriggeredScaleUp", "pod triggered scale-up: [{group 1->2 (max: 3)}]")),
    ),
    (
        "no node comes",
        |pod| unplaced("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu.")(pod),
        Some(("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")),
    ),
    ("scheduling gates", |pod| unplaced("SchedulingGated", "Scheduling is blocked")(pod), None),
    ("not ready", unready, None),
];

const SITUATIONS: [&str; 5] = ["new pods", "old pods", "after completion", "paused", "recovering"];

fn tell(web: &mut Web, pod: u128, name: &str, reason: &str, message: &str) {
    let warning = warning(900, pod, ("Pod", name), reason, message);
    let fact = EventFact { is_warning: !reason.contains("Scale"), ..warning };
    web.timeline.apply(web.now, Fact::Event(Box::new(fact)));
}

fn situation(name: &str, (_, change, event): Cause) -> Web {
    let mut web = if matches!(name, "after completion" | "recovering") { Web::live(3) } else { Web::replacing() };
    web.now = 60_000;
    let (pod, set) = match name {
        "old pods" | "after completion" => (100, 2),
        "recovering" => (103, 2),
        _ => (200, SECOND),
    };
    match name {
        "old pods" | "after completion" => web.pod(pod, change),
        "recovering" => {
            web.delete_pod(100);
            web.add_pod(pod, set, change);
        }
        _ => web.add_pod(pod, set, change),
    }
    if name == "paused" {
        web.deployment(|deployment| deployment.spec.paused = true);
    }
    if let Some((reason, message)) = event {
        let known = web.timeline.model().pods.get(&Uid::from_bits(pod)).map(|pod| pod.name.clone());
        tell(&mut web, pod, &known.unwrap_or_default(), reason, message);
    }
    web.report();
    web
}

#[test]
fn every_cause_in_every_situation() {
    let mut all = String::new();
    for cause in CAUSES {
        writeln!(all, "== {}", cause.0).unwrap();
        for name in SITUATIONS {
            for seconds in [5, 70] {
                let mut web = situation(name, cause);
                web.now += seconds * 1_000;
                let first = web.view().reasons.first().map(|reason| reason.sentence.clone()).unwrap_or_default();
                writeln!(all, "{name}, {seconds} s: {} | {first}", web.verdict()).unwrap();
            }
        }
    }
    insta::assert_snapshot!(all);
}
