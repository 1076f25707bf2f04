//! The stories: what is said at each step, what is done, and what is waited for. No code, only what people read.

use super::{Act, Story, Until, lives, step};

const fn ready(replicas: i32) -> Act {
    Act::Prepare { replicas, deadline: 600, min_ready: 0, recreate: false }
}

/// Every story, in the order in which they are played.
pub static STORIES: [Story; 21] = [
    Story {
        name: "rollout",
        title: "What happens during a rollout?",
        steps: &[
            step(
                "Four pods run one version. A Deployment asks for them, a ReplicaSet keeps them.",
                ready(4),
                Until::Stable,
            ),
            step(
                "Another image: a new ReplicaSet appears. One pod more is allowed (maxSurge 25 %), and one may be missing (maxUnavailable 25 %).",
                Act::Version(""),
                Until::Half,
            ),
            step(
                "Each new pod that becomes available lets an old one go. Old pods drain while their replacements run already.",
                Act::Look,
                Until::Stable,
            ),
            step(
                "Every pod is of the new revision. The old ReplicaSet stays, empty: it is what a rollback returns to.",
                Act::Look,
                Until::Read,
            ),
        ],
    },
    Story {
        name: "kill-pod",
        title: "What if we kill a pod?",
        steps: &[
            step("Four pods are available.", ready(4), Until::Stable),
            step(
                "One is deleted. Its ReplicaSet makes another one at once; the old one is still draining. No template changed, so the revision stays.",
                Act::KillPod,
                Until::Stable,
            ),
            step("Four of four again. To the Deployment nothing was rolled out.", Act::Look, Until::Read),
        ],
    },
    Story {
        name: "relabel",
        title: "What if we change a pod's labels?",
        steps: &[
            step("A ReplicaSet knows its pods by their labels.", ready(3), Until::Stable),
            step(
                "One pod loses its label: the ReplicaSet lets go of it and makes another. The pod itself keeps running, but Services no longer send it traffic: a way to debug a faulty pod without users on it.",
                Act::Unlabel,
                Until::Stable,
            ),
            step(
                "The label is back: the pod is adopted again. Now there is one too many, and the ReplicaSet deletes one, not necessarily this one.",
                Act::Label,
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "failing-rollout",
        title: "What if a new version never becomes ready?",
        steps: &[
            step("Four healthy pods.", ready(4), Until::Stable),
            step(
                "The new version starts and never becomes ready. The rollout goes as far as its budget allows, and stops there.",
                Act::Version("never"),
                Until::Halted,
            ),
            step(
                "Three old pods still serve: the floor holds. Kubernetes waits; it does not roll back by itself.",
                Act::Look,
                Until::Read,
            ),
            step("Undone: the old ReplicaSet comes back under a new revision number.", Act::Undo, Until::Stable),
        ],
    },
    Story {
        name: "image-missing",
        title: "What if the image does not exist?",
        steps: &[
            step("Three healthy pods.", ready(3), Until::Stable),
            step(
                "A tag that was never pushed. The kubelet tries, backs off, and tries again.",
                Act::Version("missing"),
                Until::Halted,
            ),
            step("Nothing was lost but the new version: no old pod went away.", Act::Look, Until::Read),
            step("The next version exists.", Act::Version(""), Until::Stable),
        ],
    },
    Story {
        name: "rollover",
        title: "What if we deploy again before it is done?",
        steps: &[
            step("Eight pods of one version.", ready(8), Until::Stable),
            step("A version that takes its time to start.", Act::Version("slow"), Until::Half),
            step(
                "Another one supersedes it: three ReplicaSets at once. The unfinished one is an old one now, and its unhealthy pods are removed first.",
                Act::Version(""),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "proportional-scaling",
        title: "What if we scale in the middle of a rollout?",
        steps: &[
            step("Four pods.", ready(4), Until::Stable),
            step("A rollout that gets stuck half-way.", Act::Version("never"), Until::Halted),
            step(
                "Scaled to eight: both ReplicaSets grow, in proportion to their size. Scaling is no rollout.",
                Act::Scale(8),
                Until::Halted,
            ),
            step("A healthy version sets it free.", Act::Version(""), Until::Stable),
        ],
    },
    Story {
        name: "pause",
        title: "What does pausing do?",
        steps: &[
            step("Four pods.", ready(4), Until::Stable),
            step("Paused: from here on changes are only noted.", Act::Pause, Until::Read),
            step("Another image. Nothing moves.", Act::Version(""), Until::Read),
            step("Scaling works all the same.", Act::Scale(6), Until::Stable),
            step("And another image. Both edits will be one revision.", Act::Version(""), Until::Read),
            step("Resumed: one rollout, with the last image.", Act::Resume, Until::Stable),
        ],
    },
    Story {
        name: "deadline",
        title: "What if it takes too long?",
        steps: &[
            step(
                "Three pods. This Deployment must make progress within ten seconds.",
                Act::Prepare { replicas: 3, deadline: 10, min_ready: 0, recreate: false },
                Until::Stable,
            ),
            step("The new version crashes, again and again.", Act::Version("crash"), Until::Deadline),
            step(
                "The deadline has passed. That is only said: nothing is undone, the controller keeps trying.",
                Act::Look,
                Until::Read,
            ),
            step("A version that works. It recovers by itself.", Act::Version(""), Until::Stable),
        ],
    },
    Story {
        name: "rollback",
        title: "What does a rollback do?",
        steps: &[
            step("Three pods.", ready(3), Until::Stable),
            step("A new version is rolled out.", Act::Version(""), Until::Stable),
            step(
                "Undone: the template of the revision before. Its ReplicaSet is still there and is used again, with the next number.",
                Act::Undo,
                Until::Stable,
            ),
            step("A restart is a rollout as well: the same image, in new pods.", Act::Restart, Until::Stable),
        ],
    },
    Story {
        name: "replicaset-deleted",
        title: "What if someone deletes the ReplicaSet?",
        steps: &[
            step("Four pods, kept by one ReplicaSet.", ready(4), Until::Stable),
            step(
                "It is deleted manually. All its pods are deleted with it; the Deployment creates it again, with the same name. Until the new pods are ready, none is available.",
                Act::DeleteReplicaSet,
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "quota",
        title: "What if no more pods are allowed?",
        steps: &[
            step("Three pods.", ready(3), Until::Stable),
            step("A quota allows exactly the pods that there are.", Act::Quota(true), Until::Read),
            step(
                "A rollout needs one more pod for a moment, and the quota does not allow it.",
                Act::Version(""),
                Until::Halted,
            ),
            step("The quota grows. The controller had been trying all the time.", Act::Quota(false), Until::Stable),
        ],
    },
    Story {
        name: "recreate",
        title: "What if two versions must never run together?",
        steps: &[
            step(
                "Three pods, with the strategy Recreate.",
                Act::Prepare { replicas: 3, deadline: 600, min_ready: 0, recreate: true },
                Until::Stable,
            ),
            step(
                "Another image: every old pod goes first. Only then the new ReplicaSet appears. In between nobody serves.",
                Act::Version(""),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "min-ready-seconds",
        title: "What if a pod must prove itself?",
        steps: &[
            step(
                "Three pods that count only after having been ready for five seconds.",
                Act::Prepare { replicas: 3, deadline: 600, min_ready: 5, recreate: false },
                Until::Stable,
            ),
            step(
                "Each new pod is ready first, and available five seconds later. Only then an old one may go.",
                Act::Version(""),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "drain",
        title: "What if a node is drained?",
        steps: &[
            step("Eight pods on four nodes.", ready(8), Until::Stable),
            step(
                "A node takes no more pods, and those that it has are evicted: asked to go, and replaced on the other nodes. No template changed, so the revision stays.",
                Act::Drain,
                Until::Stable,
            ),
            step(
                "The node takes pods again. Nothing moves back: only new pods look for a node.",
                Act::Uncordon,
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "node-lost",
        title: "What if a node disappears?",
        steps: &[
            step("Eight pods on four nodes.", ready(8), Until::Stable),
            step(
                "A node is gone. Its pods still look as if they ran: nobody tells otherwise. Kubernetes waits before it writes them off.",
                Act::LoseNode,
                Until::WrittenOff,
            ),
            step("Written off and replaced on the other nodes.", Act::Look, Until::Stable),
            step("The node is back.", Act::AddNodes, Until::Stable),
        ],
    },
    Story {
        name: "slow-start",
        title: "What if an application takes long to start?",
        steps: &[
            step("Two pods of a program that is ready at once.", ready(2), Until::Stable),
            step(
                "The next version needs 28 seconds until it answers its readiness probe, which asks every two seconds. Until then the new pod runs and is not ready, and the old pods stay.",
                Act::Patch(lives::slow_start),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "exit-0",
        title: "What if a program ends without an error?",
        steps: &[
            step("Three pods.", ready(3), Until::Stable),
            step(
                "The next version ends after a second, with exit code 0. In a Deployment every end is one too many: the container is started again, at once, then after 10, 20 and 40 seconds.",
                Act::Version("exit0"),
                Until::Passed(50_000),
            ),
            step(
                "For one second after each start the pods were ready, and that was enough for the rollout to go on. A version that stays ends it.",
                Act::Version(""),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "liveness",
        title: "What does a liveness probe do?",
        steps: &[
            step("Three pods.", ready(3), Until::Stable),
            step(
                "The next version hangs after 15 seconds. Its liveness probe asks every two seconds; after two failures the kubelet kills the container and starts it again. The pods stay, their restarts are counted.",
                Act::Patch(lives::hangs),
                Until::Passed(70_000),
            ),
            step(
                "A version that does not hang, with the same probe. It asks as before, and nobody notices.",
                Act::Patch(lives::hangs_no_more),
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "missing-config",
        title: "What if a ConfigMap is missing?",
        steps: &[
            step("Three pods.", ready(3), Until::Stable),
            step(
                "The next version mounts a ConfigMap that does not exist. Its pod has a node and waits there: no container is made without its volumes. Only Events say why.",
                Act::Patch(lives::needs_config),
                Until::Passed(15_000),
            ),
            step(
                "The ConfigMap is made. The kubelet had been trying all the time, after twice as long each time.",
                Act::MakeConfigMap,
                Until::Stable,
            ),
        ],
    },
    Story {
        name: "new-node",
        title: "What if there is no room for a pod?",
        steps: &[
            step("Four pods on four nodes.", ready(4), Until::Stable),
            step(
                "The next version asks for so many CPUs that a node holds one of its pods.",
                Act::Patch(lives::large),
                Until::Stable,
            ),
            step(
                "A fifth pod finds no node. An autoscaler adds one, which takes its time; the pod waits, and nothing is wrong.",
                Act::Scale(5),
                Until::Stable,
            ),
            step(
                "Four are enough again. The node that stands empty will be taken away.",
                Act::Scale(4),
                Until::Passed(45_000),
            ),
        ],
    },
];
