//! Makes what a page shows of a Deployment, of a list, and of the connection to their cluster, in words and figures.
//! Owns [`View`], [`Summary`], the rows of lists ([`list`]) and the steps of counts ([`steps`]).
//! Must not know what travels or who looks. [`crate::assess`] decides, [`crate::say`] finds the words.

pub mod connection;
pub mod list;
pub mod steps;
pub mod summary;

use serde::{Deserialize, Serialize};

use crate::assess::counts::count_sets;
use crate::assess::{Cause, Evidence, Severity};
use crate::model::Limits;
use crate::words::grouped;
use crate::{Millis, Model, Uid, say};

pub use crate::assess::{Assessment, Counts, Hold, Now, Remedy, SetCounts, Standing, Tone};
pub use crate::say::{Command, Verdict};
pub use summary::{LATELY_MILLIS, LAYERS, Lately, Summary, summary};

/// A cause, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// One sentence.
    pub sentence: String,
    /// It is bad ([`Severity::Bad`]): waiting alone will not mend it.
    pub is_fault: bool,
    /// The rollout cannot succeed with this revision (the table in docs/causes.md).
    pub is_fatal: bool,
    /// Its evidence.
    pub evidence: Evidence,
}

/// Everything the verdict line shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The verdict, in words.
    pub verdict: Verdict,
    /// The next step, and the effect of the progress deadline: whole sentences, never empty.
    pub next: String,
    /// The command that undoes it, or shows why it is so; `None` where nothing is wrong.
    pub remedy: Option<Command>,
    /// Causes, the most decisive first.
    pub reasons: Vec<Reason>,
    /// Pods counted.
    pub counts: Counts,
    /// The ReplicaSets that exist, counted: [`Counts::available`] and [`Counts::desired`] are the sums of these.
    pub sets: Vec<SetCounts>,
    /// `spec.replicas`.
    pub desired: u32,
    /// Ceiling and floor.
    pub limits: Limits,
    /// The budget in words: the pods desired and available against ceiling and floor, and where these come from.
    pub budget: String,
    /// Where ceiling and floor come from: "4 + maxSurge 1 (25 % rounded up)", "4 − maxUnavailable 1 (25 % rounded down)"; empty
    /// for Recreate.
    pub derived: (String, String),
    /// The hold that keeps the controller from its next step.
    pub hold: Hold,
    /// Revision of the current rollout.
    pub revision: Option<u64>,
    /// When the progress deadline passes, or passed, by our clock; `None` where none runs or where it can no longer strike: [`View::next`]
    /// does not speak of it then.
    pub deadline_millis: Option<Millis>,
    /// The notice that another Deployment had this name before, or has it now; empty when there is none.
    pub notice: String,
    /// Another Deployment has this name now.
    pub is_succeeded: bool,
    /// Since when its pods may not be listed any more; `None` while they may.
    pub unseen_millis: Option<Millis>,
}

impl View {
    /// Returns the figure of a rollout: "2 of 4" new pods are available.
    pub fn new_of_desired(&self) -> String {
        let available = self.counts.new_available.min(self.desired);
        format!("{} of {}", grouped(available.into()), grouped(self.desired.into()))
    }

    /// Returns the reason and the next step as one text, for places that have one for both.
    pub fn explanation(&self) -> String {
        format!("{} {}", self.verdict.why, self.next).trim().to_owned()
    }

    /// Returns the explanation of a past moment.
    pub fn explanation_then(&self) -> String {
        format!("At that moment: {}", self.explanation())
    }
}

/// Looks at a Deployment; `None` when the model does not hold it.
pub fn view(model: &Model, uid: Uid, now: Now) -> Option<View> {
    Assessment::at(model, uid, now).map(|assessment| view_of(&assessment))
}

/// Puts an assessment into words.
pub fn view_of(assessment: &Assessment<'_>) -> View {
    let (standing, now) = (assessment.standing(), assessment.now);
    View {
        verdict: verdict(standing, assessment),
        next: say::next(standing, assessment),
        remedy: assessment.remedy(standing).map(|way| say::remedy(&way, assessment.deployment)),
        reasons: assessment.causes.iter().map(|cause| reason(cause, assessment)).collect(),
        budget: say::budget(assessment),
        derived: say::derived(&assessment.deployment.now.spec, assessment.limits).unwrap_or_default(),
        hold: assessment.hold(),
        counts: assessment.counts,
        sets: count_sets(assessment.model, assessment.deployment, assessment.sees_pods),
        desired: assessment.deployment.now.spec.replicas,
        limits: assessment.limits,
        revision: assessment.revision(),
        deadline_millis: assessment.deadline_millis.filter(|_| standing.has_deadline()),
        notice: match (assessment.successor(), assessment.predecessor()) {
            (Some(after), _) => say::succeeded(after, assessment.deployment, now),
            (None, Some(before)) => say::recreated(before, assessment.deployment, now),
            (None, None) => String::new(),
        },
        is_succeeded: assessment.successor().is_some(),
        unseen_millis: assessment.pods_unseen_millis(),
    }
}

fn verdict(standing: Standing, assessment: &Assessment<'_>) -> Verdict {
    let verdict = Verdict {
        badge: say::badge(standing, assessment),
        tone: assessment.tone(standing),
        sentence: say::verdict(standing, assessment),
        why: say::why(standing, assessment),
        kubectl: assessment.kubectl,
    };
    say::only_last_seen(verdict, assessment.model, assessment.deployment, assessment.now)
}

fn reason(cause: &Cause, assessment: &Assessment<'_>) -> Reason {
    Reason {
        sentence: say::cause(cause, assessment),
        is_fault: cause.severity == Severity::Bad,
        is_fatal: cause.is_fatal,
        evidence: cause.evidence.clone(),
    }
}
