//! The cause that decides, in the few words of a headline; [`super::cause`] has its figures.

use super::cause::{crashes, pull_words, quota, start_words};
use crate::assess::{Assessment, Cause, CauseKind, Refused, StartHold};
use crate::words::{safe, short};

/// Longest message that is a headline, in words.
const LONGEST_MESSAGE: usize = 8;

/// The fault in a few words: "image web:missing is not found", "container web crashes with exit code 1".
pub(super) fn matter(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let evidence = &cause.evidence;
    match &cause.kind {
        CauseKind::Image { image } => {
            let image = image.as_ref().map_or_else(|| "an image".to_owned(), |image| format!("image {}", safe(image)));
            match pull_words(cause, assessment).as_deref() {
                Some("not found") => format!("{image} is not found"),
                Some("access denied") => format!("access to {image} is denied"),
                Some(words) => format!("{image} cannot be pulled ({words})"),
                None => format!("{image} cannot be pulled"),
            }
        }
        CauseKind::BadContainer { container } => {
            let message = safe(evidence.message.trim().trim_end_matches('.'));
            let is_short = (1..=LONGEST_MESSAGE).contains(&message.split_whitespace().count());
            if evidence.reason == "CreateContainerConfigError" && is_short {
                message
            } else {
                format!("container {} cannot be created ({})", safe(container), safe(&evidence.reason))
            }
        }
        CauseKind::Crash(crash) => crashes(crash),
        CauseKind::Refused { what, .. } => match (quota(&evidence.message), what) {
            (Some(quota), _) => format!("quota {} is used up", quota.name),
            (None, Refused::ReplicaSet) => "the API server refuses the new ReplicaSet".to_owned(),
            (None, Refused::Pods) => "the API server refuses new pods".to_owned(),
            (None, Refused::Deletion) => "the API server refuses to delete pods".to_owned(),
        },
        CauseKind::Starting { hold: StartHold::Mount | StartHold::Attach | StartHold::Sandbox, .. } => {
            start_words(&evidence.reason, &evidence.message)
        }
        CauseKind::Unschedulable { .. } => "no node fits its pods".to_owned(),
        CauseKind::NoScheduler => "no scheduler looks at its pods".to_owned(),
        CauseKind::PodsFailed { .. } => format!("its pods fail ({})", safe(&evidence.reason)).replace(" ()", ""),
        CauseKind::OldNotGoing => "old pods do not go".to_owned(),
        CauseKind::PodsMissing { .. } => "the ReplicaSet controller creates no pods".to_owned(),
        CauseKind::SetMissing => "the Deployment controller makes no ReplicaSet".to_owned(),
        CauseKind::Deadlock { .. } => "no pod can be added or removed".to_owned(),
        CauseKind::NotReady { was_ready: true, .. } => "pods are not ready any more".to_owned(),
        CauseKind::NotReady { .. } => "pods do not become ready".to_owned(),
        CauseKind::Gate { gate, .. } => {
            let gate =
                gate.as_deref().map_or_else(|| "a readiness gate".to_owned(), |gate| format!("gate {}", safe(gate)));
            format!("{gate} stays closed")
        }
        CauseKind::Starting { .. } | CauseKind::Init { .. } => "pods do not start".to_owned(),
        CauseKind::NotStarted { container } if !container.is_empty() => {
            format!("container {} does not start ({})", safe(container), safe(&evidence.reason))
        }
        _ => format!("pod {} does not start ({})", safe(short(name(&evidence.object))), safe(&evidence.reason)),
    }
}

fn name(object: &str) -> &str {
    object.rsplit(' ').next().unwrap_or_default()
}
