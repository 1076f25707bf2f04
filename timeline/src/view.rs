//! What a page says of one Deployment now: the verdict in words, and the figures beside it.

use serde::{Deserialize, Serialize};

use crate::budget::{self, Limits};
use crate::fact::Truth;
use crate::model::{Deployment, ReplicaSet};
use crate::phase::PodState;
use crate::stall::{self, Cause};
use crate::verdict::{self, KubectlVerdict};
use crate::words::{count, duration, images, is_are, list};
use crate::{Millis, Model, Uid, rollout};

/// The controller is silent when it has not seen a spec for this long.
const SILENT_MILLIS: Millis = 5_000;
/// Nothing progressed for this long while something should: stalled.
const QUIET_MILLIS: Millis = 60_000;

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
}

/// Pods of a Deployment, counted by what they do for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Available, of any revision.
    pub available: u32,
    /// On their way, or failing.
    pub not_yet: u32,
    /// Draining; counted nowhere in the budget.
    pub terminating: u32,
    /// Released and still running.
    pub out_of_rotation: u32,
    /// Available, of the current revision.
    pub new_available: u32,
    /// Sum of the ReplicaSets' `spec.replicas`: what the controllers asked for.
    pub asked: u32,
}

/// Everything the verdict line shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The verdict, in words.
    pub verdict: Verdict,
    /// Pods counted.
    pub counts: Counts,
    /// `spec.replicas`.
    pub wanted: u32,
    /// Ceiling and floor.
    pub limits: Limits,
    /// Revision of the current rollout.
    pub revision: Option<u64>,
    /// When the progress deadline passes, by the API server's clock; `None` when no deadline runs.
    pub deadline_millis: Option<Millis>,
}

/// A Deployment as a line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// Revision of the current rollout.
    pub revision: Option<u64>,
    /// Images of the template, joined.
    pub images: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Since when the kubectl verdict is what it is.
    pub since_millis: Millis,
}

/// Looks at a Deployment; `None` when the model does not hold it.
#[must_use]
pub fn view(model: &Model, uid: Uid, now_millis: Millis) -> Option<View> {
    let deployment = model.deployments.get(&uid)?;
    let current = rollout::current_set(model, deployment);
    let counts = counts(model, deployment, current);
    let limits = budget::limits(&deployment.now.spec);
    let revision = deployment.rollouts.last().map(|r| r.revision);
    let looked = Looked { model, deployment, current, counts, limits, now_millis };
    Some(View {
        verdict: looked.verdict(),
        counts,
        wanted: deployment.now.spec.replicas,
        limits,
        revision,
        deadline_millis: deadline(deployment),
    })
}

/// A Deployment's line in a list.
#[must_use]
pub fn summary(model: &Model, uid: Uid, now_millis: Millis) -> Option<Summary> {
    let deployment = model.deployments.get(&uid)?;
    let view = view(model, uid, now_millis)?;
    Some(Summary {
        uid,
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        revision: view.revision,
        images: images(&deployment.now.spec.images),
        verdict: view.verdict,
        since_millis: deployment.verdicts.last().map_or(deployment.first_seen_millis, |(at, _)| *at),
    })
}

fn counts(model: &Model, deployment: &Deployment, current: Option<&ReplicaSet>) -> Counts {
    let mut counts = Counts::default();
    for pod in model.pods_of_deployment(deployment.uid) {
        match pod.state() {
            PodState::Gone => {}
            _ if pod.is_out_of_rotation() => counts.out_of_rotation += 1,
            PodState::Terminating => counts.terminating += 1,
            PodState::Available => {
                counts.available += 1;
                counts.new_available += u32::from(current.is_some_and(|set| pod.owner == Some(set.uid)));
            }
            _ => counts.not_yet += 1,
        }
    }
    counts.asked = model.owned_sets(deployment.uid).fold(0, |sum, set| sum.saturating_add(set.now.counts.wanted));
    counts
}

/// Runs only while a rollout is under way and its conditions are those of the spec in force.
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

struct Looked<'m> {
    model: &'m Model,
    deployment: &'m Deployment,
    current: Option<&'m ReplicaSet>,
    counts: Counts,
    limits: Limits,
    now_millis: Millis,
}

impl Looked<'_> {
    fn verdict(&self) -> Verdict {
        let (spec, counts) = (&self.deployment.now.spec, self.counts);
        let (wanted, available) = (spec.replicas, counts.available);
        let revision =
            self.deployment.rollouts.last().map_or_else(|| "not numbered".to_owned(), |r| r.revision.to_string());
        if let Some(at) = self.deployment.deleted_millis {
            let left = counts.available + counts.not_yet + counts.terminating;
            let why =
                if left > 0 { format!("{} still {} there.", count(left, "pod"), is_are(left)) } else { String::new() };
            return say(
                "Ended",
                Tone::Quiet,
                format!("This Deployment was deleted {} ago.", duration(self.now_millis - at)),
                why,
            );
        }
        if self.deployment.now.deleting {
            return say("Being deleted", Tone::Quiet, "This Deployment is being deleted.".into(), String::new());
        }
        if spec.paused {
            let sentence = format!("Paused with revision {revision} at {} of {wanted}.", counts.new_available);
            return say(
                "Paused",
                Tone::Busy,
                sentence,
                "Nothing moves until someone runs kubectl rollout resume.".into(),
            );
        }
        let kubectl = verdict::kubectl(&self.deployment.now);
        let since = self.deployment.verdicts.last().map_or(self.now_millis, |(at, _)| *at);
        if kubectl == KubectlVerdict::NotObserved && self.now_millis - since > SILENT_MILLIS {
            let silent = duration(self.now_millis - since);
            return say(
                "Not observed",
                Tone::Bad,
                format!("The Deployment controller has not reacted for {silent}."),
                String::new(),
            );
        }
        if wanted == 0 && counts.available + counts.not_yet == 0 {
            return say(
                "Scaled to zero",
                Tone::Quiet,
                format!("Revision {revision} is scaled to zero."),
                self.leftovers(),
            );
        }
        match kubectl {
            KubectlVerdict::Complete if available < wanted => {
                let why = self.explain(self.causes(), "A replacement is on its way; the revision does not change.");
                say("Recovering", Tone::Busy, format!("Revision {revision}: {available} of {wanted} available."), why)
            }
            KubectlVerdict::Complete => say(
                "Complete",
                Tone::Ok,
                format!("Revision {revision} is live: {available} of {wanted} available."),
                self.leftovers(),
            ),
            KubectlVerdict::DeadlineExceeded => {
                let sentence =
                    format!("Revision {revision} is stuck: {} of {wanted} new pods available.", counts.new_available);
                let why = self.explain(self.causes(), "Kubernetes keeps trying; it does not roll back by itself.");
                say("Deadline exceeded", Tone::Bad, sentence, why)
            }
            _ => self.under_way(&revision, since),
        }
    }

    fn under_way(&self, revision: &str, since: Millis) -> Verdict {
        let (wanted, counts) = (self.deployment.now.spec.replicas, self.counts);
        let old: Vec<String> = self
            .model
            .owned_sets(self.deployment.uid)
            .filter(|set| self.current.is_none_or(|current| current.uid != set.uid) && set.now.counts.wanted > 0)
            .filter_map(|set| Some(set.revision()?.to_string()))
            .collect();
        let is_settled = self.deployment.rollouts.last().is_some_and(|r| r.completed_millis.is_some());
        let causes = self.causes();
        let stalled = self.is_stalled(&causes, since);
        let (badge, tone) = if stalled { ("Stalled", Tone::Bad) } else { ("Rolling out", Tone::Busy) };
        if !old.is_empty() {
            let sentence = format!(
                "Revision {revision} is replacing revision {}: {} of {wanted} new pods available.",
                list(&old),
                counts.new_available
            );
            return say(
                badge,
                tone,
                sentence,
                self.explain(
                    causes,
                    &format!(
                        "Next: when a new pod becomes available, an old one may go (floor {}).",
                        self.limits.floor
                    ),
                ),
            );
        }
        let sentence = format!("Revision {revision}: {} of {wanted} available.", counts.available);
        if counts.available >= wanted {
            return say("Finishing", Tone::Busy, sentence, self.leftovers());
        }
        if is_settled {
            let badge = if stalled { badge } else { "Recovering" };
            return say(
                badge,
                tone,
                sentence,
                self.explain(causes, "A replacement is on its way; the revision does not change."),
            );
        }
        let badge = if stalled { badge } else { "Starting" };
        say(badge, tone, sentence, self.explain(causes, ""))
    }

    fn causes(&self) -> Vec<Cause> {
        stall::causes(self.model, self.deployment, self.now_millis)
    }

    /// The ceiling and the floor of the budget are both reached.
    const fn at_limits(&self) -> bool {
        self.counts.asked >= self.limits.ceiling && self.counts.available <= self.limits.floor
    }

    fn is_stalled(&self, causes: &[Cause], since: Millis) -> bool {
        let faulty = causes.iter().any(|cause| cause.is_fault);
        let refused = self.deployment.now.status.replica_failure.as_ref().is_some_and(|c| c.status == Truth::True);
        faulty && (self.at_limits() || refused) || self.now_millis - self.last_move(since) > QUIET_MILLIS
    }

    /// When a pod or a verdict last changed.
    fn last_move(&self, since: Millis) -> Millis {
        let pods = self.model.pods_of_deployment(self.deployment.uid);
        pods.iter().map(|pod| pod.since_millis()).max().unwrap_or(since).max(since)
    }

    /// Causes, then what the budget forbids; `otherwise` when there is neither.
    fn explain(&self, causes: Vec<Cause>, otherwise: &str) -> String {
        let mut said: Vec<String> = causes.into_iter().take(2).map(|cause| cause.sentence).collect();
        let (asked, available, limits) = (self.counts.asked, self.counts.available, self.limits);
        let has_old = self.current.is_some_and(|current| current.now.counts.wanted < asked);
        if has_old && self.at_limits() {
            said.push(format!(
                "Neither side may move: {asked} of at most {} pods exist, {available} of at least {} {} available.",
                limits.ceiling,
                limits.floor,
                is_are(limits.floor)
            ));
        }
        if said.is_empty() { otherwise.to_owned() } else { said.join(" ") }
    }

    fn leftovers(&self) -> String {
        let mut said = Vec::new();
        if self.counts.terminating > 0 {
            said.push(format!(
                "{} {} still draining.",
                count(self.counts.terminating, "old pod"),
                is_are(self.counts.terminating)
            ));
        }
        if self.counts.out_of_rotation > 0 {
            let verb = if self.counts.out_of_rotation == 1 { "runs" } else { "run" };
            said.push(format!("{} {verb} out of rotation.", count(self.counts.out_of_rotation, "pod")));
        }
        if said.is_empty() { "Nothing is moving.".to_owned() } else { said.join(" ") }
    }
}

fn say(badge: &str, tone: Tone, sentence: String, why: String) -> Verdict {
    Verdict { badge: badge.to_owned(), tone, sentence, why }
}
