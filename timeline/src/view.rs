//! What is said of one Deployment now: the verdict with its causes, and the figures beside it. Data decides here,
//! [`crate::say`] finds the words.

mod summary;

use serde::{Deserialize, Serialize};

use crate::budget::{self, Limits, Next, Sums};
use crate::model::{Deployment, Pod, ReplicaSet, Rollout};
use crate::phase::PodState;
use crate::say;
use crate::stall::{Cause, CauseKind, Evidence, Scene};
use crate::verdict::{self, KubectlVerdict};
use crate::{Millis, Model, Uid, rollout};

pub use summary::{LATELY_MILLIS, Lately, Summary, summary};

/// A fault must last this long, and nothing move meanwhile, before the rollout counts as stalled.
const FAULT_MILLIS: Millis = 10_000;
/// Nothing progressed for this long while something should: stalled.
const QUIET_MILLIS: Millis = 60_000;

/// The time, and how our clock and the API server's differ.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Our clock.
    pub millis: Millis,
    /// Our clock less the API server's.
    pub skew_millis: Millis,
}

/// How a verdict feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tone {
    /// All is as it should be.
    Ok,
    /// Something is under way or waits.
    Busy,
    /// Somebody should look.
    Bad,
    /// Nothing is going on.
    Quiet,
}

impl Tone {
    /// Class name of the tone.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Busy => "busy",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

/// How a Deployment stands: our verdict, before it is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was deleted.
    Deleted,
    /// It is being deleted.
    Deleting,
    /// Somebody paused it.
    Paused,
    /// Its controller does not react.
    NotObserved,
    /// Nobody asks for pods.
    ScaledToZero,
    /// The progress deadline passed.
    DeadlineExceeded,
    /// A fault lasts, or nothing moves.
    Stalled,
    /// Recreate: the old pods go first.
    TakingDown,
    /// Something normal and named is waited for.
    Waiting,
    /// Under way.
    Progressing,
    /// Everything is available; old pods still drain.
    Finishing,
    /// Complete before, and more is asked for since.
    ScalingUp {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Pods are missing and nothing is replaced; whether it rolls out, more is asked for or some were lost was not seen.
    CatchingUp {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Complete before, and now pods are missing.
    Degraded {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Complete.
    Complete,
}

impl Standing {
    /// How it feels.
    #[must_use]
    pub const fn tone(self) -> Tone {
        match self {
            Self::Complete => Tone::Ok,
            Self::Deleted | Self::Deleting | Self::ScaledToZero => Tone::Quiet,
            Self::NotObserved
            | Self::DeadlineExceeded
            | Self::Stalled
            | Self::ScalingUp { is_stuck: true }
            | Self::CatchingUp { is_stuck: true }
            | Self::Degraded { is_stuck: true } => Tone::Bad,
            _ => Tone::Busy,
        }
    }
}

/// The verdict, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// One or two words: "Complete", "Rolling out".
    pub badge: String,
    /// How it feels.
    pub tone: Tone,
    /// One sentence of at most twelve words.
    pub sentence: String,
    /// Why, with evidence; may be empty.
    pub why: String,
    /// What `kubectl rollout status` makes of the same object.
    pub kubectl: KubectlVerdict,
}

/// What keeps the controller from its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Hold {
    /// Nothing, or there is no next step.
    #[default]
    Free,
    /// New pods are on their way: normal.
    Waits,
    /// A fault.
    Blocked,
}

/// A cause, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// One sentence.
    pub sentence: String,
    /// Waiting alone will not mend it.
    pub is_fault: bool,
    /// Its kind cannot pass by itself: an image that is not there, a crash loop, a configuration error.
    pub is_fatal: bool,
    /// What shows it.
    pub evidence: Evidence,
}

/// Pods of a Deployment, counted by what they do for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Available, of any revision.
    pub available: u32,
    /// On their way, or failing.
    pub not_yet: u32,
    /// Failed for good, and not cleaned up yet; no controller counts them.
    pub failed: u32,
    /// Draining; counted nowhere in the budget.
    pub terminating: u32,
    /// Released and still running.
    pub out_of_rotation: u32,
    /// Available, of the current revision.
    pub new_available: u32,
    /// Sum of the ReplicaSets' `spec.replicas`: what the controllers asked for.
    pub asked: u32,
}

/// A ReplicaSet in figures, said in the same moment as everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCounts {
    /// The ReplicaSet.
    pub uid: Uid,
    /// `spec.replicas`.
    pub desired: u32,
    /// Its pods that are available.
    pub available: u32,
}

/// Everything the verdict line shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The verdict, in words.
    pub verdict: Verdict,
    /// Causes, the most decisive first.
    pub reasons: Vec<Reason>,
    /// Pods counted.
    pub counts: Counts,
    /// The ReplicaSets that exist, counted: [`Counts::available`] and [`Counts::asked`] are the sums of these.
    pub sets: Vec<SetCounts>,
    /// `spec.replicas`.
    pub wanted: u32,
    /// Ceiling and floor.
    pub limits: Limits,
    /// The budget in words: what is asked for and available against ceiling and floor, and where these come from.
    pub budget: String,
    /// Where ceiling and floor come from: "4 + 1 (25 %, up)", "4 − 1 (25 %, down)"; empty for Recreate.
    pub derived: (String, String),
    /// Since when the limits are what they are, as far as it was seen.
    pub limits_since_millis: Millis,
    /// What keeps the controller from its next step.
    pub hold: Hold,
    /// Revision of the current rollout.
    pub revision: Option<u64>,
    /// When the progress deadline passes, by our clock; `None` when no deadline runs.
    pub deadline_millis: Option<Millis>,
    /// That another Deployment had this name before, or has it now; empty when there is none.
    pub notice: String,
    /// Another Deployment has this name now.
    pub is_succeeded: bool,
}

/// Looks at a Deployment; `None` when the model does not hold it.
#[must_use]
pub fn view(model: &Model, uid: Uid, now: Now) -> Option<View> {
    let looked = look(model, uid, now)?;
    let standing = looked.standing();
    Some(View {
        verdict: Verdict {
            badge: say::badge(standing, &looked),
            tone: standing.tone(),
            sentence: say::verdict(standing, &looked),
            why: say::why(standing, &looked),
            kubectl: looked.kubectl,
        },
        reasons: looked.causes.iter().map(|cause| reason(cause, &looked)).collect(),
        budget: say::budget(&looked),
        derived: say::derived(&looked.deployment.now.spec, looked.limits).unwrap_or_default(),
        limits_since_millis: looked.limits_since(),
        hold: looked.hold(),
        counts: looked.counts,
        sets: set_counts(model, looked.deployment),
        wanted: looked.deployment.now.spec.replicas,
        limits: looked.limits,
        revision: looked.revision(),
        deadline_millis: deadline(looked.deployment).map(|at| at.saturating_add(now.skew_millis)),
        notice: match (looked.successor(), looked.predecessor()) {
            (Some(after), _) => say::succeeded(after, looked.deployment, now.skew_millis),
            (None, Some(before)) => say::recreated(before, looked.deployment, now.skew_millis),
            (None, None) => String::new(),
        },
        is_succeeded: looked.successor().is_some(),
    })
}

/// Everything that is said of a Deployment, before it is put into words; `None` when the model does not hold it.
#[must_use]
pub fn look(model: &Model, uid: Uid, now: Now) -> Option<Looked<'_>> {
    Looked::at(model, uid, now)
}

fn reason(cause: &Cause, looked: &Looked<'_>) -> Reason {
    Reason {
        sentence: say::cause(cause, looked),
        is_fault: cause.is_fault,
        is_fatal: match cause.kind {
            CauseKind::Image { .. } | CauseKind::BadContainer => true,
            CauseKind::Crash { restarts, .. } => restarts >= 2,
            _ => false,
        },
        evidence: cause.evidence.clone(),
    }
}

/// Everything that a verdict is made of.
pub struct Looked<'m> {
    /// The model.
    pub model: &'m Model,
    /// The Deployment.
    pub deployment: &'m Deployment,
    /// The ReplicaSet that is scaled up.
    pub current: Option<&'m ReplicaSet>,
    /// Pods counted.
    pub counts: Counts,
    /// What the controller counts, as soon as the ReplicaSets report what their pods do.
    pub sums: Sums,
    /// Ceiling and floor.
    pub limits: Limits,
    /// What the controller may do.
    pub next: Next,
    /// What kubectl makes of it.
    pub kubectl: KubectlVerdict,
    /// Pods that the ReplicaSet controller is yet to make, and to remove.
    pub owed: (u32, u32),
    /// Causes, the most decisive first.
    pub causes: Vec<Cause>,
    /// Our clock.
    pub now_millis: Millis,
}

impl<'m> Looked<'m> {
    fn at(model: &'m Model, uid: Uid, now: Now) -> Option<Self> {
        let deployment = model.deployments.get(&uid)?;
        let current = rollout::current_set(model, deployment);
        let sees_pods = model.sees_pods(uid);
        let sums = if sees_pods { Sums::of_pods(model, deployment) } else { Sums::of(model, deployment) };
        let limits = budget::limits(&deployment.now.spec);
        let next = budget::next(&deployment.now.spec, &sums);
        let scene = Scene { model, deployment, sums: &sums, next, limits, now };
        let causes = if deployment.is_over() { Vec::new() } else { scene.causes() };
        let kubectl =
            if deployment.deleted_millis.is_some() { KubectlVerdict::Gone } else { verdict::kubectl(&deployment.now) };
        let counts = if sees_pods {
            counts(model, deployment, current, sums.asked)
        } else {
            reported(model, deployment, current, sums.asked)
        };
        let owed = if sees_pods { owed(model, deployment) } else { (0, 0) };
        let now_millis = now.millis;
        Some(Self { model, deployment, current, counts, limits, next, owed, kubectl, causes, sums, now_millis })
    }

    fn standing(&self) -> Standing {
        let (deployment, counts) = (self.deployment, self.counts);
        let wanted = deployment.now.spec.replicas;
        if deployment.deleted_millis.is_some() {
            return Standing::Deleted;
        }
        if deployment.now.deleting {
            return Standing::Deleting;
        }
        if deployment.now.spec.paused {
            return Standing::Paused;
        }
        if self.causes.iter().any(|cause| cause.kind == CauseKind::ControllerSilent) {
            return Standing::NotObserved;
        }
        if wanted == 0 && counts.available + counts.not_yet == 0 {
            return Standing::ScaledToZero;
        }
        match self.kubectl {
            KubectlVerdict::Complete if counts.available >= wanted => Standing::Complete,
            KubectlVerdict::DeadlineExceeded if !self.has_deadline_of_before() => Standing::DeadlineExceeded,
            _ if self.is_taking_down() && !self.has_lasting_fault() => Standing::TakingDown,
            _ if self.sums.old_asked() == 0 && counts.available >= wanted => Standing::Finishing,
            _ if self.is_settled() => self.standing_of_missing(),
            _ if self.is_unseen() => Standing::CatchingUp { is_stuck: self.is_stalled() },
            _ if self.is_stalled() => Standing::Stalled,
            _ if matches!(self.next, Next::WaitForNew { .. } | Next::Nothing) && self.waits() => Standing::Waiting,
            _ => Standing::Progressing,
        }
    }

    /// It went while nobody looked: it was deleted at that time or before.
    #[must_use]
    pub fn went_unseen(&self) -> bool {
        self.deployment.deleted_millis.is_some_and(|at| self.deployment.gaps.iter().any(|gap| gap.to_millis == at))
    }

    /// The rollout was complete before: what is missing now is no part of it.
    fn is_settled(&self) -> bool {
        let last = self.deployment.rollouts.last();
        let was_there = |rollout: &Rollout| rollout.completed_millis.or(rollout.available_millis).is_some();
        self.sums.old_asked() == 0 && last.is_some_and(was_there)
    }

    fn has_deadline_of_before(&self) -> bool {
        let last = self.deployment.rollouts.last();
        last.is_some_and(|rollout| rollout.has_deadline_of_before(&self.deployment.now))
    }

    /// Its pods are news of a rollout: one that is seen to be under way.
    #[must_use]
    pub fn is_rolling_out(&self) -> bool {
        let was_start_seen = || self.deployment.rollouts.last().is_some_and(|rollout| rollout.started_millis.is_some());
        self.sums.old_asked() > 0 || (was_start_seen() && !self.is_settled())
    }

    /// It was there when watching began, nothing is replaced, and whether it had everything before is not known.
    fn is_unseen(&self) -> bool {
        let last = self.deployment.rollouts.last();
        self.sums.old_asked() == 0
            && !self.awaits_revision()
            && last.is_some_and(|rollout| rollout.started_millis.is_none())
    }

    /// It was complete, and pods are missing: more are asked for than it ever had, or some of those that it had are lost.
    fn standing_of_missing(&self) -> Standing {
        let had = self.deployment.rollouts.last().and_then(|rollout| rollout.available_of);
        let (wanted, is_stuck) = (self.deployment.now.spec.replicas, self.is_stalled());
        match had {
            Some(had) if had < wanted && had <= self.counts.available => Standing::ScalingUp { is_stuck },
            None if !is_stuck => Standing::CatchingUp { is_stuck },
            _ => Standing::Degraded { is_stuck },
        }
    }

    /// Everything that holds it up is named and passes by itself.
    fn waits(&self) -> bool {
        !self.causes.is_empty() && self.causes.iter().all(|cause| !cause.is_fault)
    }

    /// Recreate: the old pods go, and the new ones are made afterwards.
    fn is_taking_down(&self) -> bool {
        let spec = &self.deployment.now.spec;
        spec.strategy == crate::fact::Strategy::Recreate
            && spec.replicas > 0
            && matches!(self.next, Next::WaitForOldGone | Next::RemoveOld { .. })
    }

    fn is_stalled(&self) -> bool {
        self.has_lasting_fault() || self.quiet_millis() > QUIET_MILLIS
    }

    fn has_lasting_fault(&self) -> bool {
        let lasts = |cause: &Cause| {
            cause.is_fault && cause.evidence.since_millis.is_none_or(|since| self.now_millis - since > FAULT_MILLIS)
        };
        self.quiet_millis() > FAULT_MILLIS && self.causes.iter().any(lasts)
    }

    fn quiet_millis(&self) -> Millis {
        self.now_millis - self.last_progress()
    }

    /// When the rollout last got on: a step of replicas, a pod that became available, a verdict.
    fn last_progress(&self) -> Millis {
        let uid = self.deployment.uid;
        let scales = self.model.sets_of(uid).flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
        let pods = self.model.pods_of_deployment(uid);
        let available = pods
            .iter()
            .flat_map(|pod| &pod.states)
            .filter(|(state, _)| matches!(state, PodState::Available | PodState::Gone));
        let verdict = self.deployment.verdicts.last().map(|(at, _)| *at);
        scales.chain(available.map(|(_, at)| *at)).chain(verdict).max().unwrap_or(self.deployment.first_seen_millis)
    }

    /// The revision that is scaled up.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        let last = || self.deployment.rollouts.last().map(|rollout| rollout.revision);
        rollout::current_revision(self.model, self.deployment).or_else(last)
    }

    /// The last change of the limits, or the first look.
    fn limits_since(&self) -> Millis {
        self.deployment.limits.last().map_or(self.deployment.first_seen_millis, |(at, _)| *at)
    }

    /// More is asked for than the limits allow, because they were lowered since and nothing was raised since then.
    #[must_use]
    pub fn is_lowered(&self) -> bool {
        let [.., (_, before), (since, now)] = self.deployment.limits.as_slice() else { return false };
        let mut sets = self.model.owned_sets(self.deployment.uid);
        let is_raised = |set: &ReplicaSet| {
            let mut scales = set.scales.iter();
            scales.any(|scale| scale.at_millis > *since && scale.to > scale.from)
        };
        before.ceiling > now.ceiling && !sets.any(is_raised)
    }

    /// ReplicaSets were given what a change of the Deployment allows that is not seen yet: each says what it was allowed with.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        let mut sets = self.model.owned_sets(self.deployment.uid);
        sets.any(|set| set.now.max_replicas.is_some_and(|most| most >= self.counts.asked))
    }

    /// The Deployment that bore the name before this one.
    fn predecessor(&self) -> Option<&'m Deployment> {
        let first_seen = self.deployment.first_seen_millis;
        self.namesakes()
            .filter(|other| other.first_seen_millis < first_seen)
            .max_by_key(|other| other.first_seen_millis)
    }

    /// The one that has the name now, when this one is gone.
    fn successor(&self) -> Option<&'m Deployment> {
        self.deployment.deleted_millis?;
        self.namesakes().find(|other| other.deleted_millis.is_none())
    }

    fn namesakes(&self) -> impl Iterator<Item = &'m Deployment> + use<'m> {
        let this = self.deployment;
        let is_namesake =
            |other: &&Deployment| other.uid != this.uid && other.name == this.name && other.namespace == this.namespace;
        self.model.deployments.values().filter(move |other| is_namesake(other))
    }

    fn hold(&self) -> Hold {
        let has_next = self.sums.old_asked() > 0 || !matches!(self.next, Next::Nothing | Next::WaitForNew { .. });
        match self.next {
            _ if self.has_fault() && (has_next || self.counts.not_yet > 0) => Hold::Blocked,
            // Old pods that were let go of count until they are asked to go.
            Next::WaitForNew { .. } | Next::WaitForOldGone if self.owed.1 == 0 => Hold::Waits,
            _ => Hold::Free,
        }
    }

    /// The template was edited, and the revision that will come of it is not there yet.
    #[must_use]
    pub fn awaits_revision(&self) -> bool {
        rollout::awaits_revision(self.model, self.deployment)
    }

    /// ReplicaSets that are replaced: those that the template in force is not of, and that still have something to lose.
    pub fn replaced(&self) -> impl Iterator<Item = &'m ReplicaSet> {
        let current = self.current.filter(|_| !self.awaits_revision()).map(|set| set.uid);
        let model = self.model;
        let has_pods = move |set: &&ReplicaSet| {
            let mut pods = model.pods_of(set.uid);
            set.now.counts.wanted > 0 || pods.any(|pod| pod.owner == Some(set.uid) && pod.gone_millis().is_none())
        };
        model.owned_sets(self.deployment.uid).filter(move |set| Some(set.uid) != current).filter(has_pods)
    }

    /// Something that waiting alone will not mend.
    #[must_use]
    pub fn has_fault(&self) -> bool {
        self.causes.iter().any(|cause| cause.is_fault)
    }

    /// The ceiling and the floor of the budget are both reached.
    #[must_use]
    pub const fn at_limits(&self) -> bool {
        self.counts.asked >= self.limits.ceiling && self.counts.available <= self.limits.floor
    }
}

fn counts(model: &Model, deployment: &Deployment, current: Option<&ReplicaSet>, asked: u32) -> Counts {
    let mut counts = Counts { asked, ..Counts::default() };
    for set in model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid)) {
        for pod in model.pods_of(set.uid) {
            match pod.state() {
                PodState::Gone | PodState::Finished => {}
                _ if pod.is_leftover() => counts.failed += u32::from(pod.owner == Some(set.uid)),
                // One that was released counts where it was last.
                _ if pod.is_out_of_rotation() && pod.owners.last() == Some(&set.uid) => counts.out_of_rotation += 1,
                _ if pod.owner != Some(set.uid) => {}
                PodState::Terminating => counts.terminating += 1,
                PodState::Available => {
                    counts.available += 1;
                    counts.new_available += u32::from(current.is_some_and(|current| current.uid == set.uid));
                }
                _ => counts.not_yet += 1,
            }
        }
    }
    counts
}

/// What ReplicaSets report of pods that are not seen.
fn reported(model: &Model, deployment: &Deployment, current: Option<&ReplicaSet>, asked: u32) -> Counts {
    let mut counts = Counts { asked, ..Counts::default() };
    for set in model.owned_sets(deployment.uid) {
        let said = set.now.counts;
        counts.available += said.available;
        counts.not_yet += said.replicas.saturating_sub(said.available);
        if current.is_some_and(|current| current.uid == set.uid) {
            counts.new_available = said.available;
        }
    }
    counts
}

/// The ReplicaSets that a Deployment controls, counted; one that was deleted has what is left of its pods.
fn set_counts(model: &Model, deployment: &Deployment) -> Vec<SetCounts> {
    let mine = model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid));
    let sees_pods = model.sees_pods(deployment.uid);
    let counted = mine.map(|set| {
        let is_available = |pod: &&Pod| pod.owner == Some(set.uid) && pod.state() == PodState::Available;
        let available = match set.removed_millis {
            None if !sees_pods => set.now.counts.available,
            _ => model.pods_of(set.uid).filter(is_available).count() as u32,
        };
        let desired = if set.removed_millis.is_some() { 0 } else { set.now.counts.wanted };
        SetCounts { uid: set.uid, desired, available }
    });
    counted.filter(|counts| counts.desired + counts.available > 0).collect()
}

/// Pods that the ReplicaSet controller is yet to make, and to remove, so that there are as many as are asked for.
fn owed(model: &Model, deployment: &Deployment) -> (u32, u32) {
    model.owned_sets(deployment.uid).fold((0, 0), |(make, remove), set| {
        let is_counted = |pod: &&Pod| pod.owner == Some(set.uid) && pod.is_active();
        let (there, wanted) = (model.pods_of(set.uid).filter(is_counted).count() as u32, set.now.counts.wanted);
        (make + wanted.saturating_sub(there), remove + there.saturating_sub(wanted))
    })
}

/// Runs only while a rollout is under way and its conditions are those of the spec in force. By the API server's clock.
fn deadline(deployment: &Deployment) -> Option<Millis> {
    let now = &deployment.now;
    let condition = now.status.progressing.as_ref()?;
    let runs = !now.spec.paused
        && deployment.deleted_millis.is_none()
        && now.generation <= now.status.observed_generation
        && !matches!(condition.reason.as_str(), "NewReplicaSetAvailable" | "DeploymentPaused");
    let seconds = now.spec.progress_deadline_seconds.filter(|_| runs)?;
    if condition.reason == "ProgressDeadlineExceeded" {
        return condition.last_update_millis; // it passed; finding that moved the time
    }
    Some(condition.last_update_millis?.saturating_add(i64::from(seconds) * 1000))
}
