//! The way out: the command that undoes what is wrong, or shows why it is so. Nothing here is ever run: Rollcast only reads.

use super::assessment::Assessment;
use super::cause::{Cause, CauseKind, Severity};
use super::standing::Standing;
use crate::Millis;
use crate::model::fact::Container;
use crate::model::{Pod, PodState, ReplicaSet, Rollout};
use crate::rules::{messages, rollout};

/// Crashes that begin this soon after a rollout may come of it.
const WITH_IT_MILLIS: Millis = 600_000;

/// A way out, before it is put into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Resume a paused Deployment.
    Resume,
    /// Roll back: to the revision before, or to another one.
    Undo {
        /// The revision, where it is not the one that `kubectl rollout undo` takes by itself.
        to: Option<u64>,
    },
    /// Scale back, so that the controller goes on with the rollout.
    ScaleBack {
        /// The replicas that the ReplicaSets were scaled for last.
        replicas: u32,
    },
    /// Look at the quota that refuses pods.
    ShowQuota,
    /// Look at what a pod's container wrote.
    ShowLogs {
        /// Name of the pod.
        pod: String,
        /// Name of the container, where the pod has several.
        container: Option<String>,
        /// Of the run before, which ended.
        is_previous: bool,
    },
    /// Look at a pod.
    ShowPod(String),
    /// Look at a node.
    ShowNode(String),
    /// Look at a ReplicaSet.
    ShowSet(String),
    /// Look at the Deployment.
    ShowDeployment,
    /// Look at the namespace.
    ShowNamespace,
}

impl Assessment<'_> {
    /// Returns the way out; `None` if there is nothing to undo, or to look at.
    pub fn remedy(&self, standing: Standing) -> Option<Remedy> {
        match standing {
            Standing::NotObserved { .. } => Some(Remedy::ShowDeployment),
            _ if let Some(pod) = self.lost_pod(standing) => Some(pod),
            Standing::Paused => Some(Remedy::Resume),
            _ if self.has_lost_all_pods() => Some(Remedy::ShowNamespace),
            // Until then the controller rolls nothing back either.
            Standing::DeadlineExceeded | Standing::Failing | Standing::Blocked
                if let Some(replicas) = self.replicas_before_stuck_scaling() =>
            {
                Some(Remedy::ScaleBack { replicas })
            }
            Standing::DeadlineExceeded | Standing::Failing | Standing::Blocked => {
                Some(self.quota().or_else(|| self.undo()).unwrap_or_else(|| self.show()))
            }
            Standing::Crashing if self.crashed_with_it() || self.came_to_nothing() => {
                Some(self.undo().unwrap_or_else(|| self.show()))
            }
            Standing::Crashing => Some(self.show()),
            Standing::ScalingUp { is_stuck: true } | Standing::Degraded { is_stuck: true } => {
                let back = || if self.came_to_nothing() { self.undo() } else { None };
                Some(self.quota().or_else(back).unwrap_or_else(|| self.show()))
            }
            // Nothing is wrong, unless the person who started it thinks otherwise.
            Standing::Progressing | Standing::Waiting | Standing::Slow | Standing::TakingDown if self.is_of_nodes() => {
                Some(self.show())
            }
            Standing::Progressing | Standing::Waiting | Standing::Slow | Standing::TakingDown => self.undo(),
            Standing::Deleted
            | Standing::Deleting
            | Standing::ScaledToZero
            | Standing::Finishing
            | Standing::Complete
            | Standing::ScalingUp { is_stuck: false }
            | Standing::CatchingUp
            | Standing::Degraded { is_stuck: false } => None,
        }
    }

    /// Suggests to look at a lost pod, if no pod is available, or too few are, and lost old pods are the worst cause:
    /// neither resuming nor undoing mends that.
    fn lost_pod(&self, standing: Standing) -> Option<Remedy> {
        if self.has_fault() || !(self.is_rollout_outage(standing) || self.lacks_old_pods(standing)) {
            return None;
        }
        let is_lost =
            |cause: &&Cause| matches!(&cause.kind, CauseKind::OldTroubles { trouble, .. } if trouble.kind.is_loss());
        let lost = self.causes.iter().find(is_lost)?;
        Some(Remedy::ShowPod(lost.evidence.object_name().to_owned()))
    }

    /// Returns whether the crashes began soon after the revision was rolled out: undoing may end them.
    fn crashed_with_it(&self) -> bool {
        let began =
            self.worst_cause().filter(|cause| !cause.evidence.is_least).and_then(|cause| cause.evidence.since_millis);
        let rollout = self.deployment.rollouts.last();
        let completed = rollout.and_then(|rollout| rollout.completed_millis.or(rollout.available_millis));
        began.zip(completed).is_some_and(|(began, completed)| began - completed < WITH_IT_MILLIS)
    }

    fn worst_cause(&self) -> Option<&Cause> {
        self.decisive().or_else(|| self.causes.iter().find(|cause| cause.severity > Severity::Normal))
    }

    /// Returns the worst cause, or the first one of those that may pass.
    fn first_cause(&self) -> Option<&Cause> {
        self.worst_cause().or_else(|| self.causes.first())
    }

    /// Nodes are the trouble of new pods, and not the revision: going back would not help.
    fn is_of_nodes(&self) -> bool {
        self.first_cause().filter(|cause| !cause.is_of_old_pods()).is_some_and(|cause| match cause.kind {
            CauseKind::NodeSilent { .. } => true,
            // No node fits pods of the revision before either, for the same reason.
            CauseKind::Unschedulable { .. } => cause.old > 0 && !cause.is_mixed,
            _ => false,
        })
    }

    fn quota(&self) -> Option<Remedy> {
        let is_quota = |cause: &&Cause| {
            matches!(cause.kind, CauseKind::Refused { .. }) && messages::is_quota(&cause.evidence.message)
        };
        self.worst_cause().filter(is_quota).map(|_| Remedy::ShowQuota)
    }

    /// Back to the revision that still has most pods available; of those that have none, to one that was complete once, the latest
    /// of them. Never to one that was seen to come to nothing, or whose pods all fail. `kubectl rollout undo` by itself takes the
    /// second highest revision of all ReplicaSets, which may never have worked, or be too old where the new one was refused.
    fn undo(&self) -> Option<Remedy> {
        if self.is_of_nodes() {
            return None;
        }
        let sets = || self.model.owned_sets(self.deployment.uid).filter(|set| !set.now.deleting);
        let current = self.current.filter(|_| !self.awaits_revision).map(|set| set.uid);
        let available = |set: &ReplicaSet| self.model.pod_counts(set.uid).available;
        let earlier = sets().filter(|set| Some(set.uid) != current);
        // Undoing a rollback out of a crash loop would bring the loop back.
        let works = |set: &&ReplicaSet| {
            let failing = self.failing_pods(set).len();
            failing == 0 || failing < set.now.counts.replicas as usize
        };
        let known = earlier.filter(works).filter_map(|set| {
            let rollouts = || self.deployment.rollouts.iter().filter(|rollout| set.had_revision(rollout.revision));
            // Complete with no replicas says nothing of its pods, unless some were available and not failing before.
            let served = || self.model.pods_of(set.uid).any(|pod| pod.was_available() && !was_failing(pod));
            let had_pods =
                |rollout: &Rollout| rollout.completed_millis.is_some() && (rollout.available_of != Some(0) || served());
            let was_complete = rollouts().any(had_pods);
            let is_unseen = rollouts().all(|rollout| rollout.started_millis.is_none());
            let (available, revision) = (available(set), set.revision()?);
            // What was seen to come to nothing, and has nothing now, is no way out.
            let may_work = available > 0 || ((was_complete || is_unseen) && !self.left_failing(set));
            may_work.then_some((available, was_complete, revision))
        });
        let (.., to) = known.max()?;
        let mut revisions: Vec<u64> = sets().filter_map(ReplicaSet::revision).collect();
        revisions.sort_unstable();
        let by_itself = revisions.iter().rev().nth(1);
        // A revision that is yet to come changes which one kubectl takes.
        Some(Remedy::Undo { to: Some(to).filter(|to| self.awaits_revision || by_itself != Some(to)) })
    }

    /// Returns whether every pod that a ReplicaSet lost since the last rollout began was failing when it was asked to
    /// go.
    fn left_failing(&self, set: &ReplicaSet) -> bool {
        let last = self.deployment.rollouts.last();
        let began = last.and_then(|last| rollout::first_sign_millis(self.model, self.deployment, last));
        let is_late = |pod: &&Pod| pod.ended_millis().is_some_and(|at| began.is_none_or(|began| at >= began));
        let mine = self.model.pods_of(set.uid).filter(|pod| pod.last_owner() == Some(set.uid));
        let mut lost = mine.filter(is_late).peekable();
        lost.peek().is_some() && lost.all(was_failing)
    }

    /// Returns the command that shows the reason, for the object of the first cause.
    fn show(&self) -> Remedy {
        let Some(cause) = self.first_cause() else { return Remedy::ShowDeployment };
        if let CauseKind::NodeSilent { node } | CauseKind::PodsFailed { node: Some(node), .. } = &cause.kind {
            return Remedy::ShowNode(node.clone());
        }
        match cause.evidence.object.split_once(' ') {
            Some(("Pod", name)) => match (&cause.kind, self.pod(name)) {
                // What never ran wrote nothing.
                (CauseKind::Crash(crash), Some(_)) if crash.start_error.is_none() => {
                    let container = Some(&crash.container).filter(|_| crash.is_one_of_several).cloned();
                    Remedy::ShowLogs {
                        pod: name.to_owned(),
                        container,
                        is_previous: crash.restarts > 0 && !crash.is_final && !crash.needs_restart_of_all,
                    }
                }
                _ => Remedy::ShowPod(name.to_owned()),
            },
            Some(("ReplicaSet", name)) => Remedy::ShowSet(name.to_owned()),
            _ => Remedy::ShowDeployment,
        }
    }

    fn pod(&self, name: &str) -> Option<&Pod> {
        self.model.pods_of_deployment(self.deployment.uid).into_iter().find(|pod| pod.name == name)
    }
}

/// Returns whether a pod was failing when it was asked to go, or is now.
fn was_failing(pod: &Pod) -> bool {
    let before = pod.states.iter().rev().find(|(state, _)| !state.is_ending());
    before.is_some_and(|(state, _)| *state == PodState::Failing)
        || pod.now.containers.iter().any(Container::ends_again_and_again)
}
