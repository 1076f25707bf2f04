//! The stories: explanation, act and end condition of each step. No code, only data.

use super::{Act, Start, Story, Until, lives, step};

const fn start(replicas: i32) -> Start {
    Start { replicas, deadline_seconds: 600, min_ready_seconds: 0, is_recreate: false, is_spread: false }
}

const fn ready(replicas: i32) -> Act {
    Act::Prepare(start(replicas))
}

/// Like [`ready`], with pods on every node.
const fn spread(replicas: i32) -> Act {
    Act::Prepare(Start { is_spread: true, ..start(replicas) })
}

/// Defines stories from `NAME TITLE { ACT, UNTIL => SENTENCE; … }`.
macro_rules! stories {
    ($($name:literal $title:literal { $($does:expr, $until:expr => $say:literal;)* })*) => {
        [$(Story { name: $name, title: $title, steps: &[$(step($say, $does, $until)),*] }),*]
    };
}

/// Every story, in the order in which they are played.
pub static STORIES: [Story; 21] = stories! {
    "rollout" "What happens during a rollout?" {
        ready(4), Until::Stable => "Four pods run one version. A Deployment asks for them, a ReplicaSet keeps them.";
        Act::Version(""), Until::Half => "Another image: a new ReplicaSet appears. One pod more is allowed (maxSurge 25 %), and one may be missing (maxUnavailable 25 %).";
        Act::Look, Until::Stable => "Each new pod that becomes available lets an old one go. Old pods drain while their replacements run already.";
        Act::Look, Until::Read => "Every pod is of the new revision. The old ReplicaSet stays, empty: it is what a rollback returns to.";
    }
    "kill-pod" "What if we kill a pod?" {
        ready(4), Until::Stable => "Four pods are available.";
        Act::KillPod, Until::Stable => "One is deleted. Its ReplicaSet makes another one at once; the old one is still draining. No template changed, so the revision stays.";
        Act::Look, Until::Read => "Four of four again. To the Deployment nothing was rolled out.";
    }
    "relabel" "What if we change a pod's labels?" {
        ready(3), Until::Stable => "A ReplicaSet knows its pods by their labels.";
        Act::Unlabel, Until::Stable => "One pod loses its label: the ReplicaSet lets go of it and makes another. The pod itself keeps running, but Services no longer send it traffic: a way to debug a faulty pod without users on it.";
        Act::Label, Until::Stable => "The label is back: the pod is adopted again. Now there is one too many, and the ReplicaSet deletes one, not necessarily this one.";
    }
    "failing-rollout" "What if a new version never becomes ready?" {
        ready(4), Until::Stable => "Four healthy pods.";
        Act::Version("never"), Until::Halted => "The new version starts and never becomes ready. The rollout goes as far as its budget allows, and stops there.";
        Act::Look, Until::Read => "Three old pods still serve: the floor holds. Kubernetes waits; it does not roll back by itself.";
        Act::Undo, Until::Stable => "Undone: the old ReplicaSet comes back under a new revision number.";
    }
    "image-missing" "What if the image does not exist?" {
        ready(3), Until::Stable => "Three healthy pods.";
        Act::Version("missing"), Until::Halted => "A tag that was never pushed. The kubelet tries, backs off, and tries again.";
        Act::Look, Until::Read => "Nothing was lost but the new version: no old pod went away.";
        Act::Version(""), Until::Stable => "The next version exists.";
    }
    "rollover" "What if we deploy again before it is done?" {
        ready(8), Until::Stable => "Eight pods of one version.";
        Act::Version("slow"), Until::Half => "A version that takes its time to start.";
        Act::Version(""), Until::Stable => "Another one supersedes it: three ReplicaSets at once. The unfinished one is an old one now, and its unhealthy pods are removed first.";
    }
    "proportional-scaling" "What if we scale in the middle of a rollout?" {
        ready(4), Until::Stable => "Four pods.";
        Act::Version("never"), Until::Halted => "A rollout that gets stuck half-way.";
        Act::Scale(8), Until::Halted => "Scaled to eight: both ReplicaSets grow, in proportion to their size. Scaling is no rollout.";
        Act::Version(""), Until::Stable => "A healthy version sets it free.";
    }
    "pause" "What does pausing do?" {
        ready(4), Until::Stable => "Four pods.";
        Act::Pause, Until::Read => "Paused: from here on changes are only noted.";
        Act::Version(""), Until::Read => "Another image. Nothing moves.";
        Act::Scale(6), Until::Stable => "Scaling works all the same.";
        Act::Version(""), Until::Read => "And another image. Both edits will be one revision.";
        Act::Resume, Until::Stable => "Resumed: one rollout, with the last image.";
    }
    "deadline" "What if it takes too long?" {
        Act::Prepare(Start { deadline_seconds: 10, ..start(3) }), Until::Stable => "Three pods. This Deployment must make progress within ten seconds.";
        Act::Version("crash"), Until::Deadline => "The new version crashes before it is ready, again and again.";
        Act::Look, Until::Read => "The deadline has passed. That is only said: nothing is undone, the controller keeps trying.";
        Act::Version(""), Until::Stable => "A version that works. It recovers by itself.";
    }
    "rollback" "What does a rollback do?" {
        ready(3), Until::Stable => "Three pods.";
        Act::Version(""), Until::Stable => "A new version is rolled out.";
        Act::Undo, Until::Stable => "Undone: the template of the revision before. Its ReplicaSet is still there and is used again, with the next number.";
        Act::Restart, Until::Stable => "A restart is a rollout as well: the same image, in new pods.";
    }
    "replicaset-deleted" "What if someone deletes the ReplicaSet?" {
        ready(4), Until::Stable => "Four pods, kept by one ReplicaSet.";
        Act::DeleteReplicaSet, Until::Stable => "It is deleted manually. All its pods are deleted with it; the Deployment creates it again, with the same name. Until the new pods are ready, none is available.";
    }
    "quota" "What if no more pods are allowed?" {
        ready(3), Until::Stable => "Three pods.";
        Act::Quota(true), Until::Read => "A quota allows exactly the pods that there are.";
        Act::Version(""), Until::Halted => "A rollout needs one more pod for a moment, and the quota does not allow it.";
        Act::Quota(false), Until::Stable => "The quota grows. The controller had been trying all the time.";
    }
    "recreate" "What if two versions must never run together?" {
        Act::Prepare(Start { is_recreate: true, ..start(3) }), Until::Stable => "Three pods, with the strategy Recreate.";
        Act::Version(""), Until::Stable => "Another image: every old pod goes first. Only then the new ReplicaSet appears. In between nobody serves.";
    }
    "min-ready-seconds" "What if a pod must prove itself?" {
        Act::Prepare(Start { min_ready_seconds: 5, ..start(3) }), Until::Stable => "Three pods that count only after having been ready for five seconds.";
        Act::Version(""), Until::Stable => "Each new pod is ready first, and available five seconds later. Only then an old one may go.";
    }
    "drain" "What if a node is drained?" {
        spread(8), Until::Stable => "Eight pods on four nodes.";
        Act::Drain, Until::Stable => "A node takes no more pods, and those that it has are evicted: asked to go, and replaced on the other nodes. No template changed, so the revision stays.";
        Act::Uncordon, Until::Stable => "The node takes pods again. Nothing moves back: only new pods look for a node.";
    }
    "node-lost" "What if a node disappears?" {
        spread(8), Until::Stable => "Eight pods on four nodes.";
        Act::LoseNode, Until::WrittenOff => "A node is gone. Its pods still look as if they ran: nobody tells otherwise. Kubernetes waits before it writes them off.";
        Act::Look, Until::Stable => "Written off and replaced on the other nodes.";
        Act::AddNodes, Until::Stable => "The node is back.";
    }
    "slow-start" "What if an application takes long to start?" {
        ready(2), Until::Stable => "Two pods of a program that is ready at once.";
        Act::Patch(lives::slow_start), Until::Stable => "The next version needs 28 seconds until it answers its readiness probe, which asks every two seconds. Until then the new pod runs and is not ready, and the old pods stay.";
    }
    "exit-0" "What if a program ends without an error?" {
        ready(3), Until::Stable => "Three pods.";
        Act::Version("exit0"), Until::Passed(50_000) => "The next version ends after a second, with exit code 0. In a Deployment every end is one too many: the container is started again, at once, then after 10, 20 and 40 seconds.";
        Act::Version(""), Until::Stable => "For one second after each start the pods were ready, and that was enough for the rollout to go on. A version that stays ends it.";
    }
    "liveness" "What does a liveness probe do?" {
        ready(3), Until::Stable => "Three pods.";
        Act::Patch(lives::hangs), Until::Passed(70_000) => "The next version hangs after 15 seconds. Its liveness probe asks every two seconds; after two failures the kubelet kills the container and starts it again. The pods stay, their restarts are counted.";
        Act::Patch(lives::hangs_no_more), Until::Stable => "A version that does not hang, with the same probe. It asks as before, and nobody notices.";
    }
    "missing-config" "What if a ConfigMap is missing?" {
        ready(3), Until::Stable => "Three pods.";
        Act::Patch(lives::needs_config), Until::Passed(15_000) => "The next version mounts a ConfigMap that does not exist. Its pod has a node and waits there: no container is made without its volumes. Only Events say why.";
        Act::MakeConfigMap, Until::Stable => "The ConfigMap is made. The kubelet had been trying all the time, after twice as long each time.";
    }
    "new-node" "What if there is no room for a pod?" {
        spread(4), Until::Stable => "Four pods on four nodes.";
        Act::Patch(lives::large), Until::Stable => "The next version asks for so many CPUs that a node holds one of its pods.";
        Act::Scale(5), Until::Stable => "A fifth pod finds no node. An autoscaler adds one, which takes its time; the pod waits, and nothing is wrong.";
        Act::Scale(4), Until::Passed(45_000) => "Four are enough again. The node that stands empty will be taken away.";
    }
};
